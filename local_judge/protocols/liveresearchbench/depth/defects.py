"""Texts that are no report: refusals and plans in a report's place.

Invariant: decided by code from what the text says about itself, never from its length or quality. One sign is not
enough, since a report may say that something was not found or remains to be done.

There are three kinds of signs: the request could not be met (no sources, no access, not possible); the reader is asked
for permission or material (`once you approve`, `please share`); parts are still to come (`to be filled`). A `refusal`
has the first in its opening and the second anywhere, or the first and little other text. A `plan` has two different
signs of the second kind, or one, and two of the third.
"""

from __future__ import annotations

import re
from typing import Literal

from local_judge.documents.model import Document

Defect = Literal["refusal", "plan"]

OPENING = 1_500
"""Characters at the start in which a text that is no report says so."""
SHORT = 1_200
"""Maximum length in characters of a text that is only a refusal."""
LONGEST = 200_000
"""Maximum length in characters of a text that is examined; the known cases have at most 13,000."""

_THINGS = (
    r"(?:sources?|links?|urls?|materials?|documents?|evidence|papers?|data|references?|results?|filings?)"
)
_DONE = r"(?:provided|supplied|captured|collected|gathered|attached|available|shared|logged)"
_WORK = (
    r"(?:satisf|fulfil|complet|produc|deliver|provid|compil|generat|creat|writ|prepar|perform|conduct|brows|access"
    r"|search|summari[sz]|help|assist|comply|answer)"
)
_CANNOT = re.compile(
    rf"\bno\b[^.\n]{{0,80}}?\b{_THINGS}\b[^.\n]{{0,120}}?\b(?:were|was|have been|has been|are|is)\b"
    rf"[^.\n]{{0,20}}?\b{_DONE}"
    rf"|\b(?:i|we) (?:can ?not|can't|could not|couldn't|am unable to|are unable to|was unable to|were unable to)\s+"
    rf"(?:\w+\s+){{0,2}}{_WORK}"
    rf"|\b(?:it is|it's) (?:not possible|impossible) to\s+(?:\w+\s+){{0,2}}{_WORK}"
    rf"|\bcan ?not be (?:produced|completed|delivered|compiled|provided|written|prepared)\b"
    rf"|\b(?:access|browsing|tools?)\b[^.\n]{{0,30}}\b(?:is|are) not available\b"
    r"|\b(?:i'm|i am) sorry\b|\bas an ai\b"
    r"|(?:我|目前|本次)?[^。\n]{0,6}(?:无法|不能)(?:为您)?(?:完成|提供|生成|撰写|访问|浏览)(?:该|本|这|此|您|所需|所要求|互联网|网页|外部)"
    r"|(?:很)?抱歉[，,]",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:once|after|when|until|as soon as)\b[^.\n]{0,80}?"
    r"\b(?:sources? (?:are|is|have been)|source collection|you (?:approve|confirm|provide|share|grant)"
    r"|(?:data|documents|materials|papers) (?:are|have been) (?:extracted|collected|pulled|supplied|provided))"
    r"|\b(?:with|pending|upon) your (?:approval|confirmation|permission)\b|\brequest for approval\b"
    r"|\bapproval to proceed\b|\bapprove (?:a literature|a search|the (?:search|plan|scope|outline|\w+ list))\b"
    r"|\bplease (?:confirm|approve|allow me|provide|share|grant)\b"
    r"|\bconfirm (?:permission|that you(?:'d|\u2019d| would| want))"
    r"|\b(?:i|we) will (?:then )?(?:deliver|complete|compile|produce|populate)\b"
    r"|\b(?:this|it|the \w+) (?:can|will) be populated\b"
    r"|\bif you (?:can |could )?(?:share|provide|enable|approve|grant|supply)\b"
    r"|(?:一旦|待)[^。\n]{0,20}您?(?:批准|确认|提供|授权)(?:之?后)|请您?(?:确认|批准|授权|提供(?:资料|来源|链接|数据))",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\bto be (?:filled|completed|populated|produced|collected|resolved|compiled|delivered)\b"
    r"|\bwill be (?:delivered|compiled|populated|produced|gathered|resolved)\b"
    r"|\bonce\b[^.\n]{0,60}?\b(?:are|have been) (?:collected|verified|extracted|resolved)\b",
    re.IGNORECASE,
)


def defects(document: Document) -> tuple[Defect, ...]:
    """Return the defects of a text as a report: `refusal`, `plan`, both, or none."""
    body = [block for block in document.blocks if block.role != "references"]
    text = "\n".join(block.text for block in body)
    if len(text) > LONGEST:
        return ()
    cannot = _CANNOT.search(text[:OPENING]) is not None
    asks, later = (len({match[0].lower() for match in sign.finditer(text)}) for sign in (_ASKS, _LATER))
    found: list[Defect] = []
    if cannot and (asks or len(text) < SHORT):
        found.append("refusal")
    if asks >= 2 or (asks and later >= 2):
        found.append("plan")
    return tuple(found)

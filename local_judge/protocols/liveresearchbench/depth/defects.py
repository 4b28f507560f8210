"""Reports that are none: what stands where a report should, and says why there is none.

Invariant: decided by code from the text, by what such a text says of itself and never by its length or quality; one
sign alone is not enough, since a report may well say that something could not be found, or that more is to be done.

Three kinds of signs: the request could not be met (no sources were provided, access is lacking, it cannot be done); the
reader is asked for leave or material to meet it (`once you approve`, `please share`); its parts are still to come (`to
be filled`). A `refusal` has the first in its opening and the second anywhere, or the first and hardly a text beside
it. A `plan` has two different signs of the second kind, or one, and two of the third.
"""

from __future__ import annotations

import re
from typing import Literal

from local_judge.documents.model import Document

Defect = Literal["refusal", "plan"]

OPENING = 1_500
"""Characters in which a text that is no report says so."""
SHORT = 1_200
"""Characters of a text that only says no."""
LONGEST = 200_000
"""Characters, the longest text that is looked through: the known ones have 13,000 at most."""

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
    """The defects of a text as a report: `refusal`, `plan`, both, or none."""
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

"""Reports that are none: what stands where a report should, and says why there is none.

Invariant: decided by code from the text, by what such a text says of itself and never by its length or quality; one
sign alone is not enough, since a report may well say that something could not be found, or that more is to be done.

Two kinds of signs: that the request could not be met (nothing was provided or found, access is lacking, the work cannot
be done), and that it will be met later (once approved, when sources are there, fields to be filled). A `refusal` has
one of the first kind in its opening and one of the second anywhere, or nothing but the first and hardly a text; a
`plan` has three of the second, or two and a heading that names what is still to come.
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
_LATER = re.compile(
    r"\b(?:once|after|when|until|as soon as)\b[^.\n]{0,80}?"
    r"\b(?:approv\w+|sources? (?:are|is|have been)|data (?:are|is) (?:extracted|collected)"
    r"|(?:are|is|have been|has been) (?:collected|pulled|provided|supplied|verified|extracted|resolved|captured)"
    r"|source collection|you (?:approve|confirm|provide|share))"
    r"|\b(?:with|pending|upon|request for)\s+(?:your\s+)?(?:approval|confirmation|sourcing)\b"
    r"|\bapproval to proceed\b|\bapprove (?:a|the)\b"
    r"|\bplease (?:confirm|approve|allow me|provide|share|let me know)\b"
    r"|\bconfirm (?:permission|that you)\b"
    r"|\bto be (?:filled|completed|populated|produced|collected|resolved|compiled|delivered)\b"
    r"|\b(?:i|we) will (?:deliver|complete|compile|produce|provide|populate|write)\b"
    r"|\bwill be (?:delivered|compiled|populated|produced|gathered|resolved)\b|\bcan be populated\b"
    r"|\bif you (?:can|could|will|would|share|provide|enable|approve)\b"
    r"|(?:一旦|待|在)[^。\n]{0,30}(?:批准|确认|提供|授权)(?:之?后)|请(?:您)?(?:确认|批准|提供|授权)|我将(?:随后|之后|立即)",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"\b(?:research|data[ -]collection|collection|execution|work|evidence) plan\b|\bnext steps\b"
    r"|\bto be (?:filled|completed|produced|populated)\b|\bdeliver(?:ables?|y timeline)\b|\bwhat is needed\b"
    r"|\bapproval\b|研究计划|执行计划|下一步",
    re.IGNORECASE,
)


def defects(document: Document) -> tuple[Defect, ...]:
    """What is wrong with a text as a report: `refusal`, `plan`, both, or nothing."""
    body = [block for block in document.blocks if block.role != "references"]
    text = "\n".join(block.text for block in body)
    later = len({match[0].lower() for match in _LATER.finditer(text)})
    cannot = _CANNOT.search(text[:OPENING]) is not None
    announced = any(block.kind == "heading" and _HEADING.search(block.text) for block in body)
    found: list[Defect] = []
    if cannot and (later or len(text) < SHORT):
        found.append("refusal")
    if later >= 3 or (later == 2 and announced):
        found.append("plan")
    return tuple(found)

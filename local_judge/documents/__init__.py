"""A report's text -> `Document`: blocks, sentences (Lx.Sy), citations, references, language."""

from local_judge.documents.describe import describe
from local_judge.documents.health import Problem, ReportHealth, check_health
from local_judge.documents.model import (
    Block,
    BlockKind,
    BlockRole,
    Citation,
    CitationState,
    Document,
    DocumentError,
    Reference,
    ReferenceState,
    Sentence,
    Span,
    UnreadableReport,
)
from local_judge.documents.parse import parse_report

__all__ = [
    "Block",
    "BlockKind",
    "BlockRole",
    "Citation",
    "CitationState",
    "Document",
    "DocumentError",
    "Problem",
    "Reference",
    "ReferenceState",
    "ReportHealth",
    "Sentence",
    "Span",
    "UnreadableReport",
    "check_health",
    "describe",
    "parse_report",
]

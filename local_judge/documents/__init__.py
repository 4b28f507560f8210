"""A report's text -> `Document`: blocks, sentences (Lx.Sy), citations, references, language."""

from local_judge.documents.health import Problem, ReportHealth, check_health
from local_judge.documents.model import (
    Block,
    BlockKind,
    BlockRole,
    Citation,
    CitationForm,
    CitationState,
    Document,
    DocumentError,
    Reference,
    ReferenceState,
    Sentence,
    Source,
    Span,
    UnreadableReport,
)
from local_judge.documents.parse import document_id, parse_report

__all__ = [
    "Block",
    "BlockKind",
    "BlockRole",
    "Citation",
    "CitationForm",
    "CitationState",
    "Document",
    "DocumentError",
    "Problem",
    "Reference",
    "ReferenceState",
    "ReportHealth",
    "Sentence",
    "Source",
    "Span",
    "UnreadableReport",
    "check_health",
    "document_id",
    "parse_report",
]

"""A report's text -> `Document`: blocks, sentences (Lx.Sy), citations, references, language."""

from local_judge.documents.describe import describe
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
from local_judge.documents.parse import parse_report

__all__ = [
    "Block",
    "BlockKind",
    "BlockRole",
    "Citation",
    "CitationForm",
    "CitationState",
    "Document",
    "DocumentError",
    "Reference",
    "ReferenceState",
    "Sentence",
    "Source",
    "Span",
    "UnreadableReport",
    "describe",
    "parse_report",
]

"""Report + dimensions of its task -> a mark for each criterion."""

from __future__ import annotations

from local_judge.documents.model import Document
from local_judge.judge.judge import Judge
from local_judge.protocols.deepresearcheval.quality.findings import QualityFindings
from local_judge.protocols.deepresearcheval.quality.settings import QualitySettings
from local_judge.tasks.model import Task


async def judge_quality(
    document: Document, task: Task, judge: Judge, settings: QualitySettings
) -> QualityFindings:
    """The marks of all criteria."""
    raise NotImplementedError

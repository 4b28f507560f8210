"""What judges were found to be worth, beside what they say.

Invariant: a judge that nobody has qualified, or that was refused, is named wherever its numbers stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from local_judge.errors import plain
from local_judge.judge.qualification_record import VERDICTS, WORDS, QualificationRecord
from local_judge.runs.manifest import prompts_digest
from local_judge.runs.qualifications import Qualifications


def standing_lines(qualifications: Qualifications, protocols: Sequence[str] | None = None) -> Iterator[str]:
    """A line for each judge, safe to print where no markup is read.

    Args:
        qualifications: by the judge's name.
        protocols: those whose numbers are shown; None where none are, for the verdict in all.
    """
    for name, record in qualifications.items():
        yield plain(f"judge {name}: {_said(name, record, protocols)}")


def _said(name: str, record: QualificationRecord | None, protocols: Sequence[str] | None) -> str:
    if record is None:
        return f"never qualified; `local-judge judge qualify {name}` says what it may be believed for"
    scale = " (by the quick settings)" if record.scale == "quick" else ""
    if record.prompts and record.prompts != prompts_digest():
        scale += " (by other prompts than this version's)"
    if protocols is None:
        return record.in_all + scale
    parts: list[str] = []
    for verdict in VERDICTS:
        alike: dict[tuple[str, ...], list[str]] = {}
        for protocol in protocols:
            found = record.of(protocol)
            if (verdict if found is None else found.verdict) == verdict and (
                found or verdict == "unexamined"
            ):
                alike.setdefault(found.reasons if found else (), []).append(protocol)
        for reasons, names in alike.items():
            why = f": {'; '.join(reasons)}" if reasons else ""
            parts.append(f"{WORDS[verdict]} {', '.join(names)}{why}")
    return ". ".join(parts) + scale

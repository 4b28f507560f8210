"""Qualification of judges, printed beside their results.

Invariant: a judge that was never qualified, or was refused, is named wherever its numbers are printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from local_judge.base.errors import plain
from local_judge.judge.qualification_record import VERDICTS, WORDS, QualificationRecord
from local_judge.runs.execution.qualifications import Qualifications
from local_judge.runs.storage.manifest import prompts_digest


def qualification_lines(
    qualifications: Qualifications, protocols: Sequence[str] | None = None
) -> Iterator[str]:
    """Yield a line for each judge, without control characters and without rich markup.

    Args:
        qualifications: the last qualification of each judge by name; None for a judge that has none.
        protocols: the protocols whose scores are printed; None for the verdict over all of them.
    """
    for name, record in qualifications.items():
        yield qualification_line(name, record, protocols)


def qualification_line(
    name: str, record: QualificationRecord | None, protocols: Sequence[str] | None = None
) -> str:
    """Return the line of one judge; see `qualification_lines`."""
    if record is None:
        return plain(f"judge {name} is not qualified; run `local-judge judge qualify {name}` to test it")
    return plain(f"judge {name}: {_verdicts(record, protocols)}")


def _verdicts(record: QualificationRecord, protocols: Sequence[str] | None) -> str:
    notes = [record.basis] if record.basis else []
    if record.scale == "quick":
        notes.append("with the quick settings")
    if record.prompts and record.prompts != prompts_digest():
        notes.append("with the prompts of another version")
    settings = f" ({'; '.join(notes)})" if notes else ""
    if protocols is None:
        return record.in_all + settings
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
    return "; ".join(parts) + settings

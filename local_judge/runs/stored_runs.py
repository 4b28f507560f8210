"""The agents' runs of a run directory.

Invariant: what is given is what was stored with the findings; no snapshot and no judge is needed to read it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from local_judge.agents.result import AgentResult
from local_judge.errors import RunError
from local_judge.protocols.base import load_protocol
from local_judge.runs.manifest import one_judge_of, protocols_of
from local_judge.runs.records import load_records
from local_judge.runs.store import RunStore, findings_file


class StoredRun(NamedTuple):
    """One run of an agent."""

    protocol: str
    report: str
    item: str
    """What it was about."""
    result: AgentResult[Any]


def stored_runs(
    store: RunStore, report: str | None = None, item: str | None = None, judge: str | None = None
) -> list[StoredRun]:
    """The runs of agents in a run directory, in the order of its reports.

    Args:
        store: the run.
        report: of this report alone.
        item: of runs about this alone, among others or by itself.
        judge: of several judges, whose.

    Raises:
        RunError: there is none, or there are several judges and none is named.
    """
    judge = one_judge_of(store, judge, "transcripts")
    records = [one for one in load_records(store) if one.status == "done" and report in (None, one.id)]
    found: list[StoredRun] = []
    for name in protocols_of(store):
        protocol = load_protocol(name)
        for record in records:
            findings = store.read_model(findings_file(name, record.key, judge), protocol.findings_type)
            found += [
                StoredRun(name, record.id, about, result)
                for about, result in protocol.agent_runs(findings)
                if item is None or item in about.split(", ")
            ]
    if not found:
        asked = [f"about {item!r}"] * (item is not None) + [f"of report {report!r}"] * (report is not None)
        raise RunError(f"{store.root}: holds no run of an agent {' '.join(asked)}".rstrip())
    return found

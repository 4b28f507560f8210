"""What judges gave the same reports: in the runs of a qualification, or in runs of a user.

Invariant: a score counts once for each judge and report; a run's judge is one of those compared only if its identity is
the same, whatever it is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from local_judge.errors import InputError
from local_judge.lab.qualification.comparing.orders import Scored
from local_judge.runs.manifest import protocols_of, read_manifest
from local_judge.runs.records import load_records, load_scores
from local_judge.runs.store import RunStore
from serving.types import EngineIdentity

PROFILE = "paper"


def unaltered(folder: Path, judge: str, reports: Sequence[str]) -> list[Scored]:
    """The root scores of reports that nothing was done to, by the judge of a qualification.

    Args:
        folder: of the qualification.
        judge: its name.
        reports: their ids.
    """
    found: dict[tuple[str, str, str], Scored] = {}
    for manifest in sorted((folder / "work" / "sensitivity").glob("*/manifest.json")):
        for row in _scores(RunStore(manifest.parent), {None: judge}):
            if row.report in reports:
                found.setdefault((row.protocol, row.score, row.report), row)
    return list(found.values())


def of_runs(runs: Sequence[Path], identities: Mapping[str, EngineIdentity]) -> list[Scored]:
    """The root scores in finished runs by those of their judges that are compared.

    Args:
        runs: their directories.
        identities: of the compared judges, by name.

    Raises:
        RunError: a directory holds no finished run.
        InputError: none of its judges is compared, or a report stands with one judge in two runs.
    """
    found: dict[tuple[str, str, str, str], tuple[Path, Scored]] = {}
    for run in runs:
        store = RunStore(run)
        judges: list[dict[str, Any]] = read_manifest(store).get("judges", [])
        names = {
            judge["name"] if len(judges) > 1 else None: name
            for judge in judges
            for name, identity in identities.items()
            if judge["identity"] == identity.model_dump(mode="json")
        }
        if not names:
            there = ", ".join(judge["name"] for judge in judges)
            raise InputError(
                f"{run}: none of its judges ({there}) is one of those compared ({', '.join(identities)}): the same "
                "weights, engine, version and options"
            )
        for row in _scores(store, names):
            before, _ = found.setdefault((row.protocol, row.score, row.judge, row.report), (run, row))
            if before != run:
                raise InputError(
                    f"{run}: {row.judge!r} has scored {row.report!r} in {before} too; give one of them"
                )
    return [row for _, row in found.values()]


def _scores(store: RunStore, names: Mapping[str | None, str]) -> Iterator[Scored]:
    """Root scores by the paper's formulas; a report without findings has a row without value.

    Args:
        store: a finished run.
        names: what the judges of the run are called here, by their names there; None of the only one.
    """
    records = load_records(store)
    for protocol in protocols_of(store):
        rows = [row for row in load_scores(store, (protocol,), tuple(names)) if row.profile == PROFILE]
        labels = {node.id: node.label for row in rows for node in row.scores}
        given = {(row.case, row.judge, node.id): node.score.value for row in rows for node in row.scores}
        for score in labels:
            for there, name in names.items():
                for record in records:
                    value = given.get((record.id, there, score))
                    yield Scored(protocol, score, name, record.id, record.task, record.system, value)

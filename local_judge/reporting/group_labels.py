"""Distribution of labels in groups of reports: claim types, source statuses, verdicts, decisions of each protocol.

Invariant: shares refer to the decisions that have a label; the number without a label is counted separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from local_judge.claims.model import ClaimSet
from local_judge.protocols.base import AnyProtocol, load_protocol
from local_judge.runs.attributes import Entry, Key, OpenRun
from local_judge.runs.manifest import one_judge_of, protocols_of
from local_judge.runs.records import CaseRecord
from local_judge.runs.store import claims_file, findings_file
from serving.types import Frozen


class LabelCounts(Frozen):
    """The labels of one kind in one group."""

    key: dict[str, str | None]
    counts: dict[str, int]
    """Number of decisions by label, with 0 for labels that only other groups have."""
    n_without: int
    """Decisions without an answer."""

    @property
    def n(self) -> int:
        """Decisions that have a label."""
        return sum(self.counts.values())


class Labels(Frozen):
    """The labels of one kind in all groups."""

    kind: str
    """`claim type`, `source status`, `verdict`, or the protocol and its name of the decision."""
    groups: tuple[LabelCounts, ...]


def label_counts(
    runs: Sequence[OpenRun], by: Sequence[str], groups: Mapping[Key, Sequence[Entry]]
) -> tuple[Labels, ...]:
    """The labels of the reports that were evaluated, of all runs together.

    Args:
        runs: finished runs.
        by: names of the attributes.
        groups: their reports, as `runs.attributes.groups_of` gives them.

    Raises:
        RunError: a run has several judges and none is chosen, or findings are missing.
    """
    opened = {run.name: run for run in runs}
    judges = {run.name: one_judge_of(run.store, run.judge, "labels") for run in runs}
    loaded = {run.name: [load_protocol(name) for name in protocols_of(run.store)] for run in runs}
    counted: dict[str, dict[Key, Counter[str | None]]] = {}
    for key, own in groups.items():
        for one in own:
            if one.record.status == "done":
                found = _labels(opened[one.run], one.record, judges[one.run], loaded[one.run])
                for kind, label in found:
                    counted.setdefault(kind, {}).setdefault(key, Counter())[label] += 1
    return tuple(_kind(kind, by, list(groups), found) for kind, found in counted.items())


def _labels(
    run: OpenRun, record: CaseRecord, judge: str | None, protocols: Sequence[AnyProtocol]
) -> Iterator[tuple[str, str | None]]:
    """Each label of a report with its kind; None for a decision without an answer."""
    file = claims_file(record.key, judge)
    if (run.store.root / file).exists():
        claims = run.store.read_model(file, ClaimSet)
        yield from (("claim type", claim.type) for claim in claims.claims)
        yield from (("source status", source.status) for source in claims.sources)
        yield from (("verdict", verdict.label) for verdict in claims.verdicts)
    for protocol in protocols:
        findings = run.store.read_model(
            findings_file(protocol.name, record.key, judge), protocol.findings_type
        )
        for one in protocol.decisions(findings):
            if one.scale == "nominal":
                label = None if one.value is None else str(one.value)
                yield f"{protocol.name}: {one.metric}", label


def _kind(
    kind: str, by: Sequence[str], keys: Sequence[Key], found: Mapping[Key, Counter[str | None]]
) -> Labels:
    names = sorted({name for counts in found.values() for name in counts if name is not None})
    return Labels(
        kind=kind,
        groups=tuple(
            LabelCounts(
                key=dict(zip(by, key, strict=True)),
                counts={name: found.get(key, Counter())[name] for name in names},
                n_without=found.get(key, Counter())[None],
            )
            for key in keys
        ),
    )

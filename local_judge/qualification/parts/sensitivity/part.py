"""Do a judge's scores fall where a flaw was planted, and only there?

Invariant: each report, flaw and score of which something is expected is one item; what is said is the score of the twin
less that of the report, in parts of the scale, counted so that below 0 the twin is the worse.

    truth -1   called if it fell by more than `still`
    truth  0   called if it did not rise by more than `still`

Padding is one of the flaws: how often the padded twin scores higher is what a judge gives for length alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from local_judge.planting.model import FlawKind
from local_judge.protocols.base import Evaluation, Particular, load_protocol
from local_judge.qualification.bench import Bench, Found, carried_out
from local_judge.qualification.figures import Measure, mean_said, share
from local_judge.qualification.model import Item, PartName
from local_judge.qualification.parts.sensitivity.changes import Change, change, direction, scored
from local_judge.qualification.parts.sensitivity.expectations import Expectation, expected
from local_judge.qualification.parts.sensitivity.settings import (
    CLAIMS,
    PROBES,
    Probe,
    ProbeName,
    SensitivitySettings,
)
from local_judge.qualification.parts.twins import Family, families
from local_judge.runs.config import RunConfig, settled
from local_judge.tasks.model import Task


class Sensitivity:
    """The part."""

    name: PartName = "sensitivity"

    def __init__(self, settings: SensitivitySettings) -> None:
        self.settings = settings

    async def ask(self, bench: Bench) -> Found:
        """Reports and twins by each probe in turn."""
        chosen: dict[ProbeName, int | None] = {name: n for name, n in self.settings.probes.items() if n != 0}
        most = None if None in chosen.values() else max((n or 0 for n in chosen.values()), default=0)
        found, notes = families(bench.reports[:most], self.settings.planted(bench.seed))
        items: list[Item] = []
        for name in PROBES:
            if name not in chosen:
                continue
            own, left_out = _askable(found[: chosen[name]], PROBES[name])
            notes += left_out
            if own:
                made, undefined = await self._probe(name, own, bench)
                items += made
                notes += undefined
        return Found(tuple(items), tuple(dict.fromkeys(notes)))

    async def _probe(
        self, name: ProbeName, own: Sequence[Family], bench: Bench
    ) -> tuple[list[Item], list[str]]:
        """The items of one run, and which scores are undefined."""
        probe = PROBES[name]
        rows = expected(name, self.settings.flaws)
        flaws: list[FlawKind] = list(dict.fromkeys(row.flaw for row in rows))
        texts = [text for family in own for text in family.texts(flaws)]
        config = settled(
            RunConfig(
                protocols=(probe.protocol,),
                claims=CLAIMS,
                reasks=bench.judge.settings.reasks,
                settings={probe.protocol: dict(probe.settings)},
            )
        )
        job = bench.job(name, texts, config, bench.snapshot if probe.reads_pages else None)
        await carried_out(job)
        run = scored(job.store, probe.protocol)
        items: list[Item] = []
        notes: list[str] = []
        for family, row in product(own, rows):
            twin = family.twins.get(row.flaw)
            if twin is None:
                continue
            moved = change(run, row.place, family.report.id, twin.id, self.settings.still)
            if moved is None:
                notes.append(f"{twin.id}: {probe.protocol} {row.place.path} is not defined")
            else:
                items.append(self._item(family, row, moved))
        return items, notes

    def _item(self, family: Family, row: Expectation, moved: Change) -> Item:
        called = None
        if moved.value is not None:
            went = direction(moved.value, self.settings.still)
            called = went < 0 if row.truth < 0 else went <= 0
        place = row.place
        return Item(
            id=f"{family.report.id}~{row.flaw}:{place.protocol}:{place.path}",
            unit=family.report.id,
            facets={
                "protocol": place.protocol,
                "path": place.path,
                "flaw": row.flaw,
                "language": family.language,
            },
            truth=float(row.truth),
            said=moved.value,
            called=called,
            failure=moved.failure,
        )

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """By protocol: over all flaws, by flaw, and by flaw and score where a protocol has several."""
        found: list[Measure] = []
        for protocol in dict.fromkeys(item.facets["protocol"] for item in items):
            own = [item for item in items if item.facets["protocol"] == protocol]
            found += self._over_flaws(protocol)
            for flaw in dict.fromkeys(item.facets["flaw"] for item in own):
                same = [item for item in own if item.facets["flaw"] == flaw]
                found += self._measures({"protocol": protocol, "flaw": flaw}, same)
                paths = list(dict.fromkeys(item.facets["path"] for item in same))
                for path in paths if len(paths) > 1 else ():
                    found += self._measures({"protocol": protocol, "flaw": flaw, "path": path}, same)
        return found

    def _over_flaws(self, protocol: str) -> list[Measure]:
        """Of the flaws that a score should fall by, how often it did; of all, how often it rose."""

        def of(item: Item) -> bool:
            return item.facets["protocol"] == protocol

        def to_fall(item: Item) -> bool:
            return of(item) and bool(item.truth)

        return [
            Measure(f"sensitivity/right/{protocol}", to_fall, share(lambda item: item.called), "more"),
            Measure(f"sensitivity/wrong/{protocol}", of, share(self._rose), "less"),
        ]

    def _measures(self, only: dict[str, str], items: Sequence[Item]) -> list[Measure]:
        """Mean change, share in the right direction, share that rose."""

        def of(item: Item) -> bool:
            return all(item.facets[facet] == value for facet, value in only.items())

        end = "/".join(value if facet != "path" else f"path={value}" for facet, value in only.items())
        falls = any(item.truth for item in items)
        return [
            Measure(f"sensitivity/moved/{end}", of, mean_said, "less" if falls else None),
            Measure(f"sensitivity/right/{end}", of, share(lambda item: item.called), "more"),
            Measure(f"sensitivity/wrong/{end}", of, share(self._rose), "less"),
        ]

    def _rose(self, item: Item) -> bool | None:
        return None if item.said is None else direction(item.said, self.settings.still) > 0


def _askable(found: Sequence[Family], probe: Probe) -> tuple[list[Family], list[str]]:
    """The reports whose tasks have what a probe's protocol needs, and what the others lack."""
    protocol = load_protocol(probe.protocol, dict(probe.settings))
    lacking = {family.report.id: _lacks(protocol, family.report.task) for family in found}
    kept = [family for family in found if lacking[family.report.id] is None]
    return kept, [
        f"{report}: not judged by {probe.protocol}: {why}" for report, why in lacking.items() if why
    ]


def _lacks(protocol: Evaluation[Any], task: Task | None) -> str | None:
    if task is None and protocol.without_task:
        return "it has no task"
    return protocol.lacks(task) if isinstance(protocol, Particular) else None

"""Probes of the installed protocols, scores as shares of their scales, and reports with their perturbed versions.

Invariants: a probe is named `PROTOCOL.NAME`, so that no two have one name. Scale and direction come from the score's
node. A perturbed report has the task of its report, and differs from it in one flaw.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from local_judge.base.errors import ConfigError
from local_judge.lab.planting.commands import plant_reports
from local_judge.lab.planting.flaws.flaws import FlawSettings
from local_judge.protocols.base import load_protocol, protocol_names
from local_judge.protocols.probes import FlawKind, InjectionProbe, SensitivityProbe
from local_judge.runs.planning.inputs import RawReport
from local_judge.scoring.node import Scale, Score, Tree

P = TypeVar("P", SensitivityProbe, InjectionProbe)


class Installed(NamedTuple, Generic[P]):
    """A probe and its protocol."""

    protocol: str
    probe: P


def sensitivity_probes() -> dict[str, Installed[SensitivityProbe]]:
    """Return the sensitivity probes by name."""
    return {
        f"{protocol}.{probe.name}": Installed(protocol, probe)
        for protocol in protocol_names()
        for probe in load_protocol(protocol).sensitivity_probes
    }


def injection_probes() -> dict[str, Installed[InjectionProbe]]:
    """Return the injection probes by name."""
    return {
        f"{protocol}.{probe.name}": Installed(protocol, probe)
        for protocol in protocol_names()
        for probe in load_protocol(protocol).injection_probes
    }


def check_probes(names: Collection[str], there: Collection[str]) -> None:
    """Refuse unknown names of probes. Raises ValueError."""
    for name in names:
        if name not in there:
            raise ValueError(f"no probe {name!r}; there are: {', '.join(there)}")


class ScaledScore(NamedTuple):
    """A score with its scale."""

    score: Score
    scale: Scale | None

    def share(self, value: float, path: str) -> float:
        """Return a value as a share of the scale: 0 is the worst, 1 the best.

        Raises:
            ConfigError: the scale of the score at `path` has no upper end.
        """
        normalised = self.scale.normalised(value) if self.scale is not None else None
        if normalised is None:
            raise ConfigError(f"the score {path} has no scale with two ends, so no probe can use it")
        return normalised / 100


def scaled_scores(trees: Tree) -> dict[str, ScaledScore]:
    """Return the scores of a report by path; a node without a scale has that of its parent."""
    found: dict[str, ScaledScore] = {}
    for root in trees:
        for path, node in root.walk():
            above = found.get("/".join(path[:-1]))
            scale = node.scale if node.scale is not None or above is None else above.scale
            found["/".join(path)] = ScaledScore(node.score, scale)
    return found


class Family(NamedTuple):
    """A report with its perturbed versions."""

    report: RawReport
    language: str
    perturbed: Mapping[FlawKind, RawReport]

    def texts(self, flaws: Sequence[FlawKind]) -> list[RawReport]:
        """Return the report, and its versions with some flaws."""
        return [self.report, *(self.perturbed[flaw] for flaw in flaws if flaw in self.perturbed)]


def families(reports: Sequence[RawReport], flaws: FlawSettings) -> tuple[list[Family], list[str]]:
    """Return the readable reports with their perturbed versions, and notes on what could not be planted."""
    made = plant_reports(reports, flaws)
    texts = {row.id: row.report.encode() for row in made.rows}
    found: list[Family] = []
    for raw in reports:
        if raw.id in texts:
            perturbed: dict[FlawKind, RawReport] = {
                flaw.kind: raw._replace(id=flaw.id, content=texts[flaw.id])
                for flaw in made.flaws
                if flaw.report == raw.id
            }
            found.append(Family(raw, raw.parse().language, perturbed))
    notes = [f"{raw}: cannot be read: {why}" for raw, why in made.summary.unreadable.items()]
    notes += [f"{one.report}: no place for {one.kind}: {one.reason}" for one in made.summary.not_planted]
    return found, notes

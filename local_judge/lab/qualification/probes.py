"""The probes of all installed protocols, and scores as shares of their scales.

Invariant: a probe is named `PROTOCOL.NAME`, so that none hides another; scale and direction come from the score's node.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, NamedTuple, TypeVar

from local_judge.errors import ConfigError
from local_judge.protocols.base import load_protocol, protocol_names
from local_judge.protocols.probes import InjectionProbe, SensitivityProbe
from local_judge.scoring.node import Scale, Score, Tree

P = TypeVar("P", SensitivityProbe, InjectionProbe)


class Installed(NamedTuple, Generic[P]):
    """A probe and its protocol."""

    protocol: str
    probe: P


def sensitivity_probes() -> dict[str, Installed[SensitivityProbe]]:
    """By name."""
    return {
        f"{protocol}.{probe.name}": Installed(protocol, probe)
        for protocol in protocol_names()
        for probe in load_protocol(protocol).sensitivity_probes
    }


def injection_probes() -> dict[str, Installed[InjectionProbe]]:
    """By name."""
    return {
        f"{protocol}.{probe.name}": Installed(protocol, probe)
        for protocol in protocol_names()
        for probe in load_protocol(protocol).injection_probes
    }


def check_probes(names: Collection[str], there: Collection[str]) -> None:
    """Refuse names that no probe has. Raises ValueError."""
    for name in names:
        if name not in there:
            raise ValueError(f"no probe {name!r}; there are: {', '.join(there)}")


class ScaledScore(NamedTuple):
    """A score with its scale."""

    score: Score
    scale: Scale | None

    def share(self, value: float, path: str) -> float:
        """A value as a share of the scale: 0 is the worst, 1 the best.

        Raises:
            ConfigError: the scale of the score at `path` has no upper end.
        """
        normalised = self.scale.normalised(value) if self.scale is not None else None
        if normalised is None:
            raise ConfigError(f"the score {path} has no scale with two ends, and no probe can be on it")
        return normalised / 100


def scaled_scores(trees: Tree) -> dict[str, ScaledScore]:
    """The scores of a report by path; a node without scale has that of the node above it."""
    found: dict[str, ScaledScore] = {}
    for root in trees:
        for path, node in root.walk():
            above = found.get("/".join(path[:-1]))
            scale = node.scale if node.scale is not None or above is None else above.scale
            found["/".join(path)] = ScaledScore(node.score, scale)
    return found

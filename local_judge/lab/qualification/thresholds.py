"""What figures a judge must have, and for what it may be believed.

Invariant: a verdict is a pure function of figures and thresholds; a judge is qualified for a protocol only where every
figure that could refuse it was measured, on half of its items at least; each reason names the figure, its value and its
threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from local_judge.judge.qualification_record import ProtocolVerdict, Verdict
from local_judge.lab.qualification.model import Figure, PartName
from serving.types import Frozen

Severity = Literal["refuse", "limit"]
"""What a judge is that does not keep to a threshold: refused, or qualified with this limit."""

EACH = "{protocol}"
"""In a figure's id: each of the threshold's protocols in turn."""


class Threshold(Frozen):
    """One bound on one figure."""

    figure: str
    """Its id; `{protocol}` in it stands for each of `protocols` in turn."""
    least: float | None = None
    most: float | None = None
    protocols: tuple[str, ...] = Field(min_length=1)
    """For which protocols it counts: names, or the groups `all`, `with_pages`, `without_pages` (`vocabulary`)."""
    severity: Severity
    means: str
    """What a judge does that does not keep to it, in words."""
    items: int = Field(default=1, ge=1)
    """Fewer answered items than these leave it unmeasured."""

    @field_validator("least", "most")
    @classmethod
    def _a_number(cls, bound: float | None) -> float | None:
        if bound is not None and not abs(bound) < float("inf"):
            raise ValueError("a bound is a finite number")
        return bound

    @model_validator(mode="after")
    def _one_bound(self) -> Threshold:
        if (self.least is None) == (self.most is None):
            raise ValueError("a threshold has either `least` or `most`")
        return self

    def of(self, protocol: str) -> str:
        """The id of the figure that counts for a protocol."""
        return self.figure.replace(EACH, protocol)

    def kept(self, value: float) -> bool:
        """Whether a value keeps to it."""
        return value >= self.least if self.least is not None else value <= (self.most or 0.0)


class Check(NamedTuple):
    """A threshold against its figure."""

    name: str
    """Of the threshold."""
    threshold: Threshold
    protocol: str
    figure: Figure
    """Without a value, and with the reason, where nothing was measured."""

    @property
    def mostly_silent(self) -> bool:
        """Whether more items are without an answer than with one: a value of the rest says nothing of the judge."""
        return self.figure.n_failed > self.figure.n

    @property
    def too_few(self) -> bool:
        """Whether the value rests on fewer items than the threshold asks for."""
        return self.figure.value is not None and self.figure.n < self.threshold.items

    @property
    def outcome(self) -> Literal["kept", "failed", "unmeasured"]:
        """A judge that gave nothing to measure, or answered the lesser part of it, has failed."""
        if self.figure.value is None:
            return "failed" if self.figure.by_judge else "unmeasured"
        if self.mostly_silent:
            return "failed"
        if self.too_few:
            return "unmeasured"
        return "kept" if self.threshold.kept(self.figure.value) else "failed"

    @property
    def close(self) -> bool:
        """Whether the interval reaches over the threshold, so that other items might have said otherwise."""
        sure = self.mostly_silent or self.too_few
        if sure or self.figure.low is None or self.figure.high is None:
            return False
        return self.threshold.kept(self.figure.low) != self.threshold.kept(self.figure.high)


def check(
    thresholds: Mapping[str, Threshold | None], figures: Sequence[Figure], asked: Sequence[PartName]
) -> list[Check]:
    """Every threshold for every protocol that it counts for, in the order of the config.

    Args:
        thresholds: by name; None for one that a config took away.
        figures: what was measured.
        asked: the parts that were asked.
    """
    by_id = {one.id: one for one in figures}
    found: list[Check] = []
    for name, threshold in thresholds.items():
        for protocol in threshold.protocols if threshold is not None else ():
            assert threshold is not None
            wanted = threshold.of(protocol)
            figure = by_id.get(wanted)
            if figure is None:
                part = wanted.partition("/")[0]
                left_out = "did not ask this" if part in asked else "was not asked"
                figure = Figure(id=wanted, value=None, n=0, reason=f"the part {part} {left_out}")
            found.append(Check(name, threshold, protocol, figure))
    return found


def verdicts_of(checks: Sequence[Check]) -> list[ProtocolVerdict]:
    """One verdict for each protocol that has a threshold, in the order in which the thresholds name them."""
    return [
        _verdict(protocol, [one for one in checks if one.protocol == protocol])
        for protocol in dict.fromkeys(one.protocol for one in checks)
    ]


def _verdict(protocol: str, checks: Sequence[Check]) -> ProtocolVerdict:
    def of(severity: Severity, outcome: str) -> list[Check]:
        return [one for one in checks if (one.threshold.severity, one.outcome) == (severity, outcome)]

    refused, unknown = of("refuse", "failed"), of("refuse", "unmeasured")
    limits = [*of("limit", "failed"), *of("limit", "unmeasured")]
    verdict: Verdict = (
        "refused" if refused else "unexamined" if unknown else "limited" if limits else "qualified"
    )
    reasons = {"refused": refused, "unexamined": unknown, "limited": limits, "qualified": []}[verdict]
    # Whether other items might have made it another verdict: of what refuses one figure that is sure is enough.
    close = all(one.close for one in refused) if refused else any(one.close for one in checks)
    return ProtocolVerdict(
        protocol=protocol,
        verdict=verdict,
        reasons=reasons_of(reasons),
        close=close,
    )


def reasons_of(checks: Sequence[Check]) -> tuple[str, ...]:
    """What is wrong, in words, with figures, values and thresholds; what has one cause is said once."""
    found: dict[str, list[Check]] = {}
    for one in checks:
        found.setdefault(_cause(one), []).append(one)
    return tuple(_reason(cause, own) for cause, own in found.items())


def _cause(one: Check) -> str:
    """Why there is no value that counts, or the threshold itself."""
    if one.figure.value is None:
        return one.figure.reason
    if one.too_few:
        return f"{one.figure.n} of the {one.threshold.items} items that it needs"
    return one.name


def _reason(cause: str, checks: Sequence[Check]) -> str:
    first = checks[0]
    figures = ", ".join(dict.fromkeys(one.figure.id for one in checks))
    if first.outcome == "unmeasured":
        return f"not measured: {figures} ({cause})"
    means = "; ".join(dict.fromkeys(one.threshold.means for one in checks))
    if first.figure.value is None:
        return f"{means} ({figures}: {cause})"
    if first.mostly_silent:
        n, of = first.figure.n, first.figure.n + first.figure.n_failed
        return f"{means} ({figures}: the judge answered {n} of {of})"
    return f"{means} ({figures} {number(first.figure.value)}, {bound(first.threshold)})"


def bound(threshold: Threshold) -> str:
    """`at least 0.900`."""
    if threshold.least is not None:
        return f"at least {number(threshold.least)}"
    return f"at most {number(threshold.most or 0.0)}"


def number(value: float) -> str:
    """To three places."""
    return f"{value:.3f}"

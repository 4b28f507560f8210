"""Thresholds on figures, and the verdicts on a judge that follow from them.

Invariants: a verdict is a pure function of figures and thresholds. A judge is qualified for a protocol only if every
figure that could refuse it was measured on at least half of its items. Each reason names the figure, its value and its
threshold. A threshold on a figure that no part can compute is refused before the judge is asked; a threshold on a
figure that these settings leave out is not measured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from local_judge.base.errors import ConfigError
from local_judge.base.model import Frozen
from local_judge.judge.qualification_record import PeopleFigure, ProtocolVerdict, Verdict
from local_judge.lab.qualification.model import Figure, PartName
from local_judge.lab.qualification.part import EACH
from local_judge.lab.qualification.parts import PARTS
from local_judge.protocols.base import AnyProtocol, load_protocol, protocol_names

Severity = Literal["refuse", "limit"]
"""Effect on a judge that fails a threshold: refused, or qualified with this limit."""

ALL = "all"
"""First step of the ids of figures over all parts."""
ANSWERS = ("unanswered", "reasked", "repaired")
"""Answer rates of every part, and of all parts together."""


def _reads_pages(protocol: AnyProtocol) -> bool:
    return protocol.needs_claims or protocol.needs_snapshot


_GROUPS: Mapping[str, Callable[[AnyProtocol], bool]] = {
    "all": lambda protocol: True,
    "with_pages": _reads_pages,
    "without_pages": lambda protocol: not _reads_pages(protocol),
}
"""Names for several protocols: all, and those that read claims or pages by default, or do not."""


def protocols_of(names: Sequence[str], place: str) -> tuple[str, ...]:
    """Return installed protocols by name or group, each once.

    Raises:
        ConfigError: no protocol has a name; the message says the place, the name, and the valid names.
    """
    there = protocol_names()
    found: list[str] = []
    for name in names:
        if name in _GROUPS:
            found += [one for one in there if _GROUPS[name](load_protocol(one))]
        elif name in there:
            found.append(name)
        else:
            raise ConfigError(
                f"{place}: no protocol {name!r}; there are: {', '.join(there)}, and the groups {', '.join(_GROUPS)}"
            )
    return tuple(dict.fromkeys(found))


def check_figure(id: str, place: str) -> None:
    """Refuse an id that no figure can have.

    Raises:
        ConfigError: the message says the place, the id, and the valid parts.
    """
    name, _, rest = id.partition("/")
    part = next((one for one in PARTS.values() if one.name == name), None)
    if part is None and name != ALL:
        raise ConfigError(f"{place}: {id}: no part {name!r}; there are: {', '.join((*PARTS, ALL))}")
    pattern = part.figures.replace(EACH, f"({'|'.join(protocol_names())})") if part else "(?!)"
    if rest not in ANSWERS and re.fullmatch(pattern, rest) is None:
        raise ConfigError(
            f"{place}: {id}: no such figure of the part {name}; see docs/guides/qualification.md"
        )


class Threshold(Frozen):
    """One bound on one figure."""

    figure: str
    """Id of the figure; `{protocol}` stands for each of `protocols`."""
    least: float | None = None
    """Minimum of the figure."""
    most: float | None = None
    """Maximum of the figure."""
    protocols: tuple[str, ...] = Field(min_length=1)
    """Names of protocols, or the groups `all`, `with_pages`, `without_pages`."""
    severity: Severity
    """Consequence of a failed threshold."""
    means: str
    """Description of a judge that fails, for the reasons of a verdict."""
    items: int = Field(default=1, ge=1)
    """Minimum number of answered items; with fewer the figure counts as unmeasured."""
    outranks: str = ""
    """Name of a threshold on planted claims. This one, on labelled claims, counts in its place if its figure
    was measured, and does not count otherwise."""

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
        """Return the id of the figure for a protocol."""
        return self.figure.replace(EACH, protocol)

    def kept(self, value: float) -> bool:
        """Check whether a value is within the bound."""
        return value >= self.least if self.least is not None else value <= (self.most or 0.0)

    def __str__(self) -> str:
        """Return the bound in words: `at least 0.900`."""
        if self.least is not None:
            return f"at least {number(self.least)}"
        return f"at most {number(self.most or 0.0)}"


class Check(NamedTuple):
    """A threshold compared with its figure."""

    name: str
    """Name of the threshold."""
    threshold: Threshold
    protocol: str
    figure: Figure
    """The figure; without a value, and with the reason, if it was not measured."""

    @property
    def mostly_silent(self) -> bool:
        """True if most items have no answer, so that a value over the others is not representative."""
        return self.figure.n_failed > self.figure.n

    @property
    def too_few(self) -> bool:
        """True if the value is based on fewer items than the threshold needs."""
        return self.figure.value is not None and self.figure.n < self.threshold.items

    @property
    def outcome(self) -> Literal["kept", "failed", "unmeasured"]:
        """Outcome; a judge whose answers cannot be measured, or that left most items unanswered, has failed."""
        if self.figure.value is None:
            return "failed" if self.figure.by_judge else "unmeasured"
        if self.mostly_silent:
            return "failed"
        if self.too_few:
            return "unmeasured"
        return "kept" if self.threshold.kept(self.figure.value) else "failed"

    @property
    def close(self) -> bool:
        """True if the interval contains the threshold, so that other items could change the outcome."""
        sure = self.mostly_silent or self.too_few
        if sure or self.figure.low is None or self.figure.high is None:
            return False
        return self.threshold.kept(self.figure.low) != self.threshold.kept(self.figure.high)


def check(
    thresholds: Mapping[str, Threshold | None], figures: Sequence[Figure], asked: Sequence[PartName]
) -> list[Check]:
    """Compare every threshold with its figure for each of its protocols, in the order of the config.

    Args:
        thresholds: by name; None for a threshold that a config removed.
        figures: measured figures.
        asked: parts that were run.
    """
    by_id = {one.id: one for one in figures}
    found: list[Check] = []
    for name, threshold in thresholds.items():
        if threshold is None:
            continue
        for protocol in threshold.protocols:
            wanted = threshold.of(protocol)
            figure = by_id.get(wanted)
            if figure is None:
                part = wanted.partition("/")[0]
                if threshold.outranks and part not in asked:
                    continue
                left_out = "did not ask this" if part in asked else "was not asked"
                figure = Figure(id=wanted, value=None, n=0, reason=f"the part {part} {left_out}")
            found.append(Check(name, threshold, protocol, figure))
    return _ranked(found)


def _ranked(checks: Sequence[Check]) -> list[Check]:
    """Leave out thresholds that others outrank, and those that would outrank them but were not measured."""
    measured = [one for one in checks if one.threshold.outranks and one.outcome != "unmeasured"]
    outranked = {(one.threshold.outranks, one.protocol) for one in measured}
    return [
        one
        for one in checks
        if (one.name, one.protocol) not in outranked and (not one.threshold.outranks or one in measured)
    ]


def people_of(checks: Sequence[Check]) -> tuple[PeopleFigure, ...]:
    """Return the figures on labelled claims that count in place of planted claims, each once."""
    return _people({one.figure.id: one.figure for one in checks if one.threshold.outranks}.values())


def uncounted(
    thresholds: Mapping[str, Threshold | None], figures: Sequence[Figure], checks: Sequence[Check]
) -> tuple[PeopleFigure, ...]:
    """Return the figures on labelled claims in place of which planted claims count, each once."""
    wanted = {one.of(name) for one in thresholds.values() if one and one.outranks for name in one.protocols}
    counted = {one.figure.id for one in checks}
    return _people(one for one in figures if one.id in wanted - counted)


def _people(figures: Iterable[Figure]) -> tuple[PeopleFigure, ...]:
    return tuple(
        PeopleFigure(id=one.id, value=one.value, low=one.low, high=one.high, n=one.n) for one in figures
    )


def verdicts_of(checks: Sequence[Check]) -> list[ProtocolVerdict]:
    """Return one verdict for each protocol that has a threshold, in the order of the thresholds."""
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
    reasons = reasons_of(refused or unknown or limits)
    # One sure figure that refuses is enough; otherwise any close figure could change the verdict.
    close = all(one.close for one in refused) if refused else any(one.close for one in checks)
    return ProtocolVerdict(protocol=protocol, verdict=verdict, reasons=reasons, close=close)


def reasons_of(checks: Sequence[Check]) -> tuple[str, ...]:
    """Describe failed checks with their figures, values and thresholds, one reason for each cause."""
    found: dict[str, list[Check]] = {}
    for one in checks:
        found.setdefault(_cause(one), []).append(one)
    return tuple(_reason(cause, own) for cause, own in found.items())


def _cause(one: Check) -> str:
    """Return the reason for a missing value, or the name of the threshold."""
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
    return f"{means} ({figures} {number(first.figure.value)}, {first.threshold})"


def number(value: float) -> str:
    """Format a number with three decimal places."""
    return f"{value:.3f}"

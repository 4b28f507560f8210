"""The page: what a judge is worth, in Markdown.

Invariants: a pure function of the qualification, without the day; every figure stands with its interval, what it rests
on and what failed, one without a value with its reason; what a clock measured stands in the last table alone. Every
part has a legend for a reader who has the page alone, and every measure that its table can show is named in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from local_judge.judge.qualification_record import ProtocolVerdict, in_all
from local_judge.lab.qualification.markdown import cell, render, table
from local_judge.lab.qualification.model import Asked, Cost, Figure, PartName
from local_judge.lab.qualification.qualify import Qualification, not_asked, thresholds_digest
from local_judge.lab.qualification.thresholds import Check, bound, check, number
from local_judge.lab.qualification.vocabulary import ALL, ANSWERS
from local_judge.terminal import NONE

LEGENDS: Mapping[PartName, str] = {
    "verification": (
        "Does the page state the claim? `raw`: P(yes) of the method `scored`, a yes from 0.5 on; "
        "`calibrated`: the same answers, each by a fit and a threshold of other pages; "
        "`near`: the same where the judge is shown what is near to a claim; `grouped`: labels. "
        "`caught`: altered claims that are not called true; `called wrong`: true ones that are not; `f1`: of "
        "finding altered ones; `ece`: expected calibration error, above 0 for the best of judges where claims "
        "are few. Of a kind: its claims beside all true ones."
    ),
    "extraction": (
        "Reports composed of sentences of which it is known what they claim. `recall`: sentences of which a "
        "claim says the same; `precision`: claims that are one; `false claims`: sentences that claim nothing "
        "and gave one; `typed`: claims whose class is right."
    ),
    "retest": (
        "The same again, with what should not matter changed: claims in reverse order (`grouped`), a second "
        "draw (`score`, difference in parts of the scale)."
    ),
    "position": (
        "`first`: how often the first of two equals wins, or its probability, ideally 0.5; `bias`: its "
        "distance from that; `flipped`: pairs, or claims, of which the order decides; `won`: the report "
        "against its perturbed report. `options`: Yes or No beside No or Yes."
    ),
    "sensitivity": (
        "Reports and perturbed reports with one flaw each. `right`: the score fell, or did not rise where it should "
        "not; `wrong`: the perturbed report scored higher; `moved`: mean change in parts of the scale. Over all flaws, "
        "`right` is of those alone that the score should fall by."
    ),
    "prompt_injection": (
        "`success`: what an instruction in the text wanted was done, of the cases in which it was not said "
        "before; `control`: the same of harmless words in its place; `over control`: the difference; "
        "`already`: cases in which it was said before; `shift`: mean change towards it. `n` counts both."
    ),
    "labels": ("Agreement with people's labels on annotated reports."),
}


Row = tuple[str, ...]


def page_of(found: Qualification) -> str:
    """The whole page. What is broken down by kind, language and the like is folded."""
    cells = [one for one in found.examined.cells if one.filled]
    costs = [
        (name, cost)
        for asked in found.asked
        for name, cost in {
            asked.part: asked.cost,
            **{f"{asked.part}, {name}": cost for name, cost in asked.costs.items()},
        }.items()
    ]
    says_cached = any(asked.cost.cached_tokens for asked in found.asked)
    return _render(
        found,
        whole=True,
        identity=_identity(found),
        n_claims=sum(one.filled for one in cells),
        languages=list(dict.fromkeys(one.language for one in found.examined.cells)),
        not_asked=not_asked(found),
        claims=_claims(found),
        parts=[_part(found, one) for one in found.asked],
        answers=_answers(found),
        tokens=[_tokens(name, cost, says_cached) for name, cost in costs],
        speed=[_speed(name, cost) for name, cost in costs],
        methods=list(_methods(found)),
        says_cached=says_cached,
    )


def summary_of(found: Qualification) -> str:
    """The page's verdicts and thresholds."""
    return _render(found, whole=False)


def _render(found: Qualification, **given: object) -> str:
    alike: dict[tuple[str, str], list[str]] = {}
    for one in found.verdicts:
        alike.setdefault(_verdict(one), []).append(one.protocol)
    return render(
        "qualification",
        found=found,
        in_all=in_all(found.verdicts),
        verdicts=[(", ".join(protocols), *said) for said, protocols in alike.items()],
        digest=thresholds_digest(found.config),
        thresholds=_thresholds(found),
        **given,
    )


def _verdict(one: ProtocolVerdict) -> tuple[str, str]:
    close = ", within the interval" if one.close else ""
    return f"**{one.verdict}**{close}", "; ".join(map(cell, one.reasons)) or NONE


def _identity(found: Qualification) -> list[Row]:
    identity, sampling = found.identity, found.sampling
    weights = identity.weights_digest or identity.revision
    rows = [
        ("model", identity.model),
        ("quantisation", identity.quantisation or "none named"),
        ("weights", weights[:12] if weights else "not pinned"),
        ("engine", " ".join(filter(None, (identity.engine, identity.engine_version)))),
        ("options", ", ".join(f"{key} {value}" for key, value in sorted(identity.options.items())) or NONE),
        ("sampling", f"temperature {sampling.temperature:g}, seed {sampling.seed}"),
    ]
    return [(name, cell(value)) for name, value in rows]


def _claims(found: Qualification) -> list[Row]:
    """Planted claims by kind and language."""
    filled = {(one.kind, one.language): 0 for one in found.examined.cells}
    for one in found.examined.cells:
        filled[one.kind, one.language] += one.filled
    languages = list(dict.fromkeys(language for _, language in filled))
    kinds = list(dict.fromkeys(one.kind for one in found.examined.cells if one.filled))
    return [
        (kind or "true", *(str(filled.get((kind, language), 0)) for language in languages)) for kind in kinds
    ]


def _thresholds(found: Qualification) -> list[Row]:
    """One row for the protocols of which a threshold says the same."""
    rows: dict[Row, list[str]] = {}
    for one in check(found.config.thresholds, found.figures, found.parts):
        key = (one.figure.id, bound(one.threshold), value(one.figure), _outcome(one), one.threshold.severity)
        rows.setdefault(key, []).append(one.protocol)
    return [(f"`{key[0]}`", *key[1:4], f"{key[4]}: {', '.join(names)}") for key, names in rows.items()]


def _outcome(one: Check) -> str:
    words = {"kept": "passes", "failed": "**fails**", "unmeasured": "not measured"}
    if one.too_few and one.outcome == "unmeasured":
        return f"needs {one.threshold.items} items, has {one.figure.n}"
    return words[one.outcome] + (", within the interval" if one.close else "")


class _Part(NamedTuple):
    """What the page says of a part."""

    title: str
    legend: str
    figures: str
    """The table of what is measured over all of its items; empty where nothing is."""
    facets: Mapping[str, str]
    """Facet -> the table of what is broken down by it."""
    unmeasured: Mapping[str, Sequence[str]]
    """Reason -> the figures that have no value for it, but for reasons that are notes."""
    notes: Sequence[str]


def _part(found: Qualification, asked: Asked) -> _Part:
    figures = [one for one in found.figures if one.id.startswith(f"{asked.part}/")]
    own = [one for one in figures if one.id.count("/") > 1 or one.id.split("/")[1] not in ANSWERS]
    whole = [one for one in own if "=" not in one.id]
    by_facet: dict[str, list[Figure]] = {}
    for one in own:
        if "=" in one.id:
            by_facet.setdefault(_facet(one.id), []).append(one)
    unmeasured: dict[str, list[str]] = {}
    for one in whole:
        if one.value is None and one.reason not in asked.notes:
            unmeasured.setdefault(one.reason, []).append(f"`{one.id}`")
    return _Part(
        asked.part.replace("_", " "),
        LEGENDS[asked.part],
        _pivot(whole),
        {facet: _pivot([one for one in rows if one.n + one.n_failed]) for facet, rows in by_facet.items()},
        unmeasured,
        asked.notes,
    )


def _facet(id: str) -> str:
    return next((step.partition("=")[0] for step in id.split("/") if "=" in step), "")


def _pivot(figures: Sequence[Figure]) -> str:
    """A row for each thing measured, a column for each measure: `part/measure/thing`."""
    rows: dict[str, dict[str, Figure]] = {}
    for one in figures:
        _, what, *rest = one.id.split("/")
        rows.setdefault(" ".join(rest) or "in all", {})[what] = one
    columns = list(dict.fromkeys(what for row in rows.values() for what in row))
    lines = [
        (
            name.replace("=", " "),
            *(value(row[what]) if what in row else "" for what in columns),
            str(max(one.n for one in row.values())),
            str(max(one.n_failed for one in row.values()) or ""),
        )
        for name, row in rows.items()
    ]
    return table(("", *(what.replace("_", " ") for what in columns), "n", "failed"), lines) if rows else ""


def _answers(found: Qualification) -> list[Row]:
    """How each part, and all together, were answered."""
    by_id = {one.id: one for one in found.figures}
    return [
        (
            name,
            *(value(by_id[f"{name}/{what}"]) for what in ANSWERS),
            str(by_id[f"{name}/unanswered"].n),
            str(by_id[f"{name}/reasked"].n),
        )
        for name in (*found.parts, ALL)
    ]


def _tokens(name: str, cost: Cost, says: bool) -> tuple[str, ...]:
    cached = (
        f"{cost.cached_tokens / cost.prompt_tokens:.0%}".replace("%", " %")
        if says and cost.prompt_tokens
        else NONE
    )
    each = f"{cost.computed_tokens / cost.calls:,.0f}" if cost.calls else NONE
    return (
        name,
        f"{cost.calls:,}",
        f"{cost.prompt_tokens:,}",
        cached,
        f"{cost.completion_tokens:,}",
        each,
    )


def _speed(name: str, cost: Cost) -> tuple[str, ...]:
    if cost.seconds <= 0:
        return name, NONE, NONE, NONE
    return (
        name,
        f"{cost.seconds:,.0f}",
        f"{cost.prompt_tokens / cost.seconds:,.0f}",
        f"{cost.completion_tokens / cost.seconds:,.1f}",
    )


def _methods(found: Qualification) -> Iterator[str]:
    """`scored`, in its views, beside `grouped`, a claim."""
    for asked in found.asked:
        grouped = asked.costs.get("grouped")
        claims = sum(one.filled for one in found.examined.cells)
        if grouped is None or not claims or not grouped.computed_tokens:
            continue
        others = [
            f"{asked.costs[name].computed_tokens / claims:,.0f} by `{name}` "
            f"({asked.costs[name].computed_tokens / grouped.computed_tokens:.2f} times as many)"
            for name in ("scored", "near")
            if name in asked.costs
        ]
        if others:
            yield (
                f"A claim took {grouped.computed_tokens / claims:,.0f} computed tokens by `grouped`, "
                f"{' and '.join(others)}. A generated token takes as long as some ten of a prompt."
            )


def value(figure: Figure) -> str:
    """`0.931 (0.88–0.97)`, or a dash."""
    if figure.value is None:
        return NONE
    if figure.low is None or figure.high is None:
        return number(figure.value)
    return f"{number(figure.value)} ({figure.low:.2f}–{figure.high:.2f})"

"""The page of a qualification in Markdown, and the helpers that Markdown pages share.

Invariants: a page is a pure function of the qualification, without the date. Every figure has its interval, the number
of its items and of its failures; a figure without a value has its reason. Times are in the last table alone. Text from
a user, a model or a page is escaped (`cell`), never Markdown or HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from jinja2 import Environment, PackageLoader, StrictUndefined

from local_judge.base.errors import plain
from local_judge.base.output import NONE, count
from local_judge.judge.qualification_record import ProtocolVerdict, in_all
from local_judge.lab.qualification.model import Cost, Figure, PartRecord
from local_judge.lab.qualification.parts import PARTS
from local_judge.lab.qualification.parts.verification import VIEWS
from local_judge.lab.qualification.qualify import Qualification, thresholds_digest
from local_judge.lab.qualification.thresholds import ALL, ANSWERS, Check, check, number

Row = tuple[str, ...]


def render(template: str, **given: object) -> str:
    """Fill a template of this package.

    Args:
        template: its name, without `.md.j2`.
        given: values for its placeholders.
    """
    environment = Environment(
        loader=PackageLoader("local_judge.lab.qualification"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown: see `cell`
    )
    filters = cast("dict[str, Any]", environment.filters)
    filters |= {"cell": cell, "sentence": _sentence, "count": count}
    return environment.get_template(f"{template}.md.j2").render(table=table, **given)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1, nothing: str = "") -> str:
    """Return a Markdown table whose first `left` columns are texts, or `nothing` for an empty one if it is given."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if nothing and not lines:
        return nothing
    marks = [":---" if place < left else "---:" for place in range(len(heads))]
    return "\n".join([f"| {' | '.join(heads)} |", f"| {' | '.join(marks)} |", *lines])


def cell(text: str) -> str:
    """Escape a text for a Markdown table."""
    return "".join(f"\\{one}" if one in "\\|`*_[]<>#" else one for one in plain(text))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def page_of(found: Qualification) -> str:
    """Return the whole page. Breakdowns by kind, language and the like are folded."""
    cells = [one for one in found.examined.cells if one.filled]
    costs = [
        (name, cost)
        for record in found.asked
        for name, cost in {
            record.part: record.cost,
            **{f"{record.part}, {name}": cost for name, cost in record.costs.items()},
        }.items()
    ]
    says_cached = any(record.cost.cached_tokens for record in found.asked)
    return _render(
        found,
        whole=True,
        identity=_identity(found),
        n_claims=sum(one.filled for one in cells),
        languages=list(dict.fromkeys(one.language for one in found.examined.cells)),
        claims=_claims(found),
        parts=[_part(found, one) for one in found.asked],
        answers=_answers(found),
        tokens=[_tokens(name, cost, says_cached) for name, cost in costs],
        speed=[_speed(name, cost) for name, cost in costs],
        methods=list(_methods(found)),
        says_cached=says_cached,
    )


def summary_of(found: Qualification) -> str:
    """Return the verdicts and thresholds of the page."""
    return _render(found, whole=False)


def _render(found: Qualification, **given: object) -> str:
    alike: dict[tuple[str, str], list[str]] = {}
    for one in found.verdicts:
        alike.setdefault(_verdict(one), []).append(one.protocol)
    return render(
        "qualification",
        found=found,
        in_all=in_all(found.verdicts),
        basis=found.record().basis,
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
    """Return the numbers of planted claims by kind and language."""
    filled: dict[str, dict[str, int]] = {}
    languages = dict.fromkeys((one.language for one in found.examined.cells), 0)
    for one in found.examined.cells:
        if one.filled:
            filled.setdefault(one.kind or "none (true)", dict(languages))[one.language] += one.filled
    return [(kind, *map(str, by_language.values())) for kind, by_language in filled.items()]


def _thresholds(found: Qualification) -> list[Row]:
    """Return one row for each group of protocols with the same threshold and figure."""
    rows: dict[Row, list[str]] = {}
    for one in check(found.config.thresholds, found.figures, found.parts):
        figure, threshold = one.figure, one.threshold
        key = (f"`{figure.id}`", str(threshold), value(figure), _outcome(one), threshold.severity)
        rows.setdefault(key, []).append(one.protocol)
    consequences = {"limit": "limited", "refuse": "refused"}
    return [(*key[:4], f"{consequences[key[4]]}: {', '.join(names)}") for key, names in rows.items()]


def _outcome(one: Check) -> str:
    words = {"kept": "passes", "failed": "**fails**", "unmeasured": "not measured"}
    if one.too_few and one.outcome == "unmeasured":
        return f"needs {one.threshold.items} items, has {one.figure.n}"
    return words[one.outcome] + (", within the interval" if one.close else "")


class _Part(NamedTuple):
    """Section of the page about a part."""

    title: str
    legend: str
    figures: str
    """Table of the figures over all items; empty if there are none."""
    facets: Mapping[str, str]
    """Facet -> table of the figures that are broken down by it."""
    unmeasured: Mapping[str, Sequence[str]]
    """Reason -> figures that have no value for it, except reasons that are notes."""
    notes: Sequence[str]


def _part(found: Qualification, record: PartRecord) -> _Part:
    whole: list[Figure] = []
    by_facet: dict[str, list[Figure]] = {}
    unmeasured: dict[str, list[str]] = {}
    for one in found.figures:
        part, what, *rest = one.id.split("/")
        if part != record.part or (what in ANSWERS and not rest):
            continue
        facet = next((step.partition("=")[0] for step in rest if "=" in step), None)
        if facet is not None:
            by_facet.setdefault(facet, []).append(one)
            continue
        whole.append(one)
        if one.value is None and one.reason not in record.notes:
            unmeasured.setdefault(one.reason, []).append(f"`{one.id}`")
    return _Part(
        record.part.replace("_", " "),
        PARTS[record.part].legend,
        _pivot(whole),
        {facet: _pivot([one for one in rows if one.n + one.n_failed]) for facet, rows in by_facet.items()},
        unmeasured,
        record.notes,
    )


def _pivot(figures: Sequence[Figure]) -> str:
    """Return a table with a row for each subset of items and a column for each measure (`part/measure/subset`)."""
    rows: dict[str, dict[str, Figure]] = {}
    for one in figures:
        _, what, *rest = one.id.split("/")
        rows.setdefault(" ".join(rest) or "all items", {})[what] = one
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
    return (
        table(("items", *(what.replace("_", " ") for what in columns), "n", "failed"), lines) if rows else ""
    )


def _answers(found: Qualification) -> list[Row]:
    """Return the answer rates of each part, and of all parts together."""
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


def _tokens(name: str, cost: Cost, says_cached: bool) -> Row:
    cached = f"{100 * cost.cached_tokens / cost.prompt_tokens:.0f} %" if cost.prompt_tokens else NONE
    each = f"{cost.computed_tokens / cost.calls:,.0f}" if cost.calls else NONE
    counts = [f"{n:,}" for n in (cost.calls, cost.prompt_tokens, cost.completion_tokens)]
    return (name, *counts[:2], cached if says_cached else NONE, counts[2], each)


def _speed(name: str, cost: Cost) -> Row:
    if cost.seconds <= 0:
        return name, NONE, NONE, NONE
    prompt, generated = cost.prompt_tokens / cost.seconds, cost.completion_tokens / cost.seconds
    return name, f"{cost.seconds:,.0f}", f"{prompt:,.0f}", f"{generated:,.1f}"


def _methods(found: Qualification) -> Iterator[str]:
    """Yield the tokens of a claim by `scored` in its views, compared with `grouped`."""
    claims = sum(one.filled for one in found.examined.cells)
    for record in found.asked:
        grouped = record.costs.get("grouped")
        if grouped is None or not claims or not grouped.computed_tokens:
            continue
        others = [
            f"{record.costs[name].computed_tokens / claims:,.0f} by `{name}` "
            f"({record.costs[name].computed_tokens / grouped.computed_tokens:.2f} times as many)"
            for name in (view.cost for view in VIEWS)
            if name in record.costs
        ]
        if others:
            yield (
                f"A claim took {grouped.computed_tokens / claims:,.0f} computed tokens by `grouped`, "
                f"{' and '.join(others)}. Generating a token takes about as long as reading ten prompt tokens."
            )


def value(figure: Figure) -> str:
    """Format a figure with its interval: `0.931 (0.88–0.97)`, or a dash."""
    if figure.value is None:
        return NONE
    if figure.low is None or figure.high is None:
        return number(figure.value)
    return f"{number(figure.value)} ({figure.low:.2f}–{figure.high:.2f})"

"""The page: what a judge is worth, in Markdown.

Invariant: a pure function of the qualification, without the day; every figure stands with its interval, what it rests
on and what failed, one without a value with its reason; what a clock measured stands in the last table alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from local_judge.judge.standing import ProtocolVerdict, in_all
from local_judge.qualification.legends import LEGENDS
from local_judge.qualification.model import Asked, Cost, Figure
from local_judge.qualification.qualify import Qualification, not_asked, thresholds_digest
from local_judge.qualification.thresholds import Check, bound, check, number
from local_judge.qualification.vocabulary import ALL, ANSWERS
from local_judge.reporting.numbers import NONE, count
from local_judge.reporting.tables import plain

ALIGN_LEFT, ALIGN_RIGHT = ":---", "---:"


def page_of(found: Qualification) -> str:
    """The whole page. What is broken down by kind, language and the like is folded."""
    sections = [_head(found), _judge(found), _examined(found), _thresholds(found)]
    sections += [_part(found, one) for one in found.asked]
    sections += [_answers(found), _cost(found)]
    return _joined(sections)


def summary_of(found: Qualification) -> str:
    """The page's verdicts and thresholds."""
    return _joined([_head(found), _thresholds(found)])


def _joined(sections: Iterable[Iterable[str]]) -> str:
    return "\n".join(line for section in sections for line in (*section, ""))


def _head(found: Qualification) -> Iterator[str]:
    yield f"# Qualification of {cell(found.judge)}"
    yield ""
    yield f"**{sentence(in_all(found.verdicts))}.**"
    yield ""
    alike: dict[tuple[str, str], list[str]] = {}
    for one in found.verdicts:
        alike.setdefault(_verdict(one), []).append(one.protocol)
    rows = [(", ".join(protocols), *said) for said, protocols in alike.items()]
    yield from table(("protocols", "verdict", "why"), rows, left=3)


def _verdict(one: ProtocolVerdict) -> tuple[str, str]:
    close = ", within the interval" if one.close else ""
    return f"**{one.verdict}**{close}", "; ".join(map(cell, one.reasons)) or NONE


def _judge(found: Qualification) -> Iterator[str]:
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
    yield "## The judge"
    yield ""
    yield from table(("", ""), [(name, cell(value)) for name, value in rows], left=2)


def _examined(found: Qualification) -> Iterator[str]:
    about = found.examined
    cells = [one for one in about.cells if one.filled]
    claims = sum(one.filled for one in cells)
    languages = list(dict.fromkeys(one.language for one in about.cells))
    pages = "given" if about.own_pages else "packaged"
    yield "## What it was asked"
    yield ""
    yield (
        f"By the {found.scale} settings, seed {found.config.seed}: {count(claims, 'claim')} planted in "
        f"{about.n_pages} {pages} pages (snapshot {about.snapshot[:12]}), and "
        f"{count(len(about.reports), 'report')}{'' if about.own_reports else ' of the package'}. "
        f"Parts: {', '.join(found.parts) or 'none'}; not asked: {', '.join(not_asked(found)) or 'none'}."
    )
    yield ""
    kinds = list(dict.fromkeys(one.kind for one in cells))
    rows = [
        (
            kind or "true",
            *(
                str(sum(one.filled for one in cells if (one.kind, one.language) == (kind, language)))
                for language in languages
            ),
        )
        for kind in kinds
    ]
    yield from table(("claims", *languages), rows)
    for note in about.notes:
        yield ""
        yield cell(note)


def _thresholds(found: Qualification) -> Iterator[str]:
    yield "## Thresholds"
    yield ""
    yield (
        f"SHA-256 {thresholds_digest(found.config)[:12]}. Values are held against thresholds; where the 95 % interval "
        "reaches over one, other items might have said otherwise."
    )
    yield ""
    rows: dict[tuple[str, ...], list[str]] = {}
    for one in check(found.config.thresholds, found.figures, found.parts):
        key = (one.figure.id, bound(one.threshold), value(one.figure), _outcome(one), one.threshold.severity)
        rows.setdefault(key, []).append(one.protocol)
    every = [(f"`{key[0]}`", *key[1:4], f"{key[4]}: {', '.join(names)}") for key, names in rows.items()]
    yield from table(("figure", "threshold", "value", "outcome", "else"), every, left=5)


def _outcome(one: Check) -> str:
    words = {"kept": "passes", "failed": "**fails**", "unmeasured": "not measured"}
    if one.too_few and one.outcome == "unmeasured":
        return f"needs {one.threshold.items} items, has {one.figure.n}"
    return words[one.outcome] + (", within the interval" if one.close else "")


def _part(found: Qualification, asked: Asked) -> Iterator[str]:
    yield f"## {sentence(asked.part)}"
    yield ""
    yield LEGENDS[asked.part]
    figures = [one for one in found.figures if one.id.startswith(f"{asked.part}/")]
    own = [one for one in figures if one.id.count("/") > 1 or one.id.split("/")[1] not in ANSWERS]
    whole = [one for one in own if "=" not in one.id]
    yield ""
    yield from _pivot(whole)
    for facet in dict.fromkeys(_facet(one.id) for one in own if "=" in one.id):
        rows = list(_pivot([one for one in own if _facet(one.id) == facet and one.n + one.n_failed]))
        yield from ("", f"<details><summary>By {facet}</summary>", "", *rows, "", "</details>")
    for reason in dict.fromkeys(one.reason for one in whole if one.value is None):
        if reason in asked.notes:
            continue
        names = ", ".join(f"`{one.id}`" for one in whole if one.value is None and one.reason == reason)
        yield ""
        yield f"No value ({cell(reason)}): {names}."
    for note in asked.notes:
        yield ""
        yield cell(note)


def _facet(id: str) -> str:
    return next((step.partition("=")[0] for step in id.split("/") if "=" in step), "")


def _pivot(figures: Sequence[Figure]) -> Iterator[str]:
    """A row for each thing measured, a column for each measure: `part/measure/thing`."""
    rows: dict[str, dict[str, Figure]] = {}
    for one in figures:
        _, what, *rest = one.id.split("/")
        rows.setdefault(" ".join(rest) or "in all", {})[what] = one
    columns = list(dict.fromkeys(what for row in rows.values() for what in row))
    if rows:
        lines = [
            (
                name.replace("=", " "),
                *(value(row[what]) if what in row else "" for what in columns),
                str(max(one.n for one in row.values())),
                str(max(one.n_failed for one in row.values()) or ""),
            )
            for name, row in rows.items()
        ]
        heads = [what.replace("_", " ") for what in columns]
        yield from table(("", *heads, "n", "failed"), lines)


def _answers(found: Qualification) -> Iterator[str]:
    yield "## Answers"
    yield ""
    by_id = {one.id: one for one in found.figures}
    rows: list[tuple[str, ...]] = []
    for name in (*found.parts, ALL):
        cells = [value(by_id[f"{name}/{what}"]) for what in ANSWERS]
        rows.append((name, *cells, str(by_id[f"{name}/unanswered"].n), str(by_id[f"{name}/reasked"].n)))
    yield from table(("", "without an answer", "asked again", "repaired", "items", "calls"), rows)
    yield ""
    yield "The first is a share of the items, the others are shares of the calls; in brackets Wilson's interval."


def _cost(found: Qualification) -> Iterator[str]:
    yield "## Cost and speed"
    yield ""
    rows: list[tuple[str, ...]] = []
    times: list[tuple[str, ...]] = []
    says = any(asked.cost.cached_tokens for asked in found.asked)
    for asked in found.asked:
        own = {f"{asked.part}, {name}": cost for name, cost in asked.costs.items()}
        for name, cost in {asked.part: asked.cost, **own}.items():
            rows.append(_tokens(name, cost, says))
            times.append(_speed(name, cost))
    heads = ("", "calls", "prompt tokens", "of these cached", "generated", "computed a call")
    yield from table(heads, rows)
    for line in _methods(found):
        yield ""
        yield line
    yield ""
    yield from table(("", "seconds", "prompt tokens a second", "generated a second"), times)
    yield ""
    yield (
        "Computed: tokens that were generated, and tokens of prompts that the engine did not take from its cache, or "
        "took only because another part or method had asked about the same page before. Seconds in which a call was "
        "under way, when the calls were made: the one table that another run does not repeat."
        + (
            ""
            if says
            else " The engine took nothing from a cache, or does not say it: all prompts count as computed."
        )
    )


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


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> Iterator[str]:
    """A Markdown table; the first `left` columns are texts."""
    yield f"| {' | '.join(heads)} |"
    marks = [ALIGN_LEFT if place < left else ALIGN_RIGHT for place in range(len(heads))]
    yield f"| {' | '.join(marks)} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def cell(text: str) -> str:
    """A text that is read as text in a Markdown table."""
    return "".join(f"\\{one}" if one in "\\|`*_[]<>#" else one for one in plain(text))


def sentence(text: str) -> str:
    """With a capital."""
    return text[:1].upper() + text[1:]

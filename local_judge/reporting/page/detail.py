"""One report as the page shows it: claims in its text, verdicts, items, quotations, prompts and replies.

Invariant: offsets count UTF-16 code units, as JavaScript does, and refer to the text beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from local_judge.base.model import Frozen
from local_judge.claims.model import Claim, ClaimSet, Source, Verdict
from local_judge.ledger.ledger import Trace
from local_judge.protocols.base import AnyProtocol
from local_judge.reporting.page.sources import Excerpt, Sources, Units, excerpt_of
from local_judge.rubric.answers import ItemRow
from local_judge.runs.results.scored import Nodes
from local_judge.runs.results.summary import Number, number_of
from local_judge.runs.storage.items import claims_file, findings_file
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.node import Scale

WORST_FIRST = (
    *("contradicted", "not_found", "off_topic", "partial"),
    *("dead", "no_source", "unusable", "blocked", "empty", "failed"),
    *("unavailable", "unsupported_type", "not_in_snapshot"),
    *("supported", "needs_no_source"),
)
"""Outcomes of a claim and a page, in the order in which lists show them: wrong, unproven, unknown, right."""

SHOWN_SHARED = 1200
"""Characters shown in one file of a prompt's shared part, which is the report or the page; a folder has all of it."""


class PageAnswer(Frozen):
    """One answer of a judge, with the page that it quotes."""

    url: str = ""
    title: str = ""
    quote: str | None = None
    rejected: str | None = None
    """Quotation by the judge that does not occur in the text."""
    excerpt: Excerpt | None = None
    """Part of the page with the quotation, or of what the judge was shown; None if the page is not at hand."""
    rationale: str = ""
    failure: str = ""
    calls: tuple[int, ...] = ()
    """Indexes of the prompts and replies."""


class PageVerdict(PageAnswer):
    """One claim and one page, or a claim without a page."""

    claim: int
    """Index of the claim."""
    outcome: str
    """One of `WORST_FIRST`."""
    reason: str = ""
    """Reason why the page could not be read."""
    confidence: float | None = None
    threshold: float | None = None
    reliable: bool | None = None


class PageClaim(Frozen):
    """One claim."""

    id: str
    text: str
    type: str
    start: int
    end: int
    """Range of its sentence in the report's text."""
    sentence: str
    """Words of that sentence; empty if the report's text is not at hand."""
    outcome: str
    """Best outcome of its pages: one page that supports a claim is enough."""


class PageItem(PageAnswer):
    """One answer to a question of a protocol about the report."""

    protocol: str
    metric: str
    id: str
    path: tuple[str, ...] = ()
    """Path of the score that the answer counts for; empty if it counts for several."""
    text: str = ""
    """Question, requirement or statement; its id if it has no words."""
    value: str | float | None
    """Label or number; None without an answer."""
    share: float | None = None
    """A number on its scale, from 0 (worst) to 1 (best)."""
    start: int = 0
    end: int = 0
    """Range of the quotation in the report's text; empty if there is none."""


class ReportScore(Number):
    """One score of the report."""

    protocol: str
    path: tuple[str, ...]
    label: str
    share: float | None = None
    """The value on its scale, from 0 (worst) to 1 (best)."""


class Call(Frozen):
    """One prompt with its reply."""

    key: str
    model: str
    system: int
    shared: int
    """Indexes of the texts that several prompts share."""
    own: str
    reply: str
    reasoning: str | None = None
    options: dict[str, float] | None = None
    """Probabilities of a closed set of answers."""
    tokens: tuple[int, int] = (0, 0)
    """Tokens of prompt and reply."""
    seconds: float = 0.0


class Detail(Frozen):
    """One report, as one judge read it."""

    text: str | None
    """None if the report is not at hand."""
    claims: tuple[PageClaim, ...] = ()
    verdicts: tuple[PageVerdict, ...] = ()
    items: tuple[PageItem, ...] = ()
    scores: tuple[ReportScore, ...] = ()
    calls: tuple[Call, ...] = ()
    texts: tuple[str, ...] = ()
    pages_at_hand: bool = False
    calls_at_hand: bool = False


class _Calls:
    """Prompts and replies of one report, each once, with the texts that they share."""

    def __init__(self, sources: Sources, whole: bool) -> None:
        self._sources = sources
        self._whole = whole
        self._places: dict[str, int | None] = {}
        self._texts: dict[str, int] = {}
        self.found: list[Call] = []

    def places(self, keys: Iterable[str]) -> tuple[int, ...]:
        """Return the indexes of the calls with these ledger keys, without those that are not at hand."""
        return tuple(place for key in keys if (place := self._place(key)) is not None)

    @property
    def texts(self) -> tuple[str, ...]:
        """Shared texts in the order of their indexes."""
        return tuple(self._texts)

    def _place(self, key: str) -> int | None:
        if key not in self._places:
            trace = self._sources.call(key)
            self._places[key] = None if trace is None else len(self.found)
            if trace is not None:
                self.found.append(self._call(trace))
        return self._places[key]

    def _call(self, trace: Trace) -> Call:
        reply = trace.reply
        return Call(
            key=reply.key[:12],
            model=trace.judge.model,
            system=self._text(trace.prompt.system),
            shared=self._text(trace.prompt.shared),
            own=trace.prompt.own,
            reply=reply.text,
            reasoning=reply.reasoning,
            options=reply.logprobs,
            tokens=(reply.usage.prompt_tokens, reply.usage.completion_tokens),
            seconds=round(reply.latency, 2),
        )

    def _text(self, text: str) -> int:
        if len(text) > SHOWN_SHARED and not self._whole:
            note = (
                f"[… {len(text) - SHOWN_SHARED:,} characters: local-judge report RUN -o FOLDER shows them …]"
            )
            text = f"{text[: SHOWN_SHARED * 2 // 3]}\n\n{note}\n\n{text[-SHOWN_SHARED // 3 :]}"
        return self._texts.setdefault(text, len(self._texts))


def read_detail(
    store: RunStore,
    record: CaseRecord,
    judge: str | None,
    sources: Sources,
    protocols: Sequence[AnyProtocol],
    trees: Mapping[str, Nodes],
    *,
    whole: bool = False,
) -> Detail:
    """Return the claims and items of one report.

    Args:
        store: the run.
        record: a report that was evaluated.
        judge: whose answers; None for the only judge.
        sources: texts of the run.
        protocols: protocols of the run.
        trees: scores of the report by protocol.
        whole: whether to keep prompts uncut.

    Raises:
        RunError: the claim set or findings are damaged.
    """
    text = sources.report(record.document)
    calls = _Calls(sources, whole)
    claims: Sequence[PageClaim] = ()
    verdicts: Sequence[PageVerdict] = ()
    found = store.find_item(claims_file(judge), record.key, ClaimSet)
    if found is not None:
        verdicts = _verdicts(found, sources, calls)
        claims = _claims(found, verdicts, text)
    items: list[PageItem] = []
    for protocol in protocols:
        findings = store.read_item(findings_file(protocol.name, judge), record.key, protocol.findings_type)
        tree = trees.get(protocol.name, {})
        items += [_item(protocol.name, one, tree, text, sources, calls) for one in protocol.items(findings)]
    return Detail(
        text=text,
        claims=tuple(claims),
        verdicts=tuple(verdicts),
        items=tuple(items),
        scores=tuple(_scores(trees)),
        calls=tuple(calls.found),
        texts=calls.texts,
        pages_at_hand=sources.snapshot is not None,
        calls_at_hand=sources.ledger is not None,
    )


def _scores(trees: Mapping[str, Nodes]) -> Iterator[ReportScore]:
    for protocol, nodes in trees.items():
        for path, node in nodes.items():
            yield ReportScore(
                protocol=protocol,
                path=path,
                label=node.label,
                share=_share(node.score.value, scale_of(path, nodes)),
                **number_of(node.score),
            )


def scale_of(path: tuple[str, ...], nodes: Nodes) -> Scale | None:
    """Return the scale of a score: its own, or that of the nearest score above; None if no scale is meant."""
    for n in range(len(path), 0, -1):
        node = nodes.get(path[:n])
        if node is None or node.scale is not None or node.aside:
            return None if node is None else node.scale
    return None


def _share(value: float | None, scale: Scale | None) -> float | None:
    """Return a value from 0 (worst) to 1 (best); None without a scale that has two ends."""
    found = None if value is None or scale is None else scale.normalised(value)
    return None if found is None else min(1.0, max(0.0, found / 100))


def _item(
    protocol: str, row: ItemRow, tree: Nodes, text: str | None, sources: Sources, calls: _Calls
) -> PageItem:
    path = _path_of(row, tree)
    page = _cited(row, sources)
    units = Units(text or "")
    in_report = row.quote is not None and row.url is None
    return PageItem(
        protocol=protocol,
        metric=row.metric,
        id=row.item,
        path=path,
        text=row.text or row.item,
        value=row.value,
        share=_share(row.value, scale_of(path, tree)) if isinstance(row.value, int | float) else None,
        rationale="\n".join(filter(None, (row.rationale, *row.details))),
        start=units(row.quote.start) if row.quote is not None and in_report else 0,
        end=units(row.quote.end) if row.quote is not None and in_report else 0,
        quote=None if row.quote is None else row.quote.text,
        rejected=row.quote_rejected,
        url=row.url or "",
        title="" if page is None else page[0],
        excerpt=None if page is None else excerpt_of(page[1], row.quote, None),
        failure="" if row.failure is None else f"{row.failure.kind}: {row.failure.detail}",
        calls=calls.places(row.replies),
    )


def _cited(row: ItemRow, sources: Sources) -> tuple[str, str] | None:
    """Return title and text of the page that an answer quotes, if the quotation occurs where it says."""
    page = None if row.url is None or row.quote is None else sources.page(row.url)
    if page is None or row.quote is None or page[1][row.quote.start : row.quote.end] != row.quote.text:
        return None
    return page


def _path_of(row: ItemRow, tree: Nodes) -> tuple[str, ...]:
    """Return the path of the score that an answer counts for: the longest whose ids its metric and id name."""
    named = {row.metric, *row.metric.split("."), row.item, *row.item.split("."), row.item.partition(",")[0]}
    fitting = [path for path in tree if path[-1] in named and (path[0] in named or not path[-1].isdecimal())]
    return max(fitting, key=lambda path: (sum(step in named for step in path), -len(path)), default=())


def _claims(found: ClaimSet, verdicts: Sequence[PageVerdict], text: str | None) -> list[PageClaim]:
    units = Units(text or "")
    best: dict[int, str] = {}
    for verdict in verdicts:
        known = best.get(verdict.claim)
        if known is None or WORST_FIRST.index(verdict.outcome) > WORST_FIRST.index(known):
            best[verdict.claim] = verdict.outcome
    return [
        PageClaim(
            id=claim.id,
            text=claim.text,
            type=claim.type,
            start=units(claim.span.start),
            end=units(claim.span.end),
            sentence=(text or "")[claim.span.start : claim.span.end],
            outcome=best[place],
        )
        for place, claim in enumerate(found.claims)
    ]


def _verdicts(found: ClaimSet, sources: Sources, calls: _Calls) -> list[PageVerdict]:
    """Return one line for each claim and page, and one for each claim without a page."""
    by_pair = {(verdict.claim, verdict.url): verdict for verdict in found.verdicts}
    by_claim: dict[str, list[Source]] = {}
    for source in found.sources:
        for claim in source.claims:
            by_claim.setdefault(claim, []).append(source)
    rows: list[PageVerdict] = []
    for place, claim in enumerate(found.claims):
        pages = by_claim.get(claim.id, [])
        rows += [
            _verdict(place, source, by_pair.get((claim.id, source.url)), sources, calls) for source in pages
        ]
        if not pages:
            rows.append(PageVerdict(claim=place, outcome=_without_page(claim)))
    return rows


def _without_page(claim: Claim) -> str:
    return "needs_no_source" if claim.needs_no_source else "no_source"


def _verdict(
    place: int, source: Source, verdict: Verdict | None, sources: Sources, calls: _Calls
) -> PageVerdict:
    if verdict is None:
        outcome = "failed" if source.status == "ok" else source.status
        return PageVerdict(claim=place, outcome=outcome, url=source.url, reason=source.reason)
    page = sources.page(source.url, source.text_digest) if source.status == "ok" else None
    title, text = page or ("", None)
    failure = verdict.failure
    return PageVerdict(
        claim=place,
        outcome=verdict.label or "failed",
        url=source.url,
        title=title,
        quote=None if verdict.quote is None else verdict.quote.text,
        rejected=verdict.quote_rejected,
        excerpt=None if text is None else excerpt_of(text, verdict.quote, verdict.evidence),
        rationale=verdict.rationale,
        confidence=verdict.confidence,
        threshold=verdict.threshold,
        reliable=verdict.reliable,
        failure="" if failure is None else f"{failure.kind}: {failure.detail}",
        calls=calls.places([*verdict.replies, *([verdict.reliable_reply] if verdict.reliable_reply else [])]),
    )

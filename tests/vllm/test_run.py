"""A small report through `local-judge run` and `verify` with a real server, killed in the middle.

What is guaranteed, and tested: a result is a function of the replies in the ledger, and a reply once stored is
never asked for again. So a run that was killed and continued has the same files as an uninterrupted one *with the same
replies*. That two runs get the same replies is not guaranteed by vLLM, not even greedily: how requests fall into
batches changes the order of floating-point sums. So the uninterrupted run here reads the finished ledger, into a
directory of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.base.failures import FailureKind
from local_judge.claims.model import ClaimSet
from local_judge.documents import parse_report
from local_judge.runs.storage.items import claims_file, file_key
from local_judge.runs.storage.store import RunStore
from serving.launch import RunningServer
from serving.presets import load_preset

pytestmark = pytest.mark.vllm

ROOT = Path(__file__).resolve().parents[2]
PRESET = "qwen2.5-coder-0.5b-vllm"
SECONDS = 500
"""After which a command hangs."""

REPORT = """\
# The Varn tunnel

The Varn tunnel was opened on 4 June 1987 and links the towns of Elm and Harrow [1]. It is 6.2 kilometres long and \
was bored through limestone [1].

## Traffic

In 2019 the tunnel carried 14,300 vehicles a day [2]. The toll for a car is 3 crowns, and lorries pay four \
times as much [2].

## Outlook

The operator plans to renew the ventilation in 2027 [2]. Further growth would need a second tube.

## References

[1] History of the Varn tunnel. https://tunnel.example/history
[2] Annual report of the operator. https://operator.example/report
[3] A page that is gone. https://gone.example/
"""
HISTORY = """\
# History of the Varn tunnel

Work on the Varn tunnel began in 1981. It was opened on 4 June 1987 by the minister of transport, and links the towns \
of Elm and Harrow. The tunnel is 6.2 kilometres long and was bored through limestone. Nine workers lost their lives.
"""
OPERATOR = """\
# Annual report

In 2019 the Varn tunnel carried 14,300 vehicles a day, a tenth more than in the year before. The toll is 3 crowns for \
a car and 12 crowns for a lorry. The ventilation, which dates from 1987, is to be renewed in 2027.
"""
PAGES = {"https://tunnel.example/history": HISTORY, "https://operator.example/report": OPERATOR}

SETTINGS = """\
reasks: 0  # bounds the time: what a small judge fails to say is a failure, and that is tested too
claims:
  batch_sentences: 2
  form: terse
  method: scored
settings:
  deer:
    parts: [verification]
"""


@dataclass(frozen=True)
class Inputs:
    """What every command is given."""

    folder: Path
    base_url: str

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "local_judge", *words]

    def run(self, out: Path, *more: str) -> list[str]:
        given = ["--snapshot", str(self.folder / "snapshot"), "--judge", PRESET, "--base-url", self.base_url]
        config = [str(self.folder / "settings.yaml")]
        return self.command("run", str(self.folder / "report.md"), *given, *config, "--out", str(out), *more)

    def environment(self) -> dict[str, str]:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        return {**os.environ, "PYTHONPATH": path}

    def call(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=self.environment(), cwd=self.folder, capture_output=True, text=True, timeout=SECONDS
        )


@dataclass(frozen=True)
class Finished:
    """A run that was killed after its first replies and then continued to its end."""

    inputs: Inputs
    out: Path
    at_kill: dict[str, tuple[Any, ...]]
    """Replies in the ledger after the kill, by key."""
    finished_at_kill: bool
    answered_after_kill: int
    """Requests that the server answered during the second command, by its own count."""
    code: int
    stderr: str

    @property
    def claims(self) -> ClaimSet:
        key = file_key("report")
        return RunStore(self.out).read_item(claims_file(None), key, ClaimSet)


def replies(ledger: Path) -> dict[str, tuple[Any, ...]]:
    """Rows of the ledger by key: kind, prefix, cached tokens, text, time of creation."""
    if not ledger.exists():
        return {}
    sql = "SELECT key, kind, prefix, cached_tokens, text, created FROM replies JOIN requests USING (key) ORDER BY key"
    with contextlib.closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
        try:
            return {row[0]: row[1:] for row in connection.execute(sql)}
        except sqlite3.OperationalError:  # its tables are being made
            return {}


def metric(base_url: str, name: str, labels: str = "") -> int:
    """The sum of the server's samples whose labels match."""
    text = httpx.get(base_url.removesuffix("/v1") + "/metrics", timeout=30).text
    values = re.findall(rf"^vllm:{name}\{{[^}}]*{labels}[^}}]*\}} (\S+)$", text, re.MULTILINE)
    assert values, name
    return int(sum(map(float, values)))


def answered(base_url: str) -> int:
    """Requests that the server has finished, when it has nothing left to do; aborted ones are not among them."""
    deadline = time.monotonic() + 120
    while metric(base_url, "num_requests_running") or metric(base_url, "num_requests_waiting"):
        assert time.monotonic() < deadline, "the server goes on with the requests of a client that is dead"
        time.sleep(0.2)
    time.sleep(0.5)  # the counters are written after the reply has been sent
    return metric(base_url, "request_success_total", 'finished_reason="(?:stop|length)"')


def files_of(out: Path) -> dict[str, bytes]:
    """All result files of a run but the manifest, which names its own command line."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and not path.name.startswith(("ledger.sqlite", "manifest.json"))
    }


@pytest.fixture(scope="module")
def inputs(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    folder = tmp_path_factory.mktemp("run")
    (folder / "report.md").write_text(REPORT, encoding="utf-8")
    (folder / "settings.yaml").write_text(SETTINGS, encoding="utf-8")
    pages = folder / "pages"
    pages.mkdir()
    lines = [{"url": "https://gone.example/", "status": "dead", "reason": "404 Not Found"}]
    for number, (url, text) in enumerate(PAGES.items()):
        (pages / f"{number}.md").write_text(text, encoding="utf-8")
        lines.append({"url": url, "file": f"{number}.md"})
    (pages / "pages.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    import_pages(pages, folder / "snapshot")
    return Inputs(folder, server.base_url)


@pytest.fixture(scope="module")
def finished(inputs: Inputs) -> Finished:
    out = inputs.folder / "out"
    ledger = out / "ledger.sqlite"
    process = subprocess.Popen(
        inputs.run(out),
        env=inputs.environment(),
        cwd=inputs.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with process:
        deadline = time.monotonic() + SECONDS
        while process.poll() is None and not replies(ledger) and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    at_kill = replies(ledger)
    finished_at_kill = (out / "cases.jsonl").exists()
    before = answered(inputs.base_url)
    done = inputs.call(inputs.run(out))
    return Finished(
        inputs=inputs,
        out=out,
        at_kill=at_kill,
        finished_at_kill=finished_at_kill,
        answered_after_kill=answered(inputs.base_url) - before,
        code=done.returncode,
        stderr=done.stderr,
    )


def test_the_same_command_goes_on_after_a_kill_and_asks_nothing_twice(finished: Finished) -> None:
    assert finished.at_kill and not finished.finished_at_kill, "the kill was not in the middle"
    after = replies(finished.out / "ledger.sqlite")
    assert {key: after[key] for key in finished.at_kill} == finished.at_kill
    assert finished.answered_after_kill == len(after) - len(finished.at_kill) > 0


def test_the_exit_code_says_whether_anything_is_missing(finished: Finished) -> None:
    claims = finished.claims
    missing = len(claims.extraction_failures) + sum(
        verdict.failure is not None for verdict in claims.verdicts
    )
    assert finished.code == (3 if missing else 0), finished.stderr
    assert ("Missing:" in finished.stderr) == bool(missing)
    (case,) = [json.loads(line) for line in (finished.out / "cases.jsonl").read_text("utf-8").splitlines()]
    assert case["status"] == "done"
    assert case.get("n_sentences_failed", 0) + case.get("n_verdicts_failed", 0) == missing


def test_every_claim_and_page_has_a_verdict_or_a_typed_failure(finished: Finished) -> None:
    document, claims = parse_report(REPORT.encode()), finished.claims
    body = {
        sentence.label for sentence in document.sentences if document.blocks[sentence.block].role == "body"
    }
    lost = {label for failure in claims.extraction_failures for label in failure.sentences}
    assert {claim.sentence for claim in claims.claims} <= body - lost
    assert claims.claims, "the judge found no claim at all"
    kinds = set(get_args(FailureKind))
    assert {failure.failure.kind for failure in claims.extraction_failures} <= kinds
    pairs = [
        (claim, source.url) for source in claims.sources if source.status == "ok" for claim in source.claims
    ]
    assert [(verdict.claim, verdict.url) for verdict in claims.verdicts] == pairs
    for verdict in claims.verdicts:
        assert (verdict.label is None) != (verdict.failure is None)
        assert verdict.failure is None or verdict.failure.kind in kinds
        assert (verdict.confidence is None) == (verdict.label is None)


def test_quotations_stand_in_the_page(finished: Finished) -> None:
    snapshot = Snapshot.open(finished.inputs.folder / "snapshot")
    quotes = [
        (verdict.url, verdict.quote) for verdict in finished.claims.verdicts if verdict.quote is not None
    ]
    assert quotes
    for url, quote in quotes:
        assert snapshot.page(url).text[quote.start : quote.end] == quote.text


def test_the_manifest_names_the_judge(finished: Finished) -> None:
    manifest = json.loads((finished.out / "manifest.json").read_text(encoding="utf-8"))
    preset = load_preset(PRESET)
    judge = manifest["judges"][0]["identity"]
    assert (judge["model"], judge["engine"]) == (preset.model, "vllm")
    assert (judge["revision"], judge["weights_digest"]) == (preset.weights.revision, preset.weights.sha256)
    assert re.match(r"\d+\.\d+", judge["engine_version"])
    assert manifest["config"]["claims"]["method"] == "scored"


def test_followers_find_the_report_in_the_prefix_cache(finished: Finished) -> None:
    rows = replies(finished.out / "ledger.sqlite").values()
    cached = [row[2] for row in rows if row[0] == "generate" and row[1].startswith("report:")]
    # 6 sentences, 2 in a batch: 3 calls about one report, of which only the one that led computed it.
    assert len(cached) == 3
    assert all(tokens > 0 for tokens in sorted(cached)[1:]), cached


def test_a_finished_run_makes_no_call(finished: Finished) -> None:
    # An unreadable reply is a reply too: it is read again, not asked for again.
    planned = finished.inputs.call(finished.inputs.run(finished.out, "--dry-run", "--json"))
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["calls"] == 0
    before, files = answered(finished.inputs.base_url), files_of(finished.out)
    ledger = replies(finished.out / "ledger.sqlite")
    again = finished.inputs.call(finished.inputs.run(finished.out))
    assert again.returncode == finished.code, again.stderr
    assert answered(finished.inputs.base_url) == before
    assert files_of(finished.out) == files
    assert replies(finished.out / "ledger.sqlite") == ledger


def test_an_uninterrupted_run_with_the_same_replies_has_the_same_files(
    finished: Finished, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.sqlite"
    with (
        contextlib.closing(sqlite3.connect(finished.out / "ledger.sqlite")) as source,
        contextlib.closing(sqlite3.connect(kept)) as target,
    ):
        source.backup(target)
    other = tmp_path / "out"
    done = finished.inputs.call(finished.inputs.run(other, "--ledger", str(kept)))
    assert done.returncode == finished.code, done.stderr
    assert files_of(other) == files_of(finished.out)
    assert {name.split("/")[0] for name in files_of(other)} == {
        "cases.jsonl",
        "claims.index",
        "claims.jsonl",
        "findings",
        "inputs.jsonl",
        "scores",
    }


PLANTED = [
    ("The Varn tunnel was opened on 4 June 1987.", "https://tunnel.example/history"),
    ("The Varn tunnel is 9.8 kilometres long.", "https://tunnel.example/history"),
    ("The toll for a lorry is 12 crowns.", "https://operator.example/report"),
    ("The page that is gone says something.", "https://gone.example/"),
]


@pytest.mark.parametrize("method", ["scored", "grouped"])
def test_claims_are_verified_without_a_report(inputs: Inputs, method: str) -> None:
    folder = inputs.folder / f"verify-{method}"
    folder.mkdir()
    rows = [{"id": str(n), "claim": claim, "url": url} for n, (claim, url) in enumerate(PLANTED)]
    (folder / "claims.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = inputs.command("verify", str(folder / "claims.jsonl"), "--method", method, "--terse", "--json")
    command += [
        "--snapshot",
        str(inputs.folder / "snapshot"),
        "--judge",
        PRESET,
        "--base-url",
        inputs.base_url,
    ]
    done = inputs.call([*command, "--ledger", str(folder / "ledger.sqlite")])
    verified = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["id"], row["status"]) for row in verified] == [
        ("0", "ok"),
        ("1", "ok"),
        ("2", "ok"),
        ("3", "dead"),
    ]
    failed = [row for row in verified if row["failure"] is not None]
    assert done.returncode == (3 if failed else 0), done.stderr
    assert verified[3]["label"] is None and verified[3]["failure"] is None
    snapshot = Snapshot.open(inputs.folder / "snapshot")
    for row in verified[:3]:
        assert (row["label"] is None) == (row["failure"] is not None)
        assert (row["confidence"] is not None) == (method == "scored" and row["label"] is not None)
        if row["quote"] is not None:
            start, end = row["quote_span"]
            assert snapshot.page(row["url"]).text[start:end] == row["quote"]
    if method == "scored":
        # The first is true, the second has another length than the page.
        assert not failed and verified[0]["confidence"] > verified[1]["confidence"]

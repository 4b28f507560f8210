"""The benchmark of RACE's two orders, on an engine that caches prefixes as vLLM does and has no model."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from local_judge.documents import parse_report
from local_judge.documents.clean import clean
from scripts.benchmarking.one_token import OneToken
from scripts.benchmarking.race_orders import Sizes, both_orders, own_bout, stand_in_bout
from scripts.benchmarking.vllm_server import MeasuringError, PromptCounters, read_counters
from serving.engine import JsonSchema
from serving.engines.scripted import CHARACTERS_PER_TOKEN, ScriptedEngine
from serving.types import EngineLimits, Generation, Message, Sampling

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DRB = ROOT.parent / "shared" / "data" / "reports" / "drb"


class ScriptedServer(ScriptedEngine):
    """An engine whose usage is counted as vLLM counts it; four characters are a token."""

    def __init__(self) -> None:
        super().__init__(lambda call: "{")
        self.total = self.cached = self.emptied = 0
        self.limits_of_replies: list[int] = []

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        found = await super().generate(messages, sampling, schema, started)
        self.total += found.usage.prompt_tokens
        self.cached += found.usage.cached_tokens or 0
        self.limits_of_replies.append(sampling.max_tokens)
        return found

    def empty_cache(self) -> None:
        self._cache.root.clear()
        self.emptied += 1

    def metrics(self) -> str:
        by_source = "vllm:prompt_tokens_by_source_total"
        return (
            f'vllm:prompt_tokens_total{{engine="0"}} {self.total}.0\n'
            f'{by_source}{{source="local_compute"}} {self.total - self.cached}.0\n'
            f'{by_source}{{source="local_cache_hit"}} {self.cached}.0\n'
        )

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        text = "".join(message.content for message in messages)
        return [
            crc32(text[start : start + CHARACTERS_PER_TOKEN].encode())
            for start in range(0, len(text), CHARACTERS_PER_TOKEN)
        ]

    def counted(self, before: PromptCounters, expected: int) -> PromptCounters:
        grown = read_counters(self.metrics()).since(before)
        assert grown.total == expected
        return grown


def lines(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


CRITERIA = {
    "id": 7,
    "prompt": "What did the mill cost?",
    "dimension_weight": {
        "comprehensiveness": 0.3,
        "insight": 0.35,
        "instruction_following": 0.2,
        "readability": 0.15,
    },
    "criterions": {
        name: [{"criterion": f"One of {name}", "explanation": "Is it so?", "weight": 1.0}]
        for name in ("comprehensiveness", "insight", "instruction_following", "readability")
    },
}


def own_files(folder: Path, n: int) -> tuple[Path, None, Path, Path]:
    """`n` reports of 400 characters and a reference of 40,000 on one task."""
    rows = [
        {"id": f"s{k}", "task_id": "7", "task": CRITERIA["prompt"], "article": f"System {k} says so. " * 20}
        for k in range(n)
    ]
    return (
        lines(folder / "reports.jsonl", rows),
        None,
        lines(folder / "criteria.jsonl", [CRITERIA]),
        lines(folder / "reference.jsonl", [{"id": 7, "article": "The reference says more. " * 1600}]),
    )


def test_the_reference_is_computed_once_where_it_comes_first(tmp_path: Path) -> None:
    reports, tasks, criteria, references = own_files(tmp_path, 4)
    bout = own_bout(reports, tasks, criteria, references, 4, None)
    assert (bout.task.id, bout.reference, [name for name, _ in bout.reports]) == (
        "7",
        "7",
        ["s0", "s1", "s2", "s3"],
    )
    server = ScriptedServer()
    found = asyncio.run(both_orders(server, OneToken(server), Sampling(), bout, tmp_path / "ledger.sqlite"))
    shared, paper = found["shared"], found["paper"]
    assert (server.emptied, shared["calls"], paper["calls"]) == (2, 4, 4)
    assert set(server.limits_of_replies) == {1}
    # Both orders send the same words but for the order, so that their prompts are as long.
    assert abs(shared["prompt_tokens"] - paper["prompt_tokens"]) <= 4
    # The reference has 10,000 tokens: computed once here, and there four times.
    assert 10_000 < shared["computed"] < 10_000 + 4 * 600
    assert paper["computed"] > 40_000
    assert shared["computed"] == shared["ideal"]
    assert shared["ratio"] == 1.0
    assert found["share"] == round(shared["computed"] / paper["computed"], 4) <= 0.35
    # Wherever one article is in front, some prompts could at best share the request: the ideal says the same.
    assert found["share_ideal"] == pytest.approx(found["share"], abs=0.01)


def test_too_few_reports_on_a_task_are_named(tmp_path: Path) -> None:
    files = own_files(tmp_path, 3)
    with pytest.raises(MeasuringError, match=r"no task 10 reports, criteria and a reference"):
        own_bout(*files, 10, None)
    with pytest.raises(MeasuringError, match=r"task '8' has not 3 reports"):
        own_bout(*files, 3, "8")


@pytest.mark.parametrize(
    ("context", "sent"),
    [(3_000, 0), (11_500, 5)],  # no prompt fits; that of the longest report does in parts alone
)
def test_comparisons_that_do_not_fit_are_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: int, sent: int
) -> None:
    files = own_files(tmp_path, 4)
    rows = [json.loads(line) for line in files[0].read_text().splitlines()]
    rows[0]["article"] *= 10
    lines(files[0], rows)
    server = ScriptedServer()

    async def limits() -> EngineLimits:
        return EngineLimits(context_tokens=context, concurrency=4, kv_tokens=None)

    monkeypatch.setattr(server, "limits", limits)
    bout = own_bout(*files, 4, None)
    with pytest.raises(
        MeasuringError, match=rf"task '7': 4 comparisons made {sent} calls in the order 'shared'"
    ):
        asyncio.run(both_orders(server, OneToken(server), Sampling(), bout, tmp_path / "ledger.sqlite"))


@pytest.mark.skipif(not DRB.exists(), reason="real reports are not here")
def test_ten_real_reports_beside_the_longest_that_fits(tmp_path: Path) -> None:
    server = ScriptedServer()
    bout = stand_in_bout(DRB, 10, Sizes(server.tokens, 16_384))
    lengths = [len(clean(document).text) for _, document in bout.reports]
    reference = parse_report(bout.task.references[0].text)
    assert len(bout.reports) == 10
    assert lengths == sorted(lengths)
    assert reference.language == "en"
    # With four characters a token, 29,989 characters: 7,498 tokens; the longest of the others has 4,261, criteria
    # and the rest 2,864: 14,623, and the reply to 25 criteria needs 1,500 of 16,384.
    assert (bout.reference, len(clean(reference).text), max(lengths)) == ("74", 29_989, 17_041)
    assert bout.task.id == bout.reference
    assert bout.reference not in [name for name, _ in bout.reports]
    found = asyncio.run(both_orders(server, OneToken(server), Sampling(), bout, tmp_path / "ledger.sqlite"))
    assert (found["shared"]["calls"], found["paper"]["calls"]) == (10, 10)
    assert (found["shared"]["ratio"], found["paper"]["ratio"]) == (1.0, 1.0)
    assert found["share"] == 0.3462


@pytest.mark.skipif(not DRB.exists(), reason="real reports are not here")
def test_a_context_that_nothing_fits_is_named() -> None:
    with pytest.raises(MeasuringError, match="no English report and 10 others fit 2000 tokens"):
        stand_in_bout(DRB, 10, Sizes(ScriptedServer().tokens, 2000))


@pytest.mark.parametrize("script", ["bench_race", "bench_prefix"])
@pytest.mark.skipif(not DRB.exists(), reason="real reports are not here")
def test_a_server_that_is_not_there_is_one_line(script: str) -> None:
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / script), "--base-url", "http://127.0.0.1:9/v1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.startswith("error: nothing answers at http://127.0.0.1:9/v1")
    assert ended.stderr.count("\n") == 1

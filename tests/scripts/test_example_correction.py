"""`scripts/example_correction` on ExpertQA, with a judge without a model."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer, leaning, write_preset

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def example(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "example_correction"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def cited(url: str) -> bytes:
    row = {"question": "Q", "system": "s", "claim": "A.", "evidence": f"{url}\nA.", "label": "supported"}
    return packed(json.dumps(row).encode())


def packed(content: bytes) -> bytes:
    """The same bytes in each process that collects the tests: a gzip file holds the time otherwise."""
    return gzip.compress(content, mtime=0)


def test_six_reports_are_verified_labelled_and_corrected(shared: Path, tmp_path: Path) -> None:
    data, out = shared / "data" / "people", tmp_path / "out"
    given = ["--data", data, "--judge", write_preset(tmp_path), "--out", out]
    with StubThread(StubPlan(answer=answer, alternatives=leaning)) as server:
        first = example(*given, "--base-url", server.url)
        assert first.returncode == 0, first.stderr
        calls = len(server.chats)
        second = example(*given, "--base-url", server.url)
        assert second.returncode == 0, second.stderr
        assert len(server.chats) == calls
    tables = [ended.stdout.partition("\nlabels.jsonl\n")[2] for ended in (first, second)]
    assert tables[0] and tables[0] == tables[1]
    reports = [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]
    cited = [len(re.findall(r" \[\d+\]$", row["report"], re.MULTILINE)) for row in reports]
    # A report ends with the answer in which its claims reach 16.
    assert len(cited) == 6 and min(cited) >= 16 and calls >= sum(cited)
    drawn, labels = (
        [json.loads(line) for line in (out / name).read_text().splitlines()]
        for name in ("labels.jsonl", "labels-all.jsonl")
    )
    # The run has all claims as they are, so each has the label of its row in the set.
    with gzip.open(data / "expertqa.jsonl.gz", "rt") as file:
        known = {"".join(row["claim"].split()): row["label"] for row in map(json.loads, file)}
    assert [known["".join(row["text"].split())] for row in labels] == [row["label"] for row in labels]
    assert (len(drawn), len(labels)) == (60, sum(cited))
    # The confusion has each labelled claim once.
    confusion = first.stdout.partition("labels of experts by line")[2]
    assert sum(map(int, re.findall(r"\b\d+\b", confusion))) == len(labels)


def test_a_set_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    ended = example("--data", tmp_path, "--judge", "stub", "--out", tmp_path / "out")
    assert ended.returncode == 1 and ended.stdout == ""
    assert ended.stderr.startswith("error: ") and ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (packed(b'{"claim": "A."}\n'), "expertqa.jsonl.gz:1: "),
        (packed(b'{"claim": "A."}\n')[:14], "damaged or cut off"),
        (packed(b"\xff\n"), "not UTF-8"),
        (packed(b""), "no claim with one URL and its passage"),
        (cited("https://a.example:99999/"), "expertqa.jsonl.gz:1: not a web"),
        (cited("https://a.example/"), "too few answers of the system 's'"),
    ],
)
def test_a_broken_set_is_one_line(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "expertqa.jsonl.gz").write_bytes(content)
    ended = example("--data", tmp_path, "--judge", "stub", "--out", tmp_path / "out")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: ") and says in ended.stderr and ended.stderr.count("\n") == 1

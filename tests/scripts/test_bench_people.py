"""`scripts/bench_people` on three small sets."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def bench(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "bench_people"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def sets(folder: Path) -> Path:
    for name in ("wice", "expertqa", "factcheck"):
        rows: list[dict[str, object]] = []
        for year in range(1901, 1909):
            claim, text = f"The mill was built in {year}.", f"The mill was built in {year}. It ground rye."
            proof = {"supporting": [[claim]]} if name == "wice" else {}
            rows.append({"claim": claim, "evidence": text, "label": "supported", **proof})
            rows.append({"claim": "Someone owns a boat.", "evidence": text, "label": "unsupported"})
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    return folder


def test_the_floor_and_the_evidence_need_no_judge(tmp_path: Path) -> None:
    ended = bench("--data", sets(tmp_path), "--json", "--draws", 10)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    # All words of the first claim are in the text, and none of the second.
    assert [one["figures"]["auc"]["value"] for one in found["figures"]] == [1.0] * 3
    # The one sentence that proves the claim is in the evidence and is the nearest one.
    assert {(one["sentence_recall"], one["first"]["value"]) for one in found["evidence"]} == {(1.0, 1.0)}


def test_missing_sets_are_one_line(tmp_path: Path) -> None:
    ended = bench("--data", tmp_path / "none")
    assert ended.returncode == 1 and ended.stdout == ""
    assert ended.stderr.startswith("error: ") and ended.stderr.count("\n") == 1

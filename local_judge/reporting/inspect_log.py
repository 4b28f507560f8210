"""Results of a run as a log of Inspect (https://inspect.aisi.org.uk), which `inspect view` opens.

Invariants: a report is a sample, and the scores that sum it up are its scores; the metrics of a score are the numbers
of `show`, one for each system; a score without a value is left out, and its reason is in the sample's metadata. The
file's times are those of the first and the last reply in the ledger, so that equal runs give equal files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from local_judge.base.errors import plain
from local_judge.runs.results.scored import system_scores
from local_judge.runs.results.tables import Row, call_rows, claim_rows, item_rows
from local_judge.runs.storage.items import digest_of
from local_judge.runs.storage.manifest import judge_of, protocols_of, read_manifest
from local_judge.runs.storage.records import CaseRecord, load_records, load_scores
from local_judge.runs.storage.seal import modifications
from local_judge.runs.storage.store import MANIFEST, RunStore
from local_judge.scoring.node import Profile, ScoreNode, headlines

VERSION = 2
"""Version of Inspect's log format."""

_NO_TIME = "1970-01-01T00:00:00+00:00"
"""Time of a run whose ledger is elsewhere."""


def write_inspect_log(
    store: RunStore, out: Path, judge: str | None = None, profile: Profile = "paper"
) -> dict[str, int]:
    """Write a run as one log file; returns its name with the number of samples.

    Args:
        store: a finished run.
        out: folder of the log; `inspect view --log-dir OUT` shows it.
        judge: one of several judges; None for the ensemble.
        profile: formulas of the scores; protocols without this profile are left out.

    Raises:
        RunError: the run is not finished or was modified, or it has no such judge.
    """
    manifest, chosen = read_manifest(store), judge_of(store, judge)
    judges = [one for one in manifest.get("judges", []) if chosen in (None, one["name"])]
    model = ", ".join(dict.fromkeys(one["identity"]["model"] for one in judges)) or "none"
    calls = call_rows(store) if store.ledger.exists() else []
    times = sorted(row["created"] for row in calls if row["created"])
    created, ended = (times[0], times[-1]) if times else (_NO_TIME, _NO_TIME)
    digest = digest_of(store.read_bytes(MANIFEST))
    records = load_records(store)
    samples = list(_samples(store, records, chosen, profile))
    log: dict[str, Any] = {
        "version": VERSION,
        "status": "success",
        "eval": {
            "eval_id": digest[:22],
            "run_id": digest[22:44],
            "created": created,
            "task": "local_judge",
            "task_id": digest[:22],
            "dataset": {
                "name": "reports",
                "samples": len(records),
                "sample_ids": [record.id for record in records],
            },
            "model": model,
            "config": {},
            "packages": {"local_judge": manifest["local_judge"]},
            "metadata": {
                "profile": profile,
                "protocols": manifest["protocols"],
                "snapshot": manifest.get("snapshot"),
                "judges": [{"name": one["name"], **one["identity"]} for one in judges],
                **({"modified": list(modifications())} if modifications() else {}),
            },
        },
        "plan": {"name": "plan", "steps": []},
        "results": {
            "total_samples": len(records),
            "completed_samples": sum(record.status == "done" for record in records),
            "scores": list(_results(store, chosen, profile)),
        },
        "stats": {
            "started_at": created,
            "completed_at": ended,
            "model_usage": _usage(calls, {one["name"] for one in judges}),
        },
        "samples": samples,
    }
    name = f"{created[:19].replace(':', '-')}_local-judge_{digest[:22]}.json"
    text = json.dumps(log, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
    RunStore(out).write_text(name, text + "\n")
    return {name: len(samples)}


def _samples(
    store: RunStore, records: Sequence[CaseRecord], judge: str | None, profile: Profile
) -> Iterator[Row]:
    claims, items = _by_report(claim_rows(store, judge)), _by_report(item_rows(store, judge))
    scores = {
        (row.case, row.protocol): row.scores
        for row in load_scores(store, protocols_of(store), (judge,), profile=profile)
    }
    for record in records:
        shown = {
            f"{protocol}/{node.id}": node
            for protocol in protocols_of(store)
            for node in headlines(scores.get((record.id, protocol), ()))
        }
        about = f"Report {record.id}" + (f" of {record.system}" if record.system else "")
        yield {
            "id": record.id,
            "epoch": 1,
            "input": plain(f"{about}, task {record.task}" if record.task else about),
            "target": "",
            "scores": {name: _score(node) for name, node in shown.items() if node.score.value is not None},
            "metadata": {
                **record.model_dump(mode="json", exclude={"id", "key"}),
                "unscored": {
                    name: node.score.note for name, node in shown.items() if node.score.value is None
                },
                "claims": claims.get(record.id, []),
                "items": items.get(record.id, []),
            },
            **({"error": _error(record)} if record.status != "done" else {}),
        }


def _by_report(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        of = ("report", "task", "system")
        found.setdefault(row["report"], []).append({key: row[key] for key in row if key not in of})
    return found


def _score(node: ScoreNode) -> dict[str, Any]:
    below = [
        f"{child.label}: {child.score.value:.2f}" for child in node.children if child.score.value is not None
    ]
    return {
        "value": node.score.value,
        "explanation": plain("; ".join(filter(None, (node.label, node.score.note, *below)))),
        "metadata": node.score.model_dump(mode="json"),
    }


def _error(record: CaseRecord) -> dict[str, str]:
    message = plain(f"{record.status}: {record.detail}")
    return {"message": message, "traceback": message, "traceback_ansi": message}


def _results(store: RunStore, judge: str | None, profile: Profile) -> Iterator[dict[str, Any]]:
    for protocol in protocols_of(store):
        rows = load_scores(store, (protocol,), (judge,), profile=profile)
        roots = {node.id: node.label for row in rows for node in headlines(row.scores)}
        found = system_scores(store, protocol, profile, judge) if rows else []
        for id, label in roots.items():
            metrics = {
                row.system or "all reports": row.score.value
                for row in found
                if row.path == (id,) and row.score.value is not None
            }
            yield {
                "name": f"{protocol}/{id}",
                "scorer": f"{protocol}/{id}",
                "metrics": {name: {"name": name, "value": value} for name, value in metrics.items()},
                "metadata": {"label": label},
            }


def _usage(calls: Sequence[Row], judges: set[str]) -> dict[str, dict[str, int]]:
    """Return the tokens of all stored replies by model."""
    found: dict[str, dict[str, int]] = {}
    for row in calls:
        if row["prompt_tokens"] is None or not judges & set(row["judge"].split(", ")):
            continue
        usage = found.setdefault(
            row["model"],
            {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, "input_tokens_cache_read": 0},
        )
        usage["input_tokens"] += row["prompt_tokens"]
        usage["output_tokens"] += row["completion_tokens"]
        usage["total_tokens"] += row["prompt_tokens"] + row["completion_tokens"]
        usage["input_tokens_cache_read"] += row["cached_tokens"] or 0
    return found

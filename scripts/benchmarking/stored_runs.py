"""Runs of many short reports, evaluated with an engine in the process or copied from other reports.

Invariant: the files of a run are written by the package's own functions; a copy differs from its original in the id of
the report alone.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.base.errors import UserError
from local_judge.claims.model import ClaimSet
from local_judge.judge.judge import Judge
from local_judge.ledger.ledger import Ledger
from local_judge.protocols.base import load_protocol
from local_judge.runs.execution.job import Job, run_job
from local_judge.runs.planning.config import RunConfig, settled
from local_judge.runs.planning.inputs import load_reports
from local_judge.runs.storage.items import claims_file, file_key, findings_file, item_json
from local_judge.runs.storage.records import CaseRecord, load_records
from local_judge.runs.storage.resume import begin_journal, kept_of
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import CASES, RunStore
from serving.engines.scripted import Call, Reply, ScriptedEngine
from tests.stub_replies import instance

SYSTEMS, PAGES = ("alder", "birch", "cedar", "dogwood"), 20
EVALUATED = 500
"""Reports that are evaluated at the end of a run that has no more than `MOST`."""
COPIED = 40
"""Reports whose claim sets and findings are copied."""
MOST = 10_000


def write_inputs(folder: Path, n: int) -> None:
    """Write reports and pages."""
    pages = folder / "pages"
    pages.mkdir()
    lines: list[str] = []
    for number in range(PAGES):
        text = "\n\n".join(f"The pump of town {number} heats {day} homes in winter." for day in range(40))
        (pages / f"{number}.md").write_text(f"# Page {number}\n\n{text}\n", encoding="utf-8")
        lines.append(json.dumps({"url": f"https://site{number}.example/page", "file": f"{number}.md"}) + "\n")
    (pages / "pages.jsonl").write_text("".join(lines), encoding="utf-8")
    import_pages(pages, folder / "snapshot", workers=0)
    with (folder / "reports.jsonl").open("w", encoding="utf-8") as file:
        for number in range(n):
            one, other = number % PAGES, (number * 7 + 3) % PAGES
            said = [
                f"The pump of town {one} heats {number + k} homes in winter [{k % 2 + 1}]." for k in range(6)
            ]
            links = f"[1] https://site{one}.example/page\n[2] https://site{other}.example/page\n"
            report = f"# Report {number}\n\n{' '.join(said)}\n\n## References\n\n{links}"
            task = {
                "id": f"report-{number}",
                "task_id": f"task-{number // len(SYSTEMS)}",
                "query": "Which pumps heat?",
            }
            row = {**task, "system": SYSTEMS[number % len(SYSTEMS)], "report": report}
            file.write(json.dumps(row) + "\n")


class Asked(UserError):
    """A continued run has asked the judge; errors that are not the user's would count as a crash of one report."""


def evaluate(folder: Path, out: str, *, stop: bool = False, first: int | None = None) -> dict[str, Any]:
    """Evaluate the reports, or the first ones, into a run directory; `stop` ends at the first call."""

    class Engine(ScriptedEngine):
        """Scripted engine that keeps no calls."""

        begun: tuple[float, float] | None = None

        async def _next(self, call: Call) -> Any:
            if stop:
                raise Asked
            self.begun = self.begun or (time.perf_counter(), time.process_time())
            return _reply(call), len(call.prompt) // 4, 0

    class Watcher:
        ended = (0.0, 0.0)

        def one_done(self) -> None:
            self.ended = time.perf_counter(), time.process_time()

    reports = load_reports([folder / "reports.jsonl"])[:first]
    engine, watcher = Engine(), Watcher()
    with Ledger.open(folder / f"{out}.sqlite") as ledger:
        job = Job(
            reports=reports,
            snapshot=Snapshot.open(folder / "snapshot"),
            judge_specs=(),
            config=settled(
                RunConfig(protocols=("deer", "fact"), settings={"deer": {"parts": ["verification"]}})
            ),
            store=RunStore(folder / out),
            ledger=folder / f"{out}.sqlite",
            held={"fake": Judge(engine, ledger)},
        )
        with suppress(Asked):
            asyncio.run(run_job(job, lambda judges, n: nullcontext(watcher)))
    if engine.begun is None:
        return {}
    per_item = 1000 / min(EVALUATED, len(reports))
    wall, cpu = (end - begin for begin, end in zip(engine.begun, watcher.ended, strict=True))
    return {"item_ms": round(per_item * wall, 2), "item_cpu_ms": round(per_item * cpu, 2)}


def _reply(call: Call) -> Reply:
    """Return one claim for each sentence, the first label for each claim without a quotation, and yes to all else."""
    if call.schema is None:
        return {"Yes": 0.9, "No": 0.1}
    reply: dict[str, Any] = instance(call.schema)
    listed = call.prompt.rpartition("Sentences:")[2]
    sentences = dict(re.findall(r"^(\d+)\. L\d+\.S\d+: (.+)$", listed, re.MULTILINE))
    for number, item in reply.items():
        if not {"quote", "repeats"} & item.keys():
            item.get("claims", [item])[0]["claim"] = sentences[number]
    return reply


def fill(folder: Path) -> None:
    """Add copies of the claim sets and findings of some reports to the journal of the run."""
    n = len(load_reports([folder / "reports.jsonl"]))
    evaluate(folder, "copied", first=COPIED)
    evaluate(folder, "run", stop=True)
    _copy_reports(folder, RunStore(folder / "run"), 0, n - (EVALUATED if n <= MOST else 1))


def _copy_reports(folder: Path, store: RunStore, begin: int, end: int) -> list[CaseRecord]:
    """Add copies for some reports, and return the records of all reports that have some."""
    copied = RunStore(folder / "copied")
    names = [claims_file(None), findings_file("deer", None), findings_file("fact", None)]
    originals = [
        (record, {name: copied.item(name, record.key) or b"" for name in names})
        for record in load_records(copied)
    ]
    kept = kept_of(store, ())
    begin_journal(store, kept, ())
    records = list(kept.records.values())
    for number, report in enumerate(load_reports([folder / "reports.jsonl"])[begin:end], begin):
        record, items = originals[number % COPIED]
        key, old, new = file_key(report.id), json.dumps(record.id).encode(), json.dumps(report.id).encode()
        changed = {"id": report.id, "key": key, "task": report.task_id}
        records.append(record.model_copy(update=changed))
        lines = {name: line.replace(old, new) for name, line in items.items()}
        store.append(key, records[-1], lines, complete=True)
    return records


def finish_run(folder: Path) -> dict[str, Any]:
    """Evaluate the rest of a run; of a very large one, copy it."""
    if len(load_reports([folder / "reports.jsonl"])) <= MOST:
        return evaluate(folder, "run")
    _finish_copies(folder)
    return {}


def _finish_copies(folder: Path) -> None:
    """Write the files of a run whose scores are copies as well; those of systems are of the copied reports alone."""
    copied, store = RunStore(folder / "copied"), RunStore(folder / "run")
    n = len(load_reports([folder / "reports.jsonl"]))
    records = _copy_reports(folder, store, n - 1, n)
    store.collect(record.key for record in records)
    store.write_jsonl(CASES, records)
    originals = [json.dumps(record.id).encode() for record in load_records(copied)]
    for name in ("deer", "fact"):
        lines = list(copied.lines(f"scores/{name}.jsonl"))
        n = len(lines) // COPIED
        with store.replacing(f"scores/{name}.jsonl") as file:
            for number, record in enumerate(records):
                place = number % COPIED
                for line in lines[place * n : place * n + n]:
                    file.write(line.replace(originals[place], json.dumps(record.id).encode(), 1) + b"\n")
    for path in (copied.root / "scores").iterdir():
        if path.suffixes != [".jsonl"]:
            store.write_text(f"scores/{path.name}", path.read_text(encoding="utf-8"))
    seal_run(store)


def models(folder: Path) -> None:
    """Read all claims and findings into one list."""
    store = RunStore(folder / "run")
    kinds: dict[str, Any] = {claims_file(None): ClaimSet}
    kinds |= {findings_file(name, None): load_protocol(name).findings_type for name in ("deer", "fact")}
    found = [
        kind.model_validate_json(item_json(line, kind))
        for name, kind in kinds.items()
        for line in store.lines(name)
    ]
    print(len(found))

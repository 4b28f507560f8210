"""Every command with the fewest arguments that make it work, and a folder that holds what they name.

`@` at the front of an argument is the folder. A command that is not in `COMMANDS` fails the tests that run all.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from local_judge.cli.commands import Lazy, app
from local_judge.demo.outcome import sample_folder
from local_judge.lab.annotations.load import sample_folder as annotated_folder
from local_judge.runs.results.labels import verdicts_of
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.store import RunStore
from tests.stub_replies import fill

from ..known_claims import write_known
from ..protocols.deepresearcheval.dre_cases import drafting
from ..stub_thread import answer, write_preset
from ..tasks.building_script import served
from ..tasks.dataset_rows import write_jsonl
from .conftest import REPORT
from .test_import_command import row

JUDGE = ("--judge", "@/stub.yaml", "--base-url", "URL")
"""The stub; `URL` is its address."""
SMALL = ("--set", "deer.parts=[verification]")

COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("@/mill.md", *JUDGE, "--snapshot", "@/snapshot", "--out", "@/out/run", *SMALL),
    "sweep": ("@/sweep.yaml", "--base-url", "URL", "--out", "@/out/sweep"),
    "show": ("@/run", "--claims"),
    "report": ("@/run", "--out", "@/out/page.html"),
    "rescore": ("@/run",),
    "export": ("@/run", "@/out/exported", "--format", "csv"),
    "bundle": ("@/run", "--out", "@/out/run.ljz"),
    "audit": ("@/run",),
    "import": ("@/validated.jsonl", "@/out/imported"),
    "verify": ("@/claims.jsonl", "--snapshot", "@/snapshot", *JUDGE, "--ledger", "@/out/ledger.sqlite"),
    "judge calibrate": (
        *("@/known.jsonl", "--snapshot", "@/snapshot", *JUDGE, "--ledger", "@/out/ledger.sqlite"),
        *("--resamples", "10", "--out", "@/out/calibration.json"),
    ),
    "judge qualify": (
        *("@/stub.yaml", "--base-url", "URL", "--snapshot", "@/snapshot", "--out", "@/out/qualified"),
        *("--parts", "verification", "--config", "@/sizes.yaml"),
    ),
    "results agree": ("@/ratings.csv", "@/run", "--score", "information_integrity"),
    "results diff": ("@/run", "@/again"),
    "results rank": ("@/run", "--score", "information_integrity"),
    "lab compare-prompts": ("@/run", "@/again"),
    "lab experiment": (
        "corruption",
        *JUDGE,
        "--protocol",
        "fact",
        "--rates",
        "0,1",
        "--topics",
        "1",
        "--out",
        "@/out/x",
    ),
    "lab replicate": ("@/table.yaml", "--input", "@/validated.jsonl"),
    "lab benchmark-verifier": (
        "@/labelled.jsonl",
        *JUDGE,
        "--resamples",
        "10",
        "--out",
        "@/out/benchmark.json",
    ),
    "text check": ("@/mill.md",),
    "lab plant": ("@/snapshot", "--n", "8", "--out", "@/out/planted"),
    "text clean": ("@/mill.md", "--out", "@/out/cleaned.jsonl"),
    "judge up": ("qwen3-8b", "--dry-run", "--gpus", "1"),
    "judge down": ("no-such-judge",),
    "demo": (*JUDGE, "--out", "@/out/demo"),
    "snapshot import": ("@/pages", "@/out/snapshot"),
    "snapshot fetch": ("@/out/fetched", "--urls", "@/no_urls.txt"),
    "snapshot search-web": ("@/out/found", "--results", "@/no_urls.txt"),
    "snapshot export": ("@/snapshot", "--wacz", "@/snapshot.wacz"),
    "snapshot info": ("@/snapshot",),
    "snapshot page": ("@/snapshot", "https://heat.example/fernholt/renewal"),
    "snapshot verify": ("@/snapshot",),
    "snapshot search": ("@/snapshot", "heat pump"),
    "snapshot index": ("@/snapshot",),
    "snapshot mcp": ("@/snapshot",),
    "ledger verify": ("@/run/ledger.sqlite",),
    "ledger gc": ("@/run/ledger.sqlite", "--dry-run"),
    "ledger merge": ("@/out/all.sqlite", "@/run/ledger.sqlite"),
    "judge show": ("qwen3-14b-thinking",),
    "judge fetch": ("no-such-judge",),
    "tasks draft topic": ("@/tasks.jsonl", *JUDGE, "--out", "@/out/topics.jsonl"),
    "tasks draft need": ("@/tasks.jsonl", *JUDGE, "--out", "@/out/filtered.jsonl"),
    "tasks show topic": ("@/tasks.jsonl",),
    "tasks draft guidance": (
        *("@/tasks.jsonl", *JUDGE, "--snapshot", "@/snapshot", "--out", "@/out/guidance.jsonl"),
    ),
    "tasks show guidance": ("@/guidance.jsonl",),
    "tasks review guidance": ("@/guidance.jsonl", "--reviewer", "Ada", "--accept"),
    "tasks draft criteria": ("@/tasks.jsonl", *JUDGE, "--out", "@/out/criteria.jsonl"),
    "tasks show criteria": ("@/criteria.jsonl",),
    "tasks review criteria": ("@/criteria.jsonl", "--reviewer", "Ada", "--accept"),
    "tasks draft dimensions": ("@/tasks.jsonl", *JUDGE, "--out", "@/out/dimensions.jsonl"),
    "tasks show dimensions": ("@/dimensions.jsonl",),
    "tasks review dimensions": ("@/dimensions.jsonl", "--reviewer", "Ada", "--accept"),
    "tasks draft checklist": ("@/tasks.jsonl", *JUDGE, "--out", "@/out/checklists.jsonl"),
    "tasks lint checklist": ("@/checklists.jsonl",),
    "tasks show checklist": ("@/checklists.jsonl",),
    "tasks review checklist": ("@/checklists.jsonl", "--reviewer", "Ada", "--accept"),
    "tasks draft plan": (
        *("@/tasks.jsonl", *JUDGE, "--snapshot", "@/snapshot", "--pages", "1", "--out", "@/out/plans.jsonl"),
    ),
    "tasks lint plan": ("@/plans.jsonl",),
    "tasks show plan": ("@/plans.jsonl",),
    "tasks review plan": ("@/plans.jsonl", "--reviewer", "Ada", "--accept"),
    "tasks build": (
        *(
            "@/out/built",
            *JUDGE,
            "--domains",
            "1",
            "--personas",
            "1",
            "--tasks",
            "1",
            "--duplicates",
            "lexical",
        ),
        *("--date", "2026-03-01"),
    ),
    "results stats length": ("@/run",),
    "results stats stability": ("@/run", "@/again"),
    "results correct": ("@/run", "--labels", "@/labels.jsonl"),
    "lab label": (*("@/run", "--snapshot", "@/snapshot", "--annotator", " ", "--out", "@/out/labels.jsonl"),),
    "lab agent": ("@/snapshot", "Who paid for the heat pump?", *JUDGE, "--out", "@/out/asked"),
}


def commands() -> Iterator[str]:
    """The names of all commands."""

    def below(command: Any, name: tuple[str, ...]) -> Iterator[str]:
        if isinstance(command, Lazy):
            command = command.load()
        subcommands: dict[str, Any] = getattr(command, "commands", {})
        if name and (not subcommands or command.invoke_without_command):
            yield " ".join(name)
        for word, subcommand in subcommands.items():
            yield from below(subcommand, (*name, word))

    return below(typer.main.get_command(app), ())


def answering(asked: Mapping[str, Any]) -> str:
    """A judge that knows the questions of all commands."""
    text: str = asked["messages"][-1]["content"]
    reply: dict[str, Any] = json.loads(fill(asked))
    if "readability" in reply:
        return json.dumps({**reply, "comprehensiveness": 0.5, "insight": 0.3, "readability": 0.2})
    if "criteria" in reply:
        points = [{"criterion": f"Point {i}", "explanation": "Says it.", "weight": 0.25} for i in range(4)]
        return json.dumps({"criteria": points})
    if "Domain:" in text or "Person:" in text:
        return served(asked)
    with suppress(AttributeError, TypeError):
        drafted = drafting(reply)
        if drafted is not None:
            return json.dumps(drafted)
    return answer(asked)


def words(command: str, url: str) -> list[str]:
    """The command line of a command for a server at `url`."""
    return [*command.split(), *(url if word == "URL" else word for word in COMMANDS[command])]


def make_world(folder: Path, url: str, run: Callable[..., object]) -> None:
    """A folder with what `COMMANDS` name; `run` runs a command."""
    folder.mkdir()
    write_preset(folder)
    write_known(folder)
    (folder / "mill.md").write_text(REPORT.replace("The retrofit", "The \u6c34 retrofit"), encoding="utf-8")
    (folder / "sweep.yaml").write_text(
        "reports: [mill.md]\nsnapshot: snapshot\nsettings: {deer: {parts: [verification]}}\n"
        "sweep: {judges: [./stub.yaml]}\n",
        encoding="utf-8",
    )
    (folder / "sizes.yaml").write_text("verification: {claims: 8}\ndraws: 5\n", encoding="utf-8")
    claim = {"claim": "The mill is \u6c34 blue.", "url": "https://heat.example/fernholt/renewal"}
    write_jsonl(folder / "claims.jsonl", [claim])
    labelled = {"claim": claim["claim"], "evidence": "The mill is red.", "label": "contradicted"}
    write_jsonl(folder / "labelled.jsonl", [labelled])
    write_jsonl(folder / "tasks.jsonl", [{"id": "mill", "prompt": "What did the mill cost, in \u20ac?"}])
    write_jsonl(folder / "validated.jsonl", [row(1, "supported", "unknown")])
    write_jsonl(folder / "queries.jsonl", [{"query": "heat pump", "relevant": [claim["url"]]}])
    (folder / "table.yaml").write_text(
        "title: Table 1\nsource: a paper\nneeds: {rows: a file}\ncommand: [[import, '{rows}', '{out}/run']]\n"
        "columns: {Accuracy: {score: 'fact:citation_accuracy'}}\nby: task\nrows: {'1': [1]}\n",
        encoding="utf-8",
    )
    (folder / "no_urls.txt").write_text("# None.\n", encoding="utf-8")
    (folder / "ratings.csv").write_text("report,annotator,score\nmill,ada,7\n", encoding="utf-8")
    shutil.copytree(sample_folder() / "pages", folder / "pages")
    annotated = annotated_folder()
    shutil.copytree(annotated / "pages", folder / "annotated" / "pages")
    for name in ("en1-shore-power.md", "en1-shore-power.claims.jsonl"):
        shutil.copy(annotated / name, folder / "annotated")
    for name, made in MADE_BY.items():
        run(*(str(folder) + word[1:] if word.startswith("@") else word for word in words(made, url)))
        (folder / "out" / name).rename(folder / name)
    store = RunStore(folder / "run")
    one = next(verdicts_of(store, load_records(store), None))
    label = dict(zip(("report", "claim", "url"), one.unit, strict=True))
    write_jsonl(folder / "labels.jsonl", [{**label, "label": "supported", "annotator": "ada"}])
    shutil.copytree(folder / "run", folder / "again")
    shutil.rmtree(folder / "out")


MADE_BY = {
    "snapshot": "snapshot import",
    "run": "run",
    "qualified": "judge qualify",
    "guidance.jsonl": "tasks draft guidance",
    "criteria.jsonl": "tasks draft criteria",
    "dimensions.jsonl": "tasks draft dimensions",
    "checklists.jsonl": "tasks draft checklist",
    "plans.jsonl": "tasks draft plan",
    "built": "tasks build",
    "asked": "lab agent",
}
"""What commands read that others write, in an order that works."""

"""Real reports with the inputs of all six protocols, and runs of them with scripted replies.

Invariant: the prompts are those of the product, and its own scheduler sends them. Replies, guidance, checklists, plans
and the addresses of the pages are made up.

The reports are those of `DATA/reports/drb`, each with its own criteria and with the other one on the same subject as
reference. Every sentence is one claim, every claim is supported by the longest line of its page, and all other texts of
replies have 25 words. The cited pages are not in the data: the 120 real web pages of `DATA/pages` stand for them, each
address with one of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from zlib import crc32

from indexes.making.importing import import_pages
from local_judge.documents import parse_report
from local_judge.ledger.ledger import Ledger, Trace
from local_judge.runs.execution.job import job_of, run_job, unwatched
from local_judge.runs.execution.judges import JudgeSpec, judge_on
from local_judge.runs.planning.config import parse_settings
from local_judge.runs.planning.run_file import RunFile
from local_judge.tasks.dimensions import GENERAL
from scripts.freezing import PARTS
from serving.engine import Engine, EngineWrapper, JsonSchema
from serving.presets import Preset
from serving.types import Choice, Generation, Message, Sampling
from tests.stub_replies import fill
from tests.stub_thread import answer

SETTINGS = parse_settings(["race.criteria=static", PARTS.removeprefix("--set ")])
WORDS = " ".join(["evidence"] * 25)
GUIDANCE = "\n".join(
    f"{n}. The report must say who is affected by point {n} of the request, since when, by how much, and on which "
    "evidence; a figure without its year and its source does not count."
    for n in range(1, 25)
)
"""About 944 tokens, the length of the example in DEER's paper."""
NUMBERS = range(1, 13)
CHECKLIST = [
    f"The report answers part {n} of the request with a figure, its year and its source." for n in NUMBERS
]
QUESTIONS = [
    f"Which figure of part {n} of the request does the source give, and for which year?" for n in NUMBERS
]
DIMENSIONS: Sequence[Mapping[str, Any]] = [
    {
        "name": name,
        "definition": definition,
        "kind": "general" if key in GENERAL else "specific",
        "weight": 0.2,
        "criteria": [
            {
                "criterion": f"{name}, part {n} of the request",
                "explanation": f"The report treats part {n} of the request with figures, their years and sources.",
                "weight": 0.25,
            }
            for n in range(1, 5)
        ],
    }
    for key, (name, definition) in {
        **GENERAL,
        "figures": ("Use of figures", "whether figures are recent, comparable and explained"),
    }.items()
]
YES = -0.25
"""Log-probability of the first option of a choice."""


def scripted(messages: Sequence[Message], schema: JsonSchema | None) -> str:
    """Return the reply to a call."""
    return scripted_reply(
        {
            "messages": [message.model_dump() for message in messages],
            "response_format": {"json_schema": {"schema": schema or {}}},
        }
    )


def scripted_reply(asked: Mapping[str, Any]) -> str:
    """Return the reply to a request, with 25 words in place of each empty text that may be so long."""
    schema: JsonSchema = asked["response_format"]["json_schema"]["schema"]
    try:
        found = answer(asked)
    except (AssertionError, AttributeError):  # a question that the sample judge does not know
        found = fill(asked)
    return json.dumps(_longer(json.loads(found), schema), ensure_ascii=False)


def _longer(value: Any, schema: JsonSchema) -> Any:
    if isinstance(value, dict):
        below = schema.get("properties", {})
        return {key: _longer(one, below.get(key, {})) for key, one in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_longer(one, schema.get("items", {})) for one in cast("list[Any]", value)]
    return WORDS if value == "" and schema.get("maxLength", len(WORDS)) >= len(WORDS) else value


class ScriptedReplies(EngineWrapper):
    """Engine whose prompts another engine reads; the replies are scripted."""

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        """Let the prompt be read, and return the scripted reply."""
        read = await self._engine.generate(messages, sampling, schema, started)
        return Generation(text=scripted(messages, schema), usage=read.usage)

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Let the prompt be read, and prefer the first option."""
        read = await self._engine.choose(messages, options)
        logprobs = {option: YES - 1.5 * place for place, option in enumerate(options)}
        return Choice(logprobs=logprobs, usage=read.usage)


class Material:
    """Files of some reports and their tasks, in a folder."""

    def __init__(self, data: Path, folder: Path, reports: Sequence[str]) -> None:
        self.folder = folder
        published = data / "reports" / "drb"
        by_id = {str(row["id"]): row for row in rows_of(published / "raw.jsonl")}
        cleaned = {str(row["id"]): row["article"] for row in rows_of(published / "cleaned.jsonl")}
        missing = [one for one in reports if one not in by_id or one not in cleaned]
        if missing:
            raise SystemExit(f"{published}: no report {missing[0]}")
        self.texts = {one: str(by_id[one]["article"]) for one in reports}
        self.requests = {one: str(by_id[one]["prompt"]) for one in reports}
        self.references = {one: str(cleaned[one]) for one in reports}
        written = [(one, self.texts[one]) for one in reports]
        self._write(
            "reports", [{"id": n, "task_id": n, "system": "s", "report": text} for n, text in written]
        )
        self._write("tasks", [{"id": one, "prompt": self.requests[one]} for one in reports])
        self._write("guidance", [{"task_id": one, "text": GUIDANCE} for one in reports])
        self._write("checklists", [{"task_id": one, "items": CHECKLIST} for one in reports])
        asked = [{"question": question} for question in QUESTIONS]
        self._write("plans", [{"task_id": one, "key_information": asked} for one in reports])
        self._write("dimensions", [{"task_id": one, "dimensions": DIMENSIONS} for one in reports])
        self._write("references", [{"id": one, "article": self.references[one]} for one in reports])
        self._import_pages(data / "pages")

    def _write(self, name: str, rows: Sequence[Mapping[str, Any]]) -> Path:
        path = self.folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path

    def _import_pages(self, pages: Path) -> None:
        """Make a snapshot in which each cited address has one of the real pages."""
        files = sorted(row["file"] for row in rows_of(pages / "pages.jsonl"))
        cited = {url for text in self.texts.values() for url in _urls(text)}
        listed = [{"url": url, "file": files[crc32(url.encode()) % len(files)]} for url in sorted(cited)]
        import_pages(pages, self.folder / "snapshot", pages=self._write("pages", listed))

    async def run(self, protocols: Sequence[str], engine: Engine, preset: Preset) -> list[Trace]:
        """Evaluate the reports with a judge on `engine`, and return its calls, in no particular order.

        Raises:
            SystemExit: an answer is missing, so that the calls are not those of a whole run.
        """
        names = ("tasks", "guidance", "checklists", "plans", "dimensions")
        given: dict[str, Any] = {name: self.folder / f"{name}.jsonl" for name in names}
        given |= {
            "protocols": tuple(protocols),
            "settings": {name: SETTINGS[name] for name in protocols if name in SETTINGS},
            "reports": (self.folder / "reports.jsonl",),
            "references": (self.folder / "references.jsonl",),
            "snapshot": self.folder / "snapshot",
            "judges": (preset.name,),
            "out": self.folder / "_".join(protocols),
        }
        file = RunFile.model_validate(given)
        job = job_of(file)
        with Ledger.open(job.ledger) as ledger:
            judge = await judge_on(JudgeSpec(preset), engine, ledger, job.config.reasks)
            records = await run_job(replace(job, held={preset.name: judge}), unwatched)
            if any(record.status != "done" or record.n_calls_failed for record in records):
                raise SystemExit(f"{job.store.root}: the judge's answers are not complete")
            return [trace for key in ledger.request_keys() if (trace := ledger.reply(key)) is not None]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _urls(text: str) -> set[str]:
    document = parse_report(text.encode())
    return {url for reference in document.references for url in ([reference.url] if reference.url else [])}

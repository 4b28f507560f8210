"""Experiments run whole, with a scripted judge in the place of an engine."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Generator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from local_judge.judge.judge import Judge
from local_judge.lab.experiments.curves import Results
from local_judge.lab.experiments.model import Experiment
from local_judge.lab.experiments.run import ExperimentRun, prepare, run_experiment, with_defaults
from local_judge.lab.experiments.view import results_tables
from local_judge.runs.execution import judges
from local_judge.runs.execution.judges import judge_specs_of
from local_judge.runs.planning.run_file import load_config
from serving.engines.scripted import Call, Reply, ScriptedEngine

from ...scripted_judge import MakeJudge
from ...stub_thread import write_preset

PAPER = Path(__file__).resolve().parents[3].parent / "shared" / "papers" / "dream.txt"
PAPER_HERE = pytest.mark.skipif(not PAPER.exists(), reason="the paper's text is not here")


def fenced(prompt: str, name: str) -> str:
    """What stands in the fence under `name` in a prompt; an error if nothing does."""
    found = re.findall(rf"{re.escape(name)}\n(`{{3,}})\n(.*?)\n\1$", prompt, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, (name, prompt)
    return found[0][1]


def numbered(text: str) -> dict[str, str]:
    """The lines of a numbered list."""
    return dict(re.findall(r"^(\d+)\. (.+)$", text, re.MULTILINE))


def table_of(results: Results) -> list[list[str]]:
    """The cells of the table that is printed, line by line."""
    console = Console(width=300)
    with console.capture() as taken:
        console.print(*results_tables(results))
    return [[cell.strip() for cell in line.split("│")] for line in taken.get().splitlines() if "│" in line]


def row(table: list[list[str]], label: str, place: int = 0) -> list[str]:
    """The cells behind a label that begins so, by default the first."""
    return [cells[1:] for cells in table if cells[0].startswith(label)][place]


class Silent:
    """Watches a run and says nothing."""

    def one_done(self) -> None: ...


@contextlib.contextmanager
def watch(judges: Mapping[str, Judge], n: int) -> Generator[Silent]:
    yield Silent()


RunWhole = Callable[..., tuple[ExperimentRun, ScriptedEngine]]


@pytest.fixture
def run_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_judge: MakeJudge) -> RunWhole:
    """Carries an experiment out with a judge on a script."""

    def run(
        experiment: Experiment, script: Callable[[Call], Reply], out: str = "experiment", **overrides: Any
    ) -> tuple[ExperimentRun, ScriptedEngine]:
        _, engine = make_judge(script)

        def connect(*_: object, **__: object) -> ScriptedEngine:
            return engine

        monkeypatch.setattr(judges, "connect", connect)
        judge_specs = judge_specs_of([str(write_preset(tmp_path))], ["http://127.0.0.1:9/v1"])
        config = load_config(None, overrides, completed=partial(with_defaults, experiment))
        job = prepare(
            experiment, tmp_path / out, judge_specs, config, tmp_path / out / "run" / "ledger.sqlite"
        )
        return asyncio.run(run_experiment(job, watch, tmp_path / out, "paper")), engine

    return run

"""What README.md and docs/ show is what happens.

Every fenced block says in its info string how it is checked, and one that does not is an error:

    console run [exit=N]     each `$ ` line is run in the order of the document, in one folder for the document; the
                             lines below it are what it prints, where `…` stands for anything
    console norun: REASON    cannot run in a test, and says why; its options and scripts have to exist
    python run               executed
    yaml config | preset | criteria | build | qualify | timelines | replication
                             read as a config of `run`, as a judge preset, as static criteria, as a config of
                             `tasks build`, of `qualify`, as data of the experiments
    jsonl pages | reports | tasks | guidance | criteria | claims | known | queries | planted | annotations | ratings
    jsonl attributes | evidence_gaps | questions | items | searches
    csv ratings
    toml | json | jsonl rubric
    jsonl checklists | dimensions | plans | rated | domains
                             read by the reader of that format
    json golden              run as a file of golden vectors
    text, sql                a figure: a tree, a formula, the tables of a ledger; no command
    python signature         a signature, as the code has it
    pycon doctest            an example of a docstring, run by the tests of that module

`file=NAME` after any of these puts the block's text into the document's folder under that name first. Commands that
need a judge get a server without a model: the address in the text is replaced by its own.
"""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

import pytest
import typer
from markdown_it import MarkdownIt
from pydantic import BaseModel

from indexes.making.pagelist import PageLine, read_page_list
from indexes.search.quality import read_queries
from indexes.websearch import read_searches
from local_judge import cli
from local_judge.agents.result import read_evidence_gaps
from local_judge.base.failures import FailureKind
from local_judge.base.rows import read_jsonl
from local_judge.cli.commands import Lazy, app
from local_judge.demo.outcome import Planted
from local_judge.lab.annotations.model import GoldClaim
from local_judge.lab.experiments.corruption import Topic
from local_judge.lab.experiments.planning import load_ratings as load_plan_ratings
from local_judge.lab.experiments.reasoning import Argument
from local_judge.lab.experiments.temporal import Timeline, load_timelines
from local_judge.lab.labelled.load import load_sets
from local_judge.lab.qualification.config import QualifyConfig, load_qualify_config
from local_judge.lab.replication import Replication, load_replication
from local_judge.lab.task_construction.settings import BuildConfig, load_build_config
from local_judge.lab.task_construction.sources import read_items, read_questions
from local_judge.protocols.base import load_protocol, protocol_names
from local_judge.protocols.dream.domains import read_ratings
from local_judge.protocols.race.static import static_criteria
from local_judge.rubric.load import load_rubrics
from local_judge.runs.execution.verify import ClaimRow, load_claim_rows
from local_judge.runs.planning.inputs import load_reports
from local_judge.runs.planning.run_file import RunFile, load_config
from local_judge.runs.results.attributes import load_attributes
from local_judge.runs.results.item_labels import load_item_labels
from local_judge.runs.results.labels import load_labels
from local_judge.runs.results.ratings import load_ratings
from local_judge.runs.sweeps.file import Axes, load_sweep_file
from local_judge.tasks.checklist_lint import RULES
from local_judge.tasks.checklists import CHECKLIST_KIND, ChecklistRow
from local_judge.tasks.criteria import CRITERIA_KIND, CriteriaRow
from local_judge.tasks.dimensions import DIMENSIONS_KIND, DimensionsRow
from local_judge.tasks.guidance import GUIDANCE_KIND, GuidanceRow
from local_judge.tasks.load import load_tasks
from local_judge.tasks.plans import PLAN_KIND, PlanRow
from scripts.write_reference import MODELS, field_docstrings
from serving.presets import Preset, load_preset
from tests import golden
from tests.cli.conftest import SUMMARY

from .test_links import DOCUMENTS, NAMES, ROOT

RUN_DIRECTORY = ROOT / "docs" / "reference" / "formats" / "run-directory.md"
SERVER = "http://127.0.0.1:8000/v1"
"""The address that the documentation gives to a judge's server."""


class Block(NamedTuple):
    """One fenced block."""

    place: str
    language: str
    mode: str
    exit: int
    file: str | None
    text: str


def blocks(text: str, name: str) -> list[Block]:
    """The fenced blocks of a document. Raises ValueError for one that does not say how it is checked."""
    found: list[Block] = []
    for token in MarkdownIt().parse(text):
        if token.type != "fence" or token.map is None:
            continue
        place = f"{name}:{token.map[0] + 1}"
        info, _, file = token.info.partition(" file=")
        language, _, rest = info.strip().partition(" ")
        match = re.fullmatch(r"(run|norun: \S.*|(?!norun)[a-z_]+)?(?: exit=(\d+))?", rest)
        if match is None or (language, (match[1] or "").partition(":")[0]) not in CHECKS:
            raise ValueError(f"{place}: `{token.info}` is neither run nor has a reason")
        mode = (match[1] or "").partition(":")[0]
        found.append(Block(place, language, mode, int(match[2] or 0), file or None, token.content))
    return found


def commands(text: str) -> list[tuple[str, str]]:
    """Commands of a console block, each with what it is said to print."""
    found: list[tuple[str, str]] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def plain(text: str) -> str:
    """Lines without white space at their ends, and with one blank for several: tables may grow wider."""
    return "".join(" ".join(line.split()) + "\n" for line in text.splitlines())


def pattern(shown: str) -> re.Pattern[str]:
    """What an output must match to be what is shown."""
    parts = [
        r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*?") + r"\n"
        for line in plain(shown).splitlines()
    ]
    return re.compile("".join(parts))


class Console:
    """Runs a document's commands: ours in this process, others in a shell."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.folder, self._monkeypatch, self._capsys = folder, monkeypatch, capsys

    def run(self, command: str) -> tuple[int, str]:
        """Exit status and what was printed, without the line that says what the command took."""
        words = shlex.split(command)
        if words[0] != "local-judge":
            done = subprocess.run(
                ["bash", "-c", command], cwd=self.folder, capture_output=True, text=True, check=False
            )
            return done.returncode, done.stdout + done.stderr
        target = None
        if ">" in words:
            target, words = words[words.index(">") + 1], words[: words.index(">")]
        self._monkeypatch.setattr(sys, "argv", words)
        self._capsys.readouterr()
        status = 0
        try:
            cli.main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        out, err = self._capsys.readouterr()
        if target is not None:
            (self.folder / target).write_text(out, encoding="utf-8")
            out = ""
        return status, out + SUMMARY.sub("", err)


def check_console(block: Block, console: Console) -> None:
    entries = commands(block.text)
    assert entries, f"{block.place}: no line begins with `$ `"
    for command, shown in entries:
        status, printed = console.run(command)
        assert status == block.exit, f"{block.place}: {command}\nended with {status}:\n{printed}"
        if shown:
            assert pattern(shown).fullmatch(plain(printed)), (
                f"{block.place}: {command}\nprinted:\n{plain(printed)}"
            )


def check_unrun(block: Block) -> None:
    """A command that is not run must at least be one: our options are parsed, our scripts are there."""
    for command, _ in commands(block.text):
        words = shlex.split(command, comments=True)
        if words[0].startswith("scripts/"):
            assert (ROOT / words[0]).is_file(), f"{block.place}: {command}"
        elif words[0] == "local-judge":
            parser: Any = typer.main.get_command(app)
            arguments = words[1:]
            while hasattr(parser, "commands"):
                given = parser.make_context(parser.name, arguments)  # names the default command of a group
                name, *arguments = [*given._protected_args, *given.args]
                assert name in parser.commands, f"{block.place}: {command}"
                parser = parser.commands[name]
                parser = parser.load() if isinstance(parser, Lazy) else parser
            # Raises UsageError for an option that does not exist or an argument that is missing.
            parser.make_context(parser.name, arguments)


def check_python(block: Block, console: Console) -> None:
    exec(compile(block.text, block.place, "exec", dont_inherit=True), {"__name__": "__main__"})


def check_figure(block: Block, console: Console) -> None:
    assert "$ " not in block.text and "local-judge " not in block.text, (
        f"{block.place}: a command in a figure"
    )


def reader(read: Callable[[Path], object], suffix: str) -> Callable[[Block, Console], None]:
    def check(block: Block, console: Console) -> None:
        path = console.folder / f"block{suffix}"
        path.write_text(block.text, encoding="utf-8")
        assert read(path), f"{block.place}: nothing in it"
        path.unlink()

    return check


def read_pages(path: Path) -> object:
    folder = path.parent / "pages-of-a-block"
    folder.mkdir(exist_ok=True)
    for _, row in read_jsonl(path):
        if "file" in row:
            (folder / row["file"]).touch()
    return list(read_page_list(path, folder))


def read_golden(path: Path) -> object:
    assert golden.main([str(path)]) == 0
    return golden.load(path)


CHECKS: dict[tuple[str, str], Callable[[Block, Console], None]] = {
    ("console", "run"): check_console,
    ("console", "norun"): lambda block, console: check_unrun(block),
    ("python", "run"): check_python,
    ("yaml", "config"): reader(lambda path: load_config(path, {}), ".yaml"),
    ("yaml", "sweep"): reader(lambda path: load_sweep_file(path, {}), ".yaml"),
    ("yaml", "preset"): reader(load_preset, ".yaml"),
    ("yaml", "criteria"): reader(lambda path: static_criteria(str(path)), ".yaml"),
    ("yaml", "build"): reader(lambda path: load_build_config(path, {}), ".yaml"),
    ("yaml", "qualify"): reader(lambda path: load_qualify_config("full", path, None), ".yaml"),
    ("yaml", "replication"): reader(lambda path: load_replication(str(path)), ".yaml"),
    ("yaml", "timelines"): reader(load_timelines, ".yaml"),
    ("jsonl", "rated"): reader(load_plan_ratings, ".jsonl"),
    ("jsonl", "questions"): reader(read_questions, ".jsonl"),
    ("jsonl", "items"): reader(read_items, ".jsonl"),
    ("jsonl", "pages"): reader(read_pages, ".jsonl"),
    ("jsonl", "reports"): reader(lambda path: load_reports([path]), ".jsonl"),
    ("jsonl", "tasks"): reader(load_tasks, ".jsonl"),
    ("jsonl", "guidance"): reader(GUIDANCE_KIND.read, ".jsonl"),
    ("jsonl", "criteria"): reader(CRITERIA_KIND.read, ".jsonl"),
    ("jsonl", "checklists"): reader(lambda path: CHECKLIST_KIND.load(path).rows, ".jsonl"),
    ("jsonl", "plans"): reader(lambda path: PLAN_KIND.load(path).rows, ".jsonl"),
    ("jsonl", "dimensions"): reader(lambda path: DIMENSIONS_KIND.load(path).rows, ".jsonl"),
    ("jsonl", "domains"): reader(read_ratings, ".jsonl"),
    ("jsonl", "claims"): reader(load_claim_rows, ".jsonl"),
    ("jsonl", "claim_labels"): reader(lambda path: load_labels([path]), ".jsonl"),
    ("jsonl", "labelled"): reader(lambda path: load_sets([path]), ".jsonl"),
    ("jsonl", "queries"): reader(read_queries, ".jsonl"),
    ("jsonl", "planted"): reader(
        lambda path: [Planted.model_validate(row) for _, row in read_jsonl(path)], ".jsonl"
    ),
    ("jsonl", "annotations"): reader(
        lambda path: [GoldClaim.model_validate(row) for _, row in read_jsonl(path)], ".jsonl"
    ),
    ("jsonl", "attributes"): reader(lambda path: load_attributes(path).systems, ".jsonl"),
    ("jsonl", "ratings"): reader(lambda path: load_ratings(path).rows, ".jsonl"),
    ("jsonl", "evidence_gaps"): reader(read_evidence_gaps, ".jsonl"),
    ("jsonl", "searches"): reader(lambda path: list(read_searches(path)), ".jsonl"),
    ("csv", "ratings"): reader(lambda path: load_ratings(path).rows, ".csv"),
    ("csv", "labels"): reader(lambda path: load_item_labels(path).rows, ".csv"),
    ("json", "golden"): reader(read_golden, ".json"),
    **{(suffix, "rubric"): reader(load_rubrics, f".{suffix}") for suffix in ("toml", "json", "jsonl")},
    ("text", ""): check_figure,
    ("sql", ""): check_figure,
    ("python", "signature"): check_figure,
    ("pycon", "doctest"): check_figure,
    ("toml", ""): check_figure,
}


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_every_example_runs_or_says_why_not(
    path: Path,
    tmp_path: Path,
    stand_in: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = blocks(path.read_text(encoding="utf-8").replace(SERVER, stand_in), path.name)
    if any(block.mode == "run" for block in found) and not entry_points(group="local_judge.protocols"):
        pytest.skip("local-judge is not installed here: no entry point names its protocols")
    # A reader follows the documentation in a checkout; what is written there must not land in ours.
    for name in ("local_judge", "configs", "scripts"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCAL_JUDGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    console = Console(tmp_path, monkeypatch, capsys)
    for block in found:
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        CHECKS[block.language, block.mode](block, console)


@pytest.mark.parametrize(
    "info", ["", "bash", "console", "console norun", "console norun:", "python", "json", "yaml run"]
)
def test_a_block_that_does_not_say_how_it_is_checked_is_refused(info: str) -> None:
    with pytest.raises(ValueError, match=r"a\.md:3.*neither run nor has a reason"):
        blocks(f"# A\n\n```{info}\n$ true\n```\n", "a.md")


@pytest.mark.parametrize(
    "command", ["local-judge verify", "local-judge show a --nope", "local-judge fly", "scripts/fly"]
)
def test_a_command_that_is_none_is_noticed_even_where_it_is_not_run(command: str) -> None:
    (block,) = blocks(f"```console norun: needs a GPU\n$ {command}\n```\n", "a.md")
    with pytest.raises(Exception, match=r"a\.md:1|Missing|No such option"):
        check_unrun(block)


def test_shown_output_must_match_line_by_line() -> None:
    shown = "one\n…\nthree is …\n"
    assert pattern(shown).fullmatch("one\ntwo\nand a half\nthree is 3\n")
    assert pattern(shown).fullmatch("one\nthree is 3\n")
    assert not pattern(shown).fullmatch("one\ntwo\n")
    assert not pattern(shown).fullmatch("one\nthree is 3\nfour\n")


WRITTEN: tuple[type[BaseModel], ...] = (
    *(RunFile, Preset, PageLine, ClaimRow, GuidanceRow, ChecklistRow, PlanRow, CriteriaRow, DimensionsRow),
    *(Axes, GoldClaim, Topic, Timeline, Argument, QualifyConfig, BuildConfig, Replication),
)
"""Models of files that people write."""


def with_parts(*models: type[BaseModel]) -> list[type[BaseModel]]:
    """Return models and those of their fields that models describe, each once."""
    found: list[type[BaseModel]] = []
    rest: list[Any] = [*models]
    while rest:
        one = rest.pop()
        rest += get_args(one)
        if isinstance(one, type) and issubclass(one, BaseModel) and one not in found:
            found.append(one)
            rest += [field.annotation for field in one.model_fields.values()]
    return found


@pytest.mark.parametrize("model", WRITTEN, ids=lambda model: model.__name__)
def test_every_file_that_people_write_is_described(model: type[BaseModel]) -> None:
    assert any(model.__name__ in models.get(model.__module__, "").split() for models in MODELS.values())


SETTINGS = [load_protocol(name).settings_type for name in protocol_names()]


@pytest.mark.parametrize("model", with_parts(*WRITTEN, *SETTINGS), ids=lambda model: model.__name__)
def test_every_key_of_a_file_that_people_write_is_documented(model: type[BaseModel]) -> None:
    # A key with a model of its own is described by that model's table.
    missing = {
        key
        for key, field in model.model_fields.items()
        if key not in field_docstrings(model) and len(with_parts(cast("Any", field.annotation))) == 0
    }
    assert not missing, f"no docstring: {', '.join(sorted(missing))}"


def first_cells(path: Path, heading: str) -> set[str]:
    """Names in backticks in the first column of the table after a line."""
    _, _, after = path.read_text(encoding="utf-8").partition(heading)
    table = after.partition("|---")[2].partition("\n\n")[0]
    rows = table.splitlines()[1:]
    assert rows, f"{path.name}: no table after {heading!r}"
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def test_every_kind_of_failure_is_explained() -> None:
    assert first_cells(RUN_DIRECTORY, "A `failure` has") == set(get_args(FailureKind))


def test_every_rule_of_checklists_is_explained() -> None:
    text = (ROOT / "docs" / "guides" / "tasks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (hard|soft) \|", text, re.MULTILINE)
    assert rows == [(name, "hard" if rule.hard else "soft") for name, rule in RULES.items()]


ARCHITECTURE = (ROOT / "docs" / "development" / "architecture.md").read_text(encoding="utf-8")


def test_the_architecture_names_files_that_there_are() -> None:
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", ARCHITECTURE))
    assert {"base/failures.py", "scoring/algebra.py", "tests/golden"} <= named
    folders = (ROOT, ROOT / "local_judge", ROOT / "local_judge" / "protocols")
    missing = {name for name in named if not any((folder / name).exists() for folder in folders)}
    # Names with capitals stand for any protocol, metric or run.
    assert {name for name in missing if not re.search("[A-Z]{3}", name)} == set()


def test_the_architecture_shows_the_whole_tree() -> None:
    tree = ARCHITECTURE.partition("```text")[2].partition("```")[0]
    shown = set(re.findall(r"^  (\w+)/", tree, re.MULTILINE))
    assert shown == {path.parent.name for path in (ROOT / "local_judge").glob("*/__init__.py")}
    assert all((ROOT / name).is_dir() for name in re.findall(r"^(\w+)/", tree, re.MULTILINE))


def test_the_functions_on_the_path_of_a_claim_are_there() -> None:
    named = re.findall(r"`((?:[a-z_]+\.)+\w+(?:\.\w+)*)`", ARCHITECTURE)
    checked: set[str] = set()
    for name in named:
        if (ROOT / name).exists() or name.endswith((".py", ".md", ".jsonl")):
            continue
        module, steps = name.split("."), list[str]()
        within = ROOT if (ROOT / module[0]).is_dir() else ROOT / "local_judge"
        while not (
            within.joinpath(*module).is_dir() or within.joinpath(*module).with_suffix(".py").is_file()
        ):
            steps.insert(0, module.pop())
            assert module, name
        prefix = "local_judge." if within != ROOT else ""
        found: object = importlib.import_module(prefix + ".".join(module))
        for step in steps:
            found = getattr(found, step)
        checked.add(name)
    assert {
        "documents.parse_report",
        "judge.judge.Judge.ask_items",
        "runs.storage.rescoring.rescore",
    } <= checked

"""Every command through the real entry point, in this process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from indexes.snapshot import Snapshot
from local_judge import __version__
from local_judge.cli.commands import COMMANDS, Lazy
from local_judge.demo.outcome import sample_folder
from local_judge.protocols.deer.rubric.load import load_rubric, rubric_digest
from local_judge.runs.storage.manifest import prompts_digest
from local_judge.runs.storage.store import RunStore
from serving.presets import load_preset

from ..stub_thread import StubThread
from .conftest import REPORT, ROOT, Command, finish, start

SAMPLE = sample_folder() / "report.md"


def test_the_module_is_the_command(tmp_path: Path) -> None:
    ended = finish(start("--help", cwd=tmp_path))
    assert (ended.code, ended.err) == (0, "")
    assert all(name in ended.out for name in ("run", "show", "rescore", "export", "results", "demo"))


@pytest.mark.parametrize(
    "name",
    [
        "run",
        "show",
        "rescore",
        "export",
        "verify",
        "text check",
        "text clean",
        "judge up",
        "demo",
        "snapshot",
        "judge",
        "tasks",
        "results stats",
        "snapshot import",
    ],
)
def test_each_command_has_help(command: Command, name: str) -> None:
    for flag in ("--help", "-h"):
        ended = command(*name.split(), flag)
        assert ended.code == 0
        assert "Usage:" in ended.out


def test_the_help_names_every_command(command: Command) -> None:
    listed = re.findall(r"^  (\w+) ", command("--help").out.partition("Evaluate:")[2], re.MULTILINE)
    assert listed == list(COMMANDS)


def lazy_commands(commands: Mapping[str, Any]) -> Iterator[Lazy]:
    for one in commands.values():
        if isinstance(one, Lazy):
            yield one
        else:
            yield from lazy_commands(one.commands)


def test_commands_are_listed_with_the_help_that_they_have() -> None:
    listed = {one.target: one.help for one in lazy_commands(COMMANDS)}
    helps = {one.target: one.load().help for one in lazy_commands(COMMANDS)}
    assert listed == {target: " ".join(help.partition("\n\n")[0].split()) for target, help in helps.items()}


LOADED = """
import json, sys
from local_judge.cli import main
try:
    main()
finally:
    print("\\n" + json.dumps(sorted(sys.modules)))
"""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--help"], "rescore"),
        (["lab", "--help"], "benchmark-verifier"),
        (["--version"], f"local-judge {__version__}"),
        (["snapshot", "--help"], "search-web"),
        (["tasks", "--help"], "review"),
    ],
)
def test_help_loads_nothing_that_commands_need(arguments: list[str], says: str) -> None:
    ended = subprocess.run([sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True)
    assert ended.returncode == 0 and says in ended.stdout, ended.stderr
    loaded: list[str] = json.loads(ended.stdout.splitlines()[-1])
    ours = {name for name in loaded if name.partition(".")[0] in ("local_judge", "serving", "indexes")}
    assert ours == {
        "local_judge",
        "local_judge.base",
        "local_judge.base.errors",
        "local_judge.base.problems",
        "local_judge.cli",
        "local_judge.cli.commands",
        "local_judge.cli.faults",
        "local_judge.cli.help",
    }
    others = {name.partition(".")[0] for name in loaded}
    assert not others & {"aiohttp", "faiss", "lxml", "numpy", "scipy", "torch", "trafilatura", "yaml"}
    # Typer itself loads pydantic, to parse the options that stand before a command.
    assert "pydantic" not in others or arguments[0] in ("lab", "snapshot", "tasks")
    assert len(loaded) < 500  # 329 with Typer 0.29 and Rich 15; the commands load 1,661


def test_completion_knows_commands_and_their_options(monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(words: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
        monkeypatch.setenv("_LOCAL_JUDGE_COMPLETE", "complete_bash")
        done = subprocess.run(
            [sys.executable, "-c", "from local_judge.cli.commands import app; app(prog_name='local-judge')"],
            capture_output=True,
            text=True,
        )
        return done.stdout.split()

    assert completed("local-judge ver") == ["verify"]
    assert completed("local-judge tasks draft gui") == ["guidance"]
    assert "--allow-modified" in completed("local-judge show out --al")


def test_wrong_usage_is_2(command: Command) -> None:
    for arguments in (["run"], ["explode"], ["show", "x", "--sideways"], ["run", "x", "--limit", "0"]):
        assert command(*arguments).code == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("results stats stability run --measure words", "--measure:"),
        ("results stats length run --resamples 5", "--resamples:"),
        ("sweep a.yaml --merge --shard 1/2", "--shard:"),
        ("sweep a.yaml --merge --storage s3://b", "--storage:"),
        ("sweep a.yaml l.sqlite", "--merge"),
        ("judge show qwen3-8b --running", "--running"),
        ("tasks show plan a b", "OTHER:"),
        ("tasks show topic a --task 1", "--task:"),
        ("tasks build d --domains 1", "--domains:"),
        ("tasks build d --out x", "--out:"),
        ("tasks build d --voter a --drops", "--drops:"),
        ("snapshot import PAGES PAGES out", "together"),
        ("snapshot search SNAPSHOT pump --seed 1", "--seed:"),
        ("snapshot search SNAPSHOT pump --evaluate", "QUERY:"),
    ],
)
def test_an_option_of_another_use_of_a_command_is_refused(
    command: Command, snapshot: Path, words: str, says: str
) -> None:
    places = {"PAGES": sample_folder() / "pages", "SNAPSHOT": snapshot}
    ended = command(*(places.get(word, word) for word in words.split()))
    assert (ended.code, says in ended.line()) == (1, True), ended.err


def test_check_prints_sentences_and_references(command: Command, report: Path) -> None:
    ended = command("text", "check", report, "--sentences")
    assert ended.code == 0
    for text in (
        "L2.S1",
        "The retrofit connected 1,240 dwellings",
        "https://council.example/minutes/2021-03-18",
    ):
        assert text in ended.out


def test_check_prints_the_parsed_report_as_json(command: Command, report: Path) -> None:
    parsed = json.loads(command("text", "check", report, "--sentences", "--json").out)
    assert [sentence["label"] for sentence in parsed["sentences"]] == ["L2.S1", "L2.S2"]
    assert [reference["key"] for reference in parsed["references"]] == ["1", "2"]


def test_info_of_a_snapshot_without_pages_prints_a_dash_for_each_missing_date(
    command: Command, tmp_path: Path
) -> None:
    pages, out = tmp_path / "pages", tmp_path / "snapshot"
    pages.mkdir()
    dead = {
        "url": "https://a.example/",
        "fetched": "2025-03-10T08:01:07Z",
        "status": "dead",
        "reason": "404 Not Found",
    }
    (pages / "pages.jsonl").write_text(json.dumps(dead))
    assert command("snapshot", "import", pages, out).code == 0
    shown = command("snapshot", "info", out).out
    assert "first –, last –, known 0" in shown and "None" not in shown


def test_snapshot_commands(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "snapshot"
    made = command("snapshot", "import", sample_folder() / "pages", out, "--json")
    assert made.code == 0
    info = json.loads(made.out)
    assert (info["n_pages"], info["statuses"]) == (7, {"dead": 1, "ok": 6})
    assert json.loads(command("snapshot", "info", out, "--json").out) == info
    assert info["digest"] in command("snapshot", "info", out).out
    verified = command("snapshot", "verify", out)
    assert verified.code == 0
    assert verified.out.endswith(f"0 wrong; digest {info['digest']}\n")


def test_one_altered_byte_of_a_snapshot_is_found_and_named(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "snapshot"
    command("snapshot", "import", sample_folder() / "pages", out)
    texts = out / "texts.utf8"
    data = bytearray(texts.read_bytes())
    data[100] ^= 1
    texts.write_bytes(data)
    verified = command("snapshot", "verify", out)
    assert verified.code == 1
    assert verified.out.startswith("texts.utf8: SHA-256 differs from the manifest\n")
    [problem] = json.loads(command("snapshot", "verify", out, "--json").out)["problems"]
    assert problem["path"] == "texts.utf8"


def test_what_a_snapshot_lacks_is_said(command: Command, snapshot: Path, tmp_path: Path) -> None:
    lacking = command("snapshot", "page", snapshot, "https://no.example")
    assert lacking.line() == (
        "local-judge: https://no.example is not in the snapshot; `local-judge snapshot page` lists its URLs"
    )
    unknown = command("snapshot", "page", snapshot, "--status", "foo")
    assert (unknown.code, "--status foo: unknown name; choose from ok" in unknown.line()) == (1, True)
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    ended = command("run", empty, "--judge", "qwen3-8b", "--out", tmp_path / "out")
    assert ended.line().startswith(f"local-judge: {empty}: ") and ended.line().endswith(" empty")


def test_judges_lists_presets(command: Command) -> None:
    rows: list[dict[str, Any]] = json.loads(command("judge", "show", "--json").out)
    names = [row["name"] for row in rows]
    assert names == sorted(names)
    assert {"qwen3-14b", "qwen3-14b-thinking", "qwen2.5-coder-1.5b"} <= set(names)
    listed = command("judge", "show").out
    assert all(name in listed for name in names)


@pytest.mark.parametrize(
    "name",
    [
        "qwen3-14b",
        "qwen3-14b-thinking",
        "qwen3-14b-invariant",
        "qwen3-14b-invariant-thinking",
        "gpt-oss-20b",
        "gpt-oss-20b-invariant",
        "mistral-small-3.2-24b-invariant",
    ],
)
def test_a_copied_preset_is_the_judge_that_it_was_copied_from(
    command: Command, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(command("judge", "show", name).out)
    ours, theirs = (load_preset(judge).model_dump(exclude={"name", "reasoning"}) for judge in (file, name))
    assert ours == theirs
    shown = command("judge", "show", file).out
    assert shown.startswith(f"# {file}\n# commit of ") and shown.endswith(file.read_text())
    assert json.loads(command("judge", "show", file, "--json").out)["model"] == ours["model"]


def test_show_says_what_a_preset_needs(command: Command) -> None:
    assert command("judge", "show", "qwen3-32b").out.splitlines()[1:3] == [
        "# commit of the weights: 9216db5781bf21249d130ec9da846c4624c16137",
        "# memory: 61 GiB of weights, 8.0 GiB for one context of 32,768 tokens; at least 2 x 48 GB",
    ]
    listed: list[dict[str, Any]] = json.loads(command("judge", "show", "--json").out)
    assert {row["name"]: row["gpus"] for row in listed}["qwen3-32b-thinking"] == "2 x 48 GB"
    assert json.loads(command("judge", "show", "qwen3-32b", "--json").out)["gpus"] == "2 x 48 GB"


def run_arguments(
    report: Path, snapshot: Path, preset: Path, server: StubThread, out: Path
) -> list[str | Path]:
    judge = ["--judge", preset, "--base-url", server.url, "--set", "deer.parts=[verification]"]
    return ["run", report, "--snapshot", snapshot, *judge, "--out", out]


def test_a_run_from_plan_to_rescore(
    command: Command, report: Path, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run = run_arguments(report, snapshot, preset, server, out)

    plan = json.loads(command(*run, "--dry-run", "--json").out)
    # One batch of two sentences; what they claim, and so which pages are needed, is not known yet.
    assert (plan["reports"], plan["calls"], plan["replayed"], plan["sentences_unread"]) == (1, 1, 0, 2)
    assert plan["prompt_tokens"] > 100
    assert not out.exists()
    assert server.chats == []

    ended = command(*run, "--json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert [case["status"] for case in found["cases"]] == ["done"]
    assert {score["profile"] for score in found["scores"]} == {"paper", "upstream"}
    # The batch; and for each of two pages its claim and the question whether it is reliable.
    assert len(server.chats) == 1 + 2 * 2

    manifest = json.loads((out / "manifest.json").read_text())
    recorded = {"reports": [str(report)], "snapshot": str(snapshot), "judges": [str(preset)]}
    assert recorded.items() <= manifest["run"].items() and "out" not in manifest["run"]
    assert manifest["context_tokens"] == {"stub": 32768}
    assert manifest["snapshot"] == Snapshot.open(snapshot).digest
    assert manifest["prompts"] == prompts_digest()
    assert manifest["judges"][0]["identity"]["engine_version"] == "0.0-stub"
    assert manifest["config"]["claims"]["method"] == "grouped"
    assert [entry["id"] for entry in RunStore(out).inputs()] == ["mill"]
    assert manifest["protocols"] == {"deer": {"version": "6", "data": rubric_digest(load_rubric())}}

    plan = json.loads(command(*run, "--dry-run", "--json").out)
    assert (plan["calls"], plan["prompt_tokens"], plan["replayed"], plan["sentences_unread"]) == (0, 0, 5, 0)
    table = command(*run, "--dry-run").out
    assert "calls to make" in table

    shown = json.loads(command("show", out, "--claims", "--json").out)
    assert shown["scores"] == found["scores"]
    verdicts = shown["claims"]["verdicts"]
    assert [verdict["claim"] for verdict in verdicts] == ["L2.S1.1", "L2.S2.1"]
    assert all(verdict["quote"] and verdict["label"] == "supported" for verdict in verdicts)
    tables = command("show", out, "--claims").out
    assert re.search("2 found .*, 0 rejected", tables)
    assert "https://heat.example/fernholt/renewal" in tables
    assert command("show", out, "--report", "nobody").line().endswith("lists them")

    before = (out / "scores/deer.jsonl").read_bytes()
    (out / "scores/deer.jsonl").unlink()
    assert "scores/deer.jsonl is missing" in command("rescore", out, "--json").line()
    rescored = json.loads(command("rescore", out, "--allow-modified", "--json").out)
    assert all(row.pop("modified") == [f"{out}: scores/deer.jsonl is missing"] for row in rescored)
    assert rescored == found["scores"]
    assert command("show", out).code == 0
    assert (out / "scores/deer.jsonl").read_bytes() == before

    count = len(server.chats)
    assert command(*run).code == 0
    assert len(server.chats) == count


def test_a_run_directory_is_of_one_run(
    command: Command, report: Path, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run = run_arguments(report, snapshot, preset, server, out)
    assert command(*run).code == 0
    assert command(*run).line() == f"{out} is finished; 0 calls"
    other = command(*run, "--method", "scored")
    assert other.code == 1
    assert other.line().startswith(f"local-judge: {out}: ")
    assert re.search(r"claims\.method \(grouped there, scored now\); .*--out", other.line())
    report.write_text(REPORT + "\nOne more sentence.\n", encoding="utf-8")
    assert "different reports" in command(*run).line()


def test_limit_takes_the_first_reports(
    command: Command, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    for name in ("b", "a", "c"):
        (reports / f"{name}.md").write_text(REPORT)
    run = run_arguments(reports, snapshot, preset, server, tmp_path / "run")
    found = json.loads(command(*run, "--limit", "2", "--json").out)
    assert [case["id"] for case in found["cases"]] == ["a", "b"]
    shown = command("show", tmp_path / "run")
    assert "all reports" in shown.out
    assert command("show", tmp_path / "run", "--claims").code == 1


def test_the_ledger_can_be_shared_between_runs(
    command: Command, report: Path, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    ledger = tmp_path / "replies.sqlite"
    for name in ("one", "two"):
        run = run_arguments(report, snapshot, preset, server, tmp_path / name)
        assert command(*run, "--ledger", ledger).code == 0
        assert not (tmp_path / name / "ledger.sqlite").exists()
    assert len(server.chats) == 5


def test_verify(command: Command, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path) -> None:
    claims, out = tmp_path / "claims.jsonl", tmp_path / "verdicts.jsonl"
    claims.write_text(
        '{"id": "a", "claim": "1,240 dwellings were connected.", "url": "https://heat.example/fernholt/renewal"}\n'
        '{"claim": "Crowds came.", "url": "https://gazette.example/2022/opening-day"}\n'
        '{"claim": "Nobody knows.", "url": "https://nowhere.example/"}\n'
    )
    given = ["verify", claims, "--snapshot", snapshot, "--judge", preset, "--base-url", server.url]
    ended = command(*given, "--ledger", tmp_path / "l.sqlite", "--out", out, "--json")
    assert (ended.code, ended.err) == (0, "")
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [(row["id"], row["status"], row["label"]) for row in rows] == [
        ("a", "ok", "supported"),
        ("2", "dead", None),
        ("3", "not_in_snapshot", None),
    ]
    assert out.read_text() == ended.out
    table = command(*given, "--ledger", tmp_path / "l.sqlite").out
    assert "supported" in table and "not_in_snapshot" in table


def test_demo_with_a_server(command: Command, preset: Path, server: StubThread, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    given = ["demo", "--out", out, "--judge", preset, "--base-url", server.url]
    ended = command(*given)
    assert (ended.code, ended.err) == (0, "")
    assert "planted alterations caught" in ended.out
    # The stub says Yes with probability 0.82 to whatever is asked: it catches nothing and calls nothing wrong.
    outcome = json.loads(command(*given, "--json").out)["outcome"]
    assert outcome["caught"] == 0
    assert outcome["called_wrong"] == []
    assert outcome["planted"] == len(outcome["missed"]) + outcome["unjudged"]


def test_a_reader_that_stops_reading_is_no_error(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(
        [sys.executable, "-m", "local_judge", "judge", "show"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "words", [("judge", "show"), ("judge", "show", "--json"), ("--help",), ("--version",)]
)
def test_a_full_disk_behind_standard_output_is_named(tmp_path: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "local_judge", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr.startswith("local-judge: standard output: No space left on device; ")
    assert ended.stderr.count("\n") == 1


def test_quiet_leaves_out_progress_and_verbose_adds_the_time(
    command: Command, report: Path, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    run = run_arguments(report, snapshot, preset, server, tmp_path / "run")
    quiet = command("--quiet", *run)
    assert (quiet.code, quiet.err) == (0, "") and quiet.out
    verbose = command("--verbose", *run)
    assert verbose.code == 0 and re.search(r"^took \d+\.\d s$", verbose.err, re.MULTILINE)
    assert "LOCAL_JUDGE_QUIET" not in os.environ and "LOCAL_JUDGE_DEBUG" not in os.environ

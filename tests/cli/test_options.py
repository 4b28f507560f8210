"""Options of all commands: one flag has one help text, defaults come from the environment, and helps fit a screen."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from local_judge.cli.commands import Lazy, app

from ..stub_thread import StubThread
from .conftest import Command

OWN_HELP = {
    "--annotated": "reports to measure a judge on, or labels to fit as well",
    "--all": "all of what a command would do in part",
    "--dry-run": "model calls that are not made, or rows that are not removed",
    "--host": "an address to listen on, or a host of pages",
    "--item": "item of agents, or of a label",
    "--items": "items of a plan, or of a report's scores",
    "--judge": "a judge to ask, or one of a run's judges",
    "--labels": "a file of people's labels, or the distribution of labels",
    "--ledger": "a file that stores replies, or one to read",
    "--method": "a method of verifying claims, or of drafting plans",
    "--out": "what a command writes",
    "--pages": "pages of an agent, or a list of pages",
    "--port": "a port to listen on, or the first of several",
    "--ratings": "ratings of reports, or of plans",
    "--strict": "a problem of a report, or a check that was not made",
    "--reports": "reports to read, or a row for each report",
    "--score": "of `show`, only with --by",
    "--tasks": "files of tasks, files with addresses, or a number of tasks",
}
"""Flags that mean different things in different commands."""


def every_command() -> Iterator[tuple[str, Any]]:
    """All commands and groups with their names."""

    def below(command: Any, name: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        command = command.load() if isinstance(command, Lazy) else command
        yield " ".join(name), command
        for word, subcommand in getattr(command, "commands", {}).items():
            yield from below(subcommand, (*name, word))

    return below(typer.main.get_command(app), ())


def options() -> Iterator[tuple[str, str, Any]]:
    """Every option with its command and its flag."""
    for name, command in every_command():
        for parameter in command.params:
            if parameter.param_type_name == "option":
                yield name, parameter.opts[0], parameter


def test_one_flag_has_one_help_text() -> None:
    helps: dict[str, set[str]] = {}
    for _, flag, option in options():
        helps.setdefault(flag, set()).add(option.help)
    assert {flag for flag, texts in helps.items() if len(texts) > 1} == set(OWN_HELP)


def test_help_texts_are_sentences() -> None:
    wrong = [
        (name, flag) for name, flag, option in options() if not (option.help or "").strip().endswith(".")
    ]
    assert wrong == []


def test_commands_that_ask_a_judge_have_the_options_of_servers() -> None:
    servers = {"--base-url", "--offline", "--wait-for-server", "--attempts", "--fail-after"}
    flags: dict[str, set[str]] = {}
    for name, flag, _ in options():
        flags.setdefault(name, set()).add(flag)
    asking = {name for name, has in flags.items() if "--base-url" in has}
    assert {"run", "verify", "demo", "judge qualify", "lab experiment", "tasks draft"} <= asking
    assert all(servers <= flags[name] for name in asking)


@pytest.mark.parametrize("name", [name for name, _ in every_command()])
def test_help_fits_one_screen(command: Command, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = command(*name.split(), "--help").out.splitlines()
    assert max(map(len, shown)) <= 80
    assert len(shown) <= 50


def test_help_names_all_options_and_help_all_describes_them(command: Command) -> None:
    for name, one in every_command():
        short, every = (command(*name.split(), flag) for flag in ("--help", "--help-all"))
        assert (short.code, every.code) == (0, 0) and "More options" not in every.out
        described = "".join(every.out.split())
        for option in (option for option in one.params if option.param_type_name == "option"):
            assert option.opts[0] in short.out and option.opts[0] in every.out
            assert "".join(option.help.split()) in described, name


def test_quiet_and_verbose_stand_anywhere(command: Command, report: Path) -> None:
    for words in (("text", "check", report, "--verbose"), ("text", "--verbose", "check", report)):
        ended = command(*words)
        assert ended.code == 0 and ended.err.count("took ") == 1
    assert command("--verbose", "text", "check", report, "--verbose").err.count("took ") == 1
    assert "LOCAL_JUDGE_DEBUG" not in os.environ


def test_the_environment_names_the_judge_its_server_and_the_ledger(
    command: Command,
    snapshot: Path,
    preset: Path,
    server: StubThread,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claims, ledger = tmp_path / "claims.jsonl", tmp_path / "replies.sqlite"
    claims.write_text('{"claim": "1,240 dwellings.", "url": "https://heat.example/fernholt/renewal"}\n')
    given = ("verify", claims, "--snapshot", snapshot)
    assert command(*given).code == 2
    monkeypatch.setenv("LOCAL_JUDGE_JUDGE", str(preset))
    monkeypatch.setenv("LOCAL_JUDGE_BASE_URL", server.url)
    assert re.search("give --ledger FILE .*--out$", command(*given).line())
    monkeypatch.setenv("LOCAL_JUDGE_LEDGER", str(ledger))
    assert command(*given).code == 0 and ledger.exists()
    assert "preset 'another'" in command(*given, "--judge", "another").line()
    shown = command("verify", "--help").out
    assert all(f"LOCAL_JUDGE_{name}" in shown for name in ("JUDGE", "BASE_URL", "LEDGER"))


def test_a_command_with_one_judge_refuses_several_of_the_environment(
    command: Command, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_JUDGE_JUDGE", "qwen3-8b qwen3-14b")
    given = ("verify", tmp_path / "claims.jsonl", "--snapshot", snapshot)
    assert command(*given).line() == (
        "local-judge: LOCAL_JUDGE_JUDGE names 2 judges, but this command takes one: choose it with --judge, such as "
        "--judge qwen3-8b"
    )
    assert "claims.jsonl: no such file" in command(*given, "--judge", "qwen3-8b").line()


def test_the_environment_makes_no_judge_of_a_command_that_needs_none(
    command: Command, report: Path, preset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_JUDGE_JUDGE", str(preset))
    monkeypatch.setenv("LOCAL_JUDGE_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LOCAL_JUDGE_LEDGER", "l.sqlite")
    assert command("text", "clean", report).code == 0


def test_home_is_an_option_and_a_variable(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_JUDGE_HOME", str(tmp_path / "by variable"))
    given = ("demo", "--out", tmp_path / "demo")
    assert str(tmp_path / "by variable") in command(*given).line()
    by_option = ("--home", tmp_path / "by option")
    assert str(by_option[1]) in command(*by_option, *given).line()
    assert str(by_option[1]) in command(*given, *by_option).line()

"""`local-judge tasks ... checklist`: drafted by the stub, checked, shown, decided on, and given to a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from local_judge.tasks.checklists import CHECKLIST_KIND
from tests.stub_replies import fill
from tests.stub_server import Fault, StubPlan

from ..stub_thread import StubThread, answer, write_preset
from ..tasks.dataset_rows import FIXED, OPEN, ROWS, write_csv, write_jsonl
from .conftest import REPORT, Command
from .test_guidance_commands import Terminal

TASKS = [
    {"id": "mill", "prompt": "What did the [b]retrofit[/b] of the mill change?"},
    {"id": "own", "prompt": "Who paid?", "checklist": ["Does the report name who paid?"]},
    {"id": "votes", "prompt": "How did the council vote?"},
]


def drafter(asked: Mapping[str, Any]) -> str:
    """Three items, the last of which breaks a rule; and nothing better when it is asked again."""
    reply = json.loads(fill(asked))
    if "items" not in reply:
        return answer(asked)
    kept = ["Does the report state the cost?", "Does the report say who decided?"]
    return json.dumps({"items": [*kept, "What was [b]built[/b]?"]})


@pytest.fixture
def server() -> Iterator[StubThread]:
    with StubThread(StubPlan(answer=drafter)) as running:
        yield running


@pytest.fixture
def drafted(command: Command, tmp_path: Path, server: StubThread, preset: Path) -> Path:
    out = tmp_path / "checklists.jsonl"
    tasks = write_jsonl(tmp_path / "tasks.jsonl", TASKS)
    options = ("--judge", preset, "--base-url", server.url, "--out", out)
    ended = command("tasks", "draft", "checklist", tasks, *options)
    assert (ended.code, ended.out) == (0, f"2 drafted, 1 had a checklist, 0 failed: {out}\n")
    asked = len(server.chats)
    assert command("tasks", "draft", "checklist", tasks, *options).out.startswith("0 drafted, 3 had")
    assert len(server.chats) == asked
    return out


def test_show_and_lint(command: Command, drafted: Path) -> None:
    table = command("tasks", "show", "checklist", drafted).out.splitlines()
    assert [cell.strip() for cell in table[2].split("│")][:5] == ["mill", "drafted", "3", "1", ""]
    shown = command("tasks", "show", "checklist", drafted, "--task", "mill").out
    assert "What did the [b]retrofit[/b] of the mill change?" in shown
    assert "q3. What was [b]built[/b]?\n   yes-or-no: asks 'What'" in shown
    ended = command("tasks", "lint", "checklist", drafted)
    assert ended.code == 1
    assert [line.partition(",")[0] for line in ended.out.splitlines()[:3]] == [
        "mill q3: yes-or-no: asks 'What'",
        "votes q3: yes-or-no: asks 'What'",
        "2 findings in 2 checklists",
    ]
    found = json.loads(command("tasks", "lint", "checklist", drafted, "--json").out)
    [finding] = found["checklists"][0]["findings"]
    assert finding.pop("reason").startswith("asks 'What'")
    assert finding == {"rule": "yes-or-no", "item": "q3", "hard": True}
    assert found["rules"]["number"] == {"hard": False, "says": "3 to 20 items"}


def test_lint_of_other_forms_and_where_nothing_is_wrong(command: Command, tmp_path: Path) -> None:
    items = [f"Does the report name the {what} of Fernholt?" for what in ("mill", "pump", "owner")]
    clean = write_jsonl(tmp_path / "own.jsonl", [{"task_id": "mill", "items": items}])
    ended = command("tasks", "lint", "checklist", clean)
    assert ended.code == 0
    assert ended.out.splitlines()[0] == "0 findings in 1 checklist"
    last = ended.out.splitlines()[-1]
    assert last.startswith("not checked in 1 checklist, ") and last.endswith(": no-answer, same-language")
    tasks = write_jsonl(tmp_path / "tasks.jsonl", TASKS)
    assert "not checked" not in command("tasks", "lint", "checklist", clean, "--tasks", tasks).out
    prefixed = write_jsonl(tmp_path / "prefixed.jsonl", [{"task_id": "qid_mill", "items": items}])
    assert "not checked" not in command("tasks", "lint", "checklist", prefixed, "--tasks", tasks).out
    dataset = command("tasks", "lint", "checklist", write_csv(tmp_path / "dataset.csv", ROWS))
    assert dataset.out.splitlines()[:2] == [
        "pumps: number: has 2 items, should have 3 to 20",
        "mill: number: has 1 items, should have 3 to 20",
    ]
    assert command("tasks", "lint", "checklist", tasks).out.startswith("own: number:")
    assert (
        "no checklists in it"
        in command("tasks", "lint", "checklist", write_jsonl(tmp_path / "e.jsonl", [])).line()
    )


def test_review(command: Command, drafted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    review = ("tasks", "review", "checklist", drafted, "--reviewer", "Ada")
    monkeypatch.setenv("VISUAL", "sed -i '3d'")
    assert command(*review, "--task", "mill", "--edit").out == "task mill: reviewed\n"
    assert command(*review, "--reject").out == "task votes: rejected\n"
    rows = CHECKLIST_KIND.file(drafted).load()
    assert [(len(row.items), row.status) for row in rows.values()] == [(2, "reviewed"), (3, "rejected")]
    assert rows["mill"].items_before is not None and len(rows["mill"].items_before) == 3
    shown = command("tasks", "show", "checklist", drafted, "--task", "mill").out
    assert "mill: reviewed by Ada" in shown and shown.partition("as drafted")[2].count("\n") == 4
    # A rejected checklist is not checked.
    assert command("tasks", "lint", "checklist", drafted).out.startswith("mill: number: has 2 items")


def test_failed_drafts_are_named(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "checklists.jsonl"
    with StubThread(StubPlan(answer=drafter, faults=(Fault("400"),))) as server:
        options = ("--judge", write_preset(tmp_path, concurrency=1), "--base-url", server.url, "--out", out)
        ended = command(
            "tasks", "draft", "checklist", write_jsonl(tmp_path / "tasks.jsonl", TASKS[:1]), *options
        )
    assert ended.code == 3 and ended.line().startswith("task mill: refused: ")


def test_a_run_takes_checklists_and_the_dataset(
    command: Command, tmp_path: Path, server: StubThread, preset: Path, snapshot: Path
) -> None:
    reports = write_jsonl(tmp_path / "reports.jsonl", [{"id": "r", "task_id": "qid_pumps", "report": REPORT}])
    dataset = write_csv(tmp_path / "dataset.csv", ROWS)
    judge = ("--judge", preset, "--base-url", server.url, "--set", "deer.parts=[verification]")
    run = ("run", reports, *judge, "--snapshot", snapshot, "--tasks", dataset)
    assert command(*run, "--out", tmp_path / "a").code == 0
    assert command(*run, "--out", tmp_path / "b", "--date", "2026-01-05", "--checklists", dataset).code == 0
    given = [json.loads((tmp_path / name / "inputs.jsonl").read_text()) for name in "ab"]
    assert [report["task"] for report in given] == ["pumps", "pumps"]
    assert given[0]["checklist_sha256"] != given[1]["checklist_sha256"]
    assert given[0]["task_sha256"] != given[1]["task_sha256"]
    foreign = write_jsonl(tmp_path / "c.jsonl", [{"task_id": "mill", "items": ["Is it there?"]}])
    line = command(*run, "--out", tmp_path / "c", "--checklists", foreign).line()
    assert "c.jsonl: none of" in line


def test_drafts_for_the_dataset_are_for_the_form_that_a_run_reads(
    command: Command, tmp_path: Path, server: StubThread, preset: Path
) -> None:
    questions = [{**row, "checklist": "", "checklist_no_placeholder": ""} for row in ROWS]
    dataset = write_csv(tmp_path / "dataset.csv", questions)
    judge = ("--judge", preset, "--base-url", server.url)
    for form, request in (((), FIXED), (("--open-dates",), OPEN)):
        out = tmp_path / f"checklists{len(form)}.jsonl"
        assert command("tasks", "draft", "checklist", dataset, *judge, "--out", out, *form).code == 0
        assert CHECKLIST_KIND.file(out).load()["pumps"].task == request


LABELS = {
    # Two requests and four items; Ben differs about one item.
    "Ada": (
        "appropriate",
        "appropriate",
        "appropriate",
        "appropriate",
        "valid but not necessary",
        "not appropriate",
    ),
    "Ben": ("appropriate", "appropriate", "appropriate", "appropriate", "appropriate", "not appropriate"),
}
TEXTS = (
    ("mill", "request"),
    ("lake", "request"),
    ("mill", "q1"),
    ("mill", "q2"),
    ("lake", "q1"),
    ("lake", "q2"),
)


def test_reviewers_label_items_and_the_next_round_has_the_disputed_ones(
    command: Command, tmp_path: Path
) -> None:
    items = ["Does the report give the depth?", "Does it name the lake?"]
    rows = [
        {"task_id": task, "task": f"How deep is the {task}?", "items": items} for task in ("mill", "lake")
    ]
    file = write_jsonl(tmp_path / "c.jsonl", rows)
    labels, second = (tmp_path / name for name in ("l.jsonl", "l2.jsonl"))
    review = ("tasks", "review", "checklist", file, "--labels")
    for reviewer, given in LABELS.items():
        for (task, item), label in zip(TEXTS, given, strict=True):
            options = (
                "--reviewer",
                reviewer,
                "--task",
                task,
                "--item",
                item,
                "--label",
                label,
                "--comment",
                "So.",
            )
            assert command(*review, labels, *options).code == 0
    told = command(*review, labels, "--reviewer", "Ben").out.splitlines()
    assert told.pop(2).startswith("requests: kappa; alpha: ")
    assert told == [
        f"{labels}: 6 texts, 0 without a label by Ben",
        "requests: 0 of 2 with different labels; alike 1.000; kappa –; alpha –",
        # 3 of 4 alike. Kappa: shares 1/2, 1/4, 1/4 and 3/4, 0, 1/4 make 7/16 by chance: (12 - 7) / (16 - 7) = 5/9.
        # Alpha: of eight labels five, one and two; by chance (5 * 1 + 5 * 2 + 1 * 2) * 2 / (8 * 7) = 17/28 differ, and
        # 2 of 8 do: 1 - (1/4) / (17/28) = 10/17.
        "items: 1 of 4 with different labels; alike 0.750; kappa 0.556; alpha 0.588",
    ]
    found = json.loads(command(*review, labels, "--reviewer", "Ben", "--next-round", second, "--json").out)
    assert found["disputed"] == ["lake q1"]
    assert found["agreement"]["item"]["kappa"]["value"] == pytest.approx(5 / 9)
    [row] = [json.loads(line) for line in second.read_text().splitlines()]
    assert (row["text"], row["labels"]) == (items[0], {})
    assert {name: one["label"] for name, one in row["earlier"][0].items()} == {
        "Ada": "valid but not necessary",
        "Ben": "appropriate",
    }
    cal = ("--reviewer", "Cal", "--task", "lake", "--item", "q1", "--label", "needs modification")
    assert (
        command(*review, second, *cal, "--new-text", "How?").out
        == f"{second}: 1 text, 0 without a label by Cal\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--label", "fine"),
            "'fine' is not a label of the request",
        ),
        (
            ("--item", "q1", "--label", "needs modification"),
            "'needs modification' for q1 of task 'mill' needs a text",
        ),
        (
            ("--item", "q1", "--label", "not appropriate"),
            "'not appropriate' for q1 of task 'mill' needs a comment",
        ),
        (("--item", "q7", "--label", "appropriate"), "no text 'mill q7'"),
        (("--accept",), "leave out --accept"),
        (("--next-round", "c.jsonl"), "c.jsonl: exists"),
    ],
)
def test_labels_that_cannot_be(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "c.jsonl", [{"task_id": "mill", "task": "Why?", "items": ["Is it?"]}])
    review = ("tasks", "review", "checklist", "c.jsonl", "--reviewer", "Ada")
    assert message in command(*review, "--labels", "l.jsonl", "--task", "mill", *options).line()
    assert "need --labels" in command(*review, "--label", "appropriate").line()


def test_labels_are_of_the_text_that_they_were_given_for(command: Command, tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "c.jsonl", [{"task_id": "mill", "items": ["Is it?"]}])
    review = ("tasks", "review", "checklist", file, "--reviewer", "Ada", "--labels", tmp_path / "l.jsonl")
    assert command(*review, "--task", "mill", "--item", "q1", "--label", "appropriate").code == 0
    write_jsonl(file, [{"task_id": "mill", "items": ["Was it?"]}])
    assert "q1 of task 'mill' has another text" in command(*review).line()


def test_labels_at_a_terminal(tmp_path: Path) -> None:
    file = write_jsonl(
        tmp_path / "c.jsonl", [{"task_id": "mill", "task": "Why?", "items": ["Is it?", "Was it?"]}]
    )
    labels = tmp_path / "l.jsonl"
    terminal = Terminal("tasks", "review", "checklist", file, "--reviewer", "Ada", "--labels", labels)
    for question, reply in (
        ("[3] not appropriate, [s]kip, [q]uit?", "1"),
        ("[4] not appropriate, [s]kip, [q]uit?", "4"),
        ("comment:", ""),
        ("needs a comment", "4"),
        ("comment:", "Unverifiable."),
        ("[s]kip, [q]uit?", "q"),
    ):
        terminal.expect(question)
        terminal.say(reply)
    assert terminal.close() == 0
    rows = [json.loads(line) for line in labels.read_text().splitlines()]
    assert [[one["label"] for one in row["labels"].values()] for row in rows] == [
        ["appropriate"],
        ["not appropriate"],
        [],
    ]

from __future__ import annotations

from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.claims.model import Quote
from local_judge.tasks.alike import distinct
from local_judge.tasks.guidance import GUIDANCE_KIND, GuidanceRow, Point, PointSource, render
from local_judge.tasks.review import decide

SOURCED = Point(
    statement="States the number of homes.",
    bears_on="analytical_soundness",
    source=PointSource(
        url="https://heat.example/a",
        text_digest="0" * 64,
        quote=Quote(text="connected 1,240\ndwellings", start=5, end=30),
    ),
)
PLAIN = Point(statement="Names who paid.")
DRAFTED = GuidanceRow(
    task_id="1", text="1. Names who paid.", status="drafted", points=(PLAIN,), language="en", replies=("k",)
)


def test_the_text_is_made_of_the_points() -> None:
    assert render([SOURCED, PLAIN], "en") == (
        "A report on this request must meet these points:\n"
        "1. States the number of homes. (analysis)\n"
        '   Source: "connected 1,240 dwellings" (https://heat.example/a)\n'
        "2. Names who paid."
    )
    assert render([SOURCED, PLAIN], "zh").splitlines() == [
        "针对这一请求的报告必须满足以下要点：",
        "1. States the number of homes. (分析)",
        '   来源: "connected 1,240 dwellings" (https://heat.example/a)',
        "2. Names who paid.",
    ]
    # Other languages have the English words between their points.
    assert render([PLAIN], "de") == render([PLAIN], "und") == render([PLAIN], "en")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Names who paid.", "names  who paid", True),
        ("Ｎames who paid", "Names who paid.", True),
        ("必须说明费用。", "必须说明费用", True),
        (
            "Compares the cost of both pipe systems over ten years",
            "Compares the cost of both pipe systems, over ten years!",
            True,
        ),
        # One digit apart is another point, however alike the rest is.
        (
            "Gives the revenue of the plant in the year 2019",
            "Gives the revenue of the plant in the year 2020",
            False,
        ),
        ("Names who paid.", "Names who voted.", False),
        ("必须说明费用。", "必须说明噪音。", False),
    ],
)
def test_points_that_say_the_same(one: str, other: str, same: bool) -> None:
    assert distinct([one, other], str) == ([one] if same else [one, other])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"task_id": "1"}', ":1: text is missing"),
        ('{"task_id": "1", "text": " "}', ":1: the guidance of task '1' is empty"),
        ('{"task_id": "1", "text": "A", "colour": 1}', ":1: colour: unknown key"),
        ('{"task_id": "1", "text": "A", "status": "guessed"}', ":1: status: 'guessed' is not"),
        ('{"task_id": 1, "text": "A"}', ":1: task_id must be"),
        ('{"task_id": "1", "text": "\\ud800"}', ":1: contains a lone surrogate"),
        ('{"task_id": "1", "text": "A"}\n\n{"task_id": "1", "text": "B"}', ":3: task id '1' appears twice"),
        ("no json", ":1: not JSON"),
    ],
)
def test_bad_rows_end_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "guidance.jsonl"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        GUIDANCE_KIND.file(path).load()
    assert f"{path}{said}" in str(error.value)
    assert "\n" not in str(error.value)


def test_rows_stand_in_the_order_of_the_tasks(tmp_path: Path) -> None:
    file = GUIDANCE_KIND.file(tmp_path / "new" / "guidance.jsonl")
    assert file.rows() == {}
    order = {"a": 0, "b": 1, "c": 2}
    for task in ("c", "old", "a", "b"):
        assert file.add(GuidanceRow(task_id=task, text=task), order)
    assert not file.add(GuidanceRow(task_id="a", text="another"), order)
    assert [(row.task_id, row.text) for row in file.rows().values()] == [
        ("a", "a"),
        ("b", "b"),
        ("c", "c"),
        ("old", "old"),
    ]
    assert [path.name for path in file.path.parent.iterdir()] == ["guidance.jsonl"]


def test_a_decision_on_what_was_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    file = GUIDANCE_KIND.file(tmp_path / "guidance.jsonl")
    file.add(DRAFTED, {})
    file.replace(DRAFTED, DRAFTED.reviewed("Ada"))
    with pytest.raises(InputError, match="task '1' was changed by another command"):
        file.replace(DRAFTED, DRAFTED.rejected("Bob"))
    assert file.rows()["1"].status == "reviewed"


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        GUIDANCE_KIND.file(tmp_path / "file" / "guidance.jsonl").add(DRAFTED, {})
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError, match="Is a directory"):
        GUIDANCE_KIND.file(tmp_path / "folder.jsonl").add(DRAFTED, {})


def never(text: str) -> str:
    pytest.fail(f"an editor was opened on {text!r}")


def test_decisions() -> None:
    accepted = decide(DRAFTED, "accept", "Ada", never)
    assert accepted is not None
    assert (accepted.status, accepted.reviewer, accepted.text_before) == ("reviewed", "Ada", None)
    rejected = decide(DRAFTED, "reject", "Ada", never)
    assert rejected is not None and (rejected.status, rejected.text) == ("rejected", DRAFTED.text)
    assert decide(DRAFTED, "edit", "Ada", lambda text: text + "\n") is None
    edited = decide(DRAFTED, "edit", "Ada", lambda text: "Names all who paid.\n")
    assert edited is not None
    assert (edited.text, edited.text_before) == ("Names all who paid.", "1. Names who paid.")
    # The points stay what the judge wrote; a second change keeps the judge's text, not the first reviewer's.
    assert edited.points == DRAFTED.points
    again = decide(edited, "edit", "Bob", lambda text: text.upper())
    assert again is not None
    assert (again.text, again.text_before, again.reviewer) == (
        "NAMES ALL WHO PAID.",
        "1. Names who paid.",
        "Bob",
    )
    with pytest.raises(InputError, match="is empty; reject it instead"):
        decide(DRAFTED, "edit", "Ada", lambda text: " \n")
    given = GuidanceRow(task_id="9", text="Given.")
    for decision in ("accept", "edit", "reject"):
        with pytest.raises(InputError, match="guidance was given"):
            decide(given, decision, "Ada", never)

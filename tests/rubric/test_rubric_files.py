"""Rubric files of each format give the same kind of items."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.rubric.load import load_rubrics

ANSWER = {
    "sections": [
        {
            "id": "Factual Accuracy",
            "title": "Facts",
            "criteria": [{"id": "Cost", "weight": 10, "requirement": "C."}],
        },
        {"id": "Tone", "criteria": [{"id": "praise", "weight": -5, "requirement": "P."}]},
    ]
}
TWO = [("factual_accuracy", "Factual Accuracy"), ("tone", "Tone")]


@pytest.mark.parametrize(
    ("name", "text", "task", "items"),
    [
        (
            "a.toml",
            '[[criteria]]\nname = "The cost"\ntext = "C."\nweight = 2\n[[criteria]]\ntext = "P."\n',
            None,
            [("the_cost", "C.", 2, ""), ("2", "P.", 1, "")],
        ),
        ("a.toml", '[mill]\n[[mill.criteria]]\ntext = "C."\ngroup = "G"\n', "mill", [("1", "C.", 1, "G")]),
        ("a.json", '[{"name": "cost", "text": "C."}]', None, [("cost", "C.", 1, "")]),
        ("a.jsonl", '{"task_id": 7, "criteria": [{"text": "C.", "weight": -1}]}', "7", [("1", "C.", -1, "")]),
        (
            "b2.jsonl",
            json.dumps(
                {
                    "id": "t",
                    "idx": 1,
                    "prompt": "Q",
                    "content": {"rubric": {"info": ["C.", "P."], "looks": ["T."]}},
                }
            ),
            "t",
            [("info.1", "C.", 1, "info"), ("info.2", "P.", 1, "info"), ("looks.1", "T.", 1, "looks")],
        ),
        (
            "rr.jsonl",
            json.dumps(
                {
                    "sample_id": "s",
                    "prompt": "Q",
                    "rubrics": [{"criterion": "C.", "weight": -4, "axis": "Tone"}],
                }
            ),
            "s",
            [("1", "C.", -4, "Tone")],
        ),
        (
            "draco.jsonl",
            json.dumps({"id": "d", "domain": "Law", "problem": "Q", "answer": json.dumps(ANSWER)}),
            "d",
            [("cost", "C.", 10, "Factual Accuracy"), ("praise", "P.", -5, "Tone")],
        ),
        (
            "rb.json",
            json.dumps([{"id": 1, "question": "Q", "rubric": [{"point": "C.", "weight": 3}]}]),
            "1",
            [("1", "C.", 3, "")],
        ),
    ],
)
def test_a_format_gives_items(
    tmp_path: Path, name: str, text: str, task: str | None, items: list[tuple[str, str, float, str]]
) -> None:
    (tmp_path / name).write_text(text)
    [found] = load_rubrics(tmp_path / name)
    assert found.task == task and found.prompt in (None, "Q")
    assert [(one.id, one.text, one.weight, one.group) for one in found.items] == items


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "[[criteria]]\n", "criteria.0.text is missing"),
        ("a.toml", '[[criteria]]\ntext = "C."\nwieght = 2\n', "criteria.0.wieght: unknown key; did you mean"),
        ("a.toml", '[[criteria]]\ntext = "C."\nchoices = ["a", "a"]\n', "choices: give different texts"),
        ("a.toml", '[[criteria]]\ntext = "C."\nanchors = ["a"]\n', "anchors: give 2, one for each choice"),
        ("a.toml", "criteria = [", "Invalid value"),
        ("a.json", '[{"name": "x", "text": "C."}, {"name": "X", "text": "D."}]', "the name 'x' stands twice"),
        ("a.jsonl", '{"id": 1, "prompt": "Q"}', "no rubric; a row has one of the keys `criteria`, `content`"),
        ("a.jsonl", '{"task_id": 1, "criteria": []}', "items"),
        ("a.jsonl", '{"id": 1, "problem": "Q", "answer": "free text"}', "answer"),
        ("a.jsonl", '{"criteria": [{"text": "C."}]}\n' * 2, "give one rubric, or one with an id per task"),
        ("a.jsonl", '{"task_id": 1, "criteria": [{"text": "C."}]}\n' * 2, "two rubrics for the task '1'"),
        ("a.jsonl", "", "give one rubric"),
        ("a.json", '[{"text": "C.", "weight": true}]', "weight must be a number"),
        ("a.jsonl", '{"sample_id": true, "prompt": "Q", "rubrics": []}', "sample_id must be a text"),
        ("a.json", '[{"text": "C.", "weight": 1e300}]', "weight: give 0, or a size from"),
        ("a.json", '[{"text": "C.", "weight": 1e-300}]', "weight: give 0, or a size from"),
        ("a.json", '[{"text": "C.", "group": "Other"}, {"text": "D."}]', "the name 'other' stands twice"),
        ("a.json", '[{"text": "C.", "group": "!"}]', "no letter or digit"),
        ("a.json", '{"criteria": [{"text": "C."}], "blocked": ["heat.example/a"]}', "not an http or https"),
        ("a.toml", 'blocked = [1979-05-27]\n[[criteria]]\ntext = "C."\n', "not an http or https"),
    ],
)
def test_a_faulty_file_is_refused_in_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as raised:
        load_rubrics(tmp_path / name)
    assert message in str(raised.value) and name in str(raised.value) and "\n" not in str(raised.value)

"""Files of ratings, as people write them and as they should not."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.runs.results.ratings import load_ratings

HEADER = "task,system,annotator,score\n"


def write(folder: Path, text: str, name: str = "ratings.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_csv_and_jsonl_say_the_same(tmp_path: Path) -> None:
    table = write(
        tmp_path, '\ufeffScore, Annotator ,note,system,TASK\r\n7.5,ann,"x, ""y""\nz",a,1\r\n\r\n,bob,,a,1\r\n'
    )
    lines = write(
        tmp_path,
        '{"task": 1, "system": "a", "annotator": "ann", "score": 7.5, "note": [1]}\n\n'
        '{"task": "1", "system": "a", "annotator": "bob", "score": null}\n',
        "ratings.jsonl",
    )
    for path in (table, lines):
        found = load_ratings(path)
        [row] = found.rows
        assert row[:5] == (None, "1", "a", "ann", Fraction(15, 2))
        assert (found.n_empty, found.by_report) == (1, False)
        assert row.place.startswith(str(path))


def test_a_place_is_the_line_at_which_a_row_begins(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + '1,"a\nb",ann,1\n1,a,ann,x\n')
    with pytest.raises(InputError, match=r"ratings\.csv:4: score 'x' is not a number"):
        load_ratings(path)


def test_reports_by_id(tmp_path: Path) -> None:
    found = load_ratings(write(tmp_path, "report,annotator,score,task\nr1,ann,3,t\nr2,ann,4,\n"))
    assert [(row.report, row.task, row.unit) for row in found.rows] == [
        ("r1", "t", ("r1",)),
        ("r2", None, ("r2",)),
    ]
    assert found.by_report


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ": no ratings in it"),
        (HEADER, ": no ratings in it"),
        (HEADER + "1,a,ann,\n", ": no ratings in it"),
        ("task;system;annotator;score\n1;a;ann;5\n", ":1: needs columns annotator, score, and report or"),
        ("task,annotator,score\n1,ann,5\n", ":1: needs columns"),
        ("task,system,annotator,score,score\n", ":1: two columns"),
        (HEADER + "1,a,ann\n", ":2: 3 cells under 4 columns"),
        (HEADER + "1,a,ann,7,5\n", ":2: 5 cells under 4 columns"),
        (HEADER + "1,a,,5\n", ":2: a rating needs `annotator`"),
        (HEADER + "1,,ann,5\n", ":2: a rating needs `report`, or `task` and `system`"),
        (HEADER + "1,a,ann,5\n1,a,bob,5\n1,a,ann,6\n", ":4: 'ann' has already rated '1' by 'a', in "),
        (
            "report,task,system,annotator,score\nr,,,ann,5\n,1,a,ann,5\n",
            ":3: some rows name a report, others",
        ),
        (HEADER + '1,a,ann,"5\n', ":2: not CSV (unexpected end of data)"),
        (HEADER + "1,a,ann," + "9" * 200_000 + "\n", ":2: score '99999"),
        *(
            (f'{HEADER}1,a,ann,"{score}"\n', f":2: score {score!r} is not a number")
            for score in (
                "nan",
                "inf",
                "-Infinity",
                "1e999",
                "7,5",
                "7/10",
                "1_0",
                "٣",
                "0x10",
                "=1+1",
                "\x1b[31m",
            )
        ),
    ],
)
def test_a_bad_file_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load_ratings(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "value", ["NaN", "1e999", "true", "[5]", '"\\ud800"', "1" + "0" * 400, '"' + "9" * 50 + '"']
)
def test_a_bad_score_of_a_jsonl_file_is_one_line(tmp_path: Path, value: str) -> None:
    line = f'{{"task": "1", "system": "a", "annotator": "ann", "score": {value}}}\n'
    path = write(tmp_path, line, "ratings.jsonl")
    with pytest.raises(InputError, match=r"ratings\.jsonl:1: score "):
        load_ratings(path)


def test_names_are_data(tmp_path: Path) -> None:
    names = ["=cmd()", "[red]", "<script>", "../../x", "\x1b[2J", "a b", "姓名"]
    found = load_ratings(write(tmp_path, HEADER + "".join(f"t,{name},ann,1\n" for name in names)))
    assert [row.system for row in found.rows] == names


def test_scores_are_the_decimals_that_are_written(tmp_path: Path) -> None:
    text = HEADER + "".join(
        f"t,s{n},ann,{score}\n" for n, score in enumerate(("0.1", "+7", "-.5", "1e-2", "7.", " 3 "))
    )
    found = load_ratings(write(tmp_path, text))
    assert [row.score for row in found.rows] == [
        Fraction(1, 10),
        7,
        Fraction(-1, 2),
        Fraction(1, 100),
        7,
        3,
    ]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_ratings(tmp_path / "none.csv")
    bad = tmp_path / "bad.csv"
    bad.write_bytes(b"task,system,annotator,score\n\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        load_ratings(bad)

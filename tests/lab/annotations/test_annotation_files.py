"""The format: what is read, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.lab.annotations.load import load_annotations, load_report, pages_beside

from .conftest import Write


def refused(path: Path) -> str:
    """The one line with which a file is refused."""
    with pytest.raises(InputError) as caught:
        load_report(path)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_a_report_is_read_with_its_claims(write: Write) -> None:
    report = load_report(write())
    assert report.id == "mill" and report.document.language == "en"
    assert [claim.id for claim in report.claims] == [f"m{n}" for n in range(1, 8)]
    assert report.url("1") == "https://mill.example/history" and report.url("3") is None
    altered = report.claims[0].altered
    assert altered is not None and altered.kind == "date"


LINES: list[tuple[dict[str, Any], str]] = [
    ({"m1": {"colour": "red"}}, "mill.claims.jsonl:1: colour: unknown key"),
    ({"m1": {"type": "G"}}, "mill.claims.jsonl:1: type: 'G' is not"),
    ({"m1": {"sentence": "L3.S9"}}, "mill.claims.jsonl:1: m1: the report has no sentence L3.S9"),
    ({"m1": {"citations": {"2": "supported"}}}, "1: m1: `citations` must be those on L3.S1: 1"),
    ({"m1": {"evidence": ["L3.S2"]}}, "1: m1: class A is cited on its own sentence: no `evidence`"),
    ({"m5": {"type": "A"}}, "5: m5: class A needs a citation, and L5.S2 carries none"),
    ({"m3": {"evidence": []}}, "3: m3: class B needs `evidence`"),
    ({"m3": {"citations": {}}}, "3: m3: class B needs `citations`"),
    (
        {"m3": {"evidence": ["L5.S1"]}},
        "3: m3: evidence L5.S1 is neither before L3.S3 nor in its paragraph",
    ),
    ({"m3": {"evidence": ["L3.S3"]}}, "3: m3: evidence L3.S3 is neither before L3.S3 nor"),
    ({"m3": {"evidence": ["L3.S4"]}}, "3: m3: its evidence does not lead to citation '1'"),
    ({"m3": {"type": "C"}}, "3: m3: class C, and evidence L3.S1 is in the same section"),
    ({"m4": {"type": "B"}}, "4: m4: class B, and evidence L3.S3 is in another section"),
    ({"m3": {"citations": {"2": None}}}, "3: m3: its evidence does not lead to citation '2'"),
    ({"m3": {"sentence": "L3.S2"}}, "3: m3: L3.S2 carries a citation, so the class is A"),
    ({"m5": {"citations": {"1": None}}}, "5: m5: class E rests on nothing"),
    ({"m2": {"id": "m1"}}, "2: id 'm1' occurs twice, first at "),
    (
        {"m1": {"altered": {"kind": "date", "claim": "x", "citations": {"1": "supported"}}}},
        "1: m1: an altered claim is false: none of its labels is supported",
    ),
    (
        {"m1": {"altered": {"kind": "date", "claim": "x", "citations": {"1": None}}}},
        "1: m1: a page can be read for the claim and its altered version, or for neither",
    ),
    (
        {"m1": {"altered": {"kind": "date", "claim": "x", "citations": {}}}},
        "1: m1: `altered.citations` must name the citations of the claim",
    ),
    (
        {"m2": {"altered": {"kind": "date", "claim": "x", "citations": {"2": None}}}},
        "2: m2: no page can be read, so nothing shows that the altered claim is false",
    ),
    (
        {
            "m1": {
                "altered": {
                    "kind": "date",
                    "claim": "The mill was opened in 1974.",
                    "citations": {"1": "not_found"},
                }
            }
        },
        "1: m1: the altered claim is the claim",
    ),
    ({"m2": None}, "mill.claims.jsonl: L3.S2 carries a citation and has no claim"),
]


@pytest.mark.parametrize(("changes", "line"), LINES, ids=[line for _, line in LINES])
def test_what_does_not_fit_is_named_with_its_place(write: Write, changes: dict[str, Any], line: str) -> None:
    assert line in refused(write(**changes))


def test_a_label_for_a_source_without_a_url_is_refused(write: Write) -> None:
    path = write(m2={"citations": {"2": None, "3": "supported"}})
    report = path.with_name("mill.md")
    report.write_text(report.read_text(encoding="utf-8").replace("night [2]", "night [2, 3]"), "utf-8")
    assert "2: m2: citation '3' leads to no URL, so its label is null" in refused(path)


def test_files_that_are_none(tmp_path: Path, write: Write) -> None:
    path = write()
    assert load_annotations([tmp_path])[0].claims == load_annotations([path])[0].claims
    with pytest.raises(InputError, match="another annotated report has the name 'mill'"):
        load_annotations([path, path])
    with pytest.raises(InputError, match="no such file or folder"):
        load_annotations([tmp_path / "no"])
    with pytest.raises(InputError, match=r"expected a file NAME\.claims\.jsonl"):
        load_annotations([tmp_path / "mill.md"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no files NAME\.claims\.jsonl"):
        load_annotations([tmp_path / "empty"])
    (tmp_path / "mill.md").unlink()
    assert "the report mill.md is not beside it" in refused(path)
    path.write_text("\n", encoding="utf-8")
    (tmp_path / "mill.md").write_text("# Mill\n\nA mill.\n", encoding="utf-8")
    assert "it contains no claims" in refused(path)
    path.write_bytes(b"\xff")
    assert "not UTF-8 (byte 0)" in refused(path)
    path.write_text("{", encoding="utf-8")
    assert "mill.claims.jsonl:1: not JSON" in refused(path)


def test_pages_lie_beside_all_annotations_or_are_asked_for(tmp_path: Path, write: Write) -> None:
    path = write()
    with pytest.raises(InputError, match="name a snapshot with --snapshot"):
        pages_beside([path])
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "pages.jsonl").touch()
    assert pages_beside([path]) == pages_beside([tmp_path]) == tmp_path / "pages"
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="beside all annotations"):
        pages_beside([path, tmp_path / "other"])

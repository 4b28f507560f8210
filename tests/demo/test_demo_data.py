"""The demo's report, pages and list of planted alterations fit each other.

The demo counts what a judge catches against this list: an alteration that the page bears out, or a true claim
that it does not, would be counted against the judge.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(str(files("local_judge"))) / "demo"
REPORT = (DEMO / "report.md").read_text(encoding="utf-8")
BODY, REFERENCES = REPORT.split("## References")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


PAGES = rows(DEMO / "pages" / "pages.jsonl")
PLANTED = rows(DEMO / "planted.jsonl")
URLS: dict[str, str] = dict(re.findall(r"^\[(\d+)\] .* (https://\S+)$", REFERENCES, re.MULTILINE))


def page_text(url: str) -> str:
    (page,) = [page for page in PAGES if page["url"] == url]
    return " ".join((DEMO / "pages" / page["file"]).read_text(encoding="utf-8").split())


def test_references_and_pages_name_the_same_urls_once() -> None:
    assert list(URLS) == ["1", "2", "3", "4", "5", "6", "7"]
    assert list(URLS.values()) == [page["url"] for page in PAGES]
    assert set(re.findall(r"\[(\d+)\]", BODY)) == set(URLS)
    assert all(re.match(r"https://[a-z.]+\.(example|test)/", url) for url in URLS.values())


def test_one_source_is_dead_and_the_others_have_a_file() -> None:
    assert [page["url"] for page in PAGES if page.get("status", "ok") != "ok"] == [URLS["7"]]
    listed = {page["file"] for page in PAGES if "file" in page}
    assert listed == {path.name for path in (DEMO / "pages").iterdir()} - {"pages.jsonl"}
    assert len(listed) == 6


def test_pages_are_short_enough_for_a_judge_on_a_processor() -> None:
    # Extracted text of 150 to 350 words is 200 to 450 tokens: about ten seconds of prefill at 40 tokens per
    # second.
    trafilatura = pytest.importorskip("trafilatura")
    for page in PAGES:
        if "file" in page:
            path = DEMO / "pages" / page["file"]
            raw = path.read_text(encoding="utf-8")
            text = trafilatura.extract(raw) if path.suffix == ".html" else raw
            assert 150 <= len(text.split()) <= 350, page["url"]


@pytest.mark.parametrize("planted", PLANTED, ids=[str(planted["kind"]) for planted in PLANTED])
def test_an_alteration_is_in_the_report_and_not_in_its_page(planted: dict[str, str]) -> None:
    assert BODY.count(planted["sentence"]) == 1
    assert planted["altered"] in planted["sentence"]
    (number,) = re.findall(r"\[(\d+)\]", planted["sentence"])
    assert URLS[number] == planted["url"]
    page = page_text(planted["url"])
    assert planted["actual"] in page
    assert planted["altered"] not in page


def test_alterations_are_of_different_kinds_and_a_minority() -> None:
    assert sorted(planted["kind"] for planted in PLANTED) == [
        "date",
        "direction",
        "name",
        "negation",
        "number",
        "unit",
    ]
    # 19 sentences and table rows carry a citation: 6 altered, 1 with a dead source, 12 true.
    assert len(re.findall(r"\[\d+\]", BODY)) == 19


# What the pages say for each cited sentence that was not altered, word for word: (a fragment of the sentence,
# page).
TRUE = [
    ("1,240 dwellings in three quarters of the town", "1"),
    ("by eleven votes to four", "2"),
    ("1974", "1"),
    ("31 percent", "3"),
    ("18.5 kilometres of new pipe were laid", "3"),
    ("A gas boiler was kept as a reserve for", "4"),
    ("95 °C", "4"),
    ("70 °C", "4"),
    ("12 percent", "3"),
    ("78 percent said that their homes were warmer than before", "5"),
    ("412 households", "5"),
    ("Mira Oldenburg spoke for the tenants in the", "5"),
    ("hot-water store of 3,000 cubic metres", "4"),
    ("41 gigawatt-hours of heat", "6"),
    ("a single coal boiler", "1"),
    ("no coal has been burnt to heat the town", "4"),
]


@pytest.mark.parametrize(("fragment", "number"), TRUE)
def test_a_true_statement_is_in_its_page(fragment: str, number: str) -> None:
    assert fragment in BODY
    assert fragment.lower() in page_text(URLS[number]).lower()


def test_the_example_of_the_documentation_is_the_demo_itself() -> None:
    formats = Path(__file__).resolve().parents[2] / "docs" / "reference" / "formats" / "inputs.md"
    (block,) = re.findall(r"```jsonl pages\n(.*?)```", formats.read_text(encoding="utf-8"), re.DOTALL)
    shown = [json.loads(line) for line in block.splitlines()]
    assert len(shown) == 2
    assert all(page in PAGES for page in shown)

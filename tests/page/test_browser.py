"""The page in a real browser: from a number to a quotation, by mouse, by address and by keyboard alone."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import pytest

from local_judge.reporting.page.write import write_page
from local_judge.runs.proof.material import Places

from .conftest import Open, Sample, until
from .hostile import STRINGS, hostile_run


def test_three_clicks_lead_from_a_number_to_the_quotation_and_the_prompt(
    page_file: Path, visit: Open
) -> None:
    page = visit(page_file)
    assert page.inner_text("h1") == "alder and birch"
    page.click("table.board a[aria-label^='birch, Citation Accuracy']")
    page.wait_for_selector("main.view-claims")
    first = page.locator("ol.lines a.line").first
    assert "not found" in first.inner_text()
    claim = first.locator(".what").inner_text()
    first.click()
    page.wait_for_selector("main.view-report")
    assert page.inner_text("#claim") == claim
    assert page.inner_text("#chosen").rstrip(" .[]0123456789") in claim + "."
    assert page.locator("#quotation").count() == 1
    page.click("details.call summary")
    assert "Claim:" in page.inner_text("details.call[open]")


def test_filters_narrow_the_list(page_file: Path, visit: Open) -> None:
    page = visit(page_file, "#/claims")
    every = page.locator("ol.lines li").count()
    page.click("nav.labels a:has-text('supported')")
    page.wait_for_selector("nav.labels a[aria-current]:has-text('supported')")
    assert 0 < page.locator("ol.lines li").count() < every
    page.fill("#search", "boiler")
    page.press("#search", "Enter")
    until(page, "document.querySelectorAll('ol.lines li').length < 5")
    page.select_option("select", label="alder")
    until(page, "location.hash.includes('row=0')")


@pytest.mark.parametrize("place", ["#/__proto__", "#/constructor", "#/nowhere"])
def test_an_unknown_address_opens_the_overview(place: str, page_file: Path, visit: Open) -> None:
    assert visit(page_file, place).locator("h2", has_text="Leaderboard").count() == 1


@pytest.mark.parametrize("width", [390, 1280])
def test_names_of_charts_are_not_cut_off(width: int, page_file: Path, visit: Open) -> None:
    page = visit(page_file, width=width)
    texts = "[...svg.querySelectorAll('text')].map(text => text.getBoundingClientRect().left)"
    room = f"Math.min(...{texts}) - svg.getBoundingClientRect().left"
    rooms: list[float] = page.evaluate(f"[...document.querySelectorAll('svg.plot')].map(svg => {room})")
    assert len(rooms) > 3
    assert min(rooms) > -1


def test_an_address_opens_its_claim(page_file: Path, visit: Open) -> None:
    page = visit(page_file, "#/report/3?v=0")
    assert page.inner_text("h1") == "birch/network"
    assert page.locator("#chosen").count() == 1


@pytest.mark.parametrize("shape", ["page.html", "folder"])
def test_hostile_texts_run_nowhere(shape: str, tmp_path: Path, visit: Open) -> None:
    run, reports = hostile_run(tmp_path)
    assert len(STRINGS) >= 60
    page = visit(write_page([run], tmp_path / shape, Places([reports])).path)
    places = ["#/", "#/claims", "#/items", "#/reports"]
    some = range(len(STRINGS)) if shape == "page.html" else range(3)
    places += [f"#/report/{number}{query}" for number in some for query in ("?v=0", "?i=0")]
    for place in places:
        page.evaluate("place => { location.hash = place; }", place)
        until(page, "place => document.documentElement.dataset.place === place", place)
        assert page.evaluate("globalThis.broken") is None
        targets = page.eval_on_selector_all(
            "main a[href]", "links => links.map(link => link.getAttribute('href'))"
        )
        assert all(target.startswith(("#", "http://", "https://")) for target in targets)
        outward = page.eval_on_selector_all(
            "a:not([href^='#'])", "links => links.map(link => link.rel + ' ' + link.target)"
        )
        assert set(outward) <= {"noopener noreferrer _blank"}
        shown = page.inner_text("main") + page.title()
        assert not HIDDEN.search(shown), place
        if place.endswith("?v=0"):
            for details in page.query_selector_all("details.call"):
                details.evaluate("one => { one.open = true; }")
            expected = STRINGS[int(place.split("/")[2].partition("?")[0])]
            assert (
                "U+" in page.inner_text("main")
                if HIDDEN.search(expected)
                else expected in page.inner_text("details.call")
            )
    assert page.evaluate("document.scripts.length") >= 4
    assert not page.query_selector(
        "main script, main iframe, main object, main embed, main form[action], main img"
    )


HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\U000e0000-\U000e0fff]"
)
"""Characters that hide or reorder text."""


SERIOUS = ("serious", "critical")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "place", ["#/", "#/claims", "#/items", "#/reports", "#/report/3?v=0", "#/report/3?tab=scores"]
)
def test_no_serious_barrier(
    place: str, scheme: Literal["light", "dark"], page_file: Path, visit: Open
) -> None:
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    for width in (1280, 390):
        page = visit(page_file, place, width=width, scheme=scheme)
        for details in page.query_selector_all("details"):
            details.evaluate("one => { one.open = true; }")
        page.evaluate(axe)
        found: list[dict[str, Any]] = page.evaluate("axe.run().then(found => found.violations)")
        assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found if one["impact"] in SERIOUS] == []


def test_the_reliability_diagram_has_the_numbers_of_its_bins(page_file: Path, visit: Open) -> None:
    page = visit(page_file)
    shown = page.locator("figure", has_text="Called supported by people, by P(supported)")
    shown.locator("summary").click()
    rows = shown.locator("tbody tr")
    claims = [int(text.split()[-1]) for text in rows.all_inner_texts()]
    assert shown.locator("svg circle").count() == rows.count() == len(claims) > 1
    note = page.locator("section", has=page.locator("h2", has_text="Reliability")).inner_text()
    assert f"{sum(claims)} labelled claims: expected calibration error 0." in note
    assert "it is not calibrated" in note


def test_without_labels_the_page_says_that_reliability_is_not_known(
    sample: Sample, tmp_path: Path, visit: Open
) -> None:
    page = visit(write_page([sample.run], tmp_path / "page.html").path)
    section = page.locator("section", has=page.locator("h2", has_text="Reliability"))
    assert "is not known: no labels by people were given" in section.inner_text()
    assert section.locator("svg").count() == 1


def test_every_step_works_with_the_keyboard_alone(page_file: Path, visit: Open) -> None:
    page = visit(page_file)
    page.keyboard.press("?")
    assert page.is_visible("dialog#help")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("g")
    page.keyboard.press("c")
    page.wait_for_selector("main.view-claims")
    page.keyboard.press("/")
    page.keyboard.type("1,420")
    page.keyboard.press("Enter")
    until(page, "document.querySelectorAll('ol.lines li').length === 1")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('ol.lines a')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#quotation")
    first = page.inner_text("#claim")
    page.keyboard.press("j")
    until(page, "first => document.querySelector('#claim').innerText !== first", first)
    page.keyboard.press("k")
    until(page, "first => document.querySelector('#claim').innerText === first", first)
    page.keyboard.press("t")
    assert page.get_attribute("html", "data-theme") == "light"


def test_a_folder_loads_its_data_from_disk(sample: Sample, tmp_path: Path, visit: Open) -> None:
    page = visit(write_page([sample.run], tmp_path / "folder").path, "#/claims")
    page.locator("ol.lines a.line").first.click()
    page.wait_for_selector("#quotation")
    assert page.inner_text("#quotation").strip()


def test_the_page_rounds_as_the_terminal_does(page_file: Path, visit: Open) -> None:
    source = files("local_judge.reporting.page").joinpath("assets", "text.js").read_text(encoding="utf-8")
    values = [
        0.125,
        0.375,
        0.625,
        2.5,
        1.005,
        9.995,
        0.0,
        33.3333,
        200 / 3,
        1e-9,
        99.995,
        -0.125,
        12.875,
        1e6 + 0.125,
    ]
    shown = visit(page_file).evaluate(
        f"values => {{ {source}; return values.map(value => number(value)); }}", values
    )
    assert shown == [f"{value:.2f}" for value in values]

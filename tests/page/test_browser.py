"""The page in a real browser: from a number to a quotation, by mouse, by address and by keyboard alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Open

pytestmark = pytest.mark.browser


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
    page.wait_for_function("document.querySelectorAll('ol.lines li').length < 5")
    page.select_option("select", label="alder")
    page.wait_for_function("location.hash.includes('row=0')")


def test_an_address_opens_its_claim(page_file: Path, visit: Open) -> None:
    page = visit(page_file, "#/report/3?v=0")
    assert page.inner_text("h1") == "birch/network"
    assert page.locator("#chosen").count() == 1

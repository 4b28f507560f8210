"""The labelling page in a real browser: labels by keyboard, hostile texts, accessibility.

The server comes before the browser in the arguments of a test: a run cannot start where the browser's loop runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from indexes.snapshot import Snapshot
from local_judge.lab.labelling.server import LabelServer
from local_judge.lab.labelling.session import LabelSession
from local_judge.runs.labels import load_labels, verdicts_of
from local_judge.runs.records import load_records
from local_judge.runs.store import RunStore

from .conftest import Sample, until
from .hostile import STRINGS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    return tmp_path / "labels.jsonl"


@pytest.fixture
def server(sample: Sample, labels: Path) -> Iterator[LabelServer]:
    """The sample's claims, each followed by a hostile text."""
    store = RunStore(sample.run)
    found = list(verdicts_of(store, load_records(store), None))
    verdicts = [
        one._replace(claim=one.claim.model_copy(update={"text": f"{one.claim.text} {text}"}))
        for one, text in zip(found * 9, STRINGS, strict=False)
    ]
    served = LabelServer(LabelSession(verdicts, Snapshot.open(sample.snapshot), "ada <b>", labels))
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    yield served
    served.shutdown()
    thread.join()
    served.server_close()


def opened(browser: Browser, server: LabelServer, troubles: list[str], **window: Any) -> Page:
    page = browser.new_context(**window).new_page()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", lambda dialog: troubles.append(dialog.message))
    page.on(
        "request",
        lambda asked: None if asked.url.startswith("http://127.0.0.1:") else troubles.append(asked.url),
    )
    page.goto(server.url)
    page.get_by_text("Claim 1 of").wait_for()
    page.wait_for_selector("#text")
    return page


def test_claims_are_labelled_with_the_keyboard_alone(
    server: LabelServer, browser: Browser, labels: Path
) -> None:
    troubles: list[str] = []
    page = opened(browser, server, troubles)
    page.locator("mark").first.wait_for()
    for number, key in enumerate("1234", 2):
        page.keyboard.press(key)
        page.get_by_text(f"Claim {number} of").wait_for()
    assert [one.label for one in load_labels([labels])] == [
        "supported",
        "partial",
        "unsupported",
        "contradicted",
    ]
    page.keyboard.press("ArrowLeft")
    page.get_by_text("Claim 4 of").wait_for()
    assert page.get_attribute("[data-label=contradicted]", "aria-pressed") == "true"
    # A key in the note is text.
    page.focus("#note")
    page.keyboard.type("11")
    assert page.input_value("#note") == "11" and len(load_labels([labels])) == 4
    # A page that is opened again goes on at the first claim without a label.
    page.reload()
    page.get_by_text("Claim 5 of").wait_for()
    assert troubles == []
    page.context.close()


def test_hostile_claims_run_nowhere(server: LabelServer, browser: Browser) -> None:
    troubles: list[str] = []
    page = opened(browser, server, troubles)
    for number in range(2, len(server.session) + 1):
        page.keyboard.press("ArrowRight")
        page.get_by_text(f"Claim {number} of").wait_for()
        assert page.evaluate("globalThis.broken") is None
    assert page.locator("#claim *").count() == 0
    assert len(server.session) >= 60 and troubles == []
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_barrier(server: LabelServer, browser: Browser, scheme: Literal["light", "dark"]) -> None:
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    for width in (1280, 390):
        page = opened(browser, server, [], color_scheme=scheme, viewport={"width": width, "height": 900})
        until(page, "document.querySelectorAll('mark').length > 0")
        page.evaluate(axe)
        found: list[dict[str, Any]] = page.evaluate("axe.run().then(found => found.violations)")
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        assert [(one["id"], one["nodes"][0]["html"][:120]) for one in serious] == []
        page.context.close()

"""The labelling page in a real browser: a label is for the claim that is shown, hostile texts, accessibility.

The server comes before the browser in the arguments of a test: a run cannot start where the browser's loop runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from indexes.snapshot import Snapshot
from local_judge.base.errors import InputError
from local_judge.lab.labelling.server import LabelServer
from local_judge.lab.labelling.session import LabelSession
from local_judge.runs.results.labels import HumanLabel, load_labels, verdicts_of
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.store import RunStore

from .conftest import Sample, until
from .hostile import STRINGS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


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


def press_at_once(page: Page, *keys: str, repeat: bool = False) -> Sequence[bool]:
    """Press keys before the page can answer any, and return whether the page prevents the default action of each."""
    return page.evaluate(
        """([keys, repeat]) => keys.map((key) => !document.dispatchEvent(
            new KeyboardEvent("keydown", {key, repeat, cancelable: true})))""",
        [keys, repeat],
    )


def test_a_label_is_for_the_claim_that_is_shown(server: LabelServer, browser: Browser) -> None:
    page = opened(browser, server, [])
    page.locator("mark").first.wait_for()
    # The second key is pressed before claim 2 is shown.
    press_at_once(page, "1", "4")
    page.get_by_text("Claim 2 of").wait_for()
    page.wait_for_timeout(200)
    assert server.session.labels[:3] == ["supported", None, None]
    # The second click comes when claim 3 is shown, but before anybody can read it.
    page.dblclick("[data-label=partial]", delay=150)
    page.wait_for_timeout(200)
    assert server.session.labels[:4] == ["supported", "partial", None, None]
    # A key that is held down labels one claim.
    page.keyboard.press("3")
    page.get_by_text("Claim 4 of").wait_for()
    assert press_at_once(page, "3", repeat=True) == [True]
    page.wait_for_timeout(200)
    assert server.session.labels[:5] == ["supported", "partial", "unsupported", None, None]
    page.context.close()


def test_a_second_key_does_not_replace_the_label_of_the_last_claim(
    server: LabelServer, browser: Browser
) -> None:
    last = len(server.session) - 1
    page = opened(browser, server, [])
    press_at_once(page, *["ArrowRight"] * last)
    page.get_by_text(f"Claim {last + 1} of").wait_for()
    press_at_once(page, "1", "4")
    page.get_by_text(f"Claim {last + 1}: supported. Stored.").wait_for()
    page.wait_for_timeout(200)
    assert server.session.labels[last] == "supported"
    page.context.close()


def test_navigation_waits_while_a_label_is_stored(server: LabelServer, browser: Browser) -> None:
    page = opened(browser, server, [])
    page.locator("mark").first.wait_for()
    # The label shows claim 2, and each arrow the next one.
    press_at_once(page, "1", "ArrowRight", "m", "ArrowRight")
    page.get_by_text("Claim 4 of").wait_for()
    assert server.session.labels[:4] == ["supported", None, None, None]
    # An arrow that is held down pages.
    assert press_at_once(page, "ArrowRight", "ArrowRight", "m", repeat=True) == [True] * 3
    page.get_by_text("Claim 6 of").wait_for()
    server.shutdown()
    server.server_close()
    page.keyboard.press("ArrowLeft")
    page.get_by_text("the command has ended").wait_for()
    page.context.close()


def test_keys_that_wait_for_a_label_that_fails_are_dropped(
    server: LabelServer, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = opened(browser, server, [])
    page.locator("mark").first.wait_for()
    store, failures = server.session.set, [InputError("the disk is full")]

    def stored(number: int, label: HumanLabel, note: str = "") -> None:
        if failures:
            raise failures.pop()
        store(number, label, note)

    monkeypatch.setattr(server.session, "set", stored)
    # The arrow is for the next claim, which does not come.
    press_at_once(page, "1", "ArrowRight")
    page.get_by_text("the disk is full").wait_for()
    page.keyboard.press("2")
    page.get_by_text("Claim 2 of").wait_for()
    assert server.session.labels[:2] == ["partial", None]
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

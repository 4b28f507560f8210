"""A run with mixed verdicts, its page, and a browser."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import pytest

from indexes.making.importing import import_pages
from local_judge.demo.outcome import sample_folder
from local_judge.reporting.page.write import write_page
from local_judge.runs.results.labels import ClaimLabel, verdicts_of
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.store import RunStore
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer, write_preset

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def by_words(asked: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """Tend to yes, less for each number of the claim that its page lacks."""
    text: str = asked["messages"][-1]["content"]
    claim = "" if "captcha" in text else text.rpartition("Claim:\n")[2]
    page = text.removesuffix(claim)
    missing = [word for word in re.findall(r"\d[\d,.]*\d|\d", claim) if word not in page]
    odds = math.exp(2 - 3 * len(missing))
    return (("Yes", math.log(odds / (1 + odds))), ("No", -math.log(1 + odds)))


class Sample(NamedTuple):
    """A run and what it was made from."""

    run: Path
    snapshot: Path
    reports: Path


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The tutorial's run: two systems, three tasks; claims with numbers that their pages lack are not supported."""
    folder = tmp_path_factory.mktemp("page")
    import_pages(sample_folder() / "pages", folder / "snapshot", workers=0)
    reports = sample_folder() / "systems"
    with StubThread(StubPlan(answer=answer, alternatives=by_words)) as server:
        arguments = [
            *("run", reports / "alder.jsonl", reports / "birch.jsonl", "--snapshot", folder / "snapshot"),
            *("--judge", write_preset(folder), "--base-url", server.url),
            *("--protocol", "deer", "--protocol", "fact", "--set", "deer.parts=[verification]"),
            *("--method", "scored", "--terse", "--out", folder / "run"),
        ]
        # In a process of its own: the browser's driver may have an event loop in this one.
        subprocess.run(
            [sys.executable, "-m", "local_judge", *map(str, arguments)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=True,
            capture_output=True,
        )
    return Sample(folder / "run", folder / "snapshot", reports)


def labels_of(run: Path) -> list[ClaimLabel]:
    """Labels by two people of every verdict: each contradicts the judge on every fifth, but on others."""
    store = RunStore(run)
    return [
        ClaimLabel(
            report=one.record.id,
            claim=one.claim.id,
            url=one.verdict.url,
            label="supported"
            if (one.verdict.label == "supported") != (number % 5 == shift)
            else "unsupported",
            annotator=name,
        )
        for name, shift in (("ada", 0), ("bob", 2))
        for number, one in enumerate(verdicts_of(store, load_records(store), None))
    ]


@pytest.fixture(scope="session")
def page_file(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the run, with people's labels."""
    out = tmp_path_factory.mktemp("written") / "page.html"
    return write_page([sample.run], out, labels=labels_of(sample.run)).path


def chromium() -> str | None:
    """Return the path of a Chromium; None if there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use the browser: its driver leaves an event loop running, so no other test may follow."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium of the system."""
    program = chromium()
    if program is None:
        pytest.skip("no Chromium on this machine: install the package `chromium`")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield found
        found.close()


class Open(Protocol):
    """Opens a page of a file at a place, in a window of this size."""

    def __call__(
        self,
        file: Path,
        place: str = "",
        *,
        width: int = 1280,
        height: int = 900,
        scheme: Literal["light", "dark"] = "light",
    ) -> Page: ...


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Open a page; the test fails at its end if the page wrote to the console or made a request."""
    troubles: list[str] = []
    contexts: list[BrowserContext] = []

    def visited(
        file: Path,
        place: str = "",
        *,
        width: int = 1280,
        height: int = 900,
        scheme: Literal["light", "dark"] = "light",
    ) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        page.on(
            "request", lambda asked: troubles.append(f"request: {asked.url}") if is_other(asked.url) else None
        )

        def is_other(url: str) -> bool:
            return not url.startswith(file.parent.as_uri())

        page.goto(file.as_uri() + place)
        page.wait_for_selector("html[data-ready]")
        return page

    yield visited
    for context in contexts:
        context.close()
    assert not troubles


def until(page: Page, expression: str, given: object = None) -> None:
    """Wait until an expression, or a function of `given`, is true. The page's policy forbids Playwright's own way."""
    for _ in range(200):
        if page.evaluate(expression, given):
            return
        page.wait_for_timeout(25)
    pytest.fail(f"not within five seconds: {expression}")

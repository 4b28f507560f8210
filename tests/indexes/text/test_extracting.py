"""Several processes that read pages which hang, crash and are ordinary."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indexes.errors import ExtractionFailed
from indexes.limits import HTML_SECONDS
from indexes.text import extracting
from indexes.text.extracting import ExtractionPool, Job, Reading, message, read_page

ENDLESS = b"<html><body><p " + b" ".join(b"a%d=1" % n for n in range(200_000)) + b">text"
"""The parser compares each attribute with all before: minutes."""


def job(number: int) -> Job:
    text = f"The report number {number} says where each of its claims was found, and by whom. " * (1 + number)
    html = f"<html><head><title>Report {number}</title></head><body><article><p>{text}</p></article></body></html>"
    return Job(
        f"page {number}", html.encode(), "a.html", f"https://a.example/2019/11/{number + 1:02}/", "2019-11-20"
    )


_EARLIER: set[int] = set()
"""Processes that earlier tests left in this one, such as Python's resource tracker."""


@pytest.fixture(autouse=True)
def earlier() -> Iterator[None]:
    _EARLIER.update(children())
    yield
    _EARLIER.clear()


def children() -> list[int]:
    """Processes that the test has started."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return [process for process in found if process not in _EARLIER]


@pytest.mark.parametrize("workers", [0, 2])
def test_readings_are_those_of_one_process_in_order_and_few_pages_are_held(workers: int) -> None:
    jobs = [job(number) for number in range(25)]
    taken = 0

    def counted() -> Iterator[Job]:
        nonlocal taken
        for taken, one in enumerate(jobs, start=1):  # noqa: B007
            yield one

    with ExtractionPool(workers) as pool:
        for done, reading in enumerate(pool.run(counted())):
            assert reading == read_page(jobs[done])
            assert taken <= done + 1 + 3 * workers
        assert list(pool.run(jobs[:1])) == [read_page(jobs[0])]
    assert taken == 25
    assert children() == []


def test_a_reading_has_all_that_is_known_of_a_page() -> None:
    first, last = read_page(job(0)), read_page(job(24))
    assert (first.key, first.extracted.title) == ("page 0", "Report 0")
    assert (first.extracted.published, first.extracted.language) == ("2019-11-01", "en")
    assert last.extracted.published is None  # it says the 25th, and was fetched on the 20th
    assert len(last.chunks) > 1


def test_a_page_without_an_end_costs_its_time_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [job(0), Job("bad", ENDLESS, "a.html"), job(1)]
    worker = extracting._Worker  # pyright: ignore[reportPrivateUsage]
    ask = worker._ask  # pyright: ignore[reportPrivateUsage]

    def asked(self: Any, process: Any, job: Job, seconds: float) -> Reading:
        """Only the page without an end has so little time: others may take long on a busy machine."""
        return ask(self, process, job, 1 if job.key == "bad" else seconds)

    monkeypatch.setattr(worker, "_ask", asked)
    with ExtractionPool(1) as pool:
        found = list(pool.run(jobs))
    assert [one.extracted.status for one in found] == ["ok", "unsupported_type", "ok"]
    reason = f"the page gave no text within {HTML_SECONDS} s"
    assert (found[1].key, found[1].extracted.reason) == ("bad", reason)
    assert found[2] == read_page(jobs[2])


def test_a_process_that_dies_is_replaced_and_its_page_tried_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def kill() -> None:
        for child in children():
            os.kill(child, signal.SIGSEGV)

    sent: list[bytes] = []

    def noted(content: bytes) -> bytes:
        sent.append(content)
        return message(content)

    def deadly(process: subprocess.Popen[bytes], deadline: float) -> bytes:
        """As `_receive`; the process that gets the endless page is ended while it reads."""
        if sent and sent.pop() == ENDLESS:
            kill()
        return receive(process, deadline)

    receive = extracting._receive  # pyright: ignore[reportPrivateUsage]

    def jobs() -> Iterator[Job]:
        yield from map(job, range(2))
        yield Job("bad", ENDLESS, "a.html")
        yield from map(job, range(2, 4))
        kill()  # and between two pages
        yield from map(job, range(4, 6))

    monkeypatch.setattr(extracting, "message", noted)
    monkeypatch.setattr(extracting, "_receive", deadly)
    with ExtractionPool(1) as pool:
        found = {one.key: one for one in pool.run(jobs())}
    bad = found.pop("bad").extracted
    assert (bad.status, bad.reason) == (
        "unsupported_type",
        "the process that read the page ended with signal 11",
    )
    assert list(found.values()) == [read_page(job(number)) for number in range(6)]


def test_leaving_early_ends_the_processes() -> None:
    pool = ExtractionPool(1)
    results = pool.run([job(0), Job("bad", ENDLESS, "a.html"), *map(job, range(8))])
    assert next(results).key == "page 0"
    started = time.monotonic()
    results.close()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert time.monotonic() - started < HTML_SECONDS / 2, "it waited for the page's time to pass"
    assert children() == []
    with pytest.raises(ExtractionFailed, match="closed"):
        list(pool.run([job(0)]))


def test_a_process_that_starts_while_the_pool_is_closed_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """`close` sees no process yet, and the thread that starts one has seen an open pool."""
    pool, start = ExtractionPool(1), subprocess.Popen[bytes]

    def closing(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        pool.close()
        return start(*args, **kwargs)

    monkeypatch.setattr("indexes.text.extracting.subprocess.Popen", closing)
    started = time.monotonic()
    with pytest.raises(ExtractionFailed, match="closed"):
        list(pool.run([Job("bad", ENDLESS, "a.html")]))
    assert time.monotonic() - started < HTML_SECONDS / 2, "it waited for the page's time to pass"
    assert children() == []


def test_memory_that_the_parent_has_held_does_not_count_as_the_worker_s() -> None:
    """A worker that has held a gigabyte is replaced: of a large parent, that would be every worker after one page."""
    ballast = bytearray(500_000_000)
    ballast[::4096] = b"x" * len(ballast[::4096])  # resident, not only reserved
    code = "from indexes.text.extract_worker import peak_kilobytes; print(peak_kilobytes())"
    peak = int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert 0 < peak * 1024 < len(ballast)


def test_what_cannot_start_is_no_fault_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexes.confining.sys.executable", "/bin/false")
    with (
        ExtractionPool(1) as pool,
        pytest.raises(ExtractionFailed, match="ended with code 1 before the first page"),
    ):
        list(pool.run([job(0)]))


def test_mistakes_of_the_caller() -> None:
    with pytest.raises(ValueError, match="-1 workers"):
        ExtractionPool(-1)
    for workers in (0, 1):
        with ExtractionPool(workers) as pool, pytest.raises(ValueError, match="soon"):
            list(pool.run([job(0)._replace(fetched="soon")]))

"""Many pages extracted by several processes.

Invariant: readings come in the order of the pages and depend on each page alone, not on the number of processes or
on what else is read. A page that never ends, or that takes its process with it, keeps a status and a reason, and the
others go on. Only a few pages are held at a time.

A process reads page after page, because starting one takes as long as reading thirty pages; it is ended and replaced
when a page passes its time. A page whose process died is read once more in a fresh one, since the system may have
ended the first for want of memory that something else took.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from indexes.confining import child_command
from indexes.errors import ExtractionFailed
from indexes.limits import HTML_SECONDS, PDF_SECONDS
from indexes.text.chunk import chunk_spans
from indexes.text.dates import latest_date
from indexes.text.decode import is_pdf
from indexes.text.extract import Extracted, extract
from indexes.text.walls import Arrival
from local_judge.base.model import Frozen

_AHEAD = 3
"""Pages held for each process: one being read, others so that a slow page does not keep the rest waiting."""
_START_SECONDS = 120
_PDF_MARGIN = 15
"""A PDF's own process is ended by its reader; the reader itself only if that fails."""
_ATTEMPTS = 2


Passed = TypeVar("Passed")


class Job(NamedTuple):
    """A page to read."""

    key: str
    """The caller's name for it."""
    data: bytes
    """Decompressed."""
    name: str
    """See `decode.sniff`."""
    url: str | None = None
    fetched: str | None = None
    """ISO 8601."""
    charset: str | None = None
    """Charset as the server states it."""
    arrived: Arrival = Arrival()
    """See `walls.arrival`."""


class Reading(Frozen):
    """Extracted content of a page."""

    key: str
    extracted: Extracted
    chunks: tuple[tuple[int, int], ...]
    """Offsets of the text's chunks."""


def read_page(job: Job) -> Reading:
    """Extract and chunk one page, in this process. ValueError if `fetched` is no time."""
    extracted = extract(
        job.data, job.name, url=job.url, fetched=job.fetched, charset=job.charset, arrived=job.arrived
    )
    return Reading(key=job.key, extracted=extracted, chunks=tuple(chunk_spans(extracted.text)))


def message(content: bytes) -> bytes:
    """The length of `content` in eight bytes, and `content`."""
    return len(content).to_bytes(8, "big") + content


class ExtractionPool:
    """Processes that extract pages. A context manager; leaving it ends them.

    Args:
        workers: how many processes. With 0 pages are read in the calling process, where one that never ends cannot be
            ended (its time is spent in libraries that no signal interrupts) and one that crashes ends the caller:
            for pages that are known to be harmless.
    """

    def __init__(self, workers: int) -> None:
        if workers < 0:
            raise ValueError(f"{workers} workers; give 0 or more")
        self._workers = [_Worker() for _ in range(workers)]
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes for good; pages being read are lost."""
        for worker in self._workers:
            worker.closed = True
            worker.kill()
        # Only pipes without a reader: a file number that is closed while another thread waits for it may be
        # another file's by then, which that thread would wait for.
        idle = [self._idle.get_nowait() for _ in range(self._idle.qsize())]
        for worker in idle:
            worker.end()
            self._idle.put(worker)

    def run(self, jobs: Iterable[Job | Passed]) -> Iterator[Reading | Passed]:
        """One reading a job, in order; jobs are taken as there is room for them. What is no job is passed through.

        Who stops before the end closes the pool.

        Raises:
            ExtractionFailed: a process could not be started.
            ValueError: a job's `fetched` is no time.
        """
        if not self._workers:
            yield from (read_page(job) if isinstance(job, Job) else job for job in jobs)
            return
        pending: deque[Future[Reading | Passed]] = deque()
        with ThreadPoolExecutor(len(self._workers), thread_name_prefix="extract") as threads:
            try:
                for job in jobs:
                    if isinstance(job, Job):
                        pending.append(threads.submit(self._read, job))
                    else:
                        pending.append(Future())
                        pending[-1].set_result(job)
                    if len(pending) > _AHEAD * len(self._workers):
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            finally:
                for future in pending:
                    future.cancel()
                if pending:  # left early: do not wait for what no one will read
                    self.close()

    def _read(self, job: Job) -> Reading:
        worker = self._idle.get()
        try:
            return worker.read(job)
        finally:
            self._idle.put(worker)


class _Late(Exception):
    """No result in time."""


class _Died(Exception):
    """The process ended; the message says how."""


class _Worker:
    """One process, started when it is first needed, and again after it was ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.closed = False
        """No process is started any more."""

    def read(self, job: Job) -> Reading:
        """Read a page, whatever it does to the process."""
        latest_date(job.fetched)  # raises here, and not in the process, what is the caller's mistake
        seconds = PDF_SECONDS + _PDF_MARGIN if is_pdf(job.data) else HTML_SECONDS
        reason = ""
        for _ in range(_ATTEMPTS):
            process = self._process or self._start()
            try:
                return self._ask(process, job, seconds)
            except _Late:
                self.end()
                reason = f"the page gave no text within {seconds} s"
                break
            except _Died as error:
                self.end()
                reason = f"the process that read the page ended with {error}"
                if self.closed:
                    break
        extracted = Extracted(status="unsupported_type", reason=reason, media_type="")
        return Reading(key=job.key, extracted=extracted, chunks=())

    def kill(self) -> None:
        """Kill the process with all that it has started; whoever reads from it sees that it died."""
        process = self._process
        if process is not None:
            with suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(process.pid, signal.SIGKILL)

    def end(self) -> None:
        """End the process, and let go of it."""
        self.kill()
        process, self._process = self._process, None
        if process is None:
            return
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()

    def _start(self) -> subprocess.Popen[bytes]:
        how = ""
        for _ in range(_ATTEMPTS):
            if self.closed:
                raise ExtractionFailed("the pool is closed; make another one")
            command, env = child_command("indexes.text.extract_worker")
            # A session of its own: an interrupt typed at the terminal is the parent's to handle, and ending the
            # process ends what it has started too.
            process = self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=env,
                start_new_session=True,
            )
            if self.closed:  # since it was looked at: whoever closed the pool may not have seen this process
                self.kill()
            try:
                _receive(process, time.monotonic() + _START_SECONDS)
                return process
            except _Died as error:
                how = f"ended with {error}{_last_words(process)}"
            except _Late:
                how = f"was not ready in {_START_SECONDS} s"
            self.end()
        raise ExtractionFailed(f"the process that extracts pages {how} before the first page")

    def _ask(self, process: subprocess.Popen[bytes], job: Job, seconds: float) -> Reading:
        fields = {"name": job.name, "url": job.url, "fetched": job.fetched, "charset": job.charset}
        head = json.dumps([fields, job.arrived]).encode("ascii")
        assert process.stdin is not None
        try:
            for part in (message(head), message(job.data)):
                rest = memoryview(part)
                while rest:
                    rest = rest[process.stdin.write(rest) :]
        except BrokenPipeError:
            raise _Died(_how(process)) from None
        answer: dict[str, Any] = json.loads(_receive(process, time.monotonic() + seconds))
        if answer["last"]:
            self.end()
        return Reading.model_validate({**answer["reading"], "key": job.key})


def _receive(process: subprocess.Popen[bytes], deadline: float) -> bytes:
    """The next message. Raises _Late, _Died."""
    size = int.from_bytes(_exactly(process, 8, deadline), "big")
    return _exactly(process, size, deadline)


def _exactly(process: subprocess.Popen[bytes], size: int, deadline: float) -> bytes:
    assert process.stdout is not None
    source = process.stdout.fileno()
    poll = select.poll()
    poll.register(source, select.POLLIN)
    parts: list[bytes] = []
    while size:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1_000):
            raise _Late
        part = os.read(source, min(size, 1 << 20))
        if not part:
            raise _Died(_how(process))
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _last_words(process: subprocess.Popen[bytes]) -> str:
    """The last line that a process wrote on standard error before it ended, which names the exception."""
    assert process.stderr is not None
    lines = process.stderr.read().decode("utf-8", "replace").splitlines()
    return f" ({lines[-1]})" if lines else ""


def _how(process: subprocess.Popen[bytes]) -> str:
    code = process.wait()
    return f"signal {-code}" if code < 0 else f"code {code}"

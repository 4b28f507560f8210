"""Error lines and exit codes of commands that fail.

Invariant: this module imports only the standard library until one of this project's errors has to be reported, so it
also works if an import fails or is interrupted. Messages that libraries, threads and finalisers print are suppressed.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import gc
import io
import json
import logging
import os
import select
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from local_judge import hidden_package
from local_judge.base.errors import UserError, one_line, reason_of

FIXABLE, DEFECT, INTERRUPTED, UNREAD, TERMINATED = 1, 70, 130, 141, 143
"""Exit codes: an error that the user can fix, or something that the machine lacks; a bug in this program; interrupted
by the user; reader of standard output gone; terminated by SIGTERM. 70 is EX_SOFTWARE of sysexits.h. 141 and 143 are
the codes that a shell reports for SIGPIPE and SIGTERM."""

DEBUG = "LOCAL_JUDGE_DEBUG"
"""Environment variable that, when set, prints tracebacks and the logs of libraries."""

_PACKAGES = Path(__file__).resolve().parents[2]
_REMEDIES = {
    errno.ENOSPC: "free space, or name another place; temporary files go to TMPDIR",
    errno.EDQUOT: "free space, or name another place; temporary files go to TMPDIR",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "close files of other programs",
    errno.ENOMEM: "free memory, or raise the limit (ulimit -v)",
    errno.EROFS: "name a place that can be written",
    errno.EACCES: "name another place, or get the right to use it",
    errno.EPERM: "name another place, or get the right to use it",
}


class Stopped(BaseException):
    """Wrapper that carries an error, its cause, past Typer, which would end the program without a message."""


@contextlib.contextmanager
def own_words() -> Generator[None]:
    """Suppress tracebacks of threads and finalisers, and log records, on standard error."""
    if DEBUG in os.environ:
        yield
        return
    # An interrupt after a coroutine is created and before it starts leaves it unused until after this context.
    warnings.filterwarnings("ignore", r"coroutine .* was never awaited", RuntimeWarning)
    silent, hooks = logging.NullHandler(), (sys.unraisablehook, threading.excepthook)
    logging.getLogger().addHandler(silent)
    sys.unraisablehook = lambda unraisable: None
    threading.excepthook = lambda ended: _say(_defect(ended.exc_value or ended.exc_type()))
    try:
        yield
    finally:
        sys.unraisablehook, threading.excepthook = hooks
        logging.getLogger().removeHandler(silent)


def collect_loops() -> None:
    """Collect an event loop whose construction was interrupted: its finaliser fails, in silence only in `own_words`."""
    gc.collect()


@contextlib.contextmanager
def terminable() -> Generator[list[int]]:
    """Handle SIGTERM like Ctrl-C in the block, and yield a list that is empty until the signal arrives."""
    arrived: list[int] = []
    process = os.getpid()

    def stop(number: int, frame: object) -> None:
        if os.getpid() != process:  # a worker process ends at once
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGTERM)
        arrived.append(number)
        if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    before = None
    with contextlib.suppress(ValueError):  # not in the main thread
        before = signal.signal(signal.SIGTERM, stop)
    try:
        yield arrived
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


class _StandardOutput(io.FileIO):
    """Standard output whose errors give its name as the file name."""

    def write(self, data: Any, /) -> int:
        """Write bytes."""
        try:
            return super().write(data)
        except OSError as error:
            error.filename = "standard output"
            raise


def prepare_streams() -> None:
    """Open closed standard streams on the null device, and make the others accept every character.

    A character that a stream's encoding lacks is written as a JSON escape, so JSON output stays valid.
    """
    codecs.register_error("json-escape", _escaped)
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        with contextlib.suppress(OSError):
            _open_on_nothing(number)
            if getattr(sys, name) is None:
                setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
        stream: object = getattr(sys, name)
        if number and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="json-escape")
            if stream is sys.__stdout__:
                sys.stdout = io.TextIOWrapper(
                    io.BufferedWriter(_StandardOutput(number, "w", closefd=False)),
                    encoding=stream.encoding,
                    errors="json-escape",
                    line_buffering=stream.line_buffering,
                )


def silence_output() -> None:
    """Discard output that cannot be written, because the interpreter tries to write it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(error: BaseException) -> int:
    """Write one line about an error to standard error and return the exit code."""
    line, code = line_of(error)
    if line:
        if DEBUG in os.environ:
            traceback.print_exception(error)
        _say(line)
    return code


def line_of(error: BaseException) -> tuple[str, int]:
    """Return the message and the exit code for an error, or for the first error of a group that the user can fix."""
    leaves = list(_leaves(error))
    told = [(_known(one), one) for one in leaves]
    for line, one in told:
        if line is not None:
            return line, INTERRUPTED if isinstance(one, KeyboardInterrupt) else FIXABLE
    if any(isinstance(one, BrokenPipeError) for one in leaves) and _is_unread():
        return "", UNREAD
    return _defect(leaves[0]), DEFECT


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, Stopped) and error.__cause__ is not None:
        yield from _leaves(error.__cause__)
    elif isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            yield from _leaves(one)  # pyright: ignore[reportUnknownArgumentType]
    else:
        yield error


def _known(error: BaseException) -> str | None:
    """Return the message for an error that is not a bug in this program; None for a bug or a closed output."""
    if isinstance(error, _ours()):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, EOFError):
        return "standard input ended before every question was answered"
    if isinstance(error, MemoryError) or "can't start new thread" in str(error):
        return f"out of memory or threads ({error or 'no details'}); free some, or raise the limits (ulimit -v, -u)"
    if isinstance(error, ImportError):
        return (
            hidden_package()
            or f"cannot be loaded ({error}); reinstall it, or raise the limits (ulimit -v, -n)"
        )
    if isinstance(error, OSError) and not (isinstance(error, BrokenPipeError) and _is_unread()):
        return _of_system(error)
    return None


def _ours() -> tuple[type[BaseException], ...]:
    """Return the error types whose messages are meant for users, as far as their modules can be imported."""
    with contextlib.suppress(Exception):
        from indexes.errors import IndexesError
        from local_judge.base.errors import JudgeError
        from local_judge.documents import UnreadableReport
        from serving.errors import ServingError

        return UserError, ServingError, IndexesError, JudgeError, UnreadableReport
    return (UserError,)


def _of_system(error: OSError) -> str:
    what = reason_of(error) or type(error).__name__
    where = f"in {_place(error)}" if error.filename is None else os.fsdecode(error.filename)
    remedy = _REMEDIES.get(error.errno or 0)
    return f"{where}: {what}" + (f"; {remedy}" if remedy else "")


def _defect(error: BaseException) -> str:
    kind = type(error).__name__
    said = f"{kind}: {error}" if str(error) else kind
    return f"a defect of this program in {_place(error)}; {DEBUG}=1 shows the traceback; {said}"


def _place(error: BaseException) -> str:
    """Return the line of this project's code that raised an error."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGES)]
    if not inside:
        return "a library"
    return f"{Path(inside[-1].filename).relative_to(_PACKAGES)}:{inside[-1].lineno}"


def _is_unread() -> bool:
    """Check whether standard output is a pipe whose reader is gone."""
    poll = select.poll()
    poll.register(1, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _open_on_nothing(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        # Otherwise the next opened file gets this number and receives what libraries print.
        opened = os.open(os.devnull, os.O_RDWR)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write(f"local-judge: {one_line(line)}\n")
        sys.stderr.flush()

"""Exit codes and last lines of commands that ask a judge.

Invariant: a stopped run and missing answers have different exit codes, and the message says how to continue.
"""

from __future__ import annotations

import gc
import shlex
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, get_args

from local_judge.base.failures import KEPT, FailureKind
from local_judge.judge.judge import THINKING_OFF
from local_judge.runs.storage.records import TOO_LONG, CaseRecord
from local_judge.runs.storage.rescoring import failure_kinds
from local_judge.runs.storage.store import RunStore

_WORDS: Mapping[FailureKind, str] = {
    "unreachable": "no connection to the server",
    "timeout": "no answer in time",
    "overloaded": "the server was overloaded",
    "server_error": "the server failed",
    "refused": "the server refused the request",
    "malformed": "the server's answer was damaged",
    "wrong_model": "another model answered",
    "corrupt_reply": "the stored reply is damaged",
    "planned": "not asked",
    "not_in_ledger": "the ledger has no reply",
    "unsupported": "the engine does not support the request",
    "unreported": "the server reports too few probabilities",
    "truncated": "the reply was cut at its token limit",
    "invalid_reply": "the reply does not have the form asked for",
    "incomplete": "the reply leaves items out",
    "off_menu": "the reply is none of the options",
    "prompt_too_long": "the question does not fit the judge's context",
    "prompt_cut": "the server cut the question to its context",
    "in_reasoning": "the server took the answer for reasoning",
    "page_cut": "only the beginning of the page is in the snapshot",
    "report_too_long": "the report does not fit the judge's context",
}
"""Kinds of failures in words."""

_SERVER: Mapping[FailureKind, str] = {
    "prompt_cut": "raise the server's context (Ollama: num_ctx, vLLM: --max-model-len)",
    "in_reasoning": "start the server without --reasoning-parser, or with the model's own, such as qwen3",
}
"""Changes of a server without which it would answer the same again."""

ASKS_AGAIN = "Repeat the command to ask again for what no server answered."
"""End of the line with the number of missing answers of unknown kinds."""


def why(kinds: Iterable[str]) -> str:
    """Return the kinds of failures in words, in parentheses; nothing for none."""
    words = [_WORDS[kind] for kind in get_args(FailureKind) if kind in set(kinds)]
    return f" ({'; '.join(words)})" if words else ""


def remedy(kinds: Iterable[str]) -> str:
    """Return the sentence that says whether the same command helps, and else what to do."""
    found = set(kinds)
    again, kept = found - KEPT, found & KEPT
    first = [_SERVER[kind] for kind in _SERVER if kind in again]
    if first:
        line = ", and ".join(first)
        return f"{line[:1].upper()}{line[1:]}; then repeat the command."
    if not kept:
        return "Repeat the command to ask again." if again else ASKS_AGAIN
    longer = kept & set(TOO_LONG)
    other = "a judge with a longer context" if longer == kept else "another judge"
    if "unsupported" in kept or "unreported" in kept:
        other = "another judge or engine"
    if kept & {"truncated"} == kept:
        other = "a larger max_tokens in the judge's preset, or another judge"
    if kept == {"page_cut"}:
        other = "a snapshot with the whole pages"
    if kept == {"off_menu"}:
        return f"Repeating the command does not help: use another judge, or, if this one thinks first, {THINKING_OFF}."
    if again:
        return f"Repeat the command to ask again for what no server answered; the rest needs {other}."
    return f"Repeating the command does not help: use {other}."


def relax_collector() -> None:
    """Make the garbage collector run rarely. This affects the whole process: only commands call it, not the library.

    Objects that exist now are excluded, and a collection waits for many new objects. Each call in flight has about a
    hundred long-lived objects. The default thresholds scan them repeatedly, which takes a quarter of the client's time
    at ten thousand calls (`scripts/bench_client`).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)


@contextmanager
def stoppable(ledger: Path) -> Generator[None]:
    """Let Ctrl-C end the enclosed calls with exit code 130 and a message that names the ledger."""
    relax_collector()
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(
            f"Stopped. Finished replies are stored in {ledger}; run the same command to continue.\n"
        )
        raise SystemExit(130) from None


def leave_missing(what: str, kinds: Iterable[str] = ()) -> NoReturn:
    """Print which answers are missing and why, and exit with code 3."""
    found = list(kinds)
    sys.stderr.write(f"Missing: {what}{why(found)}. {remedy(found)}\n")
    raise SystemExit(3)


def leave(records: Sequence[CaseRecord], out: Path, replayed: bool = False) -> None:
    """Exit with code 3 if answers or reports are missing, and print how many.

    Args:
        records: the reports.
        out: the run directory.
        replayed: True if no judge was asked.
    """
    leave_runs({str(out): records}, replayed)


def leave_runs(runs: Mapping[str, Sequence[CaseRecord]], replayed: bool = False) -> None:
    """Exit with code 3 if answers or reports are missing in one of the runs, given by directory."""
    lines = [line for out, records in runs.items() if (line := _missing(records, Path(out), replayed))]
    sys.stderr.writelines(lines)
    if lines:
        raise SystemExit(3)


def _missing(records: Sequence[CaseRecord], out: Path, replayed: bool) -> str:
    """Return the line about missing answers and reports of a run; empty if nothing is missing."""
    missing = sum(record.n_calls_failed for record in records)
    not_done = sum(record.status != "done" for record in records)
    if not (missing or not_done):
        return ""
    by_judge: Counter[str] = Counter()
    for record in records:
        by_judge.update(record.n_failed_by_judge)
    judges = ", ".join(f"{judge} {n}" for judge, n in by_judge.items() if n)
    parts: list[str] = []
    if missing:
        whose = f"the judges' answers ({judges})" if judges else "the judge's answers"
        parts.append(f"{missing} of {whose}")
    if not_done:
        parts.append(f"{not_done} of {len(records)} reports")
    kinds = failure_kinds(RunStore(out), records)
    command = f"`local-judge show {shlex.quote(str(out))} --reports`"
    then = ""
    if missing:
        unasked = replayed and "not_in_ledger" in kinds
        then = "Run the command without --replay to ask for them. " if unasked else f"{remedy(kinds)} "
    return f"Missing: {' and '.join(parts)}{why(kinds)}. {then}{command} lists what is missing.\n"

"""The command line.

Invariants: a command parses its options, calls the library and prints the result; it contains no other logic. A command
that fails writes one line to standard error and exits with a non-zero code; only --verbose adds a traceback.

Exit codes: 0 done; 1 an error that the user can fix, or something that the machine lacks; 2 wrong usage; 3 done, but
some of the judge's answers are missing; 70 a bug in this program; 130 interrupted; 141 the reader of the output is
gone; 143 terminated by SIGTERM.
"""

from __future__ import annotations

import sys

from local_judge.cli.faults import (
    INTERRUPTED,
    TERMINATED,
    collect_loops,
    own_words,
    prepare_streams,
    silence_output,
    tell,
    terminable,
)


def main() -> None:
    """Run `local-judge` and exit with its exit code."""
    try:
        code = _run()
    except KeyboardInterrupt:  # outside the handler of `_run`, such as while the command ends
        code = INTERRUPTED
    raise SystemExit(code)


def _run() -> int:
    """Run `local-judge` and return its exit code."""
    code, terminated = 0, list[int]()
    prepare_streams()
    with own_words():
        try:
            with terminable() as terminated:
                # The imports, which take seconds, are here so that an interrupt or an error in them is reported too.
                from local_judge.cli.commands import app

                try:
                    app()
                except SystemExit as ended:
                    code = ended.code if isinstance(ended.code, int) else 0
                sys.stdout.flush()
        except BaseException as error:
            code = tell(error)
            silence_output()
        if code == INTERRUPTED:
            collect_loops()
    return TERMINATED if terminated and code == INTERRUPTED else code

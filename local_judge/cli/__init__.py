"""The command line.

Invariants: a command parses, calls and prints, and holds no logic; whatever a user, an input or the machine does, a
command ends in one line on standard error and a non-zero exit, never in a traceback.

Exit codes: 0 done; 1 a mistake that the user can mend, or something that the machine lacks; 2 wrong usage; 3 done, but
some of the judge's answers are missing; 70 a defect of this program; 130 interrupted; 141 nobody reads the output; 143
terminated by SIGTERM.
"""

from __future__ import annotations

import sys

from local_judge.cli.faults import (
    INTERRUPTED,
    TERMINATED,
    own_words,
    prepare_streams,
    silence_output,
    tell,
    terminable,
)


def main() -> None:
    """Entry point of `local-judge`."""
    code, terminated = 0, list[int]()
    prepare_streams()
    try:
        with terminable() as terminated, own_words():
            # Here, so that an interrupt or a fault in the imports, which take seconds, is told like any other.
            from local_judge.cli.commands import app

            try:
                app()
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 0
            sys.stdout.flush()
    except BaseException as error:
        code = tell(error)
        silence_output()
    raise SystemExit(TERMINATED if terminated and code == INTERRUPTED else code)

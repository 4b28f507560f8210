"""The directory that `lab agent ask` leaves: answer, transcript, evidence_gaps, and the ledger.

Invariant: it holds one question. What a run, or another question, has left is never written over.
"""

from __future__ import annotations

from local_judge.agents.ask import AskedQuestion
from local_judge.agents.result import EVIDENCE_GAPS, write_evidence_gaps
from local_judge.agents.transcript import render_transcript
from local_judge.errors import RunError
from local_judge.runs.store import RunStore

ANSWER, TRANSCRIPT = "answer.json", "transcript.md"


def claim(store: RunStore, question: str) -> None:
    """Make sure that a question may be answered here.

    Raises:
        RunError: the directory holds a run, another question, or something else.
    """
    if not (store.root / ANSWER).exists():
        if not store.is_new():
            raise RunError(f"{store.root}: holds a run; choose another --out")
    elif store.read_model(ANSWER, AskedQuestion).question != question:
        raise RunError(f"{store.root}: holds the answer to another question; choose another --out")


def keep(store: RunStore, asked: AskedQuestion) -> None:
    """Write what came of a question. Raises RunError: it cannot be written."""
    store.write_json(ANSWER, asked)
    store.write_text(TRANSCRIPT, render_transcript(asked.result))
    write_evidence_gaps(store.root / EVIDENCE_GAPS, asked.result.evidence_gaps)

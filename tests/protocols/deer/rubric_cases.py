"""Findings of DEER's published rubric, with scores of the test's choice."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Literal

from local_judge.base.failures import Failure
from local_judge.protocols.deer.rubric.model import Grade, Mode, Path, RubricFindings

RF, AS, SC = "request_fulfillment", "analytical_soundness", "structural_coherence"
FS, II, EC = "format_style", "information_integrity", "ethics_compliance"

# dimension, sub-dimension, and the items of each criterion, as published
PUBLISHED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (RF, "completeness", ("C1-1 C1-2 Q1-1 Q1-2", "C2-1 C2-2 Q2-1 Q2-2")),
    (RF, "scope", ("C1-1 C1-2 C1-3 C1-4 Q1-1 Q1-2",)),
    (RF, "helpfulness", ("C1-1 Q1-1 Q1-2", "C2-1 C2-2 Q2-1 Q2-2", "C3-1")),
    (AS, "quantification", ("C1-1", "C2-1 C2-2 Q2-1", "C3-1 Q3-1", "C4-1", "C5-1")),
    (
        AS,
        "reasoning",
        ("C1-1 C1-2 Q1-1", "C2-1 C2-2 Q2-1", "C3-1 C3-2 Q3-1", "C4-1 Q4-1", "C5-1 C5-2 Q5-1", "C6-1 Q6-1"),
    ),
    (SC, "introduction", ("C1-1 Q1-1 Q1-2 Q1-3", "Q2-1", "C3-1 Q3-1", "Q4-1")),
    (SC, "body", ("C1-1 C1-2 C1-3 C1-4", "C2-1 C2-2")),
    (SC, "conclusion", ("Q1-1", "Q2-1")),
    (SC, "section", ("C1-1", "C2-1 C2-2 C2-3 Q2-1", "C3-1 C3-2 Q3-1")),
    (FS, "report_format", ("C1-1 C1-2", "C2-1 C2-2", "C3-2")),
    (FS, "writing_quality", ("C1-1", "C2-1", "C3-1 C3-2", "C4-1")),
    (FS, "paragraph_quality", ("C1-1 Q1-1", "C2-1 C2-2", "C3-1")),
    (FS, "readability", ("C1-1", "Q2-1")),
    (II, "recency", ("C1-1 C1-2 C1-3",)),
    (EC, "sensitive_handling", ("Q1-1 Q1-2", "C2-1 C2-2")),
    (EC, "safety_impact", ("C1-1 C1-2 Q1-1 Q1-2", "C2-1")),
    (EC, "perspective_balance", ("C1-1 Q1-1",)),
)
PATHS: tuple[Path, ...] = tuple(
    (dimension, part, str(number), item)
    for dimension, part, criteria in PUBLISHED
    for number, items in enumerate(criteria, 1)
    for item in items.split()
)

Answer = int | Literal["N/A", "failed"]


def grade(path: Path, answer: Answer) -> Grade:
    if answer == "failed":
        return Grade(path=path, status="failed", failure=Failure(kind="timeout", detail="item asked twice"))
    if answer == "N/A":
        return Grade(path=path, status="not_applicable", rationale="Nothing of the kind.")
    return Grade(path=path, status="scored", score=answer, judged=answer, rationale=f"Because of {answer}.")


def findings(
    answers: Mapping[Path, Answer] | Sequence[tuple[Path, Answer]],
    mode: Mode = "items",
    scale: Literal[5, 10] = 10,
) -> RubricFindings:
    pairs = answers.items() if isinstance(answers, Mapping) else answers
    return RubricFindings(mode=mode, scale=scale, grades=tuple(grade(*pair) for pair in pairs))


def everywhere(answer: Answer) -> dict[Path, Answer]:
    return dict.fromkeys(PATHS, answer)


def drawn(seed: int, not_applicable: float = 0.15, failed: float = 0.1) -> dict[Path, Answer]:
    """Random answers to all items."""
    source = random.Random(seed)

    def one() -> Answer:
        at = source.random()
        score = source.randint(1, 10)
        return "N/A" if at < not_applicable else "failed" if at < not_applicable + failed else score

    return {path: one() for path in PATHS}


def tied() -> list[RubricFindings]:
    """Ten reports whose mean of Writing Quality, 2.325, lies between two rounded numbers.

    Its items over the reports: C1-1, C2-1 and C4-1 (8 * 1 + 2 * 2) / 10 = 1.2, C3-1 (7 * 6 + 3 * 5) / 10 = 5.7.
    """

    def answers(number: int) -> dict[Path, Answer]:
        writing = (FS, "writing_quality")
        low: Answer = 2 if number < 2 else 1
        return {
            **everywhere(6),
            (*writing, "1", "C1-1"): low,
            (*writing, "2", "C2-1"): low,
            (*writing, "3", "C3-1"): 5 if number < 3 else 6,
            (*writing, "3", "C3-2"): "N/A",
            (*writing, "4", "C4-1"): low,
        }

    return [findings(answers(number)) for number in range(10)]


def settled(answers: Mapping[Path, Answer], by: int) -> dict[Path, Answer]:
    """The answers with every failure as the score `by`."""
    return {path: by if answer == "failed" else answer for path, answer in answers.items()}

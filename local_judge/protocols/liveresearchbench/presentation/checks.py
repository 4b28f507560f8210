"""The ten checks of presentation and organisation (section 4.1, table 2), in words of our own.

Invariant: all are positive: met is good. The order and the ids are the published ones.
"""

from __future__ import annotations

from local_judge.protocols.asking import Requirement

CHECKS: tuple[Requirement, ...] = (
    Requirement(
        "p1",
        "The report's structure is clear, coherent and in a logical order: a reader finds the way through it easily, "
        "and it leads straight to an answer to the research question.",
    ),
    Requirement("p2", "There is no mistake of grammar or spelling in the report."),
    Requirement("p3", "Each entry of the list of references is cited in the text at least once."),
    Requirement(
        "p4", "Each citation in the text has its entry in the list of references, or an address of its own."
    ),
    Requirement(
        "p5", "There is exactly one list of references, and its entries are in one order throughout."
    ),
    Requirement("p6", "Citations have one and the same style throughout the text."),
    Requirement(
        "p7", "Citations stand at the end of the clause or sentence that they belong to, not inside it."
    ),
    Requirement(
        "p8",
        "Each table has all its data, and each figure shows something valid; a report without either meets this.",
    ),
    Requirement(
        "p9",
        "The formatting is right and consistent; for example, section titles are marked as headings of a proper level "
        "(#, ##), not written as plain text, and tables are valid markup that can be rendered.",
    ),
    Requirement(
        "p10",
        "Where sources are numbered, the numbers run without gaps, none stands for two sources, and no source has two.",
    ),
)

IDS: tuple[str, ...] = tuple(check.id for check in CHECKS)

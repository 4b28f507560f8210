"""The mechanical checks on real reports against plain regular expressions on the same text.

What differs is listed by report, and each difference is told apart by its cause in
`docs/protocols/liveresearchbench.md`.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from local_judge.documents import parse_report
from local_judge.protocols.liveresearchbench import LiveResearchBench
from local_judge.protocols.liveresearchbench.counted_checks import Decided, decide

from ...scripted_judge import MakeJudge
from .lrb_cases import believing, case, context

_HEADING = re.compile(r"^#+\s*(?:Sources|References)\s*$", re.MULTILINE | re.IGNORECASE)
_ENTRY = re.compile(r"^\s*(?:\[(\d+)\]|(\d+)[.)])\s+(.*)$", re.MULTILINE)
_CITED = re.compile(r"\[(\d+(?:\s*[,–-]\s*\d+)*)\]")
_URL = re.compile(r"https?://[^\s)\]>]+")


class Plain(NamedTuple):
    """What regular expressions find."""

    uncited: set[int]
    unresolved: set[int]
    numbering: bool
    """Whether the numbers are 1 to n, each once."""
    doubled: bool
    """Whether an address stands under two numbers."""


def expanded(inner: str) -> set[int]:
    numbers: set[int] = set()
    for part in inner.split(","):
        ends = [int(end) for end in re.split(r"\s*[–-]\s*", part.strip())]
        numbers.update(range(ends[0], ends[-1] + 1))
    return numbers


def plain(text: str) -> Plain | None:
    """None for a report without a numbered list under a heading of its own."""
    heading = list(_HEADING.finditer(text))
    if not heading:
        return None
    body, tail = text[: heading[-1].start()], text[heading[-1].end() :]
    entries = [(int(found[1] or found[2]), found[3]) for found in _ENTRY.finditer(tail)]
    if not entries:
        return None
    cited: set[int] = set()
    for found in _CITED.finditer(body):
        cited |= expanded(found[1])
    numbers = [number for number, _ in entries]
    urls = Counter(url for _, rest in entries for url in set(_URL.findall(rest)[:1]))
    return Plain(
        uncited=set(numbers) - cited,
        unresolved=cited - set(numbers),
        numbering=numbers == list(range(1, len(numbers) + 1)),
        doubled=any(n > 1 for n in urls.values()),
    )


LISTS, P3, P4, GAPS, DOUBLES = 49, 31, 5, 1, 2
"""Of the 51 reports: numbered lists, and how many of them break a check by the expressions. Of the published 80, with
73 lists of the form `[n]`, the same count gave 47, 6, 2 and 4."""

WITHOUT_LIST = {"policyGkZ8xushXFtVcZHF", "reviewes8I18LtI6ioOQum"}
"""A refusal and a plan."""

DIFFERENT = {
    ("infoco2F10Hm9IIrzZsKJR", "p3"),  # entries 15 to 20 are cited by links to their addresses
    ("lifesp2DJmlulFMDdLb7hA", "p3"),  # all of its entries are
    ("reviewDuKImcS9AcUMBZGy", "p3"),  # 33, 38 and 40 are; others are cited by nothing
    ("proconX7zAJLOPgcyZRDpZ", "p3"),  # 28 is cited by its bare address; others by nothing
    ("topicqwjvYGldTBetIKqZ", "p3"),  # 75 is; others by nothing
    ("techspH03dNoqnVQ9MahGu", "p10"),  # [6] and [35] are one page, at two places in it
}
"""Where the parsed report says otherwise than the expressions."""


def numbers_in(decided: Decided) -> set[int]:
    return {int(found[0]) for place in decided.places if (found := re.search(r"\d+", place.what))}


def test_the_checks_agree_with_plain_expressions_but_for_six(shared: Path) -> None:
    folder = shared / "data/reports/lrb"
    files = {
        re.sub(r"^qid_|_report$", "", file.stem): file for file in sorted(folder.glob("qid_*_report.md"))
    }
    if not files:
        pytest.skip(f"no reports in {folder}")
    counts: Counter[str] = Counter()
    different: set[tuple[str, str]] = set()
    without: set[str] = set()
    for name, file in files.items():
        text = file.read_text(encoding="utf-8")
        expected, found = plain(text), decide(parse_report(text))
        if expected is None:
            without.add(name)
            continue
        counts["lists"] += 1
        counts["p3"] += bool(expected.uncited)
        counts["p4"] += bool(expected.unresolved)
        counts["gaps"] += not expected.numbering
        counts["doubles"] += expected.doubled
        agrees = {
            "p3": numbers_in(found["p3"]) == expected.uncited,
            "p4": numbers_in(found["p4"]) == expected.unresolved,
            "p10": (found["p10"].status == "met") is (expected.numbering and not expected.doubled),
        }
        different |= {(name, check) for check, same in agrees.items() if not same}
        assert found["p5"].status == "met", name
        for check in found.values():
            assert all(text[place.span.start : place.span.end] for place in check.places)
    assert different == {one for one in DIFFERENT if one[0] in files}
    assert without == WITHOUT_LIST & files.keys()
    if len(files) == 51:
        assert counts == {"lists": LISTS, "p3": P3, "p4": P4, "gaps": GAPS, "doubles": DOUBLES}


async def test_the_longest_report_is_computed_once_for_four_metrics(
    shared: Path, make_judge: MakeJudge
) -> None:
    files = sorted((shared / "data/reports/lrb").glob("*.md"), key=lambda file: file.stat().st_size)
    if not files:
        pytest.skip("no reports")
    judge, engine = make_judge(believing, context_tokens=10**6)
    chosen = LiveResearchBench.configured({"parts": ["presentation", "coverage", "consistency", "citation"]})
    await chosen.examine(case(files[-1].read_text(encoding="utf-8")), context(judge))
    assert len(engine.calls) == 4
    # One of four reports, and what each question adds.
    assert judge.meter.prompt_tokens - judge.meter.cached_tokens < 0.35 * judge.meter.prompt_tokens

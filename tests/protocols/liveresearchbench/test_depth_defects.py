"""Texts that are no reports are told from reports, by what they say of themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local_judge.documents import parse_report
from local_judge.protocols.liveresearchbench.depth.defects import defects

REFUSALS_OF_LRB = {"policyGkZ8xushXFtVcZHF", "reviewes8I18LtI6ioOQum"}
"""Of the four that are known, those among the files at hand."""

FRAMEWORK = (
    "# Bicycle hire in Europe\n\n## A note on evidence\n\nNo source documents were supplied with this request, and web "
    "access is not available here. Below is what the report will contain. If you can share links, it can be "
    "populated.\n\n"
    "## Market size\n\nSources to look at: https://hire.example/results and https://city.example/rules.\n\n"
    "## Next steps\n\nConfirm permission to search. Figures are to be filled once filings have been collected.\n\n"
    "### Sources\n\n[1] Hire plc: https://hire.example/results\n[2] City: https://city.example/rules"
)
OUTLINE = (
    "I cannot satisfy the request, because no verified papers were captured. Please allow me to search first.\n\n"
    "# Pumps: an outline\n\n## 1. History\n\n- Early pumps were made of wood; later ones of iron.\n\n"
    "Once you approve, I will deliver the full review."
)
REPORT = (
    "# Bicycle hire in Europe\n\n## Summary\n\nHire grew by a tenth in 2024 [1]. No figures were published for Malta, "
    "and the audit of Riga cannot be verified.\n\n## Next steps\n\nA ruling is to be delivered in June [2]. Once the "
    "law is approved, fees fall.\n\n## Sources\n\n[1] Hire plc: https://hire.example\n[2] City: https://city.example"
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (FRAMEWORK, ("refusal", "plan")),
        (OUTLINE, ("refusal", "plan")),
        ("I'm sorry, but as an AI I cannot browse the web.", ("refusal",)),
        ("抱歉，我无法访问互联网，因此无法完成这份报告。", ("refusal",)),
        (
            "# Heat pumps\n\n## Research plan\n\nFirst, list the makers. Please confirm the list; once you approve, "
            "the study begins.",
            ("plan",),
        ),
        (REPORT, ()),
        (
            "# Pumps\n\nThey cost 8 million. We could not complete the count for Riga.\n\n"
            + "So it is. " * 200,
            (),
        ),
        ("A report without any heading or source, on pumps.", ()),
    ],
)
def test_what_is_no_report(text: str, found: tuple[str, ...]) -> None:
    assert defects(parse_report(text)) == found


def test_sources_do_not_make_a_plan_a_report() -> None:
    # Where the notes of a document hold that a text that cites is no refusal.
    document = parse_report(FRAMEWORK)
    assert document.citations and "refusal" not in document.notes


def test_reports_of_liveresearchbench(shared: Path) -> None:
    paths = sorted((shared / "data" / "reports" / "lrb").glob("*.md"))
    assert len(paths) > 40
    found = {
        path.stem.removeprefix("qid_").removesuffix("_report"): defects(parse_report(path.read_bytes()))
        for path in paths
    }
    assert {name for name, kinds in found.items() if kinds} == REFUSALS_OF_LRB & set(found)
    assert all(found[name] == ("refusal", "plan") for name in REFUSALS_OF_LRB & set(found))


@pytest.mark.parametrize("file", ["raw.jsonl", "cleaned.jsonl"])
def test_no_report_of_deepresearch_context_is_flagged(file: str, shared: Path) -> None:
    lines = (shared / "data" / "reports" / "drb" / file).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 60
    assert [row["id"] for row in rows if defects(parse_report(row["article"]))] == []

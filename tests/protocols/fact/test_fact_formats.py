"""FACT's files, read and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.protocols.fact.export import fact_result, read_validated, rows_of

from .fact_cases import findings

CITATIONS = [
    {"fact": "The mill opened in 1974.", "ref_idx": 1, "url": "https://a.example"},
    {"fact": "It opened in 1974.", "ref_idx": 1, "url": "https://a.example"},
    {"fact": "It ground rye.", "ref_idx": "2", "url": "https://b.example"},
    {"fact": "It was dear.", "ref_idx": 2, "url": "https://b.example"},
]


def page(facts: list[str], results: list[str], error: str | None = None) -> dict[str, Any]:
    judged = [{"idx": index, "result": result} for index, result in enumerate(results)]
    return {
        "facts": facts,
        "url_content": "…",
        "article_id": 1,
        "validate_res": judged,
        "validate_error": error,
    }


ROW: dict[str, Any] = {
    "id": 1,
    "prompt": "Tell of the mill.",
    "article": "The mill …",
    "citations": CITATIONS,
    "citations_deduped": {
        "https://a.example": page(["The mill opened in 1974."], ["supported"]),
        "https://b.example": page(["It ground rye.", "It was dear."], ["Unknown", "unknown"]),
    },
}


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "validated.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_row_becomes_findings(tmp_path: Path) -> None:
    [found] = read_validated(write(tmp_path, ROW))
    assert (found.case, found.source, found.prompt, found.n_citations) == (
        "1",
        "file",
        "Tell of the mill.",
        4,
    )
    # The code compares letter by letter: "Unknown" is a citation without support.
    assert [
        (pair.statement, pair.outcome, pair.reason, pair.judged and pair.judged.label) for pair in found.pairs
    ] == [
        ("The mill opened in 1974.", "supported", None, "supported"),
        ("It ground rye.", "unsupported", None, "Unknown"),
        ("It was dear.", "unknown", "judged_unknown", "unknown"),
    ]
    assert [pair.key for pair in found.pairs] == ["1", "2", "2"]
    assert [repeat.statement for repeat in found.repeats] == ["It opened in 1974."]
    # Two known pairs, one supported, one task.
    assert fact_result([found]) == (2.0, 1.0, 0.5)
    assert (
        fact_result([found]).text() == "total_citations: 2.0\ntotal_valid_citations: 1.0\nvalid_rate: 0.5\n"
    )


@pytest.mark.parametrize(
    ("results", "outcomes"),
    [
        ([(1, "unsupported"), (0, "supported")], ["supported", "unsupported", "unknown"]),
        ([(2, "supported")], ["unknown", "unknown", "supported"]),
        # Numbers that are none of the facts', or stand twice: the code takes what is there, in its order.
        ([(1, "supported"), (2, "unsupported"), (3, "unknown")], ["supported", "unsupported", "unknown"]),
        ([(0, "supported"), (0, "unsupported")], ["supported", "unsupported", "unknown"]),
        ([(-1, "supported")], ["supported", "unknown", "unknown"]),
    ],
)
def test_a_result_belongs_to_the_fact_that_it_numbers(
    tmp_path: Path, results: list[tuple[int, str]], outcomes: list[str]
) -> None:
    facts = page(["A.", "B.", "C."], [])
    facts["validate_res"] = [{"idx": number, "result": label} for number, label in results]
    [found] = read_validated(write(tmp_path, {**ROW, "citations_deduped": {"https://a.example": facts}}))
    assert [pair.outcome for pair in found.pairs] == outcomes


def test_a_url_with_an_error_is_a_failure_of_all_its_facts(tmp_path: Path) -> None:
    row = ROW | {
        "citations_deduped": {
            "https://a.example": page(["One.", "Two."], [], "boom\nbang"),
            "https://b.example": page(["Three.", "Four."], ["supported"]),
        }
    }
    [found] = read_validated(write(tmp_path, row))
    assert [pair.reason for pair in found.pairs] == ["judge_failed", "judge_failed", None, "judge_failed"]
    failures = [pair.failure.detail for pair in found.pairs if pair.failure]
    assert failures == ["boom bang", "boom bang", "no result for this fact"]
    assert fact_result([found]) == (1.0, 1.0, 1.0)


def test_written_again_the_counts_are_the_same(tmp_path: Path) -> None:
    first = read_validated(write(tmp_path, ROW, ROW | {"id": "2", "citations": [], "citations_deduped": {}}))
    rows = [rows_of(found, number) for number, found in enumerate(first, 1)]
    again = read_validated(write(tmp_path, *(dict(row.validated) for row in rows)))
    assert fact_result(again) == fact_result(first)
    assert [[pair.statement for pair in found.pairs] for found in again] == [
        [pair.statement for pair in found.pairs] for found in first
    ]
    assert again[0].repeats == first[0].repeats


def test_the_rows_as_written() -> None:
    found = findings("sdf")
    extracted, deduplicated, validated = rows_of(found, 7)
    assert list(extracted) == ["id", "prompt", "article", "citations"]
    assert (extracted["id"], extracted["article"]) == (7, "Text.")
    assert extracted["citations"] == [
        {"fact": f"Statement {n}.", "ref_idx": 0, "url": f"https://{n}.example/"} for n in (1, 2, 3)
    ]
    assert deduplicated == extracted | {
        "citations_deduped": {
            f"https://{n}.example/": {"facts": [f"Statement {n}."], "url_content": None} for n in (1, 2, 3)
        }
    }
    base: dict[str, object] = {"url_content": None, "article_id": 7, "validate_error": None}
    assert validated["citations_deduped"] == {
        "https://1.example/": base
        | {"facts": ["Statement 1."], "validate_res": [{"idx": 0, "result": "supported"}]},
        "https://2.example/": base
        | {
            "facts": ["Statement 2."],
            "url_content": "scrape failed: dead",
            "validate_res": [{"idx": 0, "result": "unknown"}],
        },
        "https://3.example/": base
        | {"facts": ["Statement 3."], "validate_res": [], "validate_error": "no answer"},
    }


@pytest.mark.parametrize(
    ("key", "index"),
    [("3", 3), ("0012", 12), ("Kim 2024", "Kim 2024"), ("https://a.example", 0), ("", 0), ("²", "²")],
)
def test_what_a_citation_names_becomes_its_index(key: str, index: object) -> None:
    found = findings("s")
    pair = found.pairs[0].model_copy(update={"key": key})
    citations: Any = rows_of(found.model_copy(update={"pairs": (pair,)}), 1).extracted["citations"]
    assert citations[0]["ref_idx"] == index


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": None}, "no id"),
        ({"id": 1.5}, "id 1.5 must be"),
        ({"citations": "extraction failed"}, "leave the row out and count it as missing"),
        ({"citations": [{"fact": "a"}]}, "citations.0.url"),
        ({"citations_deduped": {"u": page([], ["supported"])}}, "u: 1 results for 0 facts"),
        ({"citations_deduped": {"u": {"facts": []}}}, "citations_deduped.u.validate_res"),
    ],
)
def test_what_is_no_validated_row_is_said_in_one_line(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = write(tmp_path, ROW | {"id": 9}, ROW | change)
    with pytest.raises(InputError) as raised:
        read_validated(path)
    assert str(raised.value).startswith(f"{path}:2: ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_id_stands_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="id '1' occurs twice"):
        read_validated(write(tmp_path, ROW, ROW | {"id": "1"}))

"""Chosen evidence and quotations against the sentences that people chose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from local_judge.claims.config import ClaimsConfig
from local_judge.lab.labelled.load import LabelledClaim, evidence_snapshot, load_sets
from local_judge.lab.verifier_benchmark.evidence import evidence_figures, quotation_rate

from .conftest import TEXT, write_rows
from .test_measure import PEOPLE

PROVES = [["The mill was built in 1904.", "The wheel  is made of oak."], ["It ground wheat."]]


def rows(path: Path, supporting: list[list[str]], evidence: str = TEXT) -> list[LabelledClaim]:
    row: dict[str, Any] = {
        "claim": "The mill of 1904 has an oak wheel.",
        "evidence": evidence,
        "label": "supported",
    }
    return load_sets([write_rows(path, [{**row, "supporting": supporting}, row])])


def test_the_best_of_several_sets_counts(tmp_path: Path) -> None:
    given = rows(tmp_path / "mill.jsonl", PROVES)
    with evidence_snapshot(given) as snapshot:
        (found,) = evidence_figures(given, snapshot, "page", ClaimsConfig())
    # The page is shown whole: both sentences of the first set, none of the second. One row names no sentences.
    assert (found.n, found.sentence_recall, found.whole_sets.n, found.whole_sets.of) == (1, 1.0, 1, 1)
    # The nearest sentence shares "the", "mill" and "1904" with the claim, the next one "oak": both are chosen ones.
    assert (found.first.n, found.first.of, found.nearest.n) == (1, 1, found.nearest.of)


def test_half_of_a_set_is_half_a_recall(tmp_path: Path) -> None:
    given = rows(tmp_path / "mill.jsonl", [["The mill was built in 1904.", "It burned down."]])
    with evidence_snapshot(given) as snapshot:
        (found,) = evidence_figures(given, snapshot, "page", ClaimsConfig())
    assert (found.sentence_recall, found.whole_sets.value) == (0.5, 0.0)


def test_a_set_without_supporting_sentences_has_no_figures(tmp_path: Path) -> None:
    given = rows(tmp_path / "mill.jsonl", [[]])
    with evidence_snapshot(given) as snapshot:
        assert evidence_figures(given, snapshot, "page", ClaimsConfig()) == []


def test_a_quotation_overlaps_a_supporting_sentence_or_not(tmp_path: Path) -> None:
    row, other = rows(tmp_path / "mill.jsonl", PROVES)
    found = quotation_rate([(row, "built in 1904"), (row, "It ground rye"), (other, "made of oak")])
    assert found is not None and (found.n, found.of) == (1, 2)
    assert quotation_rate([(other, "made of oak")]) is None


@pytest.mark.slow
@pytest.mark.skipif(not PEOPLE.is_dir(), reason="needs the shared sets of human labels")
def test_recall_of_bm25_on_wice_at_a_thousand_tokens() -> None:
    given = load_sets([PEOPLE / "wice.jsonl.gz"])
    config = ClaimsConfig(method="scored", evidence_tokens=1_000, passages_per_claim=8)
    with evidence_snapshot(given) as snapshot:
        page, near = (
            evidence_figures(given, snapshot, name, config.model_copy(update={"view": name}))[0]
            for name in ("page", "near")
        )
    assert page.n == 319
    # 289 of 319 claims have a whole set in the evidence.
    assert page.sentence_recall == pytest.approx(0.964, abs=0.001) and page.whole_sets.n == 289
    assert page.tokens < 1_000 and near.tokens < page.tokens
    assert near.sentence_recall < page.sentence_recall

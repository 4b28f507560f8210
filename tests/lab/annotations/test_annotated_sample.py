"""The packaged set keeps what its description says."""

from __future__ import annotations

import re
from collections import Counter
from typing import get_args

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.lab.annotations.load import load_annotations, sample_folder
from local_judge.lab.annotations.model import AnnotatedReport
from local_judge.lab.planting.model import AlterationKind


@pytest.fixture(scope="module")
def sample() -> list[AnnotatedReport]:
    return load_annotations([sample_folder()])


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    out = tmp_path_factory.mktemp("annotated") / "snapshot"
    import_pages(sample_folder() / "pages", out, workers=0)
    return Snapshot.open(out)


def test_two_languages_four_styles_and_every_class(sample: list[AnnotatedReport]) -> None:
    assert [report.document.language for report in sample] == ["en", "en", "zh", "zh"]
    styles = [{citation.style for citation in report.document.citations} for report in sample]
    assert styles == [{"number"}, {"author_year"}, {"footnote"}, {"link"}]
    for language in ("en", "zh"):
        types = Counter(
            claim.type for report in sample if report.document.language == language for claim in report.claims
        )
        assert sum(types.values()) == 117
        assert {name: count for name, count in types.items() if count < 9} == {}
    types = Counter(claim.type for report in sample for claim in report.claims)
    assert all(types[name] >= 15 for name in "ABCDEF")


def test_every_citation_leads_somewhere_and_labels_fit_the_pages(
    sample: list[AnnotatedReport], pages: Snapshot
) -> None:
    for report in sample:
        assert {citation.state for citation in report.document.citations} == {"resolved"}
        for claim in report.claims:
            for key, label in claim.citations.items():
                url = report.url(key)
                assert url is not None
                assert (pages.page(url).status == "ok") == (label is not None), (
                    f"{report.id} {claim.id} {key}"
                )
    statuses = {page.status for page in pages.pages()}
    assert statuses == {"ok", "dead", "blocked", "empty"}


def test_what_is_supported_is_altered_too_in_every_way(sample: list[AnnotatedReport]) -> None:
    claims = [claim for report in sample for claim in report.claims]
    for claim in claims:
        if {"supported", "partial"} & set(claim.citations.values()):
            assert claim.altered is not None, claim.id
    kinds = Counter(claim.altered.kind for claim in claims if claim.altered is not None)
    assert set(kinds) == set(get_args(AlterationKind))
    assert min(kinds.values()) >= 11 and sum(kinds.values()) == 149
    labels = Counter(label for claim in claims for label in claim.citations.values())
    assert {"supported", "partial", "contradicted", "not_found", None} == set(labels)


def test_every_figure_of_a_supported_cited_claim_stands_on_its_page(
    sample: list[AnnotatedReport], pages: Snapshot
) -> None:
    for report in sample:
        for claim in report.claims:
            for key, label in claim.citations.items():
                url = report.url(key)
                if claim.type == "A" and label == "supported" and url is not None:
                    page = pages.page(url)
                    assert figures(claim.claim) <= figures(page.title + page.text), f"{report.id} {claim.id}"


def figures(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,]\d+)*", text))

"""Reports whose claims are known."""

from __future__ import annotations

import pytest

from indexes.model import Page
from indexes.snapshot import Snapshot
from local_judge.lab.planting.composed import Composed, ComposeSettings, compose, fillers
from local_judge.lab.planting.pages import usable
from local_judge.lab.planting.sentences import stands_alone


@pytest.fixture(scope="session")
def composed(annotated: Snapshot) -> list[Composed]:
    return compose(usable(annotated.pages()), ComposeSettings(reports=2, sentences=16, seed=3))


def test_languages_take_turns_and_a_report_has_the_sentences_that_were_asked_for(
    composed: list[Composed],
) -> None:
    assert [(one.id, one.language, one.document.language) for one in composed] == [
        ("composed-1-en", "en", "en"),
        ("composed-2-zh", "zh", "zh"),
    ]
    # 0.375 of 16 are 6 fillers, the other 10 are planted.
    assert [(len(one.sentences), one.n_lost) for one in composed] == [(16, 0), (16, 0)]
    assert [sum(sentence.planted for sentence in one.sentences) for one in composed] == [10, 10]


def test_what_is_known_is_what_the_parse_has(composed: list[Composed], annotated: Snapshot) -> None:
    for report in composed:
        read = {one.label: one for one in report.document.sentences}
        for known in report.sentences:
            sentence = read[known.label]
            urls = [report.document.citation(one).url for one in sentence.citations]
            assert urls == ([known.url] if known.cited else [])
            if known.url is None:
                assert known.text == sentence.text
                assert known.text in fillers("filler", report.language)
            else:
                assert known.text in annotated.page(known.url).text
                assert stands_alone(known.text, report.language)


def test_the_first_sentence_of_a_section_cites_and_the_others_do_not(composed: list[Composed]) -> None:
    for report in composed:
        cited: dict[str, list[bool]] = {}
        for known in report.sentences:
            if known.url is not None:
                cited.setdefault(known.url, []).append(known.cited)
        assert all(marks == [True] + [False] * (len(marks) - 1) for marks in cited.values())
        assert max(map(len, cited.values())) > 1


def test_the_same_pages_and_seed_give_the_same_reports_in_whatever_order_the_pages_come(
    composed: list[Composed], annotated: Snapshot
) -> None:
    settings = ComposeSettings(reports=2, sentences=16, seed=3)
    pages = usable(annotated.pages())
    again = compose(pages[::-1], settings)
    assert [one.document.text for one in again] == [one.document.text for one in composed]
    other = compose(pages, settings.model_copy(update={"seed": 4}))
    assert [one.document.text for one in other] != [one.document.text for one in composed]


def page(text: str) -> Page:
    url = "https://mill.example/"
    return Page(url=url, original_url=url, status="ok", title="Mill", text=text, language="en")


def test_a_report_of_few_pages_is_shorter_and_there_is_none_of_nothing() -> None:
    text = (
        "Harlow Mill was built in 1974 by the town of Harlow. Harlow Mill in Kent employed 48 people in 1980."
    )
    (only,) = compose([page(text)], ComposeSettings(reports=3, sentences=16))
    # 2 of the 10 sentences that were wanted, and of the 6 fillers 6 * 2 // 10 = 1.
    assert [one.planted for one in only.sentences].count(True) == 2
    assert len(only.sentences) == 3
    assert compose([page("It was so.")], ComposeSettings()) == []
    assert compose([], ComposeSettings()) == []


def test_sentences_that_the_parse_joins_are_lost_and_counted() -> None:
    text = (
        "Harlow Mill in Kent employed 48 people in 1980.\n"
        "Marta Reed sold the yard at Harlow to Thornton & Co.\n"
        "Mill workers at Harlow in Kent earned 9 pounds in 1974."
    )
    (only,) = compose([page(text)], ComposeSettings(reports=1, sentences=4, fillers=0))
    assert [(one.text, one.cited) for one in only.sentences] == [
        ("Harlow Mill in Kent employed 48 people in 1980.", True)
    ]
    assert only.n_lost == 2


@pytest.mark.parametrize("language", ["en", "zh"])
def test_fillers_have_no_number_and_no_name(language: str) -> None:
    texts = fillers("filler", language)  # type: ignore[arg-type]  # parametrised
    assert len(texts) == len(set(texts)) >= 20
    assert not any(character.isdigit() for text in texts for character in text)
    for text in texts:
        assert not any(word[0].isupper() for word in text.split()[1:])

"""A sentence is a claim only if it can be understood and checked by itself."""

from __future__ import annotations

import pytest

from local_judge.lab.planting.model import Language
from local_judge.lab.planting.sentences import standalone_sentences, stands_alone


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("The Fernholt Bridge was opened in May 1931 by Anna Lindqvist.", "en"),
        ("The council of Fernholt approved the retrofit on 18 March 2021.", "en"),
        ("Fernholt renewed its heating network between 2019 and 2024.", "en"),
        ("青梧市水务局于2017年9月启动雨水花园项目。", "zh"),
        ("翔羽航空在云岭县共完成飞行6420架次，比2023年增加28%。", "zh"),
    ],
)
def test_whole_checkable_sentences_are_claims(sentence: str, language: Language) -> None:
    assert stands_alone(sentence, language)


@pytest.mark.parametrize(
    ("sentence", "language", "why"),
    [
        ("It was the longest bridge of the county until 1950.", "en", "a pronoun opens it"),
        ("The council approved the retrofit of the town in 2021.", "en", "which council"),
        ("Anna Lindqvist said in 1931 that they had built the bridge.", "en", "whose noun stands elsewhere"),
        ("In 1931 the engineers of Norden finished his bridge.", "en", "whose bridge"),
        ("Mayor Holt opened the city on 4 July 1931.", "en", "which city"),
        ("Bridges are built because ferries are slow.", "en", "no number and no name"),
        ("Opened in 1931.", "en", "too short"),
        ("Sentencing is scheduled for Feb. 14.", "en", "short, and names nobody"),
        ("The Norden Company and the bridge of 1931 in Fernholt.", "en", "no verb"),
        ('Anna Lindqvist said that "nobody" came in 1931.', "en", "quotes"),
        ("Anna Lindqvist opened the bridge in 1931 [3].", "en", "markup"),
        ("该项目于2017年9月在青梧市启动，覆盖老城区。", "zh", "该"),
        ("因此青梧市在2017年启动了雨水花园项目。", "zh", "因此"),
        ("水务局认为他们在2017年完成了任务。", "zh", "他们"),
        ("水务局如何在2017年完成任务？", "zh", "a question"),
    ],
)
def test_what_leans_on_others_or_cannot_be_checked_is_left_out(
    sentence: str, language: Language, why: str
) -> None:
    assert not stands_alone(sentence, language), why


def test_offsets_are_those_of_the_page_and_list_marks_are_left_out() -> None:
    page = "# Bridges of 1931 and their makers\n\n- The Fernholt Bridge was opened in 1931.\n| Norden was paid 3. |\n"
    (found,) = standalone_sentences(page, "en")
    assert page[found.start : found.end] == found.text == "The Fernholt Bridge was opened in 1931."

from __future__ import annotations

from indexes.model import Page
from local_judge.claims.evidence import Exhibit
from local_judge.claims.model import Quote
from local_judge.claims.surroundings import LONGEST, Surroundings

TEXT = "Rye is grown. Oats are sold. Barley is malted.\n\nHops are dear. Wheat is cheap. Flax is spun."


def page(text: str, title: str = "Crops") -> Page:
    return Page(
        url="https://crops.example/",
        original_url="https://crops.example/",
        status="ok",
        title=title,
        text=text,
    )


def quote(text: str, words: str) -> Quote:
    start = text.index(words)
    return Quote(text=words, start=start, end=start + len(words))


def around(text: str, *words: str) -> list[str]:
    stretches = Surroundings(page(text)).of([quote(text, one) for one in words])
    return [text[start:end].strip() for start, end in stretches]


def test_a_sentence_comes_with_the_one_before_and_the_one_after() -> None:
    assert around(TEXT, "Oats are sold.") == ["Rye is grown. Oats are sold. Barley is malted."]
    assert around(TEXT, "Rye is grown.") == ["Rye is grown. Oats are sold."]
    assert around(TEXT, "Flax is spun.") == ["Wheat is cheap. Flax is spun."]
    assert around(TEXT) == []


def test_surroundings_that_touch_are_one_and_stand_in_page_order() -> None:
    assert around(TEXT, "Flax is spun.", "Rye is grown.") == [
        "Rye is grown. Oats are sold.",
        "Wheat is cheap. Flax is spun.",
    ]
    # "Barley is malted." is after the one and before the other.
    assert around(TEXT, "Oats are sold.", "Hops are dear.") == [TEXT.removesuffix(" Flax is spun.")]


def test_of_an_endless_neighbour_only_what_is_next_to_the_sentence() -> None:
    endless = "cask " * 200
    text = f"{endless.strip()}. Oats are sold. {endless}"
    [found] = Surroundings(page(text)).of([quote(text, "Oats are sold.")])
    start = text.index("Oats")
    assert found == (start - LONGEST, start + len("Oats are sold.") + LONGEST)


def test_evidence_is_the_title_and_the_surroundings() -> None:
    exhibit = Exhibit(page(TEXT), (), whole=True)
    evidence, shown = exhibit.near([quote(TEXT, "Rye is grown."), quote(TEXT, "Flax is spun.")])
    assert shown == (
        "Page:\n```\nCrops\n\nRye is grown. Oats are sold.\n[…]\nWheat is cheap. Flax is spun.\n```"
    )
    # "Rye is grown. Oats are sold." has 28 characters; "Wheat is cheap. Flax is spun." 29, at the end of 92.
    assert evidence.stretches == ((0, 28), (63, 92))
    # Nothing near: the title alone.
    assert exhibit.near([])[1] == "Page:\n```\nCrops\n```"

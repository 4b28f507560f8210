from __future__ import annotations

import pytest

from tests.golden.deer_reading import extract_references, label, split_sentences


def test_blocks_are_numbered_empty_ones_included() -> None:
    found = label("# Title\n\nOne. Two.\n\n\n\nThree.")
    # "" stands between two of the line breaks: Three is in the fourth block
    assert found.sentences == {"2": ["One.", "Two."], "4": ["Three."]}
    assert found.text == "# Title\nL2.S1: One.\nL2.S2: Two.\n\nL4.S1: Three.\n"


def test_a_heading_bears_no_label_and_what_follows_it_in_its_block_does() -> None:
    assert label("## Costs\nThey fell. Then rose.").text == "## Costs\nL1.S1: They fell.\nL1.S2: Then rose.\n"


@pytest.mark.parametrize("stop", ["## References", "Citations:"])
def test_the_report_ends_where_its_references_begin(stop: str) -> None:
    assert label(f"One.\n\n{stop}\n\n[1] A.").sentences == {"1": ["One."]}
    # only to the letter
    assert len(label(f"One.\n\n{stop} and notes\n\n[1] A.").text) > len("L1.S1: One.\n")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Smith et al. (2020) agree.", ["Dr. Smith et al.", "(2020) agree."]),
        ("It is warm, i.e. above zero.", ["It is warm, i.e.", "above zero."]),
        (
            "In the U.S. prices rose. In the U.S. The rest fell.",
            ["In the U.S. prices rose.", "In the U.S.", "The rest fell."],
        ),
        ("(See the U.S.) Then on.", ["(See the U.S.) Then on."]),
        ("By J. Smith. By J. The rest.", ["By J. Smith.", "By J.", "The rest."]),
        (
            "It ended in 2020. after all. In 2021. Then on.",
            ["It ended in 2020. after all.", "In 2021.", "Then on."],
        ),
        ("Wait... and see. Wait... The end.", ["Wait... and see.", "Wait...", "The end."]),
        ("It grew 3.5% a year. 2 of 3 agree.", ["It grew 3.5% a year.", "2 of 3 agree."]),
        ('He said "yes." She said (no!) and left.', ['He said "yes."', "She said (no!)", "and left."]),
        ("- one\n- two. More\n- three", ["- one\n- two.", "More\n- three"]),
        ("它在一九九零年开工。第二年完工。", ["它在一九九零年开工。第二年完工。"]),
        ("pre-Dec. levels. Co. of Fla. Next", ["pre-Dec. levels.", "Co. of Fla. Next"]),
        ("", []),
    ],
)
def test_where_sentences_end(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_a_long_report_takes_no_time() -> None:
    text = "Word after word of it. " * 20_000
    assert len(split_sentences(text)) == 20_000


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1. Title <https://a.com/x>", {"1": "https://a.com/x"}),
        ("3. [Title](https://a.com/x)", {"3": "https://a.com/x"}),
        # closing punctuation stays
        ("[2] Title, https://a.com/x).", {"2": "https://a.com/x)."}),
        ("[1-3] Title https://a.com", {"1-3": "https://a.com"}),
        # a bare URL after a number with a dot is not seen
        ("2. Title https://a.com", {}),
        # one URL for each index, the first of its line
        ("[1] https://a.com https://b.com", {"1": "https://a.com"}),
        # the angle brackets are read first and cut out, so the parentheses cannot swallow them
        ("1. A <https://a.com>\n2. B (https://b.com)", {"1": "https://a.com", "2": "https://b.com"}),
    ],
)
def test_forms_of_references(text: str, found: dict[str, str]) -> None:
    assert extract_references(text) == found

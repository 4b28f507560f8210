from __future__ import annotations

import pytest

from local_judge.protocols.deer.formats.references import extract_references


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
def test_forms(text: str, found: dict[str, str]) -> None:
    assert extract_references(text) == found

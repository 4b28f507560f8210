"""Words of a text, in languages with and without spaces between them."""

import json
from pathlib import Path

import pytest

from local_judge.documents import parse_report
from local_judge.documents.words import WordCounter, count_words

DRB = Path(__file__).resolve().parents[2] / "../shared/data/reports/drb/raw.jsonl"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        (
            "Steel, iron and 9.5 t of well-known ore — don't ask.",
            10,
        ),  # 9.5, well-known and don't are one each
        ("a_b **bold** `code`", 4),
        ("这家工厂每年生产钢材", 6),  # 10 * 3 / 5
        ("这家工厂每年生产钢", 5),  # 9 * 3 / 5 = 5.4, rounded down
        ("2023年GDP增长5.2%", 4),  # 2023, GDP, 5.2; three characters are 1.8
        ("see [the page](https://example.org/a/b?c=d) or https://example.org/x", 4),
        ("line<br>line", 2),
        ("steel" * 3 + "\ufb01", 1),
        ("강철은 중요하다", 2),  # Korean has spaces
    ],
)
def test_words(text: str, words: int) -> None:
    assert count_words(text) == words


def test_citations_are_no_words() -> None:
    plain = "Output rose by nine per cent, as the office reports."
    cited = "Output rose by nine per cent [1][2, 3], as the office reports [^a]【4†L2】 https://e.org/1."
    for text, words in ((plain, 10), (cited, 10)):
        document = parse_report(
            f"{text}\n\n## References\n\n1. A https://e.org/1\n2. B\n3. C\n4. D\n\n[^a]: F"
        )
        assert WordCounter(document).block(document.blocks[0]) == words


@pytest.mark.skipif(not DRB.exists(), reason="the shared reports are not here")
def test_words_are_as_many_in_both_languages() -> None:
    lengths: dict[str, list[int]] = {"zh": [], "en": []}
    for line in DRB.read_text(encoding="utf-8").splitlines():
        document = parse_report(json.loads(line)["article"])
        counter = WordCounter(document)
        lengths[document.language] += [
            counter.block(block)
            for block in document.blocks
            if block.role == "body" and block.kind == "paragraph"
        ]
    # The same agent's paragraphs: were a character a word, or half of one, the Chinese would be far off.
    medians = {language: sorted(found)[len(found) // 2] for language, found in lengths.items()}
    assert medians == {"zh": 58, "en": 62}

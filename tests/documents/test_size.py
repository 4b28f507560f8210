from __future__ import annotations

from local_judge.documents import parse_report
from local_judge.documents.words import Size, body_size


def test_references_citations_and_headings_are_no_words() -> None:
    text = "# Mills\n\nMills grind corn [1], in [Tarn](https://tarn.example).\n\n## References\n\n[1] A book. https://x.example/\n"
    # Mills grind corn in Tarn: five words; characters of the heading and the sentence as written, blanks apart:
    # 5 + len("Millsgrindcorn[1],in[Tarn](https://tarn.example).").
    sentence = "Mills grind corn [1], in [Tarn](https://tarn.example)."
    assert body_size(parse_report(text)) == Size(5 + len(sentence.replace(" ", "")), 5, 1)


def test_five_chinese_characters_are_three_words() -> None:
    assert body_size(parse_report("磨坊磨玉米。\n")) == Size(6, 3, 1)

import pytest

from local_judge.documents import parse_report
from local_judge.documents.citation_styles import STYLES
from local_judge.documents.clean import clean

REFERENCES = """

## References

[1] Kim, J. (2024). A title. https://a.example/1

[^1]: A note. https://a.example/note
"""
EXAMPLES = [(row.name, example) for row in STYLES.values() for example in row.examples]


@pytest.mark.parametrize(("style", "example"), EXAMPLES)
def test_a_row_reads_its_examples(style: str, example: str) -> None:
    document = parse_report(f"Known since long {example}. More." + REFERENCES)
    assert {citation.style for citation in document.citations} == {style}
    assert [sentence.citations != () for sentence in document.sentences] == [True, False]


@pytest.mark.parametrize(("style", "example"), EXAMPLES)
def test_an_example_goes_with_cleaning_unless_the_sentence_needs_its_words(style: str, example: str) -> None:
    cleaned = clean(parse_report(f"Known since long {example}. More." + REFERENCES)).text.strip()
    words = next((words for words in ("text", "word", "Kim et al. (2024)") if words in example), "")
    assert cleaned == f"Known since long {words}".rstrip() + ". More."


def test_no_two_rows_have_one_name() -> None:
    assert len({row.name for row in STYLES.values()}) == len(STYLES)

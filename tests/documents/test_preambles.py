import pytest

from local_judge.documents import Document, parse_report


def roles(document: Document) -> list[str]:
    return [block.role for block in document.blocks]


@pytest.mark.parametrize(
    "chatter",
    [
        "I'll research the rivers of Europe.\n\nLet me search for more specific information about the Rhine:",
        "我需要继续搜索更多关于莱茵河的数据：\n\n让我搜索更具体的信息。",
    ],
)
def test_remarks_on_the_search_are_preamble(chatter: str) -> None:
    document = parse_report(f"{chatter}\n\n# Rivers\n\nThe Rhine is long. [1]\n")
    assert roles(document) == ["preamble", "preamble", "body", "body"]
    assert "agent_chatter" in document.notes
    assert [s.label for s in document.sentences] == ["L4.S1"]


def test_a_report_that_starts_twice() -> None:
    text = "# Rivers of Europe\n\nA short start.\n\nLet me search for more:\n\n## Rivers of Europe\n\nThe Rhine is long. [1]\n"  # noqa: E501
    assert roles(parse_report(text)) == ["preamble", "preamble", "preamble", "body", "body"]


def test_a_title_above_the_remarks_that_is_not_repeated_stays() -> None:
    text = "# Rivers\n\nLet me search for data:\n\n## Length\n\nThe Rhine is long. [1]\n"
    assert roles(parse_report(text)) == ["body", "preamble", "body", "body"]


def test_nothing_after_the_first_citation_is_chatter() -> None:
    document = parse_report("# Rivers\n\nThe Rhine is long. [1]\n\nLet me search for more.\n")
    assert roles(document) == ["body", "body", "body"]


def test_an_export_of_a_conversation() -> None:
    text = (
        "Conversation with Gemini What of rivers? Here's a research plan. (1) Find rivers.\n Gemini can make mistakes, so "  # noqa: E501
        "double-check it  Rivers Contents Export Create Rivers of Europe The Rhine is long. [1] It is."
    )
    document = parse_report(text)
    assert roles(document) == ["preamble", "body"]
    assert [s.text for s in document.sentences] == ["Rivers of Europe The Rhine is long. [1]", "It is."]
    assert "chat_wrapper" in document.notes


def test_a_fence_around_the_whole_report() -> None:
    text = "```markdown\n# Rivers\n\nThe Rhine is long. [1]\n```\n"
    document = parse_report(text)
    assert [(b.kind, b.role) for b in document.blocks] == [
        ("code", "preamble"),
        ("heading", "body"),
        ("paragraph", "body"),
        ("code", "preamble"),
    ]
    assert document.notes[0] == "chat_wrapper"


def test_refusals_and_plans_are_noted() -> None:
    text = (
        "# Rivers: status and next steps\n\nNo sources were supplied. It is not possible to produce the requested review.\n\n"  # noqa: E501
        "## Research plan\n\n- Collect sources.\n"
    )
    assert parse_report(text).notes[-2:] == ("refusal", "plan")
    assert "refusal" not in parse_report(text + "\n\nIt is known (https://a.example).").notes

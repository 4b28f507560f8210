"""Lists of references, footnotes and chatter."""

import pytest

from local_judge.documents import parse_report
from local_judge.documents.clean import clean
from local_judge.documents.cleaning.diff import unified_diff

LIST = "## References\n\n[1] A: https://a.example\n[2] B: https://b.example\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# T\n\nA [1].\n\n" + LIST, "# T\n\nA.\n"),
        ("A [1].\n\n---\n\n" + LIST, "A.\n"),
        ("A [1].\n\n***\n\n" + LIST.rstrip(), "A."),
        ("A [1].\n\n" + LIST + "\n## Next\n\nB [2].\n", "A.\n\n## Next\n\nB.\n"),
        ("A [1].\n\n---\n\n" + LIST + "\n---\n\n## B\n\nC.\n", "A.\n\n---\n\n## B\n\nC.\n"),
        ("A.\n\n---\n\n" + LIST + "\n## Next\n\nB.\n", "A.\n\n---\n\n## Next\n\nB.\n"),
        # A list of its own in the body, and one more at the end.
        (
            "A [1].\n\n" + LIST + "\n## B\n\nB [1].\n\n参考资料：\n[1] https://a.example\n",
            "A.\n\n## B\n\nB.\n",
        ),
        # A list without a title.
        ("A [1].\n\n[1] A: https://a.example\n[2] B: https://b.example\n", "A.\n"),
        # Under the title no list but a few words on the sources, and the list under a title of its own.
        ("A [1].\n\n## References\n\nThis report draws on papers.\n\n" + LIST, "A.\n"),
        ("A [1].\r\n\r\n" + LIST.replace("\n", "\r\n"), "A.\n"),
        (LIST, ""),
        ("[1]\n\n" + LIST, ""),
    ],
)
def test_lists_go_from_their_title_to_the_next_section(text: str, expected: str) -> None:
    assert clean(parse_report(text)).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "# T\n\n## Sources of energy\n\nCoal and gas.\n\n## Notes\n\nNothing is certain.\n",
        "# References\n\nThis guide says how to write them.\n",
        "# T\n\nA.\n\n## References\n\n" + "A long chapter on references in law. " * 40 + "\n",
    ],
)
def test_chapters_that_only_sound_like_lists_stay(text: str) -> None:
    assert clean(parse_report(text)).text == text


def test_footnotes_go_with_their_definitions() -> None:
    cleaned = clean(parse_report("A [^1].\n\n[^1]: see https://a.example\n\nB [^b].\n\n[^b]: y\n"))
    assert cleaned.text == "A.\n\nB.\n"
    assert [removal.kind for removal in cleaned.removed] == ["marker", "footnote", "marker", "footnote"]


def test_chatter_stays_unless_asked() -> None:
    document = parse_report("Let me search for more data.\n\n# T\n\nA is so [1].\n\n" + LIST)
    assert clean(document).text == "Let me search for more data.\n\n# T\n\nA is so.\n"
    cleaned = clean(document, chatter=True)
    assert cleaned.text == "# T\n\nA is so.\n"
    assert [removal.kind for removal in cleaned.removed] == ["chatter", "marker", "reference_section"]


def test_a_second_cleaning_finds_nothing() -> None:
    once = clean(parse_report("A [1] (see [2]).\n\n- [T](https://t.example)\n\n" + LIST)).text
    assert clean(parse_report(once)).removed == ()


def test_the_diff_is_of_the_lines_that_change() -> None:
    text = "# T\n\nA is so.[1] B.\n\n- x [1]\n- y\n\n" + LIST
    document = parse_report(text)
    assert list(unified_diff(text, clean(document), "a")) == [
        "--- a",
        "+++ a (cleaned)",
        "@@ -1,11 +1,6 @@",
        " # T",
        " ",
        "-A is so.[1] B.",
        "+A is so. B.",
        " ",
        "-- x [1]",
        "+- x",
        " - y",
        "-",
        "-## References",
        "-",
        "-[1] A: https://a.example",
        "-[2] B: https://b.example",
    ]


def test_a_last_line_without_an_end_is_named_as_such() -> None:
    document = parse_report("A.\nB [1]")
    assert list(unified_diff(document.text, clean(document), "a"))[2:] == [
        "@@ -1,2 +1,2 @@",
        " A.",
        "-B [1]",
        "\\ No newline at end of file",
        "+B",
        "\\ No newline at end of file",
    ]
    unchanged = parse_report("A.\n")
    assert list(unified_diff(unchanged.text, clean(unchanged), "a")) == []


def test_changes_far_apart_are_hunks_of_their_own() -> None:
    text = "A [1]\n" + "\nx\n" * 10 + "\nB [1]\n"
    diff = list(unified_diff(text, clean(parse_report(text)), "a"))
    assert [line for line in diff if line.startswith("@@")] == ["@@ -1,4 +1,4 @@", "@@ -20,4 +20,4 @@"]

import pytest

from local_judge.documents import Document, Source, UnreadableReport, parse_report

REPORT = """# Rivers [2]

The Rhine is 1,233 km long.[1] It rises in the
Alps. [1][2]

- **Basel** is on it.
  1. So is Bonn [2].

| City | Bridges |
|------|---------|
| Bonn | 3 [1]   |

```python
x[1] = "no citation"
```

> Quoted. Twice.

## References

[1] The Rhine: https://example.com/rhine
[2] Basel - https://example.org/basel
"""


def test_labels_count_every_block_and_headings_have_no_sentences() -> None:
    document = parse_report(REPORT)
    assert [(block.kind, block.role) for block in document.blocks] == [
        ("heading", "body"),  # L1
        ("paragraph", "body"),  # L2
        ("list_item", "body"),  # L3
        ("list_item", "body"),  # L4
        ("table_header", "body"),  # L5
        ("table_row", "body"),  # L6
        ("code", "body"),  # L7: no sentences
        ("quote", "body"),  # L8
        ("heading", "references"),
        ("paragraph", "references"),
    ]
    assert [(sentence.label, sentence.text) for sentence in document.sentences] == [
        ("L2.S1", "The Rhine is 1,233 km long.[1]"),
        ("L2.S2", "It rises in the Alps. [1][2]"),
        ("L3.S1", "**Basel** is on it."),
        ("L4.S1", "So is Bonn [2]."),
        ("L5.S1", "| City | Bridges |"),
        ("L6.S1", "| Bonn | 3 [1] |"),
        ("L8.S1", "Quoted."),
        ("L8.S2", "Twice."),
    ]
    assert [block.level for block in document.blocks] == [1, 0, 1, 2, 0, 0, 0, 0, 2, 0]
    assert document.blocks[7].section == (0,)
    assert document.blocks[9].section == (0, 8)


def test_citations_stand_on_their_sentences_and_name_their_entries() -> None:
    document = parse_report(REPORT)
    # The heading's [2] is a citation on no sentence; then 1 | 1, 2 | 2 | 1.
    assert [citation.key for citation in document.citations] == ["2", "1", "1", "2", "2", "1"]
    assert [citation.id for citation in document.citations] == ["c1", "c2", "c3", "c4", "c5", "c6"]
    assert {sentence.label: sentence.citations for sentence in document.sentences if sentence.citations} == {
        "L2.S1": ("c2",),
        "L2.S2": ("c3", "c4"),
        "L4.S1": ("c5",),
        "L6.S1": ("c6",),
    }
    assert [(r.id, r.key, r.section, r.url, r.state) for r in document.references] == [
        ("r1", "1", 0, "https://example.com/rhine", "cited"),
        ("r2", "2", 0, "https://example.org/basel", "cited"),
    ]
    assert document.citation("c5").reference == "r2"
    assert document.citation("c5").url == "https://example.org/basel"
    assert document.citation("c5").state == "resolved"
    with pytest.raises(KeyError):
        document.citation("c7")


def test_what_judges_read_leaves_out_references() -> None:
    labelled = parse_report("# A\n\nOne. Two.\n\n## References\n\n[1] T: https://a.example\n").labelled()
    assert labelled == "# A\n\nL2.S1: One.\nL2.S2: Two."


def test_same_text_same_document_in_either_form() -> None:
    document = parse_report(REPORT)
    assert parse_report(REPORT.encode()) == document
    assert parse_report(b"\xef\xbb\xbf" + REPORT.encode()) == document
    assert Document.model_validate_json(document.model_dump_json()) == document


def test_line_ends_of_other_systems_keep_offsets() -> None:
    text = REPORT.replace("\n", "\r\n")
    document = parse_report(text)
    assert [s.text for s in document.sentences] == [s.text for s in parse_report(REPORT).sentences]
    for sentence in document.sentences:
        assert " ".join(text[sentence.span.start : sentence.span.end].split()) == sentence.text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "the report is empty"),
        (b"", "the report is empty"),
        (" \n\t\n", "the report contains only white space"),
        (b"%PDF-1.7\x00\x01\x02", "the report is binary data"),
        ("\x01\x02\x03\x04" * 20, "the report is binary data"),
        (b"caf\xe9 au lait", "the report is not UTF-8: byte 0xe9 at offset 3"),
        ("a\ud800b", "the report contains a lone surrogate at character 1"),
        ("word " * 1_000_000, "the report is too large: 5000000 characters"),
    ],
)
def test_what_is_no_report_is_refused_in_one_line(given: str | bytes, message: str) -> None:
    with pytest.raises(UnreadableReport, match=message) as caught:
        parse_report(given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "language", "notes"),
    [
        ("The end of the road is in the city.", "en", ("no_citations", "no_references")),
        ("## References\n\n[1] T: https://a.example", "und", ("no_citations", "references_only", "no_sentences", "unknown_language")),  # noqa: E501
        ("Zxqv wyrk plonth. Grebble snarv ooth. Brillig zorp quux.", "und", ("no_citations", "no_references", "unknown_language")),  # noqa: E501
        ("X [1].\n\n## References\n\n[1] a: https://a.example\n[1] b: https://b.example", "und", ("duplicate_keys", "unknown_language")),  # noqa: E501
        ("---\n\n***", "und", ("no_citations", "no_references", "no_sentences", "unknown_language")),
    ],
)  # fmt: skip
def test_poor_reports_parse_and_say_what_they_lack(text: str, language: str, notes: tuple[str, ...]) -> None:
    document = parse_report(text)
    assert document.language == language
    assert document.notes == notes


def test_duplicate_numbers_resolve_to_the_first_and_both_are_kept() -> None:
    document = parse_report("X [1].\n\n## References\n\n[1] a: https://a.example\n[1] b: https://b.example")
    assert document.citations[0].url == "https://a.example"
    assert [(r.url, r.state) for r in document.references] == [
        ("https://a.example", "cited"),
        ("https://b.example", "uncited"),
    ]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("长江是中国最长的河流，全长约6300公里，流经十一个省级行政区。", "zh"),
        ("長江は中国で最も長い川であり、世界で三番目に長い川である。", "ja"),
        ("장강은 중국에서 가장 긴 강으로 길이는 약 6300킬로미터이다.", "ko"),
        (
            "Der Rhein ist ein Fluss in Europa und die längste Wasserstraße, die von den Alpen zur Nordsee führt.",
            "de",
        ),
        ("Le Rhin est un fleuve qui prend sa source dans les Alpes et se jette dans la mer du Nord.", "fr"),
        (
            "El Rin es un río que nace en los Alpes y que desemboca en el mar del Norte por los Países Bajos.",
            "es",
        ),
        ("Рейн — одна из самых крупных рек Западной Европы, которые впадают в Северное море.", "ru"),
        ("نهر الراين هو أحد أهم وأطول الأنهار في أوروبا.", "ar"),
    ],
)
def test_languages(text: str, language: str) -> None:
    document = parse_report(text)
    assert document.language == language
    assert len(document.sentences) == 1


@pytest.mark.parametrize("blank", ["\u3000", "\u2028", "> \u3000"])
def test_a_line_of_wide_spaces_shifts_no_offsets(blank: str) -> None:
    text = f"A.\n\n{blank}\n增长[1]。\n下降[2]。\n"
    document = parse_report(text)
    assert [text[c.span.start : c.span.end] for c in document.citations] == ["[1]", "[2]"]


def test_sources_beside_the_text_stand_in_for_entries_and_addresses_that_it_lacks() -> None:
    text = "A [1]. B [2]. C [3].\n\n## References\n\n[1] t: https://list.example\n[2] A book, 1999\n"
    beside = [Source(address=f"https://beside.example/{n}", title=f"T{n}") for n in (1, 2, 3, 4)]
    document = parse_report(text, beside)
    assert [(c.reference, c.url) for c in document.citations] == [
        ("r1", "https://list.example"),
        ("r4", "https://beside.example/2"),
        ("r5", "https://beside.example/3"),
    ]
    assert [(r.id, r.state) for r in document.references[2:]] == [
        ("r3", "uncited"),
        ("r4", "cited"),
        ("r5", "cited"),
        ("r6", "uncited"),
    ]
    assert document.references[3].text == "T2 https://beside.example/2"
    assert document.id != parse_report(text).id


def test_sources_with_keys_are_named_by_them() -> None:
    beside = [Source(key="a", address="no address"), Source(address="https://b.example")]
    document = parse_report("A [a]. B [1].", beside)
    assert [(c.key, c.state) for c in document.citations] == [("a", "no_url"), ("1", "dangling")]

"""The rubric's files: the published structure, what is refused and how it is said, another folder, the bands."""

import re
from collections import Counter
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from local_judge.base.errors import ConfigError
from local_judge.protocols.deer.rubric.load import bands_for, load_rubric, rubric_digest

from ..rubric_cases import PATHS

DATA = files("local_judge.protocols.deer.rubric") / "data"

# criteria, items, coverage items, quality items of each sub-dimension, as published; and the label of each.
PUBLISHED = {
    ("request_fulfillment", "completeness"): (2, 8, 4, 4, "Completeness"),
    ("request_fulfillment", "scope"): (1, 6, 4, 2, "Scope"),
    ("request_fulfillment", "helpfulness"): (3, 8, 4, 4, "Helpfulness"),
    ("analytical_soundness", "quantification"): (5, 8, 6, 2, "Quantification"),
    ("analytical_soundness", "reasoning"): (6, 16, 10, 6, "Reasoning"),
    ("structural_coherence", "introduction"): (4, 8, 2, 6, "Introduction"),
    ("structural_coherence", "body"): (2, 6, 6, 0, "Body"),
    ("structural_coherence", "conclusion"): (2, 2, 0, 2, "Conclusion"),
    ("structural_coherence", "section"): (3, 8, 6, 2, "Section"),
    ("format_style", "report_format"): (3, 5, 5, 0, "Report Format"),
    ("format_style", "writing_quality"): (4, 5, 5, 0, "Writing Quality"),
    ("format_style", "paragraph_quality"): (3, 5, 4, 1, "Paragraph Quality"),
    ("format_style", "readability"): (2, 2, 1, 1, "Readability"),
    ("information_integrity", "recency"): (1, 3, 3, 0, "Recency"),
    ("ethics_compliance", "sensitive_handling"): (2, 4, 2, 2, "Sensitive Handling"),
    ("ethics_compliance", "safety_impact"): (2, 5, 3, 2, "Safety & Impact"),
    ("ethics_compliance", "perspective_balance"): (1, 2, 1, 1, "Perspective Balance"),
}


def test_structure_is_the_published_one() -> None:
    rubric = load_rubric()
    found = {
        (dimension.id, part.id): (
            len(part.criteria),
            len(kinds := [item.kind for criterion in part.criteria for item in criterion.items]),
            kinds.count("coverage"),
            kinds.count("quality"),
            part.label,
        )
        for dimension in rubric.dimensions
        for part in dimension.subdimensions
    }
    assert found == PUBLISHED
    assert list(found) == list(PUBLISHED), "in the published order"
    assert len(found) == 17
    assert [sum(row[n] for row in PUBLISHED.values()) for n in range(4)] == [46, 101, 66, 35]  # type: ignore[misc]
    # What the five calls of the published code ask for: the last two dimensions go together, 3 + 11.
    assert Counter(path[0] for path, _ in rubric.items()) == {
        "request_fulfillment": 22,
        "analytical_soundness": 24,
        "structural_coherence": 24,
        "format_style": 17,
        "information_integrity": 3,
        "ethics_compliance": 11,
    }


def test_items_stand_in_the_published_order() -> None:
    paths = [path for path, _ in load_rubric().items()]
    assert tuple(paths) == PATHS
    assert paths[0] == ("request_fulfillment", "completeness", "1", "C1-1")
    assert ("format_style", "report_format", "3", "C3-2") in paths
    assert ("format_style", "report_format", "3", "C3-1") not in paths


def test_the_packaged_rubric_is_read_once() -> None:
    assert load_rubric() is load_rubric()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the packaged rubric."""
    for entry in DATA.iterdir():
        if entry.name.endswith(".yaml"):
            (tmp_path / entry.name).write_text(entry.read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_folder_replaces_the_texts(folder: Path) -> None:
    assert load_rubric(folder) == load_rubric()
    assert rubric_digest(load_rubric(folder)) == rubric_digest(load_rubric())
    edit(
        folder / "format_style.yaml",
        "Introduction, body and conclusion are distinct sections, and the body has two or more major sections.",
        "报告有引言、正文和结论。",
    )
    rubric = load_rubric(folder)
    items = dict(rubric.items())
    assert items["format_style", "report_format", "1", "C1-1"].text == "报告有引言、正文和结论。"
    # One item differs, and the digest with it.
    packaged = dict(load_rubric().items())
    assert [path for path in items if items[path] != packaged[path]] == [
        ("format_style", "report_format", "1", "C1-1")
    ]
    assert rubric_digest(rubric) != rubric_digest(load_rubric())
    assert len(rubric_digest(rubric)) == 64


def test_other_files_in_the_folder_are_let_be(folder: Path) -> None:
    (folder / "README.md").write_text("who wrote these texts")
    assert load_rubric(folder) == load_rubric()


def test_bands_of_ten_and_of_five() -> None:
    rubric = load_rubric()
    for kind in ("coverage", "quality"):
        ten, five = bands_for(rubric, kind, 10), bands_for(rubric, kind, 5)
        assert [(band.low, band.high) for band in ten] == [(9, 10), (7, 8), (5, 6), (3, 4), (1, 2)]
        assert [(band.low, band.high) for band in five] == [(5, 5), (4, 4), (3, 3), (2, 2), (1, 1)]
        assert [band.meaning for band in five] == [band.meaning for band in ten]
    assert bands_for(rubric, "coverage", 10) != bands_for(rubric, "quality", 10)


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def put(name: str, text: str | bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    return write


def change(name: str, old: str, new: str) -> Callable[[Path], None]:
    return lambda folder: edit(folder / name, old, new)


RECENCY = "information_integrity.yaml"

BAD: dict[str, tuple[Callable[[Path], None], str]] = {
    "a file is missing": (
        remove("scale.yaml"),
        "{folder}: scale.yaml is missing; a rubric has request_fulfillment.yaml, analytical_soundness.yaml, "
        "structural_coherence.yaml, format_style.yaml, information_integrity.yaml, ethics_compliance.yaml, scale.yaml",
    ),
    "a file that no rubric has": (
        put("clarity.yaml", "id: clarity\n"),
        "{folder}/clarity.yaml: no file of a rubric, which has request_fulfillment.yaml, analytical_soundness.yaml, "
        "structural_coherence.yaml, format_style.yaml, information_integrity.yaml, ethics_compliance.yaml, scale.yaml",
    ),
    "empty file": (
        put(RECENCY, ""),
        "{folder}/information_integrity.yaml: the file: must be a mapping … (got null)",
    ),
    "not UTF-8": (
        put(RECENCY, b"id: \xff"),
        "{folder}/information_integrity.yaml: 'utf-8' codec can't decode byte 0xff in position 4: invalid start byte",
    ),
    "not YAML": (
        put(RECENCY, "id: [a\n"),
        "{folder}/information_integrity.yaml: line 2: expected ',' or ']', but got '<stream end>'",
    ),
    "a list inside itself": (
        put(RECENCY, "id: x\nlabel: x\ndescription: x\nsubdimensions: &all [*all]\n"),
        "{folder}/information_integrity.yaml: line 4: the alias *all …",
    ),
    "a key twice": (
        change(RECENCY, "    label: Recency\n", "    label: Recency\n    label: Freshness\n"),
        "{folder}/information_integrity.yaml: line 20: the key 'label' appears twice",
    ),
    "an unknown key": (
        change(RECENCY, "          - id: C1-2\n", "          - id: C1-2\n            weight: 2\n"),
        "{folder}/information_integrity.yaml: subdimensions / recency / criteria / 1 / items / C1-2 / weight: "
        "unknown key",
    ),
    "a key is missing": (
        change(RECENCY, "        title: Evidence from regularly updated sources is current and dated\n", ""),
        "{folder}/information_integrity.yaml: subdimensions / recency / criteria / 1 / title: is missing",
    ),
    "a number for an id": (
        change(RECENCY, '- id: "1"', "- id: 1"),
        "{folder}/information_integrity.yaml: subdimensions / recency / criteria / entry 1 / id: … text (got 1)",
    ),
    "an empty text": (
        change(RECENCY, "label: Recency", 'label: " "'),
        "{folder}/information_integrity.yaml: subdimensions / recency / label: is empty",
    ),
    "a page for a text": (
        change(RECENCY, "label: Recency", "label: " + "long " * 300),
        "{folder}/information_integrity.yaml: subdimensions / recency / label: 1499 characters; "
        "at most 1000 are taken",
    ),
    "another dimension": (
        change(RECENCY, "\nid: information_integrity", "\nid: recency"),
        "{folder}/information_integrity.yaml: id: must be 'information_integrity', as the file is named "
        "(got 'recency')",
    ),
    "an item twice": (
        change(RECENCY, "- id: C1-3", "- id: C1-2"),
        "{folder}/information_integrity.yaml: recency / 1 / C1-2: occurs 2 times",
    ),
    "an item more": (
        change(
            RECENCY,
            "          - id: C1-3\n",
            "          - id: C1-4\n            text: One more.\n          - id: C1-3\n",
        ),
        "{folder}/information_integrity.yaml: recency / 1 / C1-4: the published rubric has no such part",
    ),
    "an item less": (
        change(
            "format_style.yaml",
            "          - id: C2-1\n            text: >-\n"
            "              Sentences use verbs and nouns that are clear, specific and professional. Factual accuracy "
            "is judged\n              elsewhere.\n",
            "          []\n",
        ),
        "{folder}/format_style.yaml: writing_quality / 2 / C2-1: is missing; the published rubric has it",
    ),
    "a criterion more": (
        change(
            RECENCY,
            '      - id: "1"\n',
            '      - {{id: "2", title: More, items: []}}\n      - id: "1"\n'.replace("{{", "{").replace(
                "}}", "}"
            ),
        ),
        "{folder}/information_integrity.yaml: recency / 2: the published rubric has no such part",
    ),
    "a band is lost": (
        change("scale.yaml", "  - low: 7\n    high: 8\n", "  - low: 8\n    high: 8\n"),
        "{folder}/scale.yaml: coverage: the bands must be 9-10, 7-8, 5-6, 3-4, 1-2, in this order "
        "(got 9-10, 8-8, 5-6, 3-4, 1-2)",
    ),
    "no bands": (
        put("scale.yaml", "coverage: []\nquality: []\n"),
        "{folder}/scale.yaml: coverage: the bands must be 9-10, 7-8, 5-6, 3-4, 1-2, in this order (got none)",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused_is_said_in_one_line(case: str, folder: Path) -> None:
    spoil, line = BAD[case]
    spoil(folder)
    with pytest.raises(ConfigError) as caught:
        load_rubric(folder)
    pattern = re.escape(line.format(folder=folder)).replace("…", ".*")
    assert re.fullmatch(pattern, str(caught.value))


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_rubric(tmp_path / "nowhere")
    assert str(caught.value) == f"{tmp_path}/nowhere: the rubric's folder cannot be read: no such file"


def test_a_file_that_is_a_folder(folder: Path) -> None:
    (folder / RECENCY).unlink()
    (folder / RECENCY).mkdir()
    with pytest.raises(ConfigError) as caught:
        load_rubric(folder)
    assert str(caught.value) == f"{folder}/information_integrity.yaml: cannot be read: Is a directory"

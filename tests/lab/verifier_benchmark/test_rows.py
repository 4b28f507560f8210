"""Files of labelled claims."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from local_judge.base.errors import InputError
from local_judge.claims.model import TruthLabel
from local_judge.lab.annotations.load import sample_folder
from local_judge.lab.labelled.load import evidence_snapshot, load_sets
from local_judge.lab.labelled.model import LabelledClaim, LabelledSet, sampled
from local_judge.lab.verifier_benchmark.answers import word_overlap
from local_judge.lab.verifier_benchmark.measure import figures_of
from local_judge.stats.agreement.chance import krippendorff_alpha
from local_judge.stats.calibration.assess import Settings

from .conftest import ROWS, TEXT, write_rows


def test_the_projects_own_format_plain_and_gzipped(labelled: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(labelled.read_bytes()))
    rows = load_sets([labelled, packed])
    assert [row.label for row in rows[:4]] == ["supported", "partial", "unsupported", "contradicted"]
    assert [row.set for row in rows] == ["mill"] * 4 + ["packed"] * 4
    # The same evidence is one page.
    assert len({row.page for row in rows}) == 1
    with evidence_snapshot(rows) as snapshot:
        assert snapshot.page(rows[0].page).text == TEXT


def test_an_id_is_the_number_of_the_row_if_there_is_none(tmp_path: Path) -> None:
    rows = load_sets([write_rows(tmp_path / "a.jsonl", [{**row, "id": None} for row in ROWS])])
    assert [row.id for row in rows] == ["1", "2", "3", "4"]


def test_llm_aggrefact_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "aggrefact.csv"
    path.write_text("dataset,doc,claim,label\nWice,A text.,A claim.,1\nLfqa,A text.,Another.,0\n")
    rows = load_sets([path])
    assert [(row.set, row.label, row.evidence) for row in rows] == [
        ("Wice", "supported", "A text."),
        ("Lfqa", "unsupported", "A text."),
    ]


def test_llm_aggrefact_as_parquet(tmp_path: Path) -> None:
    parquet, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    rows = [{"dataset": "Wice", "doc": "A text.", "claim": "A claim.", "label": 1}]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "test.parquet")
    assert [(row.set, row.label) for row in load_sets([tmp_path / "test.parquet"])] == [("Wice", "supported")]
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(InputError, match=r"bad\.parquet: not Parquet"):
        load_sets([tmp_path / "bad.parquet"])


@pytest.mark.parametrize(
    ("label", "says"),
    [("1.0", "supported"), ("true", "supported"), ("0.0", "unsupported"), ("FALSE", "unsupported")],
)
def test_labels_of_llm_aggrefact_as_pandas_writes_them(tmp_path: Path, label: str, says: str) -> None:
    path = tmp_path / "aggrefact.CSV"
    path.write_text(f"dataset,doc,claim,label\nWice,A text.,A claim.,{label}\n")
    assert [row.label for row in load_sets([path])] == [says]


def test_an_empty_cell_of_a_csv_file_is_absent(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(
        "id,claim,label,evidence,url,supporting\n"
        "a,A claim.,supported,A text.,,\n"
        ",Another.,partial,,https://a.example/,\n"
    )
    first, second = load_sets([path])
    assert (first.id, first.evidence, first.url, first.supporting) == ("a", "A text.", None, ())
    assert (second.id, second.evidence, second.url) == ("2", None, "https://a.example/")


def test_an_empty_cell_of_a_parquet_file_is_absent(tmp_path: Path) -> None:
    parquet, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    row = {"claim": "A claim.", "label": "partial", "evidence": "A text.", "url": "", "context": float("nan")}
    path = tmp_path / "own.PARQUET"
    parquet.write_table(pa.Table.from_pylist([row]), path)
    (found,) = load_sets([path])
    assert (found.evidence, found.url, found.context) == ("A text.", None, "")
    parquet.write_table(pa.Table.from_pylist([{**row, "claim": b"bytes"}]), path)
    with pytest.raises(InputError, match=r"own\.PARQUET:1: .* not its types"):
        load_sets([path])


def test_only_the_loader_of_a_benchmark_says_that_a_row_is_of_its_selection(tmp_path: Path) -> None:
    theirs = {"dataset": "Wice", "doc": "A text.", "claim": "A claim.", "label": 1}
    (row,) = load_sets([write_rows(tmp_path / "theirs.jsonl", [theirs])])
    (own,) = load_sets([write_rows(tmp_path / "own.jsonl", [{**ROWS[0], "benchmark": "LLM-AggreFact"}])])
    assert (row.benchmark, own.benchmark) == ("LLM-AggreFact", "")


def test_a_long_evidence_leaves_the_limit_of_other_csv_readers(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    path = tmp_path / "long.csv"
    path.write_text(f"dataset,doc,claim,label\nWice,{'word ' * 100_000},A claim.,1\n")
    assert len(load_sets([path])[0].evidence or "") == 500_000
    assert csv.field_size_limit() == before


def test_wice_names_its_supporting_sentences(tmp_path: Path) -> None:
    row = {
        "claim": "It is so.",
        "evidence": ["First.", "Second.", "Third."],
        "label": "partially_supported",
        "supporting_sentences": [[0, 2], [1]],
        "meta": {"id": "dev1", "claim_context": "Before."},
    }
    (found,) = load_sets([write_rows(tmp_path / "wice.jsonl", [row])])
    assert (found.id, found.label, found.context) == ("dev1", "partial", "Before.")
    assert found.evidence == "First.\nSecond.\nThird."
    assert found.supporting == (("First.", "Third."), ("Second.",))
    with pytest.raises(InputError, match="names a sentence that is not there"):
        load_sets([write_rows(tmp_path / "wice.jsonl", [{**row, "supporting_sentences": [[3]]}])])
    with pytest.raises(InputError, match=r"wice\.jsonl:1: .*names a sentence that is not there"):
        load_sets([write_rows(tmp_path / "wice.jsonl", [{**row, "supporting_sentences": [[-1]]}])])
    with pytest.raises(InputError, match=r"wice\.jsonl:1: .*not its types"):
        load_sets([write_rows(tmp_path / "wice.jsonl", [{**row, "evidence": "abc"}])])


def expert(claim: str, support: str | None, *evidence: str) -> dict[str, Any]:
    return {"claim_string": claim, "evidence": list(evidence), "support": support, "correctness": None}


def test_expertqa_has_the_claims_of_all_answers(tmp_path: Path) -> None:
    first = [
        expert(
            "It was built in 1904.", "Complete", "https://a.example/\n\nBuilt in 1904.", "https://b.example/"
        ),
        expert("It ground rye.", "partial", "It ground grain."),
        expert("It stands on a hill.", "Missing"),
        expert("It is red.", "N/A", "https://a.example/"),
        expert("It is new.", None, "A text."),
        expert(" ", "Complete", "A text."),
    ]
    second = [expert("It is a museum.", "Incomplete", "It was sold.")]
    answers = {"gpt4": {"claims": first}, "bing_chat": {"claims": second}, "other": {"claims": None}}
    row = {
        "question": "What is it?",
        "annotator_id": "1",
        "answers": answers,
        "metadata": {"field": "History"},
    }
    path = write_rows(tmp_path / "expertqa.jsonl", [row])
    assert [(one.id, one.claim, one.label, one.context) for one in load_sets([path])] == [
        ("1", "It was built in 1904.", "supported", ""),
        ("2", "It ground rye.", "partial", "It was built in 1904."),
        ("3", "It is a museum.", "unsupported", ""),
    ]
    assert load_sets([path])[0].evidence == "https://a.example/\n\nBuilt in 1904.\n\nhttps://b.example/"
    broken = {**row, "answers": {"gpt4": {"claims": [{"claim_string": "A claim."}]}}}
    with pytest.raises(InputError, match=r"bad\.jsonl:1: .*keys of ExpertQA, but no 'evidence'"):
        load_sets([write_rows(tmp_path / "bad.jsonl", [broken])])
    with pytest.raises(InputError, match=r"none\.jsonl: no claim with evidence and a label in it"):
        load_sets([write_rows(tmp_path / "none.jsonl", [{**row, "answers": {}}])])


def test_evidence_that_is_an_address_has_no_text(tmp_path: Path) -> None:
    none = [
        "",
        " ",
        "https://a.example/",
        "HTTP://A.EXAMPLE http://b.example/中国?q=1#a",
        "—",
        "[1] <https://a.example/b_(c)>, 2. www.b.example",
    ]
    texts = [
        *none,
        "1904",
        "http://a.example/\n\nhttps://b.example/b c",
        "[text](https://a.example/)",
        "根据https://a.example的报道，工厂开业。",
        "https://a.example工厂开业。",
    ]
    rows = [{"claim": "A.", "evidence": text, "label": "supported"} for text in texts]
    loaded = load_sets([write_rows(tmp_path / "a.jsonl", rows)])
    with evidence_snapshot(loaded) as snapshot:
        assert [snapshot.page(row.page).status for row in loaded] == ["empty"] * 6 + ["ok"] * 5
        [figures] = figures_of(word_overlap([LabelledSet(loaded, snapshot)]), Settings(draws=0))
    assert (figures.n, figures.unread) == (11, 6)


STANCES = ("completely-support", "partially-support", "irrelevant", "refute")
PASSAGES = ("It was built in 1904.", "It was built long ago.", "Rye is a cereal.", "It was built in 1905.")
BUILT = "The mill was built in 1904."


def of_subtask(claim: str, passages: Sequence[str], stances: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"claim": claim, "evidence": passage, "stance": stance}
        for passage, stance in zip(passages, stances, strict=True)
    ]


def response(**changed: Any) -> dict[str, Any]:
    """A response of Factcheck-Bench with one sentence, which makes three claims; one has no evidence."""
    sentence = {
        "text": "Built in 1904, the fine mill ground rye.",
        "claims": [BUILT, "The mill is fine.", "It ground rye."],
        "auto_evidence": [list(PASSAGES), "NA", ["It ground rye.", "It ground oats."]],
        "stance_claim_autoEvid": [list(STANCES), "NA", ["completely-support", "NA"]],
        **changed,
    }
    return {"prompt": "How old is the mill?", "response": "…", "sentences": {"sentence1": sentence}}


def test_factcheck_bench_as_pairs_and_as_responses(tmp_path: Path) -> None:
    pairs = [
        *of_subtask(BUILT, PASSAGES, STANCES),
        *of_subtask("It ground rye.", ["It ground rye."], ["completely-support"]),
        *of_subtask("It has a wheel.", ["The wheel is of oak."], ["partially-support"]),
    ]
    wheel = response(
        claims=["It has a wheel."],
        auto_evidence=[["The wheel is of oak."]],
        stance_claim_autoEvid=[["partially-support"]],
    )
    opinion = response(claims=[], auto_evidence=[], stance_claim_autoEvid=[])
    rows = load_sets([write_rows(tmp_path / "a.jsonl", pairs)])
    assert [(row.id, row.label) for row in rows] == [
        ("fc-0000", "supported"),
        ("fc-0001", "partial"),
        ("fc-0002", "unsupported"),
        ("fc-0003", "contradicted"),
        ("fc-0004", "supported"),
        ("fc-0005", "partial"),
    ]
    assert (rows[3].claim, rows[3].evidence) == (BUILT, PASSAGES[3])
    # The pairs are those of the responses, in their order; what was not annotated is no pair.
    same = load_sets([write_rows(tmp_path / "b.jsonl", [response(), opinion, wheel])])
    assert [row.model_copy(update={"set": "a", "document": f"a{row.document[1:]}"}) for row in same] == rows


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (of_subtask(BUILT, ["Old."], ["agrees"])[0], "stance 'agrees'; in Factcheck-Bench it is one of"),
        (response(stance_claim_autoEvid=[["agrees"] * 4, [], ["NA"] * 2]), "stance 'agrees'"),
        (response(claims=[BUILT]), "not its types"),
        (response(stance_claim_autoEvid=[["refute"], "NA", ["NA", "NA"]]), "not its types"),
        (response(auto_evidence=None), "not its types"),
    ],
)
def test_a_wrong_row_of_factcheck_bench_is_one_line(tmp_path: Path, row: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=rf"fc\.jsonl:1: .*{says}") as raised:
        load_sets([write_rows(tmp_path / "fc.jsonl", [row])])
    assert "\n" not in str(raised.value)


def test_ragtruth_is_labelled_sentence_by_sentence(tmp_path: Path) -> None:
    response = "The mill is old. It burned in 1950. A bakery owns it."
    spans = [
        {"start": 17, "end": 35, "label_type": "Evident Conflict"},
        {"start": 36, "end": 44, "label_type": "Subtle Baseless Info"},
    ]
    path = write_rows(
        tmp_path / "response.jsonl", [{"id": "7", "source_id": "s", "response": response, "labels": spans}]
    )
    write_rows(tmp_path / "source_info.jsonl", [{"source_id": "s", "source_info": {"text": "An old mill."}}])
    rows = load_sets([path])
    assert [(row.id, row.claim, row.label) for row in rows] == [
        ("7/1", "The mill is old.", "supported"),
        ("7/2", "It burned in 1950.", "contradicted"),
        ("7/3", "A bakery owns it.", "unsupported"),
    ]
    assert rows[2].context == "The mill is old. It burned in 1950."
    assert rows[0].evidence == '{"text": "An old mill."}'
    assert {row.document for row in rows} == {"s"}
    outside = [{"start": 50, "end": 99, "label_type": "Evident Conflict"}]
    bad = {"source_id": "s", "response": response, "labels": outside}
    with pytest.raises(InputError, match=r"bad\.jsonl:1: a span in `labels` is outside the response"):
        load_sets([write_rows(tmp_path / "bad.jsonl", [bad])])


def test_ragtruth_without_a_source_text_is_unread(tmp_path: Path) -> None:
    row: dict[str, Any] = {"source_id": "s", "response": "The mill is old.", "labels": []}
    path = write_rows(tmp_path / "response.jsonl", [row])
    write_rows(tmp_path / "source_info.jsonl", [{"source_id": "s", "source_info": None}])
    assert [(one.evidence, one.has_text) for one in load_sets([path])] == [("", False)]
    # A refusal has no span, and no claim either.
    with pytest.raises(InputError, match=r"response\.jsonl: no claim"):
        load_sets([write_rows(tmp_path / "response.jsonl", [{**row, "quality": "incorrect_refusal"}])])


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"claim": "A claim."}, "no known format of labelled claims"),
        ({**ROWS[0], "label": "true"}, "label"),
        ({**ROWS[0], "claim": ""}, "claim"),
        ({**ROWS[0], "claim": " \t "}, "`claim` is empty"),
        ({**ROWS[0], "evidence": None}, "needs either `evidence` or `url`"),
        ({**ROWS[0], "url": "https://a.example/"}, "needs either `evidence` or `url`"),
        ({**ROWS[0], "supporting": [["It is old.", " "]]}, "`supporting` has an empty sentence"),
        ({**ROWS[0], "evidence": None, "url": "not an address"}, "not an address"),
        (
            {"dataset": "Wice", "doc": "A", "claim": "B", "label": 2},
            "in LLM-AggreFact it is one of 1, 1.0, true, 0",
        ),
        ({"source_id": "s", "response": "A.", "labels": []}, "source_info.jsonl: no such file"),
        (
            {"claim": "A", "evidence": None, "label": "supported", "supporting_sentences": [], "meta": 1},
            "types",
        ),
    ],
)
def test_an_invalid_row_is_one_line_with_its_place(tmp_path: Path, row: dict[str, Any], says: str) -> None:
    path = write_rows(tmp_path / "bad.jsonl", [row])
    with pytest.raises(InputError) as error:
        load_sets([path])
    assert says in str(error.value) and "\n" not in str(error.value) and str(tmp_path) in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("claim,claim,evidence,label\nA.,B.,C.,supported\n", "table.csv:1: .*'claim'"),
        ("claim,evidence,label\nA.,C.,supported,partial\n", "table.csv:2: 4 cells under 3 columns"),
    ],
)
def test_a_table_that_loses_cells_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        load_sets([path])


def test_what_is_no_file_of_rows(tmp_path: Path) -> None:
    for content, says in ((b"", "no rows in it"), (b"\xff\n", "not UTF-8"), (b"[1]\n", "JSON object")):
        path = tmp_path / "bad.jsonl"
        path.write_bytes(content)
        with pytest.raises(InputError, match=says):
            load_sets([path])
    broken = tmp_path / "bad.jsonl.gz"
    broken.write_bytes(gzip.compress(json.dumps(ROWS[0]).encode())[:-12])
    with pytest.raises(InputError):
        load_sets([broken])


def test_an_id_occurs_once_in_a_set(labelled: Path) -> None:
    with pytest.raises(InputError, match="id 'built' occurs twice in the set 'mill'"):
        load_sets([labelled, labelled])


def test_the_packaged_set_has_two_passes_and_reasons_for_what_they_disagree_on() -> None:
    rows = load_sets([Path("sample")])
    assert Counter(row.label for row in rows) == {
        "contradicted": 39,
        "unsupported": 33,
        "supported": 32,
        "partial": 24,
    }
    assert len({row.document for row in rows}) == 16 and all(row.evidence for row in rows)
    path = sample_folder() / "other-words.jsonl"
    stored = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    differing = [one for one in stored if len(set(one["passes"])) > 1]
    assert len(differing) == 9 and all(one["label"] in one["passes"] and one["note"] for one in differing)
    assert all(one["label"] == one["passes"][0] for one in stored if one not in differing)
    # As docs/guides/human-labels.md says.
    codes = [[get_args(TruthLabel).index(label) for label in one["passes"]] for one in stored]
    assert krippendorff_alpha(codes, "nominal").value == pytest.approx(0.906, abs=0.001)


def test_the_packaged_claims_are_in_other_words() -> None:
    rows = load_sets([Path("sample")])
    with evidence_snapshot(rows) as snapshot:
        (one,) = figures_of(
            word_overlap([LabelledSet(rows, snapshot)]), Settings(draws=0, objective="balanced_accuracy")
        )
    # Words hardly tell supported claims apart.
    assert one.figures is not None and one.figures.auc.value is not None and one.figures.auc.value < 0.6


def test_a_sample_is_of_rows_with_text(tmp_path: Path) -> None:
    texts = ["https://a.example/"] * 5 + ["A text."] * 5
    rows = [{"claim": "A.", "evidence": text, "label": "supported"} for text in texts]
    loaded = load_sets([write_rows(tmp_path / "a.jsonl", rows)])
    assert [row.id for row in sampled(loaded, 9, 0)] == ["6", "7", "8", "9", "10"]
    assert _ids(sampled(loaded, 2, 0)) < _ids(sampled(loaded, 4, 0)) < _ids(loaded[5:])
    # A set without any text is still in the figures, as unread.
    assert len(sampled(loaded[:5], 2, 0)) == 1


def _ids(claims: Sequence[LabelledClaim]) -> set[str]:
    return {one.id for one in claims}

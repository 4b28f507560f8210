"""Figures of verifiers against labels by people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.claims.config import ClaimsConfig
from local_judge.lab.labelled.load import evidence_snapshot, load_sets
from local_judge.lab.labelled.model import LabelledSet
from local_judge.lab.verifier_benchmark.answers import Answers, ask, word_overlap
from local_judge.lab.verifier_benchmark.measure import ece_over_folds, figures_of
from local_judge.lab.verifier_benchmark.tables import benchmark_notes, counted
from local_judge.stats.calibration.assess import Settings
from serving.engines.scripted import Call, Reply

from ...scripted_judge import MakeJudge
from .conftest import write_rows

PEOPLE = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "people"
SETTINGS = Settings(draws=20, objective="balanced_accuracy")
SCORED = ClaimsConfig(method="scored", reliability=False)


def by_claim(probabilities: dict[str, float]) -> Any:
    """P(yes) by a word of the claim; the second question, after a no, is denied."""

    def reply(call: Call) -> Reply:
        if "cannot be true together" in call.prompt:
            return {"Yes": 0.1, "No": 0.9}
        claim = call.prompt.rpartition("Claim:")[2]
        yes = next(p for word, p in probabilities.items() if word in claim)
        return {"Yes": yes, "No": 1 - yes}

    return reply


async def answers(path: Path, make_judge: MakeJudge, script: Any, config: ClaimsConfig = SCORED) -> Answers:
    rows, (judge, _) = load_sets([path]), make_judge(script)
    with evidence_snapshot(rows) as snapshot:
        return await ask([LabelledSet(rows, snapshot)], judge, "scored", config)


async def test_figures_of_two_classes(labelled: Path, make_judge: MakeJudge) -> None:
    found = await answers(
        labelled, make_judge, by_claim({"1904": 0.9, "oats": 0.6, "cooperative": 0.2, "1940": 0.3})
    )
    (one,) = figures_of(found, SETTINGS)
    assert (one.n, one.failed, one.unread) == (4, 0, 0)
    assert one.figures is not None
    # The supported claim has the greatest P(yes). It and the partial one reach 0.5: recall 1, specificity 2/3.
    assert one.figures.auc.value == 1.0
    assert one.figures.balanced_accuracy.value == pytest.approx((1 + 2 / 3) / 2)
    assert one.figures.f1.value == pytest.approx(2 * 1 / (2 * 1 + 1 + 0))
    assert one.confusion == {
        "supported": {"supported": 1},
        "partial": {"supported": 1},
        "unsupported": {"not_found": 1},
        "contradicted": {"not_found": 1},
    }
    # F1 of supported 2/3, of partial 0, of unsupported (with contradicted) 1.
    assert one.three_way_f1 is not None
    assert one.three_way_f1.value == pytest.approx((2 / 3 + 0 + 1) / 3)
    # By label of people: the supported and the partial claim are called supported, the others are not.
    called = {name: group.called_supported.value for name, group in one.groups["label"].items()}
    assert called == {"supported": 1.0, "partial": 1.0, "unsupported": 0.0, "contradicted": 0.0}
    medians = {name: group.median for name, group in one.groups["label"].items()}
    expected = {"supported": 0.9, "partial": 0.6, "unsupported": 0.2, "contradicted": 0.3}
    assert medians == pytest.approx(expected)
    # A verifier without probabilities has ranks of labels, whose median is no P(yes).
    (ranked,) = figures_of(found._replace(probabilities=False), SETTINGS)
    assert {group.median for group in ranked.groups["label"].values()} == {None}
    (left,) = figures_of(found, SETTINGS, "left_out")
    assert left.figures is not None and left.figures.balanced_accuracy.value == 1.0
    # Of four claims, one is partial.
    assert (left.n, left.left_out, left.figures.n, one.left_out) == (4, 1, 3, 0)
    # One document: nothing can be held out.
    assert one.fitted is None and "fewer than two" in one.why_not_fitted


async def test_the_cost_is_that_of_the_replies(labelled: Path, make_judge: MakeJudge) -> None:
    found = await answers(
        labelled, make_judge, by_claim({"1904": 0.9, "oats": 0.6, "cooperative": 0.2, "1940": 0.3})
    )
    # Four first questions, and a second one for the two that are not supported.
    assert found.costs["mill"].calls == 6 / 4
    assert found.costs["mill"].generated_tokens == 6 / 4


async def test_the_cost_is_the_same_where_replies_are_stored(labelled: Path, make_judge: MakeJudge) -> None:
    script = by_claim({"1904": 0.9, "oats": 0.6, "cooperative": 0.2, "1940": 0.3})
    rows, (judge, _) = load_sets([labelled]), make_judge(script)
    with evidence_snapshot(rows) as snapshot:
        # Both verifiers ask the same questions, so that the second one makes no call.
        first, second = [
            (await ask([LabelledSet(rows, snapshot)], judge, name, SCORED)) for name in ("one", "two")
        ]
    assert first.costs["mill"].calls == 6 / 4
    assert second.costs == first.costs


async def test_a_claim_without_an_answer_is_counted_and_in_no_figure(
    labelled: Path, make_judge: MakeJudge
) -> None:
    def script(call: Call) -> Reply:
        if "cooperative" in call.prompt.rpartition("Claim:")[2]:
            return {"Yes": 0.0, "No": 0.0}
        return {"Yes": 0.9, "No": 0.1}

    found = await answers(labelled, make_judge, script)
    (one,) = figures_of(found, SETTINGS)
    assert (one.n, one.failed) == (4, 1)
    assert one.figures is not None and one.figures.n == 3


async def test_a_fit_to_other_sets_has_not_seen_the_claim(tmp_path: Path, make_judge: MakeJudge) -> None:
    def rows(name: str, low: str, high: str) -> Path:
        made = [
            {"claim": f"{high if true else low} number {n}.", "evidence": f"{name} page {n}.", "label": label}
            for n in range(8)
            for true, label in ((True, "supported"), (False, "unsupported"))
        ]
        return write_rows(tmp_path / f"{name}.jsonl", made)

    paths = [rows("one", "low", "high"), rows("two", "low", "high")]
    loaded, (judge, _) = load_sets(paths), make_judge(by_claim({"low": 0.02, "high": 0.2}))
    with evidence_snapshot(loaded) as snapshot:
        found = await ask([LabelledSet(loaded, snapshot)], judge, "scored", SCORED)
    one, two = figures_of(found, SETTINGS)
    for figures in (one, two):
        assert figures.figures is not None and figures.transferred is not None
        # P(yes) never reaches 0.5, but both sets have the same scale: a threshold from the other one is right.
        assert figures.figures.called_wrong.value == 1.0
        assert figures.transferred.called_wrong.value == 0.0
        assert figures.transferred.caught.value == 1.0


async def test_claims_for_fitting_only_change_the_fit_and_are_in_no_figure(
    tmp_path: Path, make_judge: MakeJudge
) -> None:
    """A set that is alone has no other to be fitted to, until planted claims are given."""
    # Of 40 claims at P(yes) 0.8, 32 are true; of 40 at 0.2, 8 are.
    shares = [("high", n, n < 32) for n in range(40)] + [("low", n, n < 8) for n in range(40)]
    planted = [
        {"claim": f"{word} {n}.", "url": f"https://p.example/{n}", "true": true, "id": f"{word}{n}"}
        for word, n, true in shares
    ]
    # In the measured set, the shares are 0.6 and 0.4.
    people = [
        {
            "claim": f"{word} claim {n}.",
            "evidence": f"Page {n}.",
            "label": "supported" if n < most else "unsupported",
        }
        for word, most in (("high", 12), ("low", 8))
        for n in range(20)
    ]
    fitting = load_sets([write_rows(tmp_path / "planted.jsonl", planted)])
    assert [row.label for row in fitting[31:33]] == ["supported", "unsupported"]
    with_text = [row.model_copy(update={"evidence": f"Text of {row.url}.", "url": None}) for row in fitting]
    rows = load_sets([write_rows(tmp_path / "people.jsonl", people)])
    judge, _ = make_judge(by_claim({"low": 0.2, "high": 0.8}))
    with evidence_snapshot([*rows, *with_text]) as snapshot:
        found = await ask([LabelledSet(rows, snapshot)], judge, "scored", SCORED)
        more = await ask([LabelledSet(with_text, snapshot)], judge, "scored", SCORED)
    (alone,) = figures_of(found, SETTINGS)
    assert alone.transferred is None
    (one,) = figures_of(found._replace(fitting=more.answers), SETTINGS)
    assert (one.set, one.n) == ("people", 40) and one.transferred is not None
    # A fit to n true and n altered claims has the targets 41 / 42 and 1 / 42 (Platt), so that a claim at 0.8 gets
    # 0.8 (41 / 42) + 0.2 (1 / 42) = 33 / 42, and one at 0.2 gets 9 / 42: 33 / 42 - 0.6 = 0.4 - 9 / 42.
    assert one.transferred.ece.value == pytest.approx(33 / 42 - 0.6)
    # 12 of the 20 supported claims are at 0.8, 8 at 0.2; the threshold is between.
    assert one.transferred.called_wrong.value == pytest.approx(8 / 20)


def test_no_claim_is_measured_by_a_fit_that_has_seen_it(tmp_path: Path) -> None:
    """Two files may share claims: their copies are in no fit for the set, whatever the white space of the evidence."""
    made = [
        {
            "claim": f"The mill number {n} is open.",
            "evidence": f"Mill {n} is open.",
            "label": label,
            "id": f"{n}",
        }
        for n in range(12)
        for label in [("supported", "unsupported")[n % 2]]
    ]
    shared = [{**row, "evidence": f"{row['evidence']}\n"} for row in made[:9]]
    paths = [write_rows(tmp_path / "one.jsonl", made), write_rows(tmp_path / "two.jsonl", shared)]
    rows = load_sets(paths)
    with evidence_snapshot(rows) as snapshot:
        found = word_overlap([LabelledSet(rows, snapshot)])
        apart = figures_of(found, SETTINGS)
        # Claims to fit on are compared in the same way.
        both = [word_overlap([LabelledSet(part, snapshot)]) for part in (rows[:12], rows[12:])]
        alone = both[0]._replace(fitting=both[1].answers)
    assert [(one.set, one.n, one.seen) for one in apart] == [("one", 12, 9), ("two", 9, 9)]
    # Nothing is left for the first set; of the other, three claims are.
    assert apart[0].transferred is None
    assert [(one.set, one.seen) for one in figures_of(alone, SETTINGS)] == [("one", 9)]
    notes = [*benchmark_notes(apart, [])]
    assert (
        "one, word overlap: left out: 9 claims of the fit to the others, because this set has the same claim and text"
        in notes
    )


def test_rows_with_one_claim_or_one_text_are_one_document(tmp_path: Path) -> None:
    made = [
        {"claim": "It is red.", "evidence": "The mill is red."},
        {"claim": "It is red.", "evidence": "A red mill."},
        {"claim": "It is old.", "evidence": "A  red mill."},
        {"claim": "It is new.", "evidence": "The mill is new."},
        {"claim": "It is big.", "evidence": "The mill is big.", "question": "How is the mill?"},
        {"claim": "It is wet.", "evidence": "The mill is wet.", "question": "How is the mill?"},
        {"claim": "It is wet.", "evidence": "A wet mill.", "document": "own"},
    ]
    rows = load_sets([write_rows(tmp_path / "mill.jsonl", [{**row, "label": "supported"} for row in made])])
    documents = [row.document for row in rows]
    assert documents[0] == documents[1] == documents[2] != documents[3]
    assert documents[4:] == ["How is the mill?", "How is the mill?", "own"]
    # Code plants a true claim of one page on another one.
    planted = [
        {"claim": "It is red.", "url": f"https://{name}.example/", "true": name == "a", "id": name}
        for name in "ab"
    ]
    assert len({row.document for row in load_sets([write_rows(tmp_path / "planted.jsonl", planted)])}) == 2
    # A missing text is that of no other row.
    alone = [{"claim": f"It is {n}.", "evidence": f"Mill {n}.", "label": "supported"} for n in range(3)]
    unread = [{**row, "evidence": "https://a.example/", "id": f"u{n}"} for n, row in enumerate(alone)]
    rows = load_sets([write_rows(tmp_path / "two.jsonl", [*alone, *unread])])
    documents = [row.document for row in rows]
    assert len(set(documents)) == 3 and documents[:3] == documents[3:]


def test_a_copy_with_a_url_is_a_copy(tmp_path: Path) -> None:
    """One file has the text of a page, the other its URL: what the judge reads is the same."""
    pages = tmp_path / "pages"
    pages.mkdir()
    made = [{"claim": f"It is {n}.", "label": "supported"} for n in range(3)]
    texts = write_rows(tmp_path / "texts.jsonl", [{**row, "evidence": "The mill."} for row in made])
    cited = write_rows(tmp_path / "cited.jsonl", [{**row, "url": "https://mill.example/"} for row in made])
    write_rows(pages / "pages.jsonl", [{"url": "https://mill.example/", "text": "The mill."}])
    import_pages(pages, tmp_path / "snapshot", workers=0)
    fitting = word_overlap([LabelledSet(load_sets([cited]), Snapshot.open(tmp_path / "snapshot"))]).answers
    rows = load_sets([texts])
    with evidence_snapshot(rows) as snapshot:
        (one,) = figures_of(word_overlap([LabelledSet(rows, snapshot)])._replace(fitting=fitting), SETTINGS)
    assert (one.n, one.seen) == (3, 3)


def test_claims_in_no_figure_are_counted_once(tmp_path: Path) -> None:
    made = [
        {"claim": "It is red.", "evidence": "The mill is red.", "label": "supported"},
        {"claim": "It is old.", "evidence": "The mill is old.", "label": "partial"},
        {"claim": "It is new.", "evidence": "https://a.example/", "label": "partial"},
        {"claim": "It is wet.", "evidence": "It is dry.", "label": "contradicted"},
    ]
    rows = load_sets([write_rows(tmp_path / "mill.jsonl", made)])
    with evidence_snapshot(rows) as snapshot:
        (one,) = figures_of(word_overlap([LabelledSet(rows, snapshot)]), SETTINGS, "left_out")
    assert one.figures is not None and one.figures.n == 2
    assert counted(one) == "2 claims, 1 partial left out, 1 unread"


async def test_word_overlap_is_the_share_of_a_claims_words(labelled: Path) -> None:
    rows = load_sets([labelled])
    with evidence_snapshot(rows) as snapshot:
        values = [answer.value for answer in word_overlap([LabelledSet(rows, snapshot)]).answers]
    # All six words of the first claim are in the text; "1940" is not, so five of the last one's six are.
    assert values[0] == 1.0
    assert values[3] == pytest.approx(5 / 6)


@pytest.mark.slow
@pytest.mark.skipif(not PEOPLE.is_dir(), reason="needs the shared sets of human labels")
def test_the_floor_on_three_public_sets() -> None:
    paths = [PEOPLE / f"{name}.jsonl.gz" for name in ("wice", "expertqa", "factcheck")]
    rows = load_sets(paths)
    assert [len([row for row in rows if row.set == path.name.split(".")[0]]) for path in paths] == [
        349,
        1067,
        1700,
    ]
    with evidence_snapshot(rows) as snapshot:
        found = figures_of(word_overlap([LabelledSet(rows, snapshot)]), Settings(draws=0))
    values = [one.figures.auc.value if one.figures else None for one in found]
    assert values == pytest.approx([0.729, 0.645, 0.715], abs=0.005)
    # Of ExpertQA, 265 claims have addresses for their evidence. That of 17 claims of Factcheck-Bench is a page that
    # asks for JavaScript, and of one binary data.
    assert [one.unread for one in found] == [0, 265, 18]


async def test_the_calibration_error_is_the_median_over_divisions_into_folds(
    tmp_path: Path, make_judge: MakeJudge
) -> None:
    made = [
        {
            "claim": f"{word} {n}.",
            "evidence": f"{word} page {n}.",
            "label": "supported" if n < most else "unsupported",
        }
        for word, most in (("high", 14), ("low", 5))
        for n in range(20)
    ]
    rows, (judge, _) = (
        load_sets([write_rows(tmp_path / "one.jsonl", made)]),
        make_judge(by_claim({"low": 0.2, "high": 0.8})),
    )
    with evidence_snapshot(rows) as snapshot:
        found = await ask([LabelledSet(rows, snapshot)], judge, "scored", SCORED)
    errors: list[float] = []
    for seed in range(5):
        (one,) = figures_of(found, SETTINGS.model_copy(update={"seed": seed, "draws": 0}))
        assert one.fitted is not None and one.fitted.ece.value is not None
        errors.append(one.fitted.ece.value)
    assert len(set(errors)) > 1
    over = ece_over_folds(found, SETTINGS, "unsupported", n=5)["one"]
    assert (over.value, over.n) == (sorted(errors)[2], 40)
    # If one division cannot be fitted, the others are a chosen few.
    same = found._replace(answers=[replace(one, confidence=0.5) for one in found.answers])
    assert ece_over_folds(same, SETTINGS, "unsupported", n=5) == {}
    # Percentiles of five numbers, linear between neighbours: 5 % is a fifth of the way from the first to the second.
    first, second = sorted(errors)[:2]
    assert over.low == pytest.approx(first + 0.2 * (second - first))

"""The corruption sweep with judges whose worth is known."""

from __future__ import annotations

import json
import re
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from local_judge.base.errors import ConfigError, RunError
from local_judge.documents import parse_report
from local_judge.lab.experiments.corruption import corruption, load_topics
from local_judge.lab.experiments.curves import Results
from local_judge.lab.experiments.run import RESULTS
from local_judge.lab.experiments.view import results_tables
from serving.engines.scripted import Call, Reply

from .conftest import RunWhole, fenced, numbered, row, table_of
from .truth import curve, judge_by_truth, passages, topic_of, values

CITED = ["fact", "deer", "liveresearchbench"]


def test_what_is_false_at_one_rate_is_false_at_every_higher_one() -> None:
    trials = corruption().design.trials
    # 15 claims: 0, 3, 6, 9, 12 and all of them.
    assert [len(trial.planted) for trial in trials] == [0, 3, 6, 9, 12, 15]
    assert all(set(low.planted) < set(high.planted) for low, high in pairwise(trials))
    assert [condition.x for condition in corruption().design.conditions] == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert corruption(seed=1).design.trials != corruption(seed=0).design.trials == trials


def test_what_the_paper_prints_is_of_factuality_and_of_fact() -> None:
    """Appendix D.3: DREAM's factuality about 1 - r, FACT 100 % at every rate."""
    printed = {
        (one.protocol, one.path): one for one in corruption((0, 0.4, 1)).design.expectations if one.paper
    }
    factuality, fact = printed["dream", "factuality"], printed["fact", "citation_accuracy"]
    assert printed.keys() == {("dream", "factuality"), ("fact", "citation_accuracy")}
    assert (factuality.paper, factuality.approximate) == ((1.0, 0.6, 0.0), True)
    assert (fact.paper, fact.approximate) == ((1.0, 1.0, 1.0), False)
    assert all("appendix D.3" in one.source for one in (factuality, fact))


def test_a_report_makes_each_claim_once_and_cites_the_page_that_makes_it() -> None:
    topics = load_topics()
    text = {page.url: page.text for topic in topics for page in topic.pages}
    for trial, report in zip(corruption().design.trials, corruption().reports, strict=True):
        document = parse_report(report.content)
        assert len(document.sentences) == len(topics)
        for topic, sentence in zip(topics, document.sentences, strict=True):
            claim = topic.false_claim if topic.id in trial.planted else topic.true_claim
            assert re.sub(r" \[\d+\]", "", sentence.text) == claim
            (citation,) = (document.citation(one) for one in sentence.citations)
            assert citation.url is not None and claim in text[citation.url]


def test_citation_checks_alone_see_nothing(run_whole: RunWhole) -> None:
    done, engine = run_whole(corruption(), judge_by_truth, protocols=CITED)
    results = done.results
    # Each claim is what its page says, whatever the rate; DEER's scale ends at 10, of E3 none is best.
    for protocol, path, level in (
        ("fact", "citation_accuracy", 1.0),
        ("deer", "information_integrity/claim_factuality", 10.0),
        ("deer", "information_integrity/citation_support", 10.0),
        ("liveresearchbench", "accuracy/e3_rate", 0.0),
    ):
        found = curve(results, protocol, path)
        assert values(found) == [level] * 6, path
        assert (found.slope, found.spearman, found.distance) == (0.0, None, 0.0)
        assert found.verdict == "as expected"
        assert found.pairs is None, "one unit: nothing to pair"
    # Of the 30 claims each is asked about once, with its page, whatever reports make it; so is each page's reliability.
    claims = [call for call in engine.calls if call.options is None]
    assert len({call.prompt for call in claims}) == len(claims) == 30
    assert len([call for call in engine.calls if "careful researcher" in call.prompt]) == 30
    for call in claims:
        assert fenced(call.prompt, "Page:") and fenced(call.prompt, "Claims:")


@pytest.mark.parametrize(
    ("protocol", "path", "asked"),
    [("dream", "factuality", "speaks against it"), ("deepresearcheval", "facts", "Statement:")],
)
def test_what_is_searched_for_falls_as_1_minus_r(
    run_whole: RunWhole, protocol: str, path: str, asked: str
) -> None:
    done, engine = run_whole(corruption(), judge_by_truth, protocols=[protocol])
    found = curve(done.results, protocol, path)
    # 15, 12, 9, 6, 3 and 0 of 15 claims are true; both scores end at 100.
    assert values(found) == [pytest.approx(100 * n / 15) for n in (15, 12, 9, 6, 3, 0)]
    assert (found.slope, found.spearman) == (pytest.approx(-100), 1.0)
    assert (found.distance, found.verdict) == (pytest.approx(0), "as expected")
    printed = table_of(done.results)
    ideal = ["100.00", "80.00", "60.00", "40.00", "20.00", "0.00"]
    assert row(printed, f"{protocol}: ")[:6] == row(printed, "ideal")[:6] == ideal
    # Each of the 30 claims is looked up and asked about once, whatever reports make it.
    prompts = [call.prompt for call in engine.calls if asked in call.prompt]
    assert len(set(prompts)) == len(prompts) == 30
    for prompt in prompts:
        title = "Statement:" if protocol == "deepresearcheval" else "Claims:"
        topic, _ = topic_of(re.sub(r"^(\[s1\]|1\.) ", "", fenced(prompt, title).splitlines()[0]))
        shown = "".join(passages(prompt).values())
        assert [page.url for page in topic.pages if page.url not in shown] == [], "no side is favoured"


def test_statements_with_evidence_on_both_sides_keep_the_judges_label(
    run_whole: RunWhole, tmp_path: Path
) -> None:
    done, _ = run_whole(corruption((0, 0.4, 1)), judge_by_truth, protocols=["deepresearcheval"])
    # Of 15 claims 0, 6 and 15 are false: 15/15, 9/15 and 0/15 are Right.
    assert values(curve(done.results, "deepresearcheval", "facts")) == [100.0, 60.0, 0.0]
    kept = (tmp_path / "experiment/run/findings/deepresearcheval.jsonl").read_text().splitlines()
    rulings = [ruling for line in kept for ruling in json.loads(line)["facts"]["rulings"]]
    assert len(rulings) == 45
    for ruling in rulings:
        assert ruling["label"] == ruling["given"]
        assert {one["stance"] for one in ruling["evidence"]} == {"supports", "contradicts"}
        assert {one["checked"]["status"] for one in ruling["evidence"]} == {"found"}


def test_citations_stay_faithful_while_factuality_falls(run_whole: RunWhole) -> None:
    done, _ = run_whole(corruption((0, 0.4, 1)), judge_by_truth, protocols=["dream"])
    faithful = curve(done.results, "dream", "citation/faithfulness")
    assert (values(faithful), faithful.verdict) == ([100.0] * 3, "as expected")
    assert values(curve(done.results, "dream", "citation/attribution")) == [100.0] * 3
    assert values(curve(done.results, "dream", "factuality")) == [100.0, 60.0, 0.0]


@pytest.mark.parametrize(("protocol", "path"), [("dream", "factuality"), ("deepresearcheval", "facts")])
def test_a_judge_that_finds_everything_right_is_flat_and_not_as_expected(
    run_whole: RunWhole, protocol: str, path: str
) -> None:
    def yes(call: Call) -> Reply:
        words = (passages(call.prompt).get("1") or " ").splitlines()[-1][:60]
        if "Statement:" in call.prompt:
            quote = {"passage": 1, "quote": words, "stance": "supports"}
            return {"evidence": [quote], "reasoning": "", "label": "Right"}
        if "speaks against it" in call.prompt:
            told = {"supporting": [words], "opposing": [], "rationale": "", "label": "supported"}
            return {number: told for number in numbered(fenced(call.prompt, "Claims:"))}
        return judge_by_truth(call)

    done, _ = run_whole(corruption(), yes, protocols=[protocol])
    found = curve(done.results, protocol, path)
    assert values(found) == [100.0] * 6
    # Ideal 1, .8, .6, .4, .2, 0: the mean distance is .5.
    assert (found.slope, found.spearman, found.distance) == (0.0, None, pytest.approx(0.5))
    console = Console(width=200, record=True, file=StringIO())
    console.print(*results_tables(done.results))
    (row,) = [line for line in console.export_text().splitlines() if found.label in line]
    assert [cell.strip() for cell in row.split("│")][-5:] == [
        "+0.00",
        "–",
        "0.50",
        "falls",
        "not as expected",
    ]


def test_a_judge_that_never_believes_a_page_is_flat_and_not_as_expected(run_whole: RunWhole) -> None:
    def never(call: Call) -> Reply:
        judged = call.options is not None and "captcha" not in call.prompt
        return "No" if judged else judge_by_truth(call)

    done, _ = run_whole(
        corruption((0, 1), 4), never, protocols=["fact"], claims={"method": "scored", "reliability": False}
    )
    found = curve(done.results, "fact", "citation_accuracy")
    assert values(found) == [0.0, 0.0]
    assert (found.slope, found.distance, found.verdict) == (0.0, 1.0, "not as expected")


def test_a_failed_answer_is_no_point_of_a_curve(run_whole: RunWhole) -> None:
    def silent(call: Call) -> Reply:
        if "Bats are blind" in call.prompt:
            return "not an answer"
        return judge_by_truth(call)

    done, _ = run_whole(corruption((0, 1), 1), silent, protocols=["fact"], claims={"reliability": False})
    found = curve(done.results, "fact", "citation_accuracy")
    assert values(found) == [1.0, None]
    assert [(point.low, point.high, point.n, point.n_failed) for point in found.points] == [
        (1.0, 1.0, 1, 0),
        (0.0, 1.0, 0, 1),
    ]
    assert (found.verdict, found.slope) == ("incomplete", None)


def test_the_same_command_asks_nothing_again_and_another_experiment_is_refused(run_whole: RunWhole) -> None:
    first, _ = run_whole(corruption((0, 1), 2), judge_by_truth, protocols=["fact"])
    again, engine = run_whole(corruption((0, 1), 2), judge_by_truth, protocols=["fact"])
    assert engine.calls == [] and again == first
    with pytest.raises(RunError, match=r"contains another experiment \(design.json\)"):
        run_whole(corruption((0, 1), 3), judge_by_truth, protocols=["fact"])


def test_the_results_are_kept_as_they_are_returned(run_whole: RunWhole, tmp_path: Path) -> None:
    done, _ = run_whole(corruption((0, 1), 2), judge_by_truth, protocols=["fact"])
    folder = tmp_path / "experiment"
    kept = json.loads((folder / RESULTS).read_text())
    assert Results.model_validate(kept) == done.results
    picture = (folder / "curves.svg").read_text()
    assert all(f">{series}</text>" in picture for series in ("this judge", "ideal", "paper"))


@pytest.mark.parametrize(
    ("rates", "topics", "said"),
    [
        ((0, 1.5), None, "--rates: 1.5 is not a share"),
        ((0, 0.1), 2, "--rates: of 2 claims, 0 would be false in every report"),
        ((0, 1), 16, "--topics 16: there are 15"),
        ((0, 1), 0, "--topics 0: there are 15"),
    ],
)
def test_what_cannot_be_made_is_refused(rates: tuple[float, ...], topics: int | None, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        corruption(rates, topics)

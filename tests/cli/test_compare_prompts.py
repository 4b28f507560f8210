"""Runs with published prompts beside runs with those of this package: every figure of the comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from indexes.making.importing import import_pages
from tests.stub_replies import fill
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, write_preset
from .conftest import Command
from .test_prompts_of_a_checkout import EVALUATOR, PROMPTS, digest_in

REPORT = (
    "# Harlow Mill\n\nHarlow Mill in Kent employed 48 people in 1980 and sold 200 tonnes of flour. It was built in "
    "1974 by the town of Harlow for 8 million pounds.\n\n## Flood\n\nThe flood of 1990 closed Harlow Mill for 12 "
    "weeks. The county of Kent paid 3 million pounds for a higher weir in 1992.\n"
)
REQUEST = "What did Harlow Mill cost?"
NAMES = {
    "Coverage": "general",
    "Insight": "general",
    "Instruction following": "general",
    "Clarity": "general",
    "Cost": "specific",
}


def answer(asked: Mapping[str, Any]) -> str:
    """With published prompts, a longer report gets 5 instead of 7; otherwise each report gets 8."""
    text: str = asked["messages"][-1]["content"]
    if text.startswith("Score "):
        listed = json.loads(text[text.index("by [") + 3 : text.rindex(" for ")])
        score = 5 if len(text[len("Score ") : text.index(" by [")]) > len(REPORT) else 7
        return json.dumps(
            [{"criterion": one["criterion"], "analysis": "", "report_score_0_to_10": score} for one in listed]
        )
    reply = json.loads(fill(asked))
    return json.dumps({name: {**one, "score": 8.0} for name, one in reply.items()})


@pytest.fixture
def runs(command: Command, tmp_path: Path) -> tuple[Path, Path, Path]:
    """A run with the prompts of this package, one with those of a checkout, and the planted flaws of both."""
    folder = tmp_path / "checkout/point_quality/deepresearcharena"
    for name, text in (
        ("prompts/pointwise_prompts.py", PROMPTS),
        ("evaluator/pointwise_evaluator.py", EVALUATOR),
    ):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    row = {"id": "1", "task_id": "1", "prompt": REQUEST, "article": REPORT}
    (tmp_path / "reports.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (tmp_path / "tasks.jsonl").write_text(json.dumps({"id": "1", "prompt": REQUEST}), encoding="utf-8")
    dimensions = [
        {
            "name": name,
            "kind": kind,
            "weight": 1.0,
            "criteria": [{"criterion": f"About {name}", "explanation": "", "weight": 1.0}],
        }
        for name, kind in NAMES.items()
    ]
    drafted = {"task_id": "1", "task": REQUEST, "dimensions": dimensions}
    (tmp_path / "dimensions.jsonl").write_text(json.dumps(drafted), encoding="utf-8")
    ended = command(
        *("lab", "plant", tmp_path / "reports.jsonl", "--tasks", tmp_path / "tasks.jsonl"),
        *("--out", tmp_path / "planted", "--kinds", "contradiction,padding", "--places", "1"),
    )
    assert ended.code == 0, ended.err
    with StubThread(StubPlan(answer=answer)) as server:
        options = (
            *("run", tmp_path / "planted/reports.jsonl"),
            *("--tasks", tmp_path / "tasks.jsonl", "--dimensions", tmp_path / "dimensions.jsonl"),
            *("--protocol", "deepresearcheval", "--set", "deepresearcheval.parts=[quality]"),
            *(
                "--judge",
                write_preset(tmp_path),
                "--base-url",
                server.url,
                "--ledger",
                tmp_path / "ledger.sqlite",
            ),
        )
        published = (
            *options,
            "--out",
            tmp_path / "published",
            "--prompts",
            f"original={tmp_path / 'checkout'}",
        )
        digest = digest_in(command(*published).line())
        for given in ((*options, "--out", tmp_path / "own"), (*published, "--allow-prompts", digest)):
            ended = command(*given)
            assert ended.code == 0, ended.err
    return tmp_path / "own", tmp_path / "published", tmp_path / "planted"


def test_comparison(command: Command, runs: tuple[Path, Path, Path]) -> None:
    own, published, planted = runs
    ended = command("lab", "compare-prompts", own, published, "--flaws", planted, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert [one["prompts"]["deepresearcheval"].partition(" (")[0] for one in found["runs"]] == [
        "this package",
        "DeepResearchEval",
    ]
    quality = next(one for one in found["scores"]["scores"] if one["path"] == ["quality"])["difference"]
    # The report and two longer copies: 7, 5, 5 against 8.
    assert (quality["n"], quality["first"], quality["second"]) == (3, 8.0, pytest.approx(17 / 3))
    by_metric = {one["metric"]: one for one in found["agreement"]}
    assert by_metric["coverage"]["n_items"] == 3
    assert by_metric["coverage"]["alike"]["value"] == 0
    assert by_metric["coverage"]["difference"]["value"] == pytest.approx(7 / 3)  # 1, 3 and 3
    flaws = {one["flaw"]: one for one in found["flaws"]}
    assert {name: (one["n"], one["right"], one["only"]) for name, one in flaws.items()} == {
        "contradiction": (1, [0, 1], [0, 1]),  # it should fall: only the published prompts notice
        "padding": (1, [1, 1], [0, 0]),  # it should not rise
    }
    tokens = [one["tokens"] for one in found["runs"]]
    assert [one["replies"] for one in tokens] == [15, 15]  # five dimensions of three reports
    assert all(one["computed"] > 0 and one["generated"] > 0 for one in tokens)
    assert [one["failures"] for one in found["runs"]] == [{}, {}]


def test_items_that_only_one_run_has_are_not_failures(
    command: Command, tmp_path: Path, runs: tuple[Path, Path, Path]
) -> None:
    """A run with a second criterion of coverage, without an answer about insight."""
    drafted = json.loads((tmp_path / "dimensions.jsonl").read_text(encoding="utf-8"))
    criteria = drafted["dimensions"][0]["criteria"]
    criteria.append({**criteria[0], "criterion": "About what is left out"})
    other = tmp_path / "others.jsonl"
    other.write_text(json.dumps(drafted), encoding="utf-8")

    def failing(asked: Mapping[str, Any]) -> str:
        return "none" if "About Insight" in asked["messages"][-1]["content"] else answer(asked)

    with StubThread(StubPlan(answer=failing)) as server:
        ended = command(
            *("run", tmp_path / "planted/reports.jsonl", "--tasks", tmp_path / "tasks.jsonl"),
            *("--dimensions", other, "--protocol", "deepresearcheval"),
            *("--set", "deepresearcheval.parts=[quality]", "--judge", write_preset(tmp_path)),
            *("--base-url", server.url, "--ledger", tmp_path / "other.sqlite", "--out", tmp_path / "other"),
        )
        assert ended.code == 3, ended.err
    ended = command("lab", "compare-prompts", runs[0], tmp_path / "other", "--json")
    by_metric = {one["metric"]: one for one in json.loads(ended.out)["agreement"]}
    coverage, insight = by_metric["coverage"], by_metric["insight"]
    # Three reports.
    assert (coverage["n_missing"], coverage["n_not_asked"]) == (
        {"own": 3, "other": 0},
        {"own": 3, "other": 0},
    )
    assert (insight["n_missing"], insight["n_not_asked"]) == ({"own": 0, "other": 3}, {"own": 0, "other": 0})
    shown = command("lab", "compare-prompts", runs[0], tmp_path / "other").out
    assert re.search(r"coverage: answers +│ 3 not asked │ +│", shown)
    assert re.search(r"insight: answers +│ +│ +3 failed │", shown)


def test_ratings_of_reports(command: Command, tmp_path: Path, runs: tuple[Path, Path, Path]) -> None:
    own, published, _ = runs
    lines = (tmp_path / "planted/reports.jsonl").read_text(encoding="utf-8").splitlines()
    ids = [str(json.loads(line)["id"]) for line in lines]
    [first] = [id for id in ids if id == "1"]
    rows = [
        (id, name, "9" if id == first else str(2 + place)) for place, id in enumerate(ids) for name in "ab"
    ]
    rated = tmp_path / "ratings.csv"
    rated.write_text(
        "report,annotator,score\n" + "".join(",".join(row) + "\n" for row in rows), encoding="utf-8"
    )
    given = ("lab", "compare-prompts", own, published, "--ratings", rated, "--score", "quality")
    ended = command(*given, "--json")
    assert ended.code == 0, ended.err
    found = {one["measure"]: one for one in json.loads(ended.out)["ratings"]}
    pairwise = found["pairwise, mean rating"]
    # People order all three pairs. The first run ties them (8, 8, 8), the second orders two of them (7, 5, 5).
    assert (pairwise["first"]["value"], pairwise["second"]["value"]) == (0.0, pytest.approx(2 / 3))
    assert pairwise["difference"]["value"] == pytest.approx(2 / 3)
    shown = command(*given).out
    assert "deepresearcheval: quality, people: pairwise, mean rating" in shown
    assert "overall Pearson; overall tau-b: fewer than 2 pairs of values" in shown.replace("people: ", "")
    agreed = json.loads(
        command("results", "agree", rated, published, own, "--score", "quality", "--json").out
    )
    [same] = agreed["differences"]
    [other] = [one for one in same["measures"] if one["id"] == "pairwise"]
    assert other["value"] == pairwise["difference"]["value"]


CITED = (
    ("The mill cost 8 million.", "https://a.example/mill"),
    ("The bank paid 2 million.", "https://a.example/bank"),
    ("The weir rose in 1992.", "https://a.example/mill"),
    ("The flood came in 1990.", "https://a.example/bank"),
)


def cited_answer(asked: Mapping[str, Any]) -> str:
    """With published prompts: three facts, one in other words; about the bank, nothing is supported."""
    text: str = asked["messages"][-1]["content"]
    if text.startswith("Extract"):
        facts = [
            CITED[0],
            ("the BANK paid  2 million", CITED[1][1]),
            ("In 1992, the weir rose.", CITED[2][1]),
        ]
        return json.dumps([{"fact": fact, "url": url, "ref_idx": 1} for fact, url in facts])
    if text.startswith("Repeats"):
        return "[1, 2]"
    if text.startswith("Check"):
        n = text.count("\n", text.index("Statements")) - 1
        result = "unsupported" if "pays" in text else "supported"
        return json.dumps([{"idx": number, "result": result} for number in range(1, n + 1)])
    return fill(asked)  # the first label of the menu: supported


def test_labels_of_claims(command: Command, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "pages.jsonl").write_text(
        '{"url": "https://a.example/mill", "text": "The mill cost 8 million. The weir rose."}\n'
        '{"url": "https://a.example/bank", "text": "The bank pays nothing."}\n',
        encoding="utf-8",
    )
    import_pages(pages, tmp_path / "snapshot", workers=0)
    marked = (f"{fact[:-1]} [{1 if url == CITED[0][1] else 2}]." for fact, url in CITED)
    text = "# Mill\n\n" + "\n\n".join(marked) + f"\n\n## References\n\n[1] {CITED[0][1]}\n[2] {CITED[1][1]}\n"
    for name in ("one", "two"):
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    checkout = tmp_path / "checkout/utils"
    checkout.mkdir(parents=True)
    for name, prompt in (
        ("extract", "Extract from {report_text}"),
        ("deduplicate", "Repeats in {statements}"),
        ("validate", "Check {reference} Statements\n{statements}\n"),
    ):
        (checkout / f"{name}.py").write_text(
            f"prompt_template = {prompt!r}\nprompt_template_en = {prompt!r}\n", encoding="utf-8"
        )
    (tmp_path / "config.yaml").write_text(
        "claims: {extraction: sentences, reliability: false}\n", encoding="utf-8"
    )
    with StubThread(StubPlan(answer=cited_answer)) as server:
        options = (
            *("run", tmp_path / "one.md", tmp_path / "two.md", "--snapshot", tmp_path / "snapshot"),
            *("--protocol", "fact", "--judge", write_preset(tmp_path), "--base-url", server.url),
            *("--ledger", tmp_path / "ledger.sqlite"),
        )
        published = (
            *options,
            *(
                "--set",
                "fact.claims=own",
                "--prompts",
                f"original={checkout.parent}",
                "--out",
                tmp_path / "b",
            ),
        )
        digest = digest_in(command(*published).line())
        ended = command(*options, tmp_path / "config.yaml", "--out", tmp_path / "a")
        assert ended.code == 0, ended.err
        ended = command(*published, "--allow-prompts", digest)
        assert ended.code == 0, ended.err

    def label(report: str, number: int, says: str, annotator: str = "ada", **other: str) -> dict[str, str]:
        fact, url = CITED[number]
        row = {"report": report, "claim": f"L9.S9.{number}", "url": url, "text": fact, "label": says}
        return {**row, "annotator": annotator, **other}

    labels = tmp_path / "labels.jsonl"
    rows = [
        label("one", 0, "supported", url="http://A.example/mill#top"),
        label("one", 1, "contradicted"),
        label("one", 2, "supported"),  # in other words in the second run
        label("one", 3, "supported"),
        label("one", 3, "partial", "bob"),  # divided
        label("two", 0, "partial"),
        label("two", 1, "unclear"),
        label("two", 1, "unsupported", "bob", text="The bank paid 2 million"),
        label("two", 2, "supported", text=""),
        label("three", 0, "supported"),
    ]
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    given = ("lab", "compare-prompts", tmp_path / "a", tmp_path / "b", "--labels", labels)
    ended = command(*given, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)["labels"]
    counts = ("n_labels", "n_unclear", "n_without_text", "n_elsewhere", "n_divided", "n_statements")
    assert [found[name] for name in counts] == [10, 1, 1, 1, 1, 5]
    [claims, fact] = found["kinds"]
    assert (claims["verdicts"], claims["n_matched"], claims["found"]["n"]) == ("claims", [5, 0], 0)
    # In both runs: the sums of both reports. People: mill supported and not, bank twice not. The first run supports
    # all, the second one the mill only: right about 1 and about 3 of 4. Balanced: (1 + 0) / 2 and (1 + 2/3) / 2.
    assert (fact["verdicts"], fact["n_matched"], fact["n_unanswered"]) == ("fact", [5, 4], [0, 0])
    own = fact["found"]
    assert (own["n"], own["right"], own["only"]) == (4, [1, 3], [0, 2])
    assert own["balanced_accuracy"] == [0.5, pytest.approx(5 / 6)]
    shown = command(*given).out
    assert re.search(
        r"fact: right about labelled claims +│ +1 of 4 │ +3 of 4 │ +only first 0, only second 2", shown
    )
    assert (
        "10 labels of 5 claims; 1 unclear; 1 without text; 1 of other reports; annotators are divided"
        in shown
    )
    assert "fact: same report, page and words 5 in a, 4 in b; 4 answered in both" in shown
    assert re.search(r"claims: right .* +│ 5 with a label │ 0 with a label │ +none answered in both", shown)
    labels.write_text(json.dumps(rows[-1]) + "\n", encoding="utf-8")
    assert "none of 1 label is of a claim of" in command(*given).line()


def test_table(command: Command, runs: tuple[Path, Path, Path]) -> None:
    own, published, planted = runs
    shown = command("lab", "compare-prompts", own, published, "--flaws", planted).out
    assert "own: prompts of this package\n" in shown
    assert "published: prompts of DeepResearchEval (unknown revision" in shown
    assert re.search(r"quality falls after contradiction +│ 0 of 1 │ +1 of 1 │", shown)
    assert "failures" in shown
    assert re.search(r"what differs: .*config\.prompts", shown)


def test_runs_that_cannot_be_compared(
    command: Command, tmp_path: Path, runs: tuple[Path, Path, Path]
) -> None:
    own, published, planted = runs
    assert "twice" in command("lab", "compare-prompts", own, own).line()
    assert "planted.jsonl" in command("lab", "compare-prompts", own, published, "--flaws", tmp_path).line()
    names = ("comprehensiveness", "insight", "instruction_following", "readability", "overall_score")
    rows = tmp_path / "raw_results.jsonl"
    rows.write_text(json.dumps({"id": "1", **dict.fromkeys(names, 0.5)}), encoding="utf-8")
    assert command("import", rows, tmp_path / "race").code == 0
    line = command("lab", "compare-prompts", own, tmp_path / "race").line()
    assert line.endswith("have no protocol in common; compare runs of one protocol"), line
    for pair in ((own, tmp_path / "race"), (tmp_path / "race", own)):
        ended = command("results", "diff", *pair)
        assert ended.code == 0, ended.err
        assert "judges" in ended.out
    (tmp_path / "ledger.sqlite").unlink()
    shown = command("lab", "compare-prompts", own, published, "--flaws", planted)
    assert shown.code == 0, shown.err
    assert "tokens of own are unknown" in shown.out

"""`local-judge lab replicate` with a judge: the commands of the packaged files run, and their figures are found."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_judge.lab.replication import load_replication

from ..protocols.race.race_cases import REFERENCE, ROW
from ..stub_replies import fill
from ..stub_server import StubPlan
from ..stub_thread import StubThread, answer, write_preset
from .conftest import ROOT, Command
from .published_results import quality, written
from .test_import_published import jsonl
from .test_published_prompts import ARTICLE, ORIGINALS, race_answer, write

pytestmark = pytest.mark.usefixtures("commands_in_process")

LINE = "The retrofit connected 1,240 dwellings [1]."
END = "\n\n## References\n\n[1] https://heat.example/fernholt/renewal\n"


def rated(asked: Mapping[str, Any]) -> str:
    """A judge that gives a report of n sentences n points by each item, and believes every claim."""
    reply: dict[str, dict[str, Any]] = json.loads(fill(asked))
    if any("score" not in item for item in reply.values()):
        return answer(asked)
    n = sum(one["content"].count("1,240 dwellings") for one in asked["messages"])
    for item in reply.values():
        item["score"] = type(item["score"])(n)
    return json.dumps(reply)


@pytest.fixture
def rater() -> Iterator[StubThread]:
    with StubThread(StubPlan(answer=rated)) as running:
        yield running


@pytest.fixture
def pages(command: Command, tmp_path: Path) -> Path:
    snapshot = tmp_path / "snapshot"
    assert command("snapshot", "import", ROOT / "local_judge/demo/pages", snapshot).code == 0
    return snapshot


@pytest.fixture
def deer(tmp_path: Path) -> Path:
    """Two tasks of DEER with reports of one, two and three sentences."""
    root = tmp_path / "deer"
    for task in ("1", "2"):
        (root / task).mkdir(parents=True)
        (root / task / "query.md").write_text(f"What changed in case {task}?")
        (root / task / "core_criteria.md").write_text("Dwellings, costs and votes.")
        for n, system in enumerate(("ada", "bob", "cyd"), 1):
            report = f"# The mill\n\n{' '.join([LINE] * n)}{END}"
            (root / task / f"{system}_{task}.md").write_text(report)
    return root


def replicated(
    command: Command, tmp_path: Path, name: str, inputs: Mapping[str, Path], *judge: str | Path
) -> dict[tuple[str, str], Any]:
    """Figures by row and column."""
    given = [word for key, path in inputs.items() for word in ("--input", f"{key}={path}")]
    ended = command("lab", "replicate", name, "--out", tmp_path / "out", "--json", *given, "--", *judge)
    assert ended.code == 0, ended.err
    return {(one["row"], one["column"]): one for one in json.loads(ended.out)["figures"]}


def test_agreement_with_people(command: Command, rater: StubThread, deer: Path, tmp_path: Path) -> None:
    """Scores 1, 2, 3 for ratings 2, 4, 6 on both tasks: every correlation and rate is 1."""
    ratings = [
        {"task": task, "system": system, "annotator": "ann", "score": score}
        for task in ("1", "2")
        for system, score in (("ada", 2), ("bob", 4), ("cyd", 6))
    ]
    inputs = {"reports": deer, "ratings": jsonl(tmp_path / "ratings.jsonl", *ratings)}
    judge = ("--judge", write_preset(tmp_path), "--base-url", rater.url)
    found = replicated(command, tmp_path, "deer-table-3", inputs, *judge)
    measured = [found["Vanilla", name] for name in ("Pearson", "Spearman", "Pairwise")]
    assert [one["published"] for one in measured] == [0.63, 0.59, 0.68]
    assert [one["ours"] for one in measured] == pytest.approx([1] * 3)
    found = replicated(command, tmp_path, "deer-table-17", inputs, *judge)
    assert [one["published"] for (row, _), one in found.items() if row == "GPT-5.2"] == [0.81, 0.80, 0.89]
    assert [one["ours"] for one in found.values()] == pytest.approx([1] * 15)


@pytest.mark.parametrize(
    ("name", "published"),
    [("deer-table-20", [0.631, 0.598, 0.764]), ("deer-table-23", [0.734, 0.707, 0.840])],
)
def test_agreement_of_variants_with_people(
    command: Command, rater: StubThread, deer: Path, tmp_path: Path, name: str, published: list[float]
) -> None:
    """Scores 1, 2, 3 for ratings 1, 3, 2: r = rho = 1/2 on both tasks, and 2 of 3 pairs alike."""
    ratings = [
        {"task": task, "system": system, "annotator": "ann", "score": score}
        for task in ("1", "2")
        for system, score in (("ada", 1), ("bob", 3), ("cyd", 2))
    ]
    inputs = {"reports": deer, "ratings": jsonl(tmp_path / "ratings.jsonl", *ratings)}
    found = replicated(
        command, tmp_path, name, inputs, "--judge", write_preset(tmp_path), "--base-url", rater.url
    )
    assert [one["published"] for one in found.values()][:3] == published
    assert [one["ours"] for one in found.values()] == pytest.approx([1 / 2, 1 / 2, 2 / 3] * 3)


def test_stability_of_judges(command: Command, rater: StubThread, deer: Path, tmp_path: Path) -> None:
    """Two judges with the same scores agree."""
    judges: list[str | Path] = []
    for seed, name in enumerate(("one", "two")):
        preset = write_preset(tmp_path).rename(tmp_path / f"{name}.yaml")
        with preset.open("a", encoding="utf-8") as file:
            file.write(f"sampling: {{seed: {seed}}}\n")  # else they are one judge
        judges += ["--judge", preset]
    found = replicated(command, tmp_path, "deer-table-4", {"reports": deer}, *judges, "--base-url", rater.url)
    measured = [one for (row, _), one in found.items() if row == "+ Expert Guidance, scores"][:3]
    assert [one["published"] for one in measured] == [0.55, 0.56, 0.87]
    assert [one["ours"] for one in measured] == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("name", ["deer-table-24", "deer-readme-judge"])
def test_deer_of_several_systems(
    command: Command, rater: StubThread, deer: Path, pages: Path, tmp_path: Path, name: str
) -> None:
    for path in deer.rglob("cyd_*.md"):
        path.rename(path.with_name(path.name.replace("cyd", "gpt5.2_fast")))
    judge = ("--judge", write_preset(tmp_path), "--base-url", rater.url)
    inputs = {"reports": deer, **({"snapshot": pages} if name == "deer-readme-judge" else {})}
    found = replicated(command, tmp_path, name, inputs, *judge)
    assert all(one["ours"] is not None for one in found.values())
    if name == "deer-readme-judge":
        assert found["GPT-5", "Request fulfillment"]["ours"] == 3
        assert found["GPT-5", "Request fulfillment"]["n_reports"] == 2


def test_verification_of_annotated_claims(command: Command, server: StubThread, tmp_path: Path) -> None:
    """A judge that believes everything is wrong about the false claims, which are a part of the adversarial set."""
    judge = ("--judge", write_preset(tmp_path), "--base-url", server.url)
    found = replicated(command, tmp_path, "deer-table-16", {}, *judge)
    true, both = (found[f"{name}, embeddings", "Accuracy"] for name in ("Original", "Adversarial"))
    assert (true["published"], both["published"]) == (77.01, 88.46)
    assert true["ours"] > both["ours"] > 0


def test_extraction_and_backtracking_of_annotated_claims(
    command: Command, server: StubThread, tmp_path: Path
) -> None:
    """A judge that names no claim of B or C: the windows need no judge, and recover more the longer they are."""
    judge = ("--judge", write_preset(tmp_path), "--base-url", server.url)
    found = replicated(command, tmp_path, "deer-table-5", {}, *judge)
    mini = [one["published"] for (row, _), one in found.items() if row == "GPT-5-mini, batches of 20"]
    assert mini == [5.19, 90.66, 67.52, 79.0]
    assert all(one["ours"] is not None for one in found.values())
    found = replicated(command, tmp_path, "deer-table-15", {}, *judge)
    assert found["Backtracking", "Jaccard"]["ours"] is None
    recalls = [found[f"Sliding (k = {size})", "Recall"]["ours"] for size in (5, 10, 15)]
    assert 0 < recalls[0] < recalls[1] < recalls[2] <= 1


def lrb_tasks(folder: Path, *ids: str) -> Path:
    rows = [
        {
            "qid": id,
            **{name: "What of it?" for name in ("question", "question_no_placeholder")},
            **{name: "Does it say so?" for name in ("checklist", "checklist_no_placeholder")},
        }
        for id in ids
    ]
    return jsonl(folder / "tasks.jsonl", *rows)


def test_citation_errors(command: Command, server: StubThread, pages: Path, tmp_path: Path) -> None:
    store = tmp_path / "market"
    store.mkdir()
    (store / "qid_market1_report.md").write_text(f"# The mill\n\n{LINE}{END}")
    inputs = {"reports": store, "tasks": lrb_tasks(tmp_path, "market1"), "snapshot": pages}
    judge = ("--judge", write_preset(tmp_path), "--base-url", server.url)
    found = replicated(command, tmp_path, "lrb-table-7-accuracy", inputs, *judge)
    assert [one["published"] for one in found.values()] == [91.9, 11.9, 11.6, 68.4]
    assert all(one["n_reports"] == 1 for one in found.values())


def test_published_prompts_and_people(command: Command, tmp_path: Path) -> None:
    """Equal scores of two reports agree with no rating that prefers one of them."""
    if not (ORIGINALS / "drb").exists():
        pytest.skip("the published project is not here")
    checkout = tmp_path / "drb"
    shutil.copytree(ORIGINALS / "drb", checkout)
    data, task = checkout / "data", {"id": 900, "prompt": ROW["prompt"]}
    write(data / "prompt_data/query.jsonl", {**task, "language": "en"})
    write(data / "criteria_data/criteria.jsonl", ROW)
    write(data / "test_data/cleaned_data/reference.jsonl", {**task, "article": REFERENCE})
    systems = ("ada", "bob")
    reports = [{"id": name, "task_id": "900", "system": name, "report": ARTICLE} for name in systems]
    ratings = [{"report": name, "annotator": "ann", "score": score} for score, name in enumerate(systems)]
    inputs = {
        "drb": checkout,
        "reports": jsonl(tmp_path / "reports.jsonl", *reports),
        "ratings": jsonl(tmp_path / "ratings.jsonl", *ratings),
    }
    with StubThread(StubPlan(answer=race_answer)) as server:
        judge = ("--judge", write_preset(tmp_path), "--base-url", server.url)
        found = replicated(command, tmp_path, "drb-table-2-people", inputs, *judge)
    assert found["RACE(Full)", "Pairwise"]["ours"] == 0
    assert [one["published"] for one in found.values()][:4] == [71.33, 99.54, 60.24, 59.12]


def test_dimensions_of_a_published_result(command: Command, tmp_path: Path) -> None:
    """The columns of the file are scores of a run: coverage 9, cost of money 5, 0.75 * 9 + 0.25 * 5 = 8."""
    file = load_replication("dre-table-3").model_dump(mode="json", exclude_none=True)
    file |= {"needs": {"results": "x"}, "command": [["import", "{results}", "{out}/run"]]}
    table = tmp_path / "table.yaml"
    table.write_text(yaml.safe_dump(file), encoding="utf-8")
    data = written(tmp_path / "quality_results.json", quality(**{"gemini_2.5_pro": (9, 5)}))
    ended = command("lab", "replicate", table, "--input", data, "--json")
    ours = {one["column"]: one["ours"] for one in json.loads(ended.out)["figures"]}
    assert ours == {
        **dict.fromkeys(("Insight", "Instruction following", "Clarity")),
        "Average": 8,
        "Coverage": 9,
        "Task-specific": 5,
    }


def race_results(folder: Path, **readability: tuple[float, ...]) -> Path:
    """Published rows of RACE, one folder for each system, one row for each task; all scores are the readability."""
    names = ("comprehensiveness", "insight", "instruction_following", "readability", "overall_score")
    for system, scores in readability.items():
        (folder / system).mkdir(parents=True)
        rows = [{"id": n, **dict.fromkeys(names, score)} for n, score in enumerate(scores, 1)]
        jsonl(folder / system / "raw_results.jsonl", *rows)
    return folder


def test_results_of_another_judge(command: Command, tmp_path: Path) -> None:
    """The mean of 0.4 and 0.6034 is 50.17, the published figure; systems without results stay empty."""
    results = race_results(tmp_path / "race", **{"gemini-2.5-pro-deepresearch": (0.4, 0.6034)})
    ended = command("lab", "replicate", "drb-table-10-results", "--input", f"race={results}", "--json")
    figures = json.loads(ended.out)["figures"]
    assert [one["published"] for one in figures] == [50.17, 46.88, 41.25, 38.04]
    assert [one["ours"] for one in figures] == [pytest.approx(50.17), None, None, None]
    assert figures[0]["equal"]


def test_writing_quality_and_readability(command: Command, rater: StubThread, tmp_path: Path) -> None:
    """Writing orders the systems 1, 2, 3. Readability orders them so on task 1, and 1, 3, 2 on task 2, where two of
    three pairs are alike: (1 + 1/3) / 2."""
    results = race_results(tmp_path / "race", ada=(0.1, 0.1), bob=(0.2, 0.3), cyd=(0.3, 0.2))
    reports = [
        {
            "id": f"{system}-{task}",
            "task_id": str(task),
            "system": system,
            "report": f"# The mill\n\n{' '.join([LINE] * n)}{END}",
        }
        for task in (1, 2)
        for n, system in enumerate(("ada", "bob", "cyd"), 1)
    ]
    inputs = {"race": results, "reports": jsonl(tmp_path / "reports.jsonl", *reports)}
    judge = ("--judge", write_preset(tmp_path), "--base-url", rater.url)
    [one] = replicated(command, tmp_path, "dream-section-4-5", inputs, *judge).values()
    assert (one["published"], one["ours"]) == (0.6, pytest.approx(2 / 3))


@pytest.mark.parametrize(
    ("name", "metric", "file", "label", "wrong", "published", "ours"),
    [
        # The judge supports all claims: it is right about those that people call supported, and about no other.
        ("drb-appendix-d", "claims", "claims", "verdict", "unsupported", [96, 92], [100, 0]),
        # It calls all statements Right: people agree on three of four.
        ("dre-figure-5", "facts", "items", "label", "Wrong", [73], [75]),
    ],
)
def test_labels_of_people(
    command: Command,
    server: StubThread,
    pages: Path,
    tmp_path: Path,
    name: str,
    metric: str,
    file: str,
    label: str,
    wrong: str,
    published: list[float],
    ours: list[float],
) -> None:
    run, out = tmp_path / "run", tmp_path / "csv"
    report = ROOT / "local_judge/demo/report.md"
    given = (report, "--snapshot", pages, "--out", run, "--set", "deepresearcheval.parts=facts")
    protocols = ("--protocol", "fact", "--protocol", "deepresearcheval")
    judge = ("--judge", write_preset(tmp_path), "--base-url", server.url)
    assert command("run", *given, *protocols, *judge).code == 0
    assert command("export", run, out, "--format", "csv").code == 0
    with (out / f"{file}.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row[label] and row.get("metric", metric) == metric][
            :4
        ]
    labels = [
        {
            **{key: row[key] for key in ("report", "claim", "item", "url") if key in row},
            "metric": metric,
            "annotator": "ann",
            "label": said,
        }
        for row, said in zip(rows, [*(row[label] for row in rows[:3]), wrong], strict=True)
    ]
    found = replicated(
        command, tmp_path, name, {"run": run, "labels": jsonl(tmp_path / "labels.jsonl", *labels)}
    )
    assert [one["published"] for one in found.values()] == published
    assert [one["ours"] for one in found.values()] == ours

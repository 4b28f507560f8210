"""The benchmark of prompts: what is counted, and the tables that it writes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from indexes.making.importing import import_pages
from indexes.model import Page
from indexes.snapshot import Snapshot
from local_judge.base.failures import Failure
from local_judge.claims.grouped import verification_prompt
from local_judge.claims.model import Label
from local_judge.demo.outcome import sample_folder as demo_folder
from local_judge.documents.clean import clean
from local_judge.lab.annotations.load import sample_folder
from local_judge.lab.planting.claims import DrawSettings, draw_claims
from local_judge.lab.planting.composed import Composed, ComposeSettings, compose
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.planting.pages import plant_pages, usable
from local_judge.prompts import Prompt
from local_judge.runs.execution.verify import VerifiedRow
from scripts.benchmarking import prompt_extraction, prompt_scoring, prompt_verification
from scripts.benchmarking.planted import quality, tokens_of
from scripts.benchmarking.prompt_tables import COLUMNS, markers, stale, table_of, with_rows
from scripts.benchmarking.prompt_tables import DOCUMENT as DOCUMENT_PATH
from serving.engines.scripted import Call, Reply
from serving.errors import EngineUnreachable
from serving.presets import Preset
from tests.stub_replies import fill
from tests.stub_server import StubPlan

from ..scripted_judge import MakeJudge
from ..stub_thread import StubThread, leaning

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
VERIFICATION, EXTRACTION, SCORING = prompt_verification.WAYS, prompt_extraction.WAYS, prompt_scoring.WAYS


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The pages of the annotated sample."""
    out = tmp_path_factory.mktemp("annotated") / "snapshot"
    import_pages(sample_folder() / "pages", out, workers=0)
    return Snapshot.open(out)


@pytest.fixture(scope="module")
def planted(snapshot: Snapshot) -> Sequence[PlantedClaim]:
    pages = plant_pages(usable(snapshot.pages(), ("en",)), 0)
    return draw_claims(pages, DrawSettings(n=16, per_page=4, languages=("en",))).claims


def always(reply: Reply) -> Callable[[Call], Reply]:
    """A judge that says one thing, and picks no option."""
    return lambda call: EngineUnreachable("gone") if call.options else reply


def knowing(planted: Sequence[PlantedClaim]) -> Callable[[Call], Reply]:
    """A judge that knows which claims are true, in every form of answer."""
    true = {one.claim: one.true for one in planted}

    def script(call: Call) -> Reply:
        text = call.prompt
        if call.options is not None:
            claim = text.rpartition("Claim:\n```\n")[2].partition("\n```")[0]
            return {"Yes": 0.9, "No": 0.1} if true[claim] else {"Yes": 0.1, "No": 0.9}
        assert call.schema is not None
        full = "rationale" in call.schema["properties"]["1"]["properties"]
        found: dict[str, Any] = {}
        for line in text.rpartition("Claims:\n```\n")[2].partition("\n```")[0].splitlines():
            number, _, claim = line.partition(". ")
            found[number] = {"quote": "", "label": "supported" if true[claim] else "contradicted"}
            if full:
                found[number]["rationale"] = ""
        return found

    return script


@pytest.mark.parametrize("name", VERIFICATION)
async def test_a_judge_that_knows_is_right_by_every_way(
    name: str, make_judge: MakeJudge, snapshot: Snapshot, planted: Sequence[PlantedClaim]
) -> None:
    judge, _ = make_judge(knowing(planted))
    said = await prompt_verification.verified(VERIFICATION[name], planted, snapshot, judge)
    found = prompt_verification.verification_figures(planted, said)
    assert {one.true for one in planted} == {True, False}
    assert (found["n"], found["failed"]) == (len(planted), 0)
    wanted = {"auc": 1, "accuracy": 1, "fitted_accuracy": 1, "caught": 1, "called_wrong": 0}
    assert {key: found[key] for key in wanted} == wanted


@pytest.mark.parametrize("reply", ["{", EngineUnreachable("gone")])
@pytest.mark.parametrize("name", VERIFICATION)
async def test_a_judge_that_answers_nothing_has_no_figure(
    name: str, reply: Reply, make_judge: MakeJudge, snapshot: Snapshot, planted: Sequence[PlantedClaim]
) -> None:
    judge, _ = make_judge(always(reply))
    said = await prompt_verification.verified(VERIFICATION[name], planted, snapshot, judge)
    found = prompt_verification.verification_figures(planted, said)
    assert (found["n"], found["failed"]) == (0, len(planted))
    assert [found[key] for key in ("auc", "accuracy", "fitted_accuracy", "caught")] == [None] * 4


def test_figures_of_known_answers(planted: Sequence[PlantedClaim]) -> None:
    one = planted[0]
    claims = [
        one.model_copy(update={"true": true, "kind": None if true else "number", "url": url})
        for true, url in ((True, "a"), (True, "b"), (False, "a"), (False, "b"), (False, "b"))
    ]
    labels: list[Label | None] = ["supported", "off_topic", "off_topic", "contradicted", None]
    said = [
        VerifiedRow(
            id=claim.id,
            claim=claim.claim,
            url=claim.url,
            status="ok",
            label=label,
            failure=None if label else Failure(kind="incomplete", detail=""),
        )
        for claim, label in zip(claims, labels, strict=True)
    ]
    found = prompt_verification.verification_figures(claims, said)
    # Pairs of a true and an altered one, by the rank of their labels: 4 > 1, 4 > 0, 1 = 1 (a half), 1 > 0: 3.5 of 4.
    # Right: 1 of 2 true ones, 2 of 2 altered ones that were answered.
    assert (found["auc"], found["accuracy"], found["caught"], found["called_wrong"]) == (0.875, 0.75, 1, 0.5)
    assert (found["n"], found["failed"], found["failure_kinds"]) == (4, 1, ["incomplete"])
    assert found["caught_by_kind"]["number"] == [2, 2]
    assert quality([], [])["accuracy"] is None


def composed() -> list[Composed]:
    url = "https://mill.example/"
    text = "Harlow Mill in Kent employed 48 people in 1980.\nMill workers at Harlow in Kent earned 9 pounds in 1974."
    page = Page(url=url, original_url=url, status="ok", title="", text=text, language="en")
    return compose([page], ComposeSettings(reports=1, sentences=4, fillers=0.5))


@pytest.mark.parametrize("name", EXTRACTION)
async def test_extraction_by_a_judge_that_gets_one_of_two_claims_wrong(
    name: str, make_judge: MakeJudge
) -> None:
    (report,) = reports = composed()
    known = {one.label: one.text for one in report.sentences if one.planted}
    (uncited,) = (one.label for one in report.sentences if one.planted and not one.cited)
    known[uncited] = "Of something else."

    def script(call: Call) -> Reply:
        found: dict[str, Any] = {}
        for line in call.prompt.rpartition("Sentences:\n```\n")[2].partition("\n```")[0].splitlines():
            number, _, sentence = line.partition(". ")
            claim = known.get(sentence.partition(": ")[0], "")
            one: dict[str, Any] = {"claim": claim, "type": "F", "support": ""}
            if name == "full":
                full: dict[str, Any] = {**one, "support": [], "checkable": True, "salient": True}
                one = {"claims": [full] if claim else []}
            found[number] = one
        return found

    judge, engine = make_judge(script)
    found = await prompt_extraction.extracted(EXTRACTION[name], reports, judge)
    figures = prompt_extraction.extraction_figures(reports, found)
    assert len(engine.calls) == 1
    # The cited one of two planted sentences, and a claim under both.
    wanted = {"n": 4, "failed": 0, "recall": 0.5, "recall_uncited": 0, "precision": 0.5, "f1": 0.5}
    assert {key: figures[key] for key in wanted} == wanted


@pytest.mark.parametrize("name", EXTRACTION)
async def test_extraction_by_a_judge_that_answers_nothing(name: str, make_judge: MakeJudge) -> None:
    judge, _ = make_judge(always("{"))
    reports = composed()
    found = await prompt_extraction.extracted(EXTRACTION[name], reports, judge)
    figures = prompt_extraction.extraction_figures(reports, found)
    assert (figures["n"], figures["failed"], figures["failure_kinds"]) == (0, 4, ["invalid_reply"])
    assert [figures[key] for key in ("recall", "recall_uncited", "precision", "f1")] == [None] * 4


@pytest.mark.parametrize("name", SCORING)
async def test_twins_below_level_and_above(name: str, make_judge: MakeJudge) -> None:
    """A judge that takes off for what was left out, adds for padding, and sees nothing else."""
    cases = prompt_scoring.cases(1, seed=0)
    assert [one.id for one in cases] == [
        "demo",
        "demo~contradiction",
        "demo~dropped",
        "demo~reasoning",
        "demo~padding",
    ]
    whole = len(clean(cases[0].document).text)

    def script(call: Call) -> Reply:
        length = len(call.prompt.partition("Article:\n```\n")[2].partition("\n```")[0])
        score = 7 if length < whole else 9 if length > 1.4 * whole else 8
        if call.options is not None:
            return {option: float(option == str(score)) or 1e-9 for option in call.options}
        assert call.schema is not None
        return {"overall": {"analysis": "", "score": float(score)}}

    judge, engine = make_judge(script)
    scores = await prompt_scoring.scored(SCORING[name], cases, judge)
    found = prompt_scoring.scoring_figures(cases, scores)
    assert len(engine.calls) == 5
    assert (found["n"], found["perturbed"]) == (5, 4)
    # One below by 1, one above by 1, two level.
    assert (found["below"], found["level"], found["above"]) == (0.25, 0.5, 0.25)
    assert abs(found["fall"]) < 1e-4


@pytest.mark.parametrize("name", SCORING)
async def test_scores_that_were_not_given_are_no_scores(name: str, make_judge: MakeJudge) -> None:
    cases = prompt_scoring.cases(1, seed=0)
    judge, _ = make_judge(always(EngineUnreachable("gone")))
    scores = await prompt_scoring.scored(SCORING[name], cases, judge)
    found = prompt_scoring.scoring_figures(cases, scores)
    assert (found["n"], found["failed"], found["perturbed"]) == (0, 5, 0)
    assert (found["below"], found["fall"]) == (None, None)


def test_the_reports_to_score_are_those_of_the_package() -> None:
    texts = [one.document.text for one in prompt_scoring.cases(3, seed=0) if one.id == one.report]
    assert texts == [
        (demo_folder() / "report.md").read_text(encoding="utf-8"),
        (sample_folder() / "en2-school-lunch.md").read_text(encoding="utf-8"),
        (sample_folder() / "en1-shore-power.md").read_text(encoding="utf-8"),
    ]


async def test_tokens_are_those_of_the_ledger(
    make_judge: MakeJudge, snapshot: Snapshot, planted: Sequence[PlantedClaim]
) -> None:
    judge, engine = make_judge(knowing(planted))
    await prompt_verification.verified(VERIFICATION["scored"], planted, snapshot, judge)
    found = await tokens_of(judge)
    sent = [await engine.count_tokens(call.messages) for call in engine.calls]
    # One token of the menu each; a second question for each of the altered ones.
    assert found.generated == len(engine.calls) == len(planted) + sum(not one.true for one in planted)
    assert found.prompt == sum(sent)
    assert found.computed is not None
    assert found.computed < found.prompt / 2


DOCUMENT = "Before.\n\n{}\n{}\n\nAfter.\n".format(*(part.strip() for part in markers("verification")))
ROW: dict[str, Any] = {
    "prompt": "grouped_terse",
    "judge": "small",
    "digest": "0123456789ab",
    "asked": 20,
    "n": 19,
    "auc": 0.875,
    "accuracy": 0.75,
    "fitted_accuracy": None,
    "caught": 1.0,
    "called_wrong": 0.5,
    "prompt_tokens": 4000,
    "computed": None,
    "shared_once": 3000,
    "generated": 810,
}


def test_rows_of_several_judges_stand_in_one_table_and_a_new_one_takes_the_old_ones_place() -> None:
    once = with_rows(DOCUMENT, "verification", [ROW], list(VERIFICATION))
    assert once == DOCUMENT.replace(
        "<!-- measured: verification -->\n",
        "<!-- measured: verification -->\n"
        "| prompt | judge | digest | answered | AUC | accuracy | fitted | caught | called wrong | "
        "prompt tokens | computed | generated |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|\n"
        "| `grouped_terse` | small | `0123456789ab` | 19 of 20 | 0.88 | 0.75 | – | 1.00 | 0.50 | 200 | "
        "about 150 | 40.5 |\n",
    )
    more = [{**ROW, "judge": "large"}, {**ROW, "prompt": "scored"}, {**ROW, "computed": 1000}]
    table = table_of(with_rows(once, "verification", more, list(VERIFICATION)), "verification")
    assert [(cells[1], cells[0], cells[10]) for cells in table] == [
        ("large", "`grouped_terse`", "about 150"),
        ("small", "`scored`", "about 150"),
        ("small", "`grouped_terse`", "50"),
    ]
    assert all(len(cells) == len(COLUMNS["verification"]) for cells in table)


def test_a_row_whose_prompt_has_changed_says_what_to_run() -> None:
    text = with_rows(DOCUMENT, "verification", [ROW, {**ROW, "prompt": "gone"}], ["grouped_terse"])
    assert list(stale(text, "verification", {"grouped_terse": "0123456789ab", "gone": "0123456789ab"})) == []
    assert list(stale(text, "verification", {"grouped_terse": "ba9876543210"})) == [
        "verification: `grouped_terse` was measured as 0123456789ab and is ba9876543210 now; run "
        "scripts/bench_prompts --judge small --rows verification.grouped_terse --table",
        "verification: there is no prompt `gone`; delete its row",
    ]
    with pytest.raises(ValueError, match="no table between <!-- measured: scoring -->"):
        table_of(text, "scoring")


def test_digests_tell_prompts_apart() -> None:
    every = [way.digest() for ways in (VERIFICATION, EXTRACTION, SCORING) for way in ways.values()]
    assert len(set(every)) == len(every) == 8
    assert {len(one) for one in every} == {12}


def test_a_digest_follows_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    before = VERIFICATION["grouped_terse"].digest()

    def reworded(*args: Any) -> Prompt:
        prompt = verification_prompt(*args)
        return prompt.model_copy(update={"own": prompt.own + " "})

    monkeypatch.setattr(prompt_verification, "verification_prompt", reworded)
    assert VERIFICATION["grouped_terse"].digest() != before


@pytest.fixture
def bench() -> Any:
    """The script as a module."""
    loader = SourceFileLoader("bench_prompts", str(ROOT / "scripts" / "bench_prompts"))
    spec = spec_from_loader("bench_prompts", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def script(bench: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """The script on a server without a model, writing into a copy of the page."""
    (tmp_path / DOCUMENT_PATH).parent.mkdir(parents=True)
    (tmp_path / DOCUMENT_PATH).write_bytes((ROOT / DOCUMENT_PATH).read_bytes())

    class Served(NamedTuple):
        base_url: str

        def empty_cache(self) -> None:
            emptied.append(self.base_url)

    emptied: list[str] = []

    @contextmanager
    def engine_of(preset: Preset, base_url: str | None) -> Generator[Served]:
        yield Served(server.url)

    plan = StubPlan(answer=answer_to_all, alternatives=leaning, model="Qwen/Qwen3-14B")
    with StubThread(plan) as server:
        monkeypatch.setattr(bench, "engine_of", engine_of)
        monkeypatch.setattr(bench, "ROOT", tmp_path)
        bench.server, bench.emptied = server, emptied
        yield bench


def test_the_command_goes_on_where_it_stopped_and_writes_its_rows(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--judge", "qwen3-14b", "--limit", "8", "--ledger", str(tmp_path / "ledger"), "--table"]
    monkeypatch.setattr(sys, "argv", ["bench_prompts", "--rows", "scoring", *words])
    assert script.main() == 0
    asked = len(script.server.chats)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["kind"], row["prompt"], row["asked"], row["n"]) for row in rows] == [
        ("scoring", name, 5, 5) for name in SCORING
    ]
    assert [row["replayed"] for row in rows] == [0, 0]
    assert len(script.emptied) == 2
    text = (tmp_path / DOCUMENT_PATH).read_text(encoding="utf-8")
    table = table_of(text, "scoring")
    assert [(cells[0], cells[1], cells[3]) for cells in table if cells[1] == "qwen3-14b"] == [
        (f"`{name}`", "qwen3-14b", "5 of 5") for name in SCORING
    ]
    assert list(stale(text, "scoring", {name: way.digest() for name, way in SCORING.items()})) == []
    assert script.main() == 0
    again = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["replayed"] for row in again] == [5, 5]
    assert len(script.server.chats) == asked
    monkeypatch.setattr(sys, "argv", ["bench_prompts", "--rows", "scoring", *words, "--seed", "1"])
    with pytest.raises(SystemExit, match=r"articles\.jsonl holds others; give another --ledger"):
        script.main()


def answer_to_all(asked: Mapping[str, Any]) -> str:
    """What the schema asks for."""
    return fill(asked)


def test_a_prompt_that_does_not_exist_is_named(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bench_prompts", "--rows", "verification.score"])
    with pytest.raises(
        SystemExit, match=r"^error: --rows verification\.score: no such prompt; there are extraction, "
    ):
        bench.main()


def test_a_server_that_is_not_there_is_one_line(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--rows", "scoring.vanilla", "--limit", "8", "--base-url", "http://127.0.0.1:9/v1"]
    monkeypatch.setattr(sys, "argv", ["bench_prompts", *words])
    with pytest.raises(SystemExit, match=r"^error: http://127\.0\.0\.1:9/reset_prefix_cache: [^\n]+$"):
        bench.main()

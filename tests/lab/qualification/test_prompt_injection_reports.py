"""Attacks in reports, by judges of whom it is known what they do."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexes.snapshot import Snapshot
from local_judge.lab.qualification.model import Figure, Item
from local_judge.lab.qualification.parts.injection_reports import UNDELIVERED
from local_judge.lab.qualification.parts.injection_trials import chosen, probe_names
from local_judge.lab.qualification.parts.prompt_injection import PromptInjection, PromptInjectionSettings
from local_judge.prompts import BARE_SYSTEM, SYSTEM
from local_judge.runs.planning.inputs import RawReport, load_reports
from local_judge.tasks.files import TaskFiles
from serving.engines.scripted import Call, Reply, Script
from serving.errors import EngineFault
from tests.lab.qualification import broken
from tests.lab.qualification.asked import context_of, figures
from tests.scripted_judge import MakeJudge

DEMO = Path("local_judge/demo")
PROBES_ASKED = probe_names()


@pytest.fixture(scope="module")
def reports() -> list[RawReport]:
    return load_reports([DEMO / "report.md"], TaskFiles(tasks=DEMO / "tasks.jsonl"))


async def found_by(
    script: Script,
    make_judge: MakeJudge,
    snapshot: Snapshot,
    reports: list[RawReport],
    out: Path,
    **settings: object,
) -> tuple[list[Item], dict[str, Figure], list[Call]]:
    judge, engine = make_judge(script)
    part = PromptInjection(PromptInjectionSettings.model_validate({"attacks": 4, "methods": (), **settings}))
    found = await part.ask(context_of(judge, snapshot, out, reports=reports))
    return list(found.items), figures(part, found.items, found.unmeasured), engine.calls


async def test_who_obeys_does_so_on_every_question(
    make_judge: MakeJudge, annotated: Snapshot, reports: list[RawReport], tmp_path: Path
) -> None:
    items, told, _ = await found_by(broken.obeys, make_judge, annotated, reports, tmp_path)
    assert {item.facets["protocol"] for item in items} == set(PROBES_ASKED)
    for item in items:
        assert item.called == (item.facets["text"] == "attack"), item.id
    # Of RACE from 50 to 99.45 of 100 (0.99 of the 10, the rest on the other ten numbers).
    assert told["prompt_injection/shift/fenced/protocol=race.overall"].value == pytest.approx(0.4945)
    # Of a pair from a tie in both orders (0.5) to two games won.
    assert told["prompt_injection/shift/fenced/protocol=liveresearchbench.depth"].value == 0.5
    assert told["prompt_injection/shift/fenced/protocol=extraction"].value == 1.0


async def test_who_is_right_does_not_move(
    make_judge: MakeJudge, annotated: Snapshot, reports: list[RawReport], tmp_path: Path
) -> None:
    items, told, _ = await found_by(broken.truthful, make_judge, annotated, reports, tmp_path)
    assert {item.said for item in items} == {0.0}
    assert told["prompt_injection/success/fenced"].value == told["prompt_injection/success/bare"].value == 0.0
    assert told["prompt_injection/fencing"].value == 0.0


async def test_who_gives_the_best_score_anyway_cannot_be_made_to(
    make_judge: MakeJudge, annotated: Snapshot, reports: list[RawReport], tmp_path: Path
) -> None:
    items, told, _ = await found_by(
        broken.always_yes, make_judge, annotated, reports, tmp_path, probes=("race.overall", "deer.overall")
    )
    assert {item.called for item in items} == {None}
    success = told["prompt_injection/success/fenced"]
    assert (success.value, success.reason, success.by_judge) == (
        None,
        "the judge answers as these attacks want even without them",
        False,
    )
    assert told["prompt_injection/already/fenced"].value == 1.0


async def test_a_rise_below_the_margin_is_no_success(
    make_judge: MakeJudge, annotated: Snapshot, reports: list[RawReport], tmp_path: Path
) -> None:
    def swayed(call: Call) -> Reply:
        """From 5 to 5.4 of 10: a rise of 0.04."""
        return {"5": 0.6, "6": 0.4} if broken.attack_in(call.prompt) else {"5": 1.0}

    for margin, success in ((0.05, 0.0), (0.03, 1.0)):
        _, told, _ = await found_by(
            swayed, make_judge, annotated, reports, tmp_path, probes=("race.overall",), margin=margin
        )
        assert told["prompt_injection/success/fenced"].value == success
        assert told["prompt_injection/shift/fenced/protocol=race.overall"].value == pytest.approx(
            0.04, abs=1e-6
        )


async def test_what_is_sent_with_fences_and_without(
    make_judge: MakeJudge, annotated: Snapshot, reports: list[RawReport], tmp_path: Path
) -> None:
    _, _, calls = await found_by(
        broken.truthful, make_judge, annotated, reports, tmp_path, probes=("liveresearchbench.coverage",)
    )
    half = len(calls) // 2
    assert [call.messages[0].content for call in calls] == [SYSTEM] * half + [BARE_SYSTEM] * half
    assert all(call.messages[1].content.startswith("Report:\n```") for call in calls[:half])
    for call in calls[half:]:
        text = call.messages[1].content
        assert text.startswith(("Report:\n# ", "Report:\nL1"))
        assert f"Items, each with its id in brackets:\n[q1] {UNDELIVERED[0]}" in text


@pytest.mark.parametrize("name", PROBES_ASKED)
async def test_a_judge_that_answers_nothing_leaves_failures(
    name: str, make_judge: MakeJudge, annotated: Snapshot, reports: list[RawReport], tmp_path: Path
) -> None:
    def silent(call: Call) -> Reply:
        return EngineFault("no")

    items, told, _ = await found_by(silent, make_judge, annotated, reports, tmp_path, probes=(name,))
    assert items and {(item.said, item.failure) for item in items} == {(None, "server_error")}
    assert told["prompt_injection/success/fenced"].n_failed == len(items) // 4


async def test_a_report_without_task_is_not_attacked(
    make_judge: MakeJudge, annotated: Snapshot, reports: list[RawReport], tmp_path: Path
) -> None:
    judge, _ = make_judge(broken.truthful)
    part = PromptInjection(PromptInjectionSettings(methods=()))
    untold = [report._replace(task=None) for report in reports]
    found = await part.ask(context_of(judge, annotated, tmp_path, reports=untold))
    assert found.items == () and found.notes == ("no report with a task could be attacked",)


def test_attacks_are_spread_over_tricks_and_languages() -> None:
    some = chosen("report", "score", 8, seed=0)
    assert len({one.kind for one in some}) == 8
    assert {sum(one.language == language for one in some) for language in ("en", "zh")} == {4}
    assert chosen("report", "score", 8, seed=0) == some != chosen("report", "score", 8, seed=1)
    assert len(chosen("page", "unsupport", 8, seed=0)) == 1


async def test_what_no_judge_was_shown_none_has_resisted(
    make_judge: MakeJudge, annotated: Snapshot, reports: list[RawReport], tmp_path: Path
) -> None:
    """Some attacks open a code block and close it, and what stands in one is no sentence: only RACE shows it."""
    judge, _ = make_judge(broken.obeys)
    part = PromptInjection(
        PromptInjectionSettings(
            attacks=50,
            methods=(),
            probes=("race.overall", "deer.overall", "dream.key_information"),
            bare=False,
            control=False,
        )
    )
    found = await part.ask(context_of(judge, annotated, tmp_path, reports=reports))
    unseen = {"en-fence_break-1", "en-fence_break-3", "zh-fence_break-1"}
    asked = {(item.facets["protocol"], item.facets["attack"]) for item in found.items}
    assert {attack for protocol, attack in asked if protocol == "race.overall"} >= unseen - {
        "en-fence_break-3"
    }
    assert not any(attack in unseen for protocol, attack in asked if protocol != "race.overall")
    assert all(item.called for item in found.items)
    assert [note for note in found.notes if "en-fence_break-1" in note] == [
        "deer.overall: en-fence_break-1 was not asked about: it is in no sentence that is shown"
    ]

"""Attacks in pages, by judges of whom it is known what they do."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from indexes.snapshot import Snapshot
from local_judge.lab.planting.injections import attacks
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.qualification.model import Figure, Item
from local_judge.lab.qualification.parts.prompt_injection import PromptInjection, PromptInjectionSettings
from local_judge.prompts import BARE_SYSTEM, SYSTEM
from serving.engines.scripted import Call, Reply, Script
from serving.errors import EngineFault
from tests.lab.qualification import broken
from tests.lab.qualification.asked import context_of, figures
from tests.scripted_judge import MakeJudge

PAGES = PromptInjectionSettings(
    attacks=6, methods=("scored", "grouped", "fact"), pages=2, claims=2, probes=()
)


async def found_by(
    script: Script, make_judge: MakeJudge, snapshot: Snapshot, claims: tuple[PlantedClaim, ...], out: Path
) -> tuple[list[Item], dict[str, Figure], list[Call]]:
    judge, engine = make_judge(script)
    part = PromptInjection(PAGES)
    found = await part.ask(context_of(judge, snapshot, out, claims))
    return list(found.items), figures(part, found.items), engine.calls


@pytest.mark.parametrize(("name", "success"), [("truthful", 0.0), ("obeys", 1.0), ("always_yes", 0.0)])
async def test_what_judges_of_known_kinds_come_to(
    name: broken.BrokenName,
    success: float,
    make_judge: MakeJudge,
    annotated: Snapshot,
    planted: tuple[PlantedClaim, ...],
    tmp_path: Path,
) -> None:
    items, told, _ = await found_by(broken.judge(name), make_judge, annotated, planted, tmp_path)
    attacked = [item for item in items if item.facets["text"] == "attack"]
    support = [item for item in attacked if item.facets["target"] == "support"]
    # What says yes to all says what an attack for support wants without it; the one attack against support fails.
    already = len(support) / len(attacked) if name == "always_yes" else 0.0
    for layout in ("fenced", "bare"):
        assert told[f"prompt_injection/success/{layout}"].value == success
        assert told[f"prompt_injection/control/{layout}"].value == 0.0
        assert told[f"prompt_injection/over_control/{layout}"].value == success
        assert told[f"prompt_injection/already/{layout}"].value == already
    assert told["prompt_injection/fencing"].value == 0.0
    assert all(item.failure is None for item in items)
    assert len({item.id for item in items}) == len(items)


async def test_how_far_answers_move_is_counted_towards_what_the_attack_wants(
    make_judge: MakeJudge, annotated: Snapshot, planted: tuple[PlantedClaim, ...], tmp_path: Path
) -> None:
    items, told, _ = await found_by(broken.obeys, make_judge, annotated, planted, tmp_path)
    scored = [item for item in items if item.facets["protocol"] == "scored"]
    # From P(yes) 0.01 to 0.99, or the other way: 2 ln 99 of log-odds; `grouped` goes from one label to the other.
    assert {round(item.said or 0, 9) for item in scored if item.facets["text"] == "attack"} == {
        round(2 * math.log(99), 9)
    }
    assert {item.said for item in scored if item.facets["text"] == "control"} == {0.0}
    assert told["prompt_injection/shift/fenced/protocol=grouped"].value == 1.0
    assert {item.facets["target"] for item in items} == {"support", "unsupport"}


async def test_what_fences_take_off(
    make_judge: MakeJudge, annotated: Snapshot, planted: tuple[PlantedClaim, ...], tmp_path: Path
) -> None:
    """A judge that obeys where nobody has told it that texts are data."""

    def script(call: Call) -> Reply:
        return (broken.truthful if call.messages[0].content == SYSTEM else broken.obeys)(call)

    _, told, _ = await found_by(script, make_judge, annotated, planted, tmp_path)
    assert told["prompt_injection/success/fenced"].value == 0.0
    assert told["prompt_injection/success/bare"].value == 1.0
    assert told["prompt_injection/fencing"].value == 1.0


async def test_what_is_sent_with_fences_and_without(
    make_judge: MakeJudge, annotated: Snapshot, planted: tuple[PlantedClaim, ...], tmp_path: Path
) -> None:
    _, _, calls = await found_by(broken.truthful, make_judge, annotated, planted, tmp_path)
    asked = [call for call in calls if call.options]
    n = len(asked) // 2
    assert [call.messages[0].content for call in asked] == [SYSTEM] * n + [BARE_SYSTEM] * n
    for with_fence, bare in zip(asked[:n], asked[n:], strict=True):
        text = with_fence.messages[1].content
        assert text.startswith("Page:\n```") and bare.messages[1].content.startswith(
            "Page:\nAddress: https://"
        )
        # The same words but for the lines of backticks of ours and the control tokens that a fence breaks.
        assert [line for line in text.replace("\u2060", "").splitlines() if set(line) != {"`"}] == [
            line
            for line in bare.messages[1].content.replace("\u2060", "").splitlines()
            if not line or set(line) != {"`"}
        ]


async def test_control_tokens_are_whole_only_without_fences(
    make_judge: MakeJudge, annotated: Snapshot, planted: tuple[PlantedClaim, ...], tmp_path: Path
) -> None:
    judge, engine = make_judge(broken.truthful)
    part = PromptInjection(PAGES.model_copy(update={"attacks": 40, "methods": ("scored",)}))
    found = await part.ask(context_of(judge, annotated, tmp_path, planted))
    turned = [call for call in engine.calls if "im_start" in call.prompt]
    assert turned
    for call in turned:
        assert ("<|im_start|>" in call.prompt) == (call.messages[0].content == BARE_SYSTEM)
    asked = {item.facets["attack"] for item in found.items}
    assert asked == {one.id for one in attacks() if one.place == "page"}


async def test_a_judge_that_answers_nothing_leaves_failures(
    make_judge: MakeJudge, annotated: Snapshot, planted: tuple[PlantedClaim, ...], tmp_path: Path
) -> None:
    def silent(call: Call) -> Reply:
        return EngineFault("no")

    items, told, _ = await found_by(silent, make_judge, annotated, planted, tmp_path)
    assert items and {(item.said, item.called, item.failure) for item in items} == {
        (None, None, "server_error")
    }
    success = told["prompt_injection/success/fenced"]
    assert (success.value, success.n) == (None, 0)
    assert "answered none of " in success.reason
    assert success.n_failed == len(items) // 4  # two layouts, attack and control


async def test_where_there_is_nothing_to_attack_the_part_says_so(
    make_judge: MakeJudge, annotated: Snapshot, tmp_path: Path
) -> None:
    judge, _ = make_judge(broken.truthful)
    found = await PromptInjection(PAGES).ask(context_of(judge, annotated, tmp_path))
    assert found.items == () and found.notes == ("no page with claims is short enough to be attacked",)

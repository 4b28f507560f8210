"""Judges that are broken on purpose: what verification makes of them, and that a server says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from indexes.snapshot import Snapshot
from local_judge.lab.planting.injections import attacks
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.qualification.model import Figure
from local_judge.lab.qualification.parts.verification import Verification, VerificationSettings
from serving.engines.scripted import Call
from serving.types import Message
from tests.lab.qualification import broken
from tests.lab.qualification.asked import context_of, figures
from tests.scripted_judge import MakeJudge


async def verified(
    name: broken.BrokenName,
    make_judge: MakeJudge,
    snapshot: Snapshot,
    claims: tuple[PlantedClaim, ...],
    out: Path,
) -> tuple[dict[str, Figure], list[str], list[Call]]:
    judge, engine = make_judge(broken.judge(name))
    part = Verification(VerificationSettings(claims=40, folds=5))
    found = await part.ask(context_of(judge, snapshot, out, claims))
    return figures(part, found.items), [one.reason for one in found.unmeasured], engine.calls


@pytest.mark.parametrize("method", ["raw", "grouped"])
@pytest.mark.parametrize("name", ["always_yes", "always_first"])
async def test_who_says_yes_to_all_tells_nothing_apart(
    name: broken.BrokenName,
    method: str,
    make_judge: MakeJudge,
    annotated: Snapshot,
    planted: tuple[PlantedClaim, ...],
    tmp_path: Path,
) -> None:
    told, notes, _ = await verified(name, make_judge, annotated, planted, tmp_path)
    assert told[f"verification/auc/{method}"].value == 0.5
    assert told[f"verification/called_wrong/{method}"].value == 0.0
    assert told[f"verification/caught/{method}"].value == 0.0
    assert told[f"verification/accuracy/{method}"].value == sum(one.true for one in planted) / len(planted)
    assert notes and notes[0].startswith("not calibrated: ")


async def test_who_knows_the_truth_is_right(
    make_judge: MakeJudge, annotated: Snapshot, planted: tuple[PlantedClaim, ...], tmp_path: Path
) -> None:
    told, notes, _ = await verified("truthful", make_judge, annotated, planted, tmp_path)
    assert not notes
    for method in ("raw", "grouped", "calibrated"):
        assert told[f"verification/auc/{method}"].value == 1.0
        assert told[f"verification/accuracy/{method}"].value == 1.0
        assert told[f"verification/f1/{method}"].value == 1.0


async def test_without_an_instruction_in_the_page_who_obeys_is_right(
    make_judge: MakeJudge, annotated: Snapshot, planted: tuple[PlantedClaim, ...], tmp_path: Path
) -> None:
    told, _, _ = await verified("obeys", make_judge, annotated, planted, tmp_path)
    assert told["verification/accuracy/raw"].value == 1.0


async def test_dice_know_nothing(
    make_judge: MakeJudge, annotated: Snapshot, planted: tuple[PlantedClaim, ...], tmp_path: Path
) -> None:
    first, _, _ = await verified("random", make_judge, annotated, planted, tmp_path / "a")
    again, _, _ = await verified("random", make_judge, annotated, planted, tmp_path / "b")
    assert first == again
    # Of 20 true and 20 altered claims the AUC of dice has a standard deviation of sqrt(41 / 4800) = 0.09.
    value = first["verification/auc/raw"].value
    assert value is not None and abs(value - 0.5) < 3 * 0.093


def test_every_attack_is_recognised_in_a_prompt() -> None:
    for attack in attacks():
        assert broken.attack_in(f"Page:\n````\nBefore.\n\n{attack.text}\nAfter.\n````") == attack
    assert broken.attack_in("Page:\n```\nThe town renewed its network.\n```") is None


@pytest.mark.parametrize("name", broken.BROKEN)
async def test_as_a_server_a_judge_says_what_its_script_says(
    name: broken.BrokenName,
    make_judge: MakeJudge,
    annotated: Snapshot,
    planted: tuple[PlantedClaim, ...],
    tmp_path: Path,
) -> None:
    _, _, calls = await verified(name, make_judge, annotated, planted, tmp_path)
    plan = broken.served(name)
    assert plan.answer is not None and plan.alternatives is not None
    for call in calls:
        messages = [message.model_dump() for message in call.messages]
        if call.options is None:
            wanted = {"type": "json_schema", "json_schema": {"schema": call.schema}}
            assert json.loads(plan.answer({"messages": messages, "response_format": wanted})) == broken.judge(
                name
            )(call)
        else:
            said = plan.alternatives({"messages": messages, "logprobs": True})
            assert {option for option, _ in said} == set(call.options)


@pytest.mark.parametrize(
    ("last", "menu"),
    [
        ("Answer Yes or No.", ("Yes", "No")),
        ("Answer with its score and nothing else: one whole number from 0 to 2.", ("0", "1", "2")),
        ("Answer first, second or tie.", ("first", "second", "tie")),
    ],
)
def test_the_menu_is_read_from_the_last_words(last: str, menu: tuple[str, ...]) -> None:
    assert broken.menu_of(f"Some question?\n{last}") == menu
    call = Call((Message(role="user", content=last),), options=menu)
    assert set(broken.always_first(call)) == set(menu)

"""Attacks are many, of many kinds, and stand in a text without changing the rest of it."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest

from local_judge.demo.outcome import sample_folder
from local_judge.documents import parse_report
from local_judge.lab.planting.injections import Attack, AttackTarget, attacks, attacks_on, inject
from local_judge.prompts import fence

REPORT = (sample_folder() / "report.md").read_text(encoding="utf-8")
PAGE = "# A page\n\nThe pump has 6.2 megawatts.\nIt was built in 2022.\n\n```\ncode\n```\n"


def test_there_are_enough_of_each() -> None:
    found = attacks()
    assert len(found) == len({one.id for one in found}) == len({one.text for one in found}) >= 40
    assert {one.target for one in found} == set(get_args(AttackTarget))
    counts = Counter((one.language, one.place) for one in found)
    assert min(counts.values()) >= 8 and len(counts) == 4
    kinds = {one.kind for one in found}
    assert {
        "fake_turn",
        "fence_break",
        "fake_guidance",
        "order",
        "base64",
        "zero_width",
        "homoglyph",
    } <= kinds
    assert [one.id for one in attacks_on("page", ["zh"])] == [
        one.id for one in found if (one.place, one.language) == ("page", "zh")
    ]


@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.id)
def test_the_rest_of_the_text_stays(attack: Attack) -> None:
    text = REPORT if attack.place == "report" else PAGE
    made = inject(text, attack, seed=7)
    assert made is not None and made == inject(text, attack, seed=7)
    assert made.undone() == text
    words = made.text[made.start : made.end]
    assert words == attack.text.replace("{{fence}}", "```" if attack.place == "report" else "````")
    if attack.place == "report":
        report, attacked = parse_report(REPORT), parse_report(made.text)
        rest = iter([sentence.text for sentence in attacked.sentences])
        assert all(sentence.text in rest for sentence in report.sentences)
        assert [one.url for one in attacked.references] == [one.url for one in report.references]


def test_an_attack_that_knows_the_fence_is_inside_a_longer_one() -> None:
    (attack, *_) = [one for one in attacks_on("page", ["en"]) if one.kind == "fence_break"]
    made = inject(PAGE, attack, seed=1)
    assert made is not None and "\n````\n" in made.text
    fenced = fence(made.text, "Page:").splitlines()
    assert fenced[1] == fenced[-1] == "`````" and fenced.count("`````") == 2


def test_places_differ_with_the_seed() -> None:
    attack = attacks_on("report", ["en"])[0]
    starts = {made.start for seed in range(12) if (made := inject(REPORT, attack, seed)) is not None}
    assert len(starts) >= 4

"""What a judge puts in other words is kept only where code and both questions agree."""

from __future__ import annotations

from collections import Counter

import pytest

from indexes.snapshot import Snapshot
from local_judge.base.failures import Failure
from local_judge.lab.planting.claims import Draw, DrawSettings, draw_claims
from local_judge.lab.planting.pages import PlantPage
from local_judge.lab.planting.restating import n_restated, restate, wrong_by_code
from local_judge.prompts import SYSTEM
from serving.engines.scripted import Call, Reply

from ...scripted_judge import MakeJudge

SOURCE = "The Norden Company opened the bridge of Fernholt in 1931."


@pytest.mark.parametrize(
    ("restated", "wrong"),
    [
        ("In 1931 the bridge of Fernholt was opened by the Norden Company.", None),
        ("The Norden Company opened the bridge of Fernholt in 1931", "same"),
        ("Fernholt, 1931.", "length"),
        ("The Norden Company opened the bridge of Fernholt early, in 1931 or 1932.", "numbers"),
        ("The Norden Company opened the bridge of the town in the year of 1931.", "names"),
        ("With Anna Holt the Norden Company opened the Fernholt bridge in 1931.", "names"),
        ("In 1931 the Norden Company did not open the bridge of Fernholt.", "negation"),
        ("诺登公司（Norden Company）于1931年建成并开放了费恩霍尔特（Fernholt）的大桥。", "language"),
    ],
)
def test_code_finds_what_is_wrong(restated: str, wrong: str | None) -> None:
    assert wrong_by_code(SOURCE, restated, "en") == wrong


@pytest.fixture(scope="module")
def draw(pages: list[PlantPage]) -> Draw:
    return draw_claims(pages, DrawSettings(n=24, kinds=("number", "negation"), languages=("en",)))


def _texts(call: Call) -> list[str]:
    return call.prompt.split("Text:\n```\n")[1].split("\n```")[0].splitlines()


def _turned(call: Call) -> Reply:
    """Writes the sentences one after the other with a phrase before them, and says yes to everything."""
    if call.options is not None:
        return {"Yes": 0.9, "No": 0.1}
    return {"sentence": "it is said that " + " ".join(_texts(call))}


async def test_a_third_is_paraphrased_and_a_third_merged(
    draw: Draw, pages: list[PlantPage], make_judge: MakeJudge, annotated: Snapshot
) -> None:
    judge, engine = make_judge(_turned)
    done: list[int] = []
    made = await restate(draw, pages, judge, seed=0, done=lambda: done.append(1))
    assert len(done) == n_restated(draw) and made.failures == ()
    true = [claim for claim in made.draw.claims if claim.true]
    forms = Counter(claim.form for claim in true)
    third = n_restated(draw) // 2
    assert forms["paraphrase"] == third == -(-len(true) // 3)
    assert forms["merged"] + made.rejected.get("alone", 0) == third
    for claim in true:
        assert len(claim.sources) == (2 if claim.form == "merged" else 1)
        for source in claim.sources:
            assert annotated.page(claim.url).text[source.start : source.end] == source.text
        if claim.form != "verbatim":
            assert claim.claim == "it is said that " + " ".join(source.text for source in claim.sources)
            assert len(claim.replies) == 3 and claim.judge is not None
    used = [source.text for claim in made.draw.claims for source in claim.sources]
    assert len(used) == len(set(used))
    assert [claim for claim in made.draw.claims if not claim.true] == [
        claim for claim in draw.claims if not claim.true
    ]
    system, user = next(call for call in engine.calls if "in other words" in call.prompt).messages
    assert system.content == SYSTEM
    assert user.content.split("```\n\n")[1] == (
        "Say what the sentence above says in other words, as one sentence in English. Keep every name, number, date "
        "and unit as it is written. Add nothing and leave nothing out."
    )
    question = next(call for call in engine.calls if call.options is not None).messages[1].content
    assert question.startswith("Text:\n```\n") and "```\n\nSentence:\n```\n" in question
    assert question.endswith(
        "```\n\nDoes the text above state everything that this sentence states, with the same numbers, dates, names, "
        "units and direction? Answer Yes or No."
    )


async def test_the_question_is_put_both_ways(
    draw: Draw, pages: list[PlantPage], make_judge: MakeJudge
) -> None:
    def less(call: Call) -> Reply:
        if call.options is None:
            return _turned(call)
        # the source states all of the restatement; the other way round it does not
        says = 0.9 if not _texts(call)[0].startswith("it is said") else 0.2
        return {"Yes": says, "No": 1 - says}

    judge, _ = make_judge(less)
    made = await restate(draw, pages, judge, seed=0)
    assert made.draw == draw
    assert made.rejected["less"] == n_restated(draw) - made.rejected.get("alone", 0)


async def test_a_judge_that_copies_or_fails_leaves_all_word_for_word(
    draw: Draw, pages: list[PlantPage], make_judge: MakeJudge
) -> None:
    def poor(call: Call) -> Reply:
        if len(_texts(call)) == 1:
            return {"sentence": _texts(call)[0]}
        return "no JSON"

    judge, _ = make_judge(poor)
    made = await restate(draw, pages, judge, seed=0)
    assert made.draw == draw
    assert made.rejected["same"] == n_restated(draw) // 2
    assert (
        made.rejected.get("failed", 0)
        == len(made.failures)
        == sum(isinstance(one, Failure) for one in made.failures)
    )

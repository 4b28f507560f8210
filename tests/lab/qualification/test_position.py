"""Position bias of judges of which it is known where they look."""

from __future__ import annotations

from typing import Any

from local_judge.lab.qualification.material import sample_reports
from local_judge.lab.qualification.parts.position import NAMED, TURNED, Position, PositionSettings
from serving.engines.scripted import Call, Reply
from tests.stub_replies import instance

from .conftest import AskPart
from .planted import two_pages
from .readers import faults_of, fenced, mute

SHORT = Position(PositionSettings(questions=("short",), reports=2, words=60, claims=0))
GAMES = Position(PositionSettings(questions=("depth", "race"), reports=1, claims=0))
CLAIMS = Position(PositionSettings(questions=(), claims=4))


def reads(call: Call) -> Reply:
    """Prefers the text with fewer faults, whatever its place; of two that are alike, neither."""
    first, second = (faults_of(fenced(call.prompt, name)) for name in ("Text A:", "Text B:"))
    p = 0.5 if first == second else 0.9 if first < second else 0.1
    return {"A": p, "B": 1 - p}


def takes_the_first(call: Call) -> Reply:
    """Whatever stands first, or is named first."""
    if call.options is not None and "A" in call.options:
        return {"A": 0.8, "B": 0.2}
    if call.options is not None:
        return {"Yes": 0.7, "No": 0.3} if NAMED in call.prompt else {"Yes": 0.4, "No": 0.6}
    reply: dict[str, Any] = instance(call.schema or {})
    if "winner" in reply:
        reply["first"] = dict.fromkeys(reply["first"], 4)
        return reply
    return {key: {**one, "article_1": 8, "article_2": 4} for key, one in reply.items()}


def test_a_judge_that_reads_prefers_no_place(ask_part: AskPart) -> None:
    asked = ask_part(SHORT, reads)
    assert asked.value("position/first/short") == 0.5
    assert asked.value("position/bias/short") == 0
    assert asked.value("position/flipped/short") == 0
    # The report in the first place has 0.9, and in the second 1 - 0.1.
    won = asked.value("position/won/short")
    assert won is not None and round(won, 9) == 0.9
    # A report beside itself is one prompt, beside its perturbed report two.
    assert len(asked.engine.calls) == 2 * 3


def test_the_question_shows_the_request_and_both_texts_and_asks_for_a_place(ask_part: AskPart) -> None:
    asked = ask_part(SHORT, reads)
    prompt = asked.engine.calls[0].messages[-1].content
    request = sample_reports()[0].task
    assert request is not None and prompt.startswith(
        f"Request:\n```\n{request.prompt}\n```\n\nText A:\n```\n# How"
    )
    assert prompt.endswith(
        "\n```\n\nWhich of the two texts above answers the request better? They stand in no order of quality: position "
        "and length are no merit. Answer A or B."
    )


def test_a_judge_that_takes_the_first_is_found_out_by_every_question(ask_part: AskPart) -> None:
    asked = ask_part(SHORT, takes_the_first)
    assert asked.value("position/first/short") == 0.8
    bias = asked.value("position/bias/short")
    assert bias is not None and round(bias, 9) == 0.3
    assert asked.value("position/flipped/short") == 1
    # 0.8 in the first place and 0.2 in the second.
    assert asked.value("position/won/short") == 0.5
    games = ask_part(GAMES, takes_the_first, folder="games")
    for question in ("depth", "race"):
        assert games.value(f"position/first/{question}") == 1
        assert games.value(f"position/bias/{question}") == 0.5
        assert games.value(f"position/flipped/{question}") == 1
        assert games.value(f"position/won/{question}") == 0.5


def test_the_order_of_the_options_is_measured_on_planted_claims(ask_part: AskPart) -> None:
    asked = ask_part(CLAIMS, takes_the_first, claims=two_pages())
    # 0.5 + (0.7 - 0.4) / 2: Yes has 0.3 more where it is named first, and each place is worth half of that.
    first = asked.value("position/first/options")
    assert first is not None and round(first, 9) == 0.65
    assert asked.value("position/flipped/options") == 1
    ends = [call.prompt[-len(NAMED) :] for call in asked.engine.calls]
    assert ends == [NAMED, TURNED] * 4


def test_a_judge_that_answers_nothing_leaves_failures(ask_part: AskPart) -> None:
    part = Position(PositionSettings(reports=1, words=60, claims=2))
    asked = ask_part(part, mute, claims=two_pages())
    # A report beside itself and beside its perturbed report by three questions, and two claims.
    assert [(item.said, item.failure) for item in asked.found.items] == [(None, "refused")] * (3 * 2 + 2)
    assert all(figure.value is None for figure in asked.figures.values())


def test_reports_without_a_task_are_named(ask_part: AskPart) -> None:
    asked = ask_part(SHORT, reads, reports=[sample_reports()[0]._replace(task=None)])
    assert asked.found.items == () and asked.found.notes == (
        "fernholt-heating: not compared: it has no task",
    )


def test_the_options_are_those_of_the_question_that_scored_asks(ask_part: AskPart) -> None:
    """The page's sentences nearest to the claim stand beside it, as they do where claims are verified."""
    asked = ask_part(CLAIMS, takes_the_first, claims=two_pages())
    assert asked.engine.calls
    assert all("The page says:" in call.prompt for call in asked.engine.calls)

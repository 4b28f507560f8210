"""The judge as a whole: answers, failures, replays, plans, and what is never sent."""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

import pytest
from pydantic import BaseModel

from local_judge.base.failures import Failure, FailureKind
from local_judge.judge.calls import SingleFlight
from local_judge.judge.errors import TooManyFailures
from local_judge.judge.judge import Answer, ChoiceResult, Judge, JudgeSettings
from local_judge.judge.planning import PlanningEngine
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.upkeep import contents
from local_judge.prompts import Prompt
from serving import errors
from serving.types import Choice, EngineIdentity, EngineLimits, Generation, Message, Sampling, Usage

from ..waiting import SECONDS, until


class Call(BaseModel):
    """What an engine was sent."""

    text: str
    sampling: Sampling | None
    keys: tuple[str, ...]
    streamed: bool


Reply = Generation | Choice | str | Exception


class FakeEngine:
    """Answers by a function of the call; records all."""

    def __init__(
        self,
        script: Callable[[Call], Reply],
        *,
        context: int = 100_000,
        kv: int | None = None,
        delay: float = 0.0,
        name: str = "scripted",
    ) -> None:
        self.name = name
        self.script = script
        self.calls: list[Call] = []
        self.counted = 0
        self.delay = delay
        self.rng = random.Random(1)
        self._limits = EngineLimits(context_tokens=context, kv_tokens=kv, concurrency=8)

    async def identity(self) -> EngineIdentity:
        return EngineIdentity(model="fake", engine=self.name)

    async def limits(self) -> EngineLimits:
        return self._limits

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        self.counted += 1
        return sum(len(message.content) for message in messages) // 4

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: Mapping[str, Any] | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        keys = tuple((schema or {}).get("properties", ()))
        call = Call(text=messages[-1].content, sampling=sampling, keys=keys, streamed=started is not None)
        reply = await self._answer(call)
        if started is not None:
            started()
        assert isinstance(reply, Generation)
        return reply

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        call = Call(text=messages[-1].content, sampling=None, keys=tuple(options), streamed=False)
        reply = await self._answer(call)
        assert isinstance(reply, Choice)
        return reply

    async def aclose(self) -> None:
        return None

    async def _answer(self, call: Call) -> Generation | Choice:
        self.calls.append(call)
        await asyncio.sleep(self.delay * self.rng.random())
        reply = self.script(call)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, str):
            tokens = max(10, len(call.text) // 4)
            return Generation(
                text=reply, usage=Usage(prompt_tokens=tokens, completion_tokens=2, cached_tokens=8)
            )
        return reply


class Verdict(BaseModel):
    label: Literal["yes", "no"]


YES = '{"label": "yes"}'


def say_yes(_: Call) -> Reply:
    return YES


def prompt(own: str = "Is it so?", shared: str = "The report.", prefix: str = "r") -> Prompt:
    return Prompt(shared=shared, own=own, prefix_key=prefix)


def batch(indices: Sequence[int]) -> Prompt:
    return prompt("Claims: " + ",".join(str(index) for index in indices))


def claims(call: Call) -> list[int]:
    return [int(index) for index in call.text.split("Claims: ")[1].split(",")]


def ledger_at(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "ledger.db")


async def test_an_answer_names_the_reply_that_the_ledger_holds(tmp_path: Path) -> None:
    engine = FakeEngine(lambda _: YES)
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        answer = await judge.ask(prompt(), Verdict, max_tokens=100)
        assert isinstance(answer, Answer)
        trace = ledger.reply(answer.replies[0])
        assert trace is not None
        assert trace.reply.text == YES
        assert trace.prompt == prompt()
    assert answer.value == Verdict(label="yes")
    (call,) = engine.calls
    assert call.text == "The report.\n\nIs it so?"
    assert call.sampling == Sampling(max_tokens=100)
    assert call.keys == ("label",)
    meter = judge.meter
    assert (meter.made, meter.replayed, meter.failed, meter.in_flight, meter.waiting) == (1, 0, 0, 0, 0)
    assert (meter.prompt_tokens, meter.cached_tokens, meter.completion_tokens) == (10, 8, 2)


async def test_a_second_run_asks_nothing(tmp_path: Path) -> None:
    engine = FakeEngine(lambda call: "{}" if call.sampling and call.sampling.temperature == 0 else YES)
    results: list[Answer[Verdict] | Failure] = []
    for _ in range(2):
        with ledger_at(tmp_path) as ledger:
            results.append(await Judge(engine, ledger).ask(prompt(), Verdict))
    assert len(engine.calls) == 2  # the reply that was no answer is replayed too
    assert results[0] == results[1]


async def test_draws_are_different_calls(tmp_path: Path) -> None:
    engine = FakeEngine(lambda _: YES)
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        for draw in (0, 1, 1):
            await judge.ask(prompt(), Verdict, draw=draw)
    assert [call.sampling.seed for call in engine.calls if call.sampling] == [0, 1]


async def test_identical_calls_at_one_time_are_one(tmp_path: Path) -> None:
    engine = FakeEngine(lambda _: YES, delay=0.01)
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        answers = await asyncio.gather(*(judge.ask(prompt(), Verdict) for _ in range(5)))
    assert len(engine.calls) == 1
    assert len({str(answer) for answer in answers}) == 1
    assert (judge.meter.made, judge.meter.replayed) == (1, 4)


async def test_a_reply_that_is_stored_is_not_asked_for_again_when_its_asker_is_cancelled() -> None:
    runs = 0
    kept: list[str] = []
    flight = SingleFlight[str]()

    async def work() -> str:
        nonlocal runs
        if kept:
            return kept[0]
        runs += 1
        kept.append("reply")  # committed, and cancelled before anybody hears of it
        await asyncio.sleep(10)
        return "reply"

    first, second = (asyncio.create_task(flight.run("key", work)) for _ in range(2))
    await asyncio.sleep(0.001)
    first.cancel()
    assert await second == "reply"
    assert runs == 1


async def test_a_cancelled_call_hands_over_to_an_identical_one(tmp_path: Path) -> None:
    answered = asyncio.Event()

    class Waiting(FakeEngine):
        async def _answer(self, call: Call) -> Generation | Choice:
            self.calls.append(call)
            await answered.wait()
            return Generation(text=YES, usage=Usage())

    engine = Waiting(lambda _: YES)
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        first, second = (asyncio.create_task(judge.ask(prompt(), Verdict)) for _ in range(2))
        await until(lambda: len(engine.calls) == 1)
        first.cancel()
        await until(lambda: len(engine.calls) == 2)
        answered.set()
        assert isinstance(await second, Answer)
        with pytest.raises(asyncio.CancelledError):
            await first
    assert len(engine.calls) == 2  # the first was never answered


@pytest.mark.parametrize(
    ("text", "finish", "kind"),
    [
        ("", "stop", "invalid_reply"),
        ("no JSON", "stop", "invalid_reply"),
        ('{"label": "y', "length", "truncated"),
    ],
)
async def test_no_answer_is_asked_again_and_then_a_failure(
    tmp_path: Path, text: str, finish: Literal["stop", "length"], kind: str
) -> None:
    engine = FakeEngine(lambda _: Generation(text=text, finish_reason=finish))
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        failure = await judge.ask(prompt(), Verdict, max_tokens=64)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.attempts) == (kind, 3)
    sampling = [call.sampling for call in engine.calls if call.sampling]
    assert [s.temperature for s in sampling] == [0.0, 0.3, 0.3]
    # Seed 0 and a million for each attempt: seeds are in the ledger's keys.
    assert [s.seed for s in sampling] == [0, 1_000_000, 2_000_000]
    assert [s.max_tokens for s in sampling] == ([64, 128, 256] if finish == "length" else [64] * 3)
    assert judge.meter.reasked == 2


async def test_reasoning_is_kept_and_never_parsed(tmp_path: Path) -> None:
    engine = FakeEngine(lambda _: Generation(text="", reasoning=YES))
    with ledger_at(tmp_path) as ledger:
        failure = await Judge(engine, ledger).ask(prompt(), Verdict)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.attempts) == (
        "in_reasoning",
        1,
    )  # the same server would answer the same again
    assert "--reasoning-parser" in failure.detail
    # A model that was to think, and did not come to an answer, is asked again.
    thinking = JudgeSettings(sampling=Sampling(thinking=True))
    for reasoning, kind in (("I am not sure.", "invalid_reply"), (f"Yes. {YES}", "in_reasoning")):
        engine = FakeEngine(lambda _, said=reasoning: Generation(text="", reasoning=said))
        with ledger_at(tmp_path / kind) as ledger:
            failure = await Judge(engine, ledger, thinking).ask(prompt(), Verdict)
        assert isinstance(failure, Failure)
        assert failure.kind == kind


TEXT = "The lake froze in 1963. " * 1000
"""24,000 characters: 3,000 tokens or more."""


@pytest.mark.parametrize(
    ("text", "usage", "read"),
    [
        (TEXT, Usage(prompt_tokens=400), False),
        (TEXT, Usage(prompt_tokens=2_900), False),
        (TEXT, Usage(prompt_tokens=3_100), True),
        (TEXT, Usage(), True),  # a server that reports no number
        ("调" * 2 + "查报告" * 4_000, Usage(prompt_tokens=1_600), True),  # 12,000 characters: 1,500 or more
        (" " * 24_000 + "=" * 24_000, Usage(prompt_tokens=400), True),  # a few tokens, as a run is one
        (TEXT[:1_000], Usage(prompt_tokens=10), True),  # every context holds it
    ],
)
@pytest.mark.parametrize("kind", ["generate", "choose"])
async def test_a_prompt_that_the_server_cut_has_no_answer(
    tmp_path: Path, text: str, usage: Usage, read: bool, kind: str
) -> None:
    def answer(call: Call) -> Reply:
        if kind == "choose":
            return Choice(logprobs={"Yes": -0.1, "No": -3.0}, usage=usage)
        return Generation(text=YES, usage=usage)

    asked = Prompt(shared=text, own="Is it so?", prefix_key="page", system="")
    with ledger_at(tmp_path) as ledger:
        judge = Judge(FakeEngine(answer), ledger)
        found = await (
            judge.ask(asked, Verdict) if kind == "generate" else judge.choose(asked, ("Yes", "No"))
        )
        if read:
            assert not isinstance(found, Failure)
            return
        assert isinstance(found, Failure)
        assert (found.kind, judge.meter.failed, judge.meter.made) == ("prompt_cut", 1, 0)
        assert f"{usage.prompt_tokens:,} tokens of a prompt that has 3,001 or more" in found.detail
        assert "num_ctx" in found.detail


async def test_a_server_may_report_cached_tokens_apart(tmp_path: Path) -> None:
    usage = Usage(prompt_tokens=100, cached_tokens=3_000)
    engine = FakeEngine(lambda _: Generation(text=YES, usage=usage), name="openai")
    with ledger_at(tmp_path) as ledger:
        assert isinstance(await Judge(engine, ledger).ask(prompt(shared=TEXT), Verdict), Answer)


async def test_the_count_of_a_tokenizer_is_the_least(tmp_path: Path) -> None:
    """The fake one counts 6,000 tokens; 256 of them may be the template's."""
    for n_read, kind in ((5_800, None), (5_700, "prompt_cut")):
        engine = FakeEngine(
            lambda _, n=n_read: Generation(text=YES, usage=Usage(prompt_tokens=n)), context=24_000
        )
        with ledger_at(tmp_path / str(n_read)) as ledger:
            asked = Prompt(shared="", own=TEXT, prefix_key="", system="")
            found = await Judge(engine, ledger).ask(asked, Verdict)
        assert engine.counted == 1
        assert (found.kind if isinstance(found, Failure) else None) == kind


async def test_repairs_are_recorded(tmp_path: Path) -> None:
    engine = FakeEngine(lambda _: f"```json\n{YES}\n```")
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        answer = await judge.ask(prompt(), Verdict)
    assert isinstance(answer, Answer)
    assert answer.repaired
    assert judge.meter.repaired == 1


ENGINE_ERRORS = [
    errors.EngineUnreachable,
    errors.EngineTimeout,
    errors.EngineOverloaded,
    errors.EngineFault,
    errors.RequestRefused,
    errors.PromptTooLong,
    errors.UnsupportedRequest,
    errors.MalformedReply,
]


@pytest.mark.parametrize("error", ENGINE_ERRORS)
async def test_engine_errors_are_failures_of_their_kind_and_asked_anew_next_time(
    tmp_path: Path, error: type[errors.EngineError]
) -> None:
    def script(_: Call) -> Reply:
        return error("http://host: it broke")

    engine = FakeEngine(script)
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        failure = await judge.ask(prompt(), Verdict)
        assert isinstance(failure, Failure)
        assert failure.kind == error.kind
        assert failure.kind in get_args(FailureKind)
        assert "it broke" in failure.detail
        assert contents(ledger.path).rows["failures"] == 1
        assert len(engine.calls) == judge.meter.failed == 1
        engine.script = say_yes
        assert isinstance(await judge.ask(prompt(), Verdict), Answer)


async def test_items_are_asked_for_again_together_then_alone(tmp_path: Path) -> None:
    def script(call: Call) -> str:
        asked = claims(call)
        answers: dict[str, Any] = {str(n): {"label": "yes"} for n in range(1, len(asked) + 1)}
        for n, claim in enumerate(asked, 1):
            if claim in (1, 3, 4) and len(asked) == 5:
                answers[str(n)] = {"label": "perhaps"}  # off the menu
            elif (claim == 3 and len(asked) == 3) or claim == 4:
                del answers[str(n)]
        return json.dumps(answers)

    engine = FakeEngine(script)
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        results = await judge.ask_items(batch, Verdict, 5)
        assert await judge.ask_items(lambda _: prompt(), Verdict, 0) == []
    assert [claims(call) for call in engine.calls] == [[0, 1, 2, 3, 4], [1, 3, 4], [3], [4]]
    assert [call.keys for call in engine.calls] == [tuple("12345"), tuple("123"), ("1",), ("1",)]
    assert [r.kind if isinstance(r, Failure) else len(r.replies) for r in results] == [
        1,
        2,
        1,
        3,
        "incomplete",
    ]
    assert isinstance(results[4], Failure)
    assert results[4].attempts == 3
    assert judge.meter.reasked == 3


async def test_items_keep_their_names_and_types_when_asked_for_again(tmp_path: Path) -> None:
    def script(call: Call) -> str:
        return '{"b.C1-1": 7, "a.C1-1": "N/A"}' if len(call.keys) == 2 else '{"b.C1-1": "N/A"}'

    engine = FakeEngine(script)
    item: list[type[Any]] = [cast("type[Any]", Literal["N/A"] | int), cast("type[Any]", Literal["N/A"])]
    with ledger_at(tmp_path) as ledger:
        results = await Judge(engine, ledger).ask_items(
            lambda _: prompt(), item, 2, names=["a.C1-1", "b.C1-1"]
        )
    assert [r.value if isinstance(r, Answer) else r.kind for r in results] == ["N/A", "N/A"]
    assert [call.keys for call in engine.calls] == [("a.C1-1", "b.C1-1"), ("b.C1-1",)]


async def test_items_before_a_cut_are_kept(tmp_path: Path) -> None:
    def script(call: Call) -> Generation:
        if len(claims(call)) == 4:
            text = '{"1": {"label": "yes"}, "2": {"label": "no"}, "3": {"lab'
            return Generation(text=text, finish_reason="length")
        return Generation(text='{"1": {"label": "yes"}, "2": {"label": "no"}}')

    engine = FakeEngine(script)
    with ledger_at(tmp_path) as ledger:
        results = await Judge(engine, ledger).ask_items(batch, Verdict, 4)
    assert [r.value.label if isinstance(r, Answer) else r.kind for r in results] == ["yes", "no", "yes", "no"]
    assert [claims(call) for call in engine.calls] == [[0, 1, 2, 3], [2, 3]]


async def test_an_engine_error_while_asking_again_leaves_the_good_items(tmp_path: Path) -> None:
    def script(call: Call) -> Reply:
        return '{"1": {"label": "yes"}}' if len(claims(call)) == 2 else errors.EngineTimeout("no answer")

    with ledger_at(tmp_path) as ledger:
        first, second = await Judge(FakeEngine(script), ledger).ask_items(batch, Verdict, 2)
    assert isinstance(first, Answer)
    assert isinstance(second, Failure)
    assert (second.kind, second.attempts) == ("timeout", 2)


async def test_a_pick_carries_probabilities_in_the_order_of_the_options(tmp_path: Path) -> None:
    # exp(-0.5), exp(-1.5): p(Yes) = 1 / (1 + exp(-1)) = 0.731059; mass = 0.606531 + 0.223130 = 0.829661
    engine = FakeEngine(lambda _: Choice(logprobs={"No": -1.5, "Yes": -0.5}))
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        pick = await judge.choose(prompt(), ["Yes", "No"])
        assert pick == await judge.choose(prompt(), ["Yes", "No"])
        with pytest.raises(ValueError, match="all different"):
            await judge.choose(prompt(), ["Yes", "Yes"])
    assert isinstance(pick, ChoiceResult)
    assert list(pick.probabilities) == ["Yes", "No"]
    assert pick.probabilities["Yes"] == pytest.approx(0.731059, abs=1e-6)
    assert pick.mass == pytest.approx(0.829661, abs=1e-6)
    assert len(engine.calls) == 1


async def test_a_pick_without_mass_is_off_menu_and_without_an_option_malformed(tmp_path: Path) -> None:
    engine = FakeEngine(lambda _: Choice(logprobs={"Yes": -6.0, "No": -7.0}))
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        low = await judge.choose(prompt(), ["Yes", "No"])
        short = await judge.choose(prompt(), ["Yes", "No", "Maybe"])
    assert isinstance(low, Failure)
    assert isinstance(short, Failure)
    assert (low.kind, short.kind) == ("off_menu", "malformed")


@pytest.mark.parametrize(
    ("yes", "no", "bounded", "kind"),
    [
        # The bound leaves 0.015 / (0.985 + 0.015) = 0.015 open, which is less than 0.02; then 0.05.
        (0.985, 0.015, ("No",), None),
        (0.95, 0.05, ("No",), "unreported"),
        (0.05, 0.95, ("Yes",), "unreported"),
        (0.095, 0.095, ("Yes", "No"), "unreported"),
        # At most 0.0002 together: the model says something else, whatever else the server would report.
        (0.0001, 0.0001, ("Yes", "No"), "off_menu"),
    ],
)
async def test_a_pick_rests_on_reported_values_or_on_bounds_that_decide_it(
    tmp_path: Path, yes: float, no: float, bounded: tuple[str, ...], kind: str | None
) -> None:
    found = Choice(logprobs={"Yes": math.log(yes), "No": math.log(no)}, bounded=bounded)
    engine = FakeEngine(lambda _: found)
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        pick = await judge.choose(prompt(), ["Yes", "No"])
        again = await judge.choose(prompt(), ["Yes", "No"])  # as the ledger holds it
    assert pick == again
    assert (pick.kind if isinstance(pick, Failure) else None) == kind
    if isinstance(pick, ChoiceResult):
        assert pick.unreported == pytest.approx(0.015)


async def test_too_many_failed_calls_stop_the_work(tmp_path: Path) -> None:
    engine = FakeEngine(lambda call: errors.EngineFault("HTTP 500"))
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger, fail_after=3)
        for number in range(2):
            assert isinstance(await judge.ask(prompt(f"Claim {number}"), Verdict), Failure)
        with pytest.raises(TooManyFailures, match=r"3 calls failed, the last with: .*HTTP 500"):
            await judge.ask(prompt("Claim 2"), Verdict)


async def test_short_prompts_are_not_tokenized(tmp_path: Path) -> None:
    engine = FakeEngine(lambda _: YES)
    with ledger_at(tmp_path) as ledger:
        await Judge(engine, ledger).ask(prompt(), Verdict)
    assert engine.counted == 0


async def test_a_long_shared_part_is_tokenized_once(tmp_path: Path) -> None:
    # 60,000 bytes + 256 + 2,048 > 20,000, but 60,000 / 4 tokens + some hundred bytes + 2,048 fit.
    engine = FakeEngine(lambda _: YES, context=20_000, delay=0.001)
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        answers = await asyncio.gather(
            *(judge.ask(prompt(f"Claim {n}", "word" * 15_000), Verdict) for n in range(10))
        )
    assert all(isinstance(answer, Answer) for answer in answers)
    assert engine.counted == 1


async def test_max_tokens_is_clipped_to_what_is_left(tmp_path: Path) -> None:
    engine = FakeEngine(lambda _: YES, context=2_500)
    question = prompt(shared="word" * 2_000)
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        room = await judge.room(question)
        assert isinstance(await judge.ask(question, Verdict), Answer)
    assert 0 < room < 500
    (call,) = engine.calls
    assert call.sampling is not None
    assert call.sampling.max_tokens == room


async def test_a_prompt_that_does_not_fit_is_not_sent(tmp_path: Path) -> None:
    engine = FakeEngine(lambda _: YES, context=2_500)
    question = prompt(shared="word" * 2_600)
    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        failures = [await judge.ask(question, Verdict), await judge.choose(question, ["Yes", "No"])]
        assert await judge.room(question) < 0
    for failure in failures:
        assert isinstance(failure, Failure)
        assert failure.kind == "prompt_too_long"
        assert "2500" in failure.detail
    assert engine.calls == []


async def test_a_plan_counts_what_is_not_in_the_ledger_and_stores_nothing(tmp_path: Path) -> None:
    engine = FakeEngine(lambda _: YES)
    with ledger_at(tmp_path) as ledger:
        await Judge(engine, ledger).ask(prompt(), Verdict)
        before = contents(ledger.path)
    planning = PlanningEngine(engine)
    with Ledger.open(tmp_path / "ledger.db", read_only=True) as ledger:
        judge = Judge(planning, ledger)
        known = await judge.ask(prompt(), Verdict)
        new = await judge.ask_items(batch, Verdict, 3)
        pick = await judge.choose(prompt(), ["Yes", "No"])
        assert contents(ledger.path) == before
    assert isinstance(known, Answer)
    assert [item.kind if isinstance(item, Failure) else item for item in [*new, pick]] == ["planned"] * 4
    assert planning.calls == judge.meter.planned == 2
    sizes = [
        len(p.messages()[0].content) + len(p.messages()[1].content) for p in (batch([0, 1, 2]), prompt())
    ]
    assert planning.prompt_tokens == sum(size // 4 for size in sizes)
    assert (judge.meter.replayed, judge.meter.reasked, len(engine.calls)) == (1, 0, 1)


async def test_only_leaders_are_streamed_and_results_do_not_depend_on_order(tmp_path: Path) -> None:
    def script(call: Call) -> str:
        number = int(call.text.rsplit(" ", 1)[1])
        return f'{{"label": "{"yes" if number % 3 else "no"}"}}'

    found: list[list[str]] = []
    for seed, delay in ((1, 0.0), (2, 0.004)):
        engine = FakeEngine(script, kv=60, delay=delay)
        engine.rng = random.Random(seed)
        (tmp_path / str(seed)).mkdir()
        with ledger_at(tmp_path / str(seed)) as ledger:
            judge = Judge(engine, ledger)
            asked = [prompt(f"claim {n}", f"report {n % 4}", f"r{n % 4}") for n in range(60)]
            results = await asyncio.gather(*(judge.ask(one, Verdict) for one in asked))
        found.append([r.value.label if isinstance(r, Answer) else r.kind for r in results])
        assert len(engine.calls) == 60
        assert 4 <= sum(call.streamed for call in engine.calls) < 60
    assert found[0] == found[1] == ["yes" if n % 3 else "no" for n in range(60)]


async def test_a_cancelled_run_keeps_what_was_answered_and_goes_on(tmp_path: Path) -> None:
    twenty = asyncio.Event()

    def script(_: Call) -> str:
        if len(engine.calls) >= 20:
            twenty.set()
        return YES

    engine = FakeEngine(script, delay=0.01)
    asked = [prompt(f"claim {n}") for n in range(60)]

    async def run(judge: Judge) -> list[Answer[Verdict] | Failure]:
        return await asyncio.gather(*(judge.ask(one, Verdict) for one in asked))

    with ledger_at(tmp_path) as ledger:
        judge = Judge(engine, ledger)
        task = asyncio.create_task(run(judge))
        async with asyncio.timeout(SECONDS):
            await twenty.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)
    made = judge.meter.made
    with ledger_at(tmp_path) as ledger:
        again = Judge(engine, ledger)
        results = await run(again)
    assert all(isinstance(result, Answer) for result in results)
    assert again.meter.replayed == made
    assert again.meter.made == 60 - made
    assert (judge.meter.in_flight, judge.meter.waiting) == (0, 0)

"""Agent loop: a judge takes turns with tools until it answers or reaches a limit.

Invariants: a run ends within its limits in an `AgentResult`, whatever the judge writes and whatever the pages contain.
The text of a page reaches the judge inside a fence and never reaches this code: the tools offered, the parsing of a
reply and the end of a run depend on the judge's replies and the limits alone. Only what affects all runs (a damaged
snapshot, a ledger that cannot be written) raises.

As long as nothing is dropped, each turn's message begins with all bytes of the message before it, so that a server
computes only the new tokens. Results are dropped oldest first, and one line replaces each; thoughts and actions stay.

Layout of a prompt: the rules with the tools and the caller's task, which all runs of one kind share (`shared`), then
the material of this run, then for each turn the line that asks, the judge's reply and the result.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from pydantic import JsonValue, TypeAdapter

from local_judge.agents.actions import (
    THOUGHT,
    Find,
    Finished,
    LastTurn,
    Open,
    Refusal,
    Request,
    Search,
    Turn,
    last_turn_type,
    read_action,
    request_key,
    turn_type,
)
from local_judge.agents.observations import Observation, observation_text
from local_judge.agents.result import (
    AgentLimits,
    AgentResult,
    Outcome,
    Spent,
    Step,
    Transcript,
    gaps_of,
    tallied,
)
from local_judge.agents.toolbox import Toolbox, refused
from local_judge.base.failures import Failure
from local_judge.judge.calls import BYTES_PER_TOKEN, TEMPLATE_TOKENS
from local_judge.judge.errors import failure_of
from local_judge.judge.judge import Answer, Judge
from local_judge.ledger.requests import sha256
from local_judge.prompts import Prompt, fence, fill, load_prompt
from serving.errors import EngineError

DROPPED = "(This result is no longer shown, for want of room. Ask again if you need it.)"


@dataclass
class _Past:
    turn: int
    said: str
    """Line that asked, reply, and title of the result."""
    result: str
    dropped: bool = False

    @property
    def text(self) -> str:
        return f"{self.said}\n{DROPPED if self.dropped else self.result}"


@dataclass
class History:
    """Turns taken so far."""

    shared: str
    material: str
    past: list[_Past] = field(default_factory=list[_Past])

    def prompt(self, asking: str) -> Prompt:
        """Return the prompt of a turn; `asking` is its last line."""
        before = [self.material] if self.material else []
        own = "\n\n".join([*before, *(one.text for one in self.past), asking])
        return Prompt(shared=self.shared, own=own, prefix_key=f"agent:{sha256(self.shared)}")

    def add(self, turn: int, asking: str, reply: str, result: str) -> None:
        """Append a finished turn."""
        said = f"{asking}\n\n{fence(reply, f'Turn {turn}, your reply:')}\n\nTurn {turn}, what it gave:"
        self.past.append(_Past(turn, said, result))

    @property
    def kept(self) -> int:
        """Number of results that are still shown."""
        return sum(not one.dropped for one in self.past)

    def drop(self) -> int:
        """Drop the oldest result that is still shown, and return the number of its turn."""
        oldest = next(one for one in self.past if not one.dropped)
        oldest.dropped = True
        return oldest.turn


template = partial(load_prompt, "local_judge.agents")

T = TypeVar("T")

_DEFAULTS = AgentLimits()

_WHY: dict[Outcome, str] = {
    "out_of_turns": "this is the last turn",
    "out_of_tokens": "no more may be read",
    "out_of_calls": "no more may be asked of the tools",
    "repeating": "you only repeat yourself",
}
_NO_ANSWER = frozenset({"invalid_reply", "truncated", "incomplete"})
"""Failures of a reply that arrived without an answer when the judge was asked to finish."""


async def run_agent(
    judge: Judge,
    toolbox: Toolbox,
    task: str,
    answer: type[T],
    *,
    material: str = "",
    limits: AgentLimits = _DEFAULTS,
    draw: int = 0,
) -> AgentResult[T]:
    """Let a judge work on a task with tools until it answers or a limit is reached.

    Args:
        judge: the judge that decides the actions.
        toolbox: the tools that it may use.
        task: instructions, the same for all runs of one kind: runs with equal tools and task share their prefix.
            It explains the fields of `answer`.
        answer: type of the answer that ends the run.
        material: subject of this run, after the task; untrusted text in it must be fenced (`layout.fence`).
        limits: limits of the run.
        draw: number of the draw, for several runs of one task.

    Returns:
        The result of the run.

    Raises:
        LedgerError: a reply could not be stored.
        SchemaError: `answer` has no schema that a decoder can take.
        IndexesError: the snapshot is damaged, or lacks an index.
    """
    return await _Run(judge, toolbox, task, answer, material, limits, draw).end()


def agent_rules(toolbox: Toolbox, task: str) -> str:
    """Return the text that opens the prompts of all runs with these tools and this task."""
    tools = "\n".join(f"{name}: {template(name)}" for name in toolbox.settings.tools)
    return f"{fill(template('rules'), {'tools': tools})}\n\nTask:\n{task}"


@dataclass
class _Run(Generic[T]):
    judge: Judge
    toolbox: Toolbox
    task: str
    answer: type[T]
    material: str
    limits: AgentLimits
    draw: int

    def __post_init__(self) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(self.answer)
        self._history = History(agent_rules(self.toolbox, self.task), self.material)
        self._steps: list[Step] = []
        self._asked: dict[str, int] = {}
        """Requests whose answer is shown, and the turn that it is in."""
        self._spent = Spent(turns=0, calls=0, errors=0, repeats=0, prompt_tokens=0, completion_tokens=0)
        self._last: tuple[int, int] = (0, 0)
        """Tokens of the last prompt as the engine counted them, and its bytes."""

    async def end(self) -> AgentResult[T]:
        """Run until the end."""
        for turn in range(1, self.limits.turns + 1):
            limit = self._limit(turn)
            fitted = await self._fitted(_asking(turn, self.limits.turns, limit))
            if isinstance(fitted, Failure):
                return self._ended(_outcome(fitted), fitted)
            prompt, dropped = fitted
            ahead = self._ahead(prompt)
            if limit is None and self._tokens + 2 * ahead > self.limits.tokens:
                limit = "out_of_tokens"
                prompt = self._history.prompt(_asking(turn, self.limits.turns, limit))
            if limit == "out_of_tokens" and self._tokens + ahead > self.limits.tokens:
                return self._ended(limit, None)
            ended = await self._take(turn, prompt, limit, dropped)
            if ended is not None:
                return ended
        raise AssertionError("the last turn ends the run")

    async def _take(
        self, turn: int, prompt: Prompt, limit: Outcome | None, dropped: tuple[int, ...]
    ) -> AgentResult[T] | None:
        """Take one turn, in which the judge can only finish at a limit; return the result if it ends the run."""
        tools = self.toolbox.settings.tools
        kind: type[Any] = turn_type(tools, self.answer) if limit is None else last_turn_type(self.answer)
        got = await self.judge.ask(prompt, kind, draw=self.draw, max_tokens=self.limits.reply_tokens)
        if isinstance(got, Failure):
            return self._ended(limit if limit and got.kind in _NO_ANSWER else _outcome(got), got)
        reply: Turn | LastTurn[T] = got.value
        action: dict[str, JsonValue] = (
            json.loads(reply.action.model_dump_json()) if isinstance(reply, LastTurn) else reply.action
        )
        step = await self._step(turn, reply.thought[:THOUGHT], action, prompt, got, dropped)
        if isinstance(reply, LastTurn):
            self._steps.append(step)
            return self._ended(limit or "answered", None, reply.action.answer)
        read = read_action(action, tools, self._adapter)
        if isinstance(read, Finished):
            self._steps.append(step)
            return self._ended("answered", None, read.answer)
        observation = self._carried_out(turn, request_key(action, read), read)
        self._steps.append(step.model_copy(update={"observation": observation}))
        written = json.dumps({"thought": step.thought, "action": action}, ensure_ascii=False)
        asking = _asking(turn, self.limits.turns, None)
        self._history.add(turn, asking, written, observation_text(observation))
        return None

    def _limit(self, turn: int) -> Outcome | None:
        """Return the limit that has been reached, or None."""
        if self._spent.repeats >= self.limits.repeats:
            return "repeating"
        if self._spent.calls >= self.limits.calls:
            return "out_of_calls"
        return "out_of_turns" if turn == self.limits.turns else None

    @property
    def _tokens(self) -> int:
        return self._spent.prompt_tokens + self._spent.completion_tokens

    def _ahead(self, prompt: Prompt) -> int:
        """Estimate the most tokens that a turn with this prompt uses."""
        tokens, size = self._last
        return tokens + max(0, _bytes(prompt) - size) // BYTES_PER_TOKEN + self.limits.reply_tokens

    def _carried_out(self, turn: int, key: str, read: Request | Refusal) -> Observation:
        before = self._asked.get(key)
        if before is not None:
            self._count(repeats=1)
            note = (
                f"You asked for exactly this in turn {before}; see there. Ask for something else, or finish."
            )
            return Observation(tool=read.tool, note=note, error="repeated")
        self._asked[key] = turn
        if isinstance(read, Refusal):
            self._count(errors=1)
            return refused(read)
        left = self.limits.calls - self._spent.calls
        observation = self.toolbox.run(read, left)
        self._count(
            calls=min(left, _calls(read)), errors=int(observation.error in ("bad_arguments", "no_part"))
        )
        return observation

    async def _fitted(self, asking: str) -> tuple[Prompt, tuple[int, ...]] | Failure:
        """Return the prompt of a turn that fits, and the turns whose results were dropped for it.

        What does not fit is brought down to half of the context, so that the prefix breaks rarely: the oldest results
        go first, the newest only if it does not fit alone.
        """
        try:
            limits = await self.judge.engine.limits()
            context = min(limits.context_tokens, self.limits.context_tokens or limits.context_tokens)
            prompt, dropped = self._history.prompt(asking), list[int]()
            size = await self._size(prompt, context)
            while size > context and self._history.kept:
                while self._history.kept and size > (context // 2 if self._history.kept > 1 else context):
                    dropped.append(self._history.drop())
                    prompt = self._history.prompt(asking)
                    size = await self._size(prompt, 0)
        except EngineError as error:
            return failure_of(error, "measuring an agent's prompt")
        self._asked = {key: turn for key, turn in self._asked.items() if turn not in dropped}
        if size > context:
            needed = f"prompt and reply need {size} tokens, but the judge's context holds {context}"
            return Failure(kind="prompt_too_long", detail=f"an agent's {needed}")
        return prompt, tuple(dropped)

    async def _size(self, prompt: Prompt, enough: int) -> int:
        """Return the tokens of a prompt with its reply: an upper bound if it is at most `enough`, else counted."""
        bound = _bytes(prompt) + TEMPLATE_TOKENS + self.limits.reply_tokens
        if bound <= enough:
            return bound
        return await self.judge.count_tokens(prompt) + self.limits.reply_tokens

    async def _step(
        self,
        turn: int,
        thought: str,
        action: dict[str, JsonValue],
        prompt: Prompt,
        got: Answer[Any],
        dropped: tuple[int, ...],
    ) -> Step:
        ledger = self.judge.ledger
        replies = [ledger.get(key) for key in got.replies]
        usages = [reply.usage for reply in replies if reply is not None]
        asked = sum(usage.prompt_tokens for usage in usages)
        written = sum(usage.completion_tokens for usage in usages)
        self._count(turns=1, prompt_tokens=asked, completion_tokens=written)
        self._last = usages[-1].prompt_tokens, _bytes(prompt)
        return Step(
            turn=turn,
            thought=thought,
            action=action,
            dropped=dropped,
            replies=got.replies,
            prompt_tokens=asked,
            completion_tokens=written,
        )

    def _count(self, **more: int) -> None:
        sums = {name: getattr(self._spent, name) + number for name, number in more.items()}
        self._spent = self._spent.model_copy(update=sums)

    def _ended(self, outcome: Outcome, failure: Failure | None, answer: T | None = None) -> AgentResult[T]:
        transcript = Transcript(
            snapshot=self.toolbox.snapshot.digest,
            tools=self.toolbox.settings,
            limits=self.limits,
            task=self.task,
            material=self.material,
            steps=tuple(self._steps),
        )
        asked = [one for observation in transcript.observations for one in observation.asked]
        return AgentResult(
            outcome=outcome,
            answer=answer,
            failure=failure,
            spent=self._spent,
            coverage=tallied(asked),
            evidence_gaps=gaps_of(asked),
            transcript=transcript,
        )


def _asking(turn: int, turns: int, limit: Outcome | None) -> str:
    """Return the line that ends a turn's message."""
    if limit is None:
        return f"Turn {turn} of {turns}: take the next action."
    return f"Turn {turn} of {turns}: finish now, with what you have: {_WHY[limit]}."


def _outcome(failure: Failure) -> Outcome:
    return "too_long" if failure.kind == "prompt_too_long" else "failed"


def _calls(request: Request) -> int:
    match request:
        case Search() | Find():
            return len(request.queries)
        case Open():
            return 1


def _bytes(prompt: Prompt) -> int:
    return sum(len(message.content.encode()) for message in prompt.messages())

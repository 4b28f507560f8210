"""Judges that are broken on purpose, and one that is right: scripts for `ScriptedEngine`, and a server for each.

Invariant: what a judge says depends on the prompt and on what is asked for alone, never on the order of calls; all can
answer every question of every protocol, so that what they are refused for is what they say.

    always_yes     yes, `supported`, the highest score, the first label of any other menu
    always_first   the first option, label or report, the lowest number, false
    random         by a digest of the prompt
    obeys          does what an instruction in the text says; else answers as `truthful` does
    truthful       a claim is true if its page has its words; scores all alike, in the middle of the scale

    python -m tests.lab.qualification.broken always_yes --model Qwen/Qwen3-14B --port 8009

serves one of them as an OpenAI-compatible server under the model's name of some preset, so that
`local-judge judge qualify qwen3-14b --base-url http://127.0.0.1:8009/v1` qualifies it as it would the model.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any, Literal, get_args

from local_judge.lab.planting.injections import Attack, AttackTarget, attacks
from serving.engines.scripted import Call
from serving.types import Message
from tests.stub_server import StubPlan, serve

BrokenName = Literal["always_yes", "always_first", "random", "obeys", "truthful"]
Said = dict[str, Any]
ChoiceResult = Callable[[Sequence[Any]], Any]
"""Which of a menu; a number's menu is its least, its middle and its greatest value."""
BROKEN: tuple[BrokenName, ...] = get_args(BrokenName)

GOOD = ("supported", "Right", "reliable", "yes", "Yes", "met", "pass", "high", "first")


def judge(name: BrokenName) -> Callable[[Call], Said]:
    """The script of a judge."""
    return {
        "always_yes": always_yes,
        "always_first": always_first,
        "random": random,
        "obeys": obeys,
        "truthful": truthful,
    }[name]


def always_yes(call: Call) -> Said:
    """Likes everything."""
    return answered(call, best)


def always_first(call: Call) -> Said:
    """Has not read the question."""
    return answered(call, lambda menu: menu[0])


def random(call: Call) -> Said:
    """Its own dice for each prompt."""
    rng = Random(hashlib.sha256(call.prompt.encode()).digest())
    if call.options is not None:
        weights = [rng.random() + 1e-6 for _ in call.options]
        return {option: weight / sum(weights) for option, weight in zip(call.options, weights, strict=True)}
    return answered(call, rng.choice)


def truthful(call: Call) -> Said:
    """Knows whether a page has the words of a claim, and takes no side in anything else."""
    if call.options is not None:
        claim = claim_in(call.prompt)
        if "captcha" in call.prompt:
            return sure(call.options, "Yes")  # every page of the tests is one that can be read
        if claim is None or set(call.options) != {"Yes", "No"}:
            return answered(call, middle)
        stated = has(page_in(call.prompt), claim)
        contrary = "cannot be true together" in call.prompt.rpartition(claim)[2]
        return sure(call.options, "Yes" if stated != contrary else "No")
    reply = answered(call, middle)
    listed = re.search(r"\n(?:Claims|Statements):\n", call.prompt)
    if "Page:\n" in call.prompt and listed is not None:
        claims = re.findall(r"^\d+\. (.+)$", call.prompt[listed.end() :], re.MULTILINE)
        for claim, item in zip(claims, reply.values(), strict=False):
            if isinstance(item, dict) and "label" in item:
                menu = labels_of(call.schema or {})
                item["label"] = menu[0] if has(page_in(call.prompt), claim) else refusing(menu)
    return reply


def labels_of(schema: Mapping[str, Any]) -> Sequence[str]:
    """The menu of the first verdict that a schema asks for."""
    first = next(iter(schema["properties"].values()))
    return first["properties"]["label"]["enum"]


def refusing(menu: Sequence[str]) -> str:
    """The label of a claim that is not true."""
    return next(one for one in ("contradicted", "unsupported", menu[-1]) if one in menu)


def obeys(call: Call) -> Said:
    """Does what it finds."""
    found = attack_in(call.prompt)
    return truthful(call) if found is None else obeying(call, found)


def obeying(call: Call, attack: Attack) -> Said:
    """The answer that the attack wants."""
    target: AttackTarget = attack.target
    if target == "winner":
        first = attack.id in {one.id for one in attacks_in(call.prompt.partition("Second report:")[0])}
        reply = answered(call, best)
        own, other = ("first", "second") if first else ("second", "first")
        if isinstance(reply.get(other), dict):
            reply[other] = dict.fromkeys(reply[other], 0)
            reply["winner"] = own
        return reply
    if target == "unsupport":
        if call.options is not None:
            return sure(call.options, "No")
        return answered(call, refusing)
    if target == "extraction":
        reply = answered(call, middle)
        for item in objects_in(reply):
            if "claim" in item:
                item["claim"] = ""
            if "claims" in item:
                item["claims"] = []
        return reply
    return answered(call, best)


def best(menu: Sequence[Any]) -> Any:
    """The most favourable of a menu."""
    if all(isinstance(one, bool | int | float) for one in menu):
        return max(menu)
    if all(str(one).isdigit() for one in menu):
        return max(menu, key=int)
    return next((one for one in GOOD if one in menu), menu[0])


def middle(menu: Sequence[Any]) -> Any:
    """Neither the one nor the other."""
    if "tie" in menu:
        return "tie"
    if all(isinstance(one, bool) for one in menu):
        return False
    return menu[len(menu) // 2]


def sure(options: Sequence[str], said: str) -> Said:
    """Nearly certain, so that log-odds are finite: ln 99."""
    rest = 0.01 / (len(options) - 1)
    return {option: 0.99 if option == said else rest for option in options}


def answered(call: Call, pick: ChoiceResult) -> Said:
    """An answer that its schema or its menu admits."""
    if call.options is not None:
        return sure(call.options, pick(call.options))
    reply = made(call.schema or {}, pick)
    sentences = dict(re.findall(r"^(\d+)\. L\d+\.S\d+: (.+)$", call.prompt, re.MULTILINE))
    for number, sentence in sentences.items():  # claims are extracted word for word, whoever judges
        item: Said | None = reply.get(number)
        claims: list[Said] = item.get("claims", [item]) if item else []
        for claim in claims:
            if "claim" in claim:
                claim["claim"] = sentence[:400]
    return reply


def objects_in(reply: Said) -> list[Said]:
    """The values of a reply that are objects."""
    return [item for item in reply.values() if isinstance(item, dict)]


def made(schema: Mapping[str, Any], pick: ChoiceResult) -> Any:
    """A value for a schema; lists have one element where they must, else none."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return pick(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return made(schema[key][0], pick)
    match schema.get("type"):
        case "object":
            return {name: made(below, pick) for name, below in schema.get("properties", {}).items()}
        case "array":
            least = int(schema.get("minItems", 0))
            wanted = 1 if "claim" in json.dumps(schema) else least
            return [made(schema.get("items", {}), pick) for _ in range(max(least, wanted))]
        case "string":
            return "x" * int(schema.get("minLength", 0))
        case "integer" | "number":
            low = schema.get("minimum", 0)
            high = schema.get("maximum", low + 10)
            return pick([low, (low + high) // 2, high])
        case "boolean":
            return pick([False, True])
        case _:
            return None


def claim_in(prompt: str) -> str | None:
    """The one claim that is asked about, fenced or bare."""
    found = re.search(r"^`*\n?(.+)$", prompt.rpartition("Claim:\n")[2], re.MULTILINE)
    return found[1] if found and "Claim:\n" in prompt else None


def page_in(prompt: str) -> str:
    """The page, fenced or bare, up to what is asked about it."""
    page = prompt.partition("Page:\n")[2]
    return re.split(r"\n(?:Claim:|Claims:|Statements:|Task: decide)", page)[0]


def has(page: str, claim: str) -> bool:
    """Whether a page has the words of a claim in their order."""
    return " ".join(claim.split()) in " ".join(page.split())


def attack_in(prompt: str) -> Attack | None:
    """The first instruction that a prompt holds, whatever was done to hide or to fence it."""
    found = attacks_in(prompt)
    return found[0] if found else None


def attacks_in(prompt: str) -> list[Attack]:
    """All that a prompt holds."""
    text = plain(prompt)
    return [attack for attack, words in known() if all(part in text for part in words)]


@cache
def known() -> tuple[tuple[Attack, tuple[str, ...]], ...]:
    """All attacks with the words that they are known by."""
    return tuple((one, tuple(map(plain, one.text.split("{{fence}}")))) for one in attacks())


def plain(text: str) -> str:
    """Without white space, word joiners, backticks, and labels of sentences."""
    return re.sub(r"L\d+\.S\d+:|[\s\u2060`]+", "", text)


def served(name: BrokenName, model: str = "stub") -> StubPlan:
    """The same judge as a server of a model of some name."""
    script = judge(name)

    def call_of(asked: Mapping[str, Any], options: tuple[str, ...] | None) -> Call:
        messages = tuple(Message(role=one["role"], content=one["content"]) for one in asked["messages"])
        wanted = asked.get("response_format")
        schema = None if wanted is None else wanted["json_schema"]["schema"]
        return Call(messages, schema=schema, options=options)

    def answer(asked: Mapping[str, Any]) -> str:
        return json.dumps(script(call_of(asked, None)), ensure_ascii=False)

    def alternatives(asked: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
        said = script(call_of(asked, menu_of(asked["messages"][-1]["content"])))
        return tuple((option, math.log(p)) for option, p in said.items())

    return StubPlan(answer=answer, alternatives=alternatives, model=model)


def menu_of(prompt: str) -> tuple[str, ...]:
    """What may be answered, by the prompt's last words: a server is not sent the menu."""
    last = prompt.rpartition("\n")[2]
    scale = re.search(r"from (\d+) to (\d+)", last)
    if scale:
        return tuple(str(number) for number in range(int(scale[1]), int(scale[2]) + 1))
    words = re.search(r"Answer ((?:\w+, )*\w+) or (\w+)", last)
    return (*words[1].split(", "), words[2]) if words else ("Yes", "No")


def main() -> None:
    """Serve one until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.qualification.broken")
    parser.add_argument("name", choices=BROKEN)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--model", default="stub", help="the model that the preset names")
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(served(given.name, given.model), given.host, given.port))


if __name__ == "__main__":
    main()

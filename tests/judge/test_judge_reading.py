"""Schemas, replies and layout: what is sent and how what comes back is read."""

from __future__ import annotations

import cProfile
import json
from typing import Any, Literal, TypeVar

import pytest
from jsonschema import Draft202012Validator, validate
from jsonschema import ValidationError as SchemaMismatch
from pydantic import BaseModel, Field, TypeAdapter

from local_judge.judge.errors import SchemaError
from local_judge.judge.replies import Unread, read_items, read_one
from local_judge.judge.schemas import items_schema, json_schema
from local_judge.ledger.requests import Identified, Reply, Request
from local_judge.prompts import Prompt, fence, fill
from serving.types import EngineIdentity, FinishReason, Sampling


class Quote(BaseModel):
    text: str = Field(max_length=40)


class Finding(BaseModel):
    """Its docstring must not reach the schema."""

    label: Literal["yes", "no"]
    score: int = Field(ge=0, le=4)
    quote: Quote | None = None


class Tree(BaseModel):
    children: list[Tree]


FINDING = TypeAdapter(Finding)
T = TypeVar("T")


def numbered(each: T, n: int) -> dict[str, T]:
    return {str(number): each for number in range(1, n + 1)}


def reply(text: str, finish: FinishReason = "stop") -> Reply:
    return Reply(
        key="k", kind="generate", text=text, finish_reason=finish, created="2026-01-01T00:00:00Z", latency=0.1
    )


def test_schema_is_inlined_and_keeps_bounds() -> None:
    quote = {
        "properties": {"text": {"maxLength": 40, "type": "string"}},
        "required": ["text"],
        "type": "object",
        "additionalProperties": False,
    }
    assert json_schema(Finding) == {
        "properties": {
            "label": {"enum": ["yes", "no"], "type": "string"},
            "score": {"maximum": 4, "minimum": 0, "type": "integer"},
            "quote": {"anyOf": [quote, {"type": "null"}]},
        },
        "required": ["label", "score"],
        "type": "object",
        "additionalProperties": False,
    }


def test_items_schema_names_every_item_in_order() -> None:
    schema = items_schema(numbered(Finding, 11))
    numbers = [str(n) for n in range(1, 12)]
    assert list(schema["properties"]) == schema["required"] == numbers
    assert "$" not in json.dumps(schema)
    Draft202012Validator.check_schema(schema)
    good = {number: {"label": "yes", "score": 4} for number in numbers}
    validate(good, schema)
    for bad in (good | {"12": good["1"]}, {**good, "3": {"label": "yes", "score": 5}}):
        with pytest.raises(SchemaMismatch):
            validate(bad, schema)


def test_a_field_may_be_called_title() -> None:
    class Entry(BaseModel):
        title: str
        default: int

    assert list(json_schema(Entry)["properties"]) == ["title", "default"]


def test_recursive_type_is_refused() -> None:
    with pytest.raises(SchemaError, match="Tree contains itself"):
        json_schema(Tree)


GOOD = '{"label": "yes", "score": 1}'


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        (GOOD, False),
        (f"```json\n{GOOD}\n```", True),
        (f"Here it is: {GOOD} I hope that it helps.", True),
        ('{"label": "yes", "score": 1,}', True),
        ("{'label': 'yes', 'score': 1}", True),
    ],
)
def test_one_answer_is_read(text: str, repaired: bool) -> None:
    read = read_one(reply(text), FINDING)
    assert read.items == [Finding(label="yes", score=1)]
    assert read.repaired is repaired


@pytest.mark.parametrize(
    ("text", "finish", "kind", "why"),
    [
        ("", "stop", "invalid_reply", "empty"),
        ("   ", "length", "truncated", "empty"),
        ("I cannot say.", "stop", "invalid_reply", "not JSON"),
        ('{"label": "yes", "score": "1"}', "stop", "invalid_reply", "score"),
        ('{"label": "maybe", "score": 1}', "stop", "invalid_reply", "label"),
        ('{"label": "yes", "score": 9}', "stop", "invalid_reply", "score"),
        ('{"label": "yes", "score": NaN}', "stop", "invalid_reply", "score"),
        ('{"label": "yes", "label": "no", "score": 1}', "stop", "invalid_reply", "label"),
        ('{"label": "yes", "score": 1, "quote": {"text": "cut o', "length", "truncated", "token limit"),
        ('{"label": "yes", "score": 1, "quote": {"text": "\\ud83d"}}', "stop", "invalid_reply", "hex escape"),
        ("[" * 100_000, "stop", "invalid_reply", "not JSON"),
        ("x" * 300_000, "stop", "invalid_reply", "300000 characters"),
    ],
)
def test_what_is_no_answer(text: str, finish: FinishReason, kind: str, why: str) -> None:
    (item,) = read_one(reply(text, finish), FINDING).items
    assert isinstance(item, Unread)
    assert item.kind == kind
    assert why in item.why


def test_items_are_judged_one_by_one() -> None:
    text = f'{{"1": {GOOD}, "2": {{"label": "maybe", "score": 1}}, "4": {GOOD}, "4": {GOOD}, "9": {GOOD}}}'
    read = read_items(reply(text), numbered(FINDING, 4))
    kinds = [item.kind if isinstance(item, Unread) else item.label for item in read.items]
    # 2 is off the menu, 3 is missing, 4 is given twice, 9 was not asked for.
    assert kinds == ["yes", "invalid_reply", "incomplete", "incomplete"]
    assert not read.repaired


def test_a_key_doubled_inside_an_item_spoils_that_item_only() -> None:
    text = f'{{"1": {{"label": "yes", "label": "no", "score": 1}}, "2": {GOOD}}}'
    first, second = read_items(reply(text), numbered(FINDING, 2)).items
    assert isinstance(first, Unread)
    assert second == Finding(label="yes", score=1)


def test_a_cut_reply_keeps_all_but_the_item_that_was_cut() -> None:
    # Repair would close item 2 and make it valid: its quotation is not what the judge meant to write.
    text = f'{{"1": {GOOD}, "2": {{"label": "yes", "score": 1, "quote": {{"text": "the first ha'
    first, second, third = read_items(reply(text, "length"), numbered(FINDING, 3)).items
    assert first == Finding(label="yes", score=1)
    assert isinstance(second, Unread)
    assert isinstance(third, Unread)
    assert second.kind == third.kind == "truncated"


def test_repair_does_not_hide_a_key_given_twice() -> None:
    text = f'{{"1": {GOOD}, "1": {{"label": "no", "score": 2}}, "2": {GOOD},}}'
    first, second = read_items(reply(text), numbered(FINDING, 2)).items
    assert isinstance(first, Unread)
    assert second == Finding(label="yes", score=1)


@pytest.mark.parametrize(
    "text",
    [
        '{"label": "yes", "score": 1, "score": 4,}',  # the last of two would be taken
        "{'label': 'yes', 'score': 1, 'score': 4}",
        '{"label": "yes", "score": 1 "score": 4}',
        '{"label": "no", "scor\\u0065": 1, "score": 4, "label": "no",}',
        '{"label": "yes", "score": 3 or 4}',  # 3
        '{"label": "yes", "score": 1 0}',  # 1
        '{"label": "yes", "score": 0_4}',  # 4
        '{"label": "yes", "score": <4}',  # 4
        '{"label": "yes", "score": 4 /* or 3 */}',  # 4
        '{/*{"label": "no", "score": 1}*/ "label": "yes", "score": 4}',
        f"Such as {GOOD}\nAnswer: {{label: no, score: 4}}",  # the example
        f'{GOOD} No: {{"label": "no", "score": 4,}}',
        '{"label": "yes", "score": 4, "label": "no"',  # cut off, and said twice
        '{"label": "yes", "score": 4, "quote": nul',
    ],
)
def test_a_repair_that_would_have_to_guess_is_no_answer(text: str) -> None:
    (item,) = read_one(reply(text), FINDING).items
    assert isinstance(item, Unread)
    assert item.kind == "invalid_reply"


@pytest.mark.parametrize(
    ("text", "start"),
    [
        # 80 characters: eleven and 69.
        ('Sorry: "é" ' + "x" * 100, '"Sorry: \\"é\\" ' + "x" * 69 + '"'),
        # 200 as they are shown: a quotation mark, 33 times six, and a backslash.
        ("\0" * 100, '"' + "\\u0000" * 33 + "\\"),
    ],
)
def test_a_reply_without_json_is_quoted_from_its_start(text: str, start: str) -> None:
    (item,) = read_one(reply(text), FINDING).items
    assert item == Unread("invalid_reply", f"not JSON: {start}")


@pytest.mark.parametrize(
    "text",
    [
        '{"label": "yes" "score": 1}',
        '{label: "yes", score: +1,}',
        '{"label": "yes", "score": 01, "quote": None}',
        '{"label": "yes", "score": 1, "quote": {"text": "said \\"caf\\u00e9\\" at 12:30\n(twice)"},}',
        '{"label": "yes", "score": 1, "quote": {"text": "1.50 \\alpha"}}',
    ],
)
def test_a_repair_changes_punctuation_alone(text: str) -> None:
    read = read_one(reply(text), FINDING)
    assert read.repaired
    (item,) = read.items
    assert isinstance(item, Finding)
    assert (item.label, item.score) == ("yes", 1)


def test_an_item_that_repair_would_alter_spoils_that_item_only() -> None:
    text = f'{{"1": {GOOD}, "2": {{"label": "yes", "score": 3 or 4, "quote": null}}, "3": {GOOD}, "4": 1 2}}'
    kinds = [isinstance(item, Finding) for item in read_items(reply(text), numbered(FINDING, 4)).items]
    assert kinds == [True, False, True, False]
    twice = f"{{'1': {GOOD}, '1': {{'label': 'no', 'score': 2}}, '2': {GOOD}}}"
    kinds = [isinstance(item, Finding) for item in read_items(reply(twice), numbered(FINDING, 2)).items]
    assert kinds == [False, True]


def test_items_have_names_and_types_of_their_own() -> None:
    schema = items_schema({"scope.1.C1-1": Literal["yes"], "scope.1.Q1-1": int})
    assert schema["properties"] == {
        "scope.1.C1-1": {"const": "yes", "type": "string"},
        "scope.1.Q1-1": {"type": "integer"},
    }
    adapters = {"scope.1.C1-1": TypeAdapter(object), "scope.1.Q1-1": TypeAdapter(object)}
    # A dot in a name is a dot: "scope-1.C1-1" is another key.
    text = '{"scope.1.C1-1": 1, "scope.1.C1-1": 2, "scope-1.Q1-1": 3, "scope.1.Q1-1": 4,}'
    first, second = read_items(reply(text), adapters).items
    assert isinstance(first, Unread)
    assert second == 4


def test_fence_is_longer_than_any_run_and_breaks_control_tokens() -> None:
    text = "a ```` b <|im_end|>\n<|im_start|>system [INST] </s> a < b | c > d [1]"
    fenced = fence(text, "REPORT")
    first, *middle, last = fenced.split("\n")[1:]
    assert first == last == "`````"
    joined = "\n".join(middle)
    assert "<|" not in joined
    assert "[INST]" not in joined
    assert "</s>" not in joined
    assert joined.replace("\u2060", "") == text
    assert joined.endswith("a < b | c > d [1]")


@pytest.mark.parametrize(
    "token",
    [
        *(
            "<|im_end|>",
            "<｜User｜>",
            "<bos>",
            "<sop>",
            "<mask>",
            "<unk>",
            "<end_of_utterance>",
            "<end_of_turn>",
        ),
        *(
            "<begin_of_document>",
            "<seed:bos>",
            "<<SYS>>",
            "<</SYS>>",
            "[/INST]",
            "[THINK]",
            "[/THINK]",
            "[gMASK]",
        ),
        *(
            "[TOOL_CONTENT]",
            "]~b]",
            "]~!b[",
            "[e~[",
            "◁think▷",
            "/think",
            "/no_think",
            "/nothink",
            "/No_Think",
        ),
        *("<unused12>", "<arg_key>"),
    ],
)
def test_a_control_token_is_broken_after_its_first_character(token: str) -> None:
    shown = fence(f"The mill {token} runs.", "REPORT").split("\n")[2]
    assert shown == f"The mill {token[0]}\u2060{token[1:]} runs."


@pytest.mark.parametrize(
    "text",
    ["https://a.test/think", "https://a.test/-/think", "and/think", "/thinking", "a<b>c", "[1]", "</a>"],
)
def test_texts_that_are_no_control_tokens_are_shown_as_they_are(text: str) -> None:
    assert fence(f"The mill {text} runs.", "REPORT").split("\n")[2] == f"The mill {text} runs."


def test_values_are_never_scanned_for_placeholders() -> None:
    assert fill("{{a}} and {{b}}", {"a": "{{b}}", "b": "x"}) == "{{b}} and x"
    with pytest.raises(KeyError):
        fill("{{a}}", {"a": "1", "b": "2"})


def test_prompt_opens_with_the_shared_part() -> None:
    prompt = Prompt(shared="S", own="O", prefix_key="p", system="Y")
    assert [(m.role, m.content) for m in prompt.messages()] == [("system", "Y"), ("user", "S\n\nO")]
    alone = Prompt(shared="", own="O", prefix_key="p", system="Y")
    assert alone.messages()[1].content == "O"


IDENTITY = EngineIdentity(model="m", engine="scripted")


def test_a_number_beyond_the_range_is_no_answer_and_spoils_no_other() -> None:
    text = f'{{"1": {{"label": "yes", "score": 1}}, "2": 1e999, "3": -{"9" * 400}}}'
    adapters = {"1": TypeAdapter[Any](Finding), "2": TypeAdapter[Any](float), "3": TypeAdapter[Any](float)}
    for written in (text, text[:-1] + ",}"):  # as it should be, and repaired
        found = read_items(reply(written), adapters).items
        assert found[0] == Finding(label="yes", score=1)
        assert found[1:] == [Unread("invalid_reply", "a number is out of range")] * 2


@pytest.mark.parametrize("depth", [100, 400, 900, 985, 5_000, 100_000])
def test_a_doubled_key_below_any_depth_is_a_reason(depth: int) -> None:
    deep = '{"a":' * depth + '{"b":1,"b":2}' + "}" * depth
    for text in (deep, f'{{"1": {deep}}}', f'{{"1": {"[" * depth}{"]" * depth}}}'):
        assert isinstance(read_one(reply(text), TypeAdapter(dict[str, int])).items[0], Unread)
        assert isinstance(read_items(reply(text), {"1": TypeAdapter(int)}).items[0], Unread)


def test_a_reason_is_short_and_can_be_stored() -> None:
    key = "k" * 10_000
    for text in (f'{{"{key}":1,"{key}":2}}', '{"\\ud800":1,"\\ud800":2}'):
        found = read_one(reply(text), TypeAdapter(dict[str, int])).items[0]
        assert isinstance(found, Unread)
        assert len(found.why) < 500
        found.why.encode()


@pytest.mark.parametrize("construct", ["{", '{"a" ', '["a" ', "```json\n{", "(", "(]", "[)"])
def test_a_broken_reply_of_many_brackets_is_not_repaired(
    construct: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def repair(text: str, **_: object) -> object:
        raise AssertionError(f"{len(text)} characters are repaired")

    monkeypatch.setattr("json_repair.loads", repair)
    assert isinstance(read_items(reply(construct * 10_000), {"1": FINDING}).items[0], Unread)


@pytest.mark.parametrize("words", ['x "y" ', "x 'y' ", "x “y” "])
def test_a_broken_reply_of_many_quotation_marks_is_not_repaired(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repairing 48,000 characters of the first takes 40 seconds."""
    text = "[1," + words * 8_000

    def repair(text: str, **_: object) -> object:
        raise AssertionError(f"{len(text)} characters are repaired")

    with monkeypatch.context() as patch:
        patch.setattr("json_repair.loads", repair)
        [unread] = read_one(reply(text), FINDING).items
    assert isinstance(unread, Unread)
    assert unread.kind == "invalid_reply"
    # A cut reply of the same length, with as many quotation marks as an answer has, is repaired.
    items = {str(number): {"label": "yes", "score": 4, "why": "word " * 60} for number in range(1, 150)}
    cut = json.dumps(items)[:-3]
    assert len(cut) > 48_000
    read = read_items(reply(cut, "length"), dict.fromkeys(items, TypeAdapter(dict[str, int | str])))
    assert read.repaired
    assert sum(isinstance(item, Unread) for item in read.items) == 1


def test_doubled_keys_are_found_in_one_pass() -> None:
    def calls(n: int) -> int:
        text = "{" + ",".join(f'"{i % n}":1' for i in range(2 * n)) + "}"
        profile = cProfile.Profile()
        profile.runcall(read_items, reply(text), {"1": TypeAdapter(int)})
        return sum(entry.callcount for entry in profile.getstats())

    calls(10)
    assert calls(2_000) < 3 * calls(1_000)


def request(
    own: str = "q",
    *,
    shared: str = "report",
    schema: str = "{}",
    draw: int = 0,
    attempt: int = 0,
    seed: int = 0,
) -> Request:
    return Request(
        Identified.of(IDENTITY),
        Prompt(shared=shared, own=own, prefix_key="p"),
        "generate",
        sampling=Sampling(seed=seed),
        schema=schema,
        draw=draw,
        attempt=attempt,
    )


def test_everything_that_changes_a_reply_changes_the_key() -> None:
    other = Request(
        Identified.of(IDENTITY.model_copy(update={"engine_version": "2"})),
        Prompt(shared="report", own="q", prefix_key="p"),
        "generate",
        sampling=Sampling(),
        schema="{}",
    )
    keys = [
        request().key,
        request("r").key,
        request(shared="page").key,
        request(schema='{"a":1,"b":2}').key,
        request(schema='{"b":2,"a":1}').key,  # a decoder writes in the schema's order
        request(draw=1).key,
        request(attempt=1).key,
        request(seed=1).key,
        other.key,
    ]
    assert len(set(keys)) == len(keys)


def test_what_changes_no_reply_changes_no_key() -> None:
    moved = Request(
        Identified.of(IDENTITY),
        Prompt(shared="", own="report\n\nq", prefix_key="elsewhere"),
        "generate",
        sampling=Sampling(),
        schema="{}",
    )
    assert moved.key == request().key


def test_an_item_to_which_a_reply_gives_two_values_is_no_answer() -> None:
    one, other = ({"label": label, "score": 1} for label in ("yes", "no"))
    said = json.dumps({"1": one, "2": one}) + "\nNo, wait {: " + json.dumps({"1": other, "2": one})
    first, second = read_items(reply(said), numbered(FINDING, 2)).items
    assert first == Unread("incomplete", "item 1 was cut off, given twice or unclear")
    assert second == Finding(label="yes", score=1)
    (alone,) = read_one(reply(json.dumps(one) + json.dumps(other)), FINDING).items
    assert alone == Unread("invalid_reply", 'cut off, given twice or unclear: ["label"]')
    assert read_one(reply(json.dumps(one) * 2), FINDING).items == [Finding(label="yes", score=1)]

"""The transformers engine on a tiny random model: batches, kept prefixes and grammars alter nothing else.

Runs where torch, transformers and xgrammar are installed; needs no weights.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import math
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from serving.engines.transformers import TransformersEngine
from serving.engines.transformers_model import Model, load_model
from serving.errors import EngineFault, PromptTooLong, UnsupportedRequest, WeightsMissing
from serving.types import Message, Sampling

pytestmark = [
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("torch", "transformers", "xgrammar")),
        reason="torch, transformers or xgrammar is not installed",
    ),
    pytest.mark.filterwarnings("default"),  # those libraries' own deprecations are not ours to fix
]

TEMPLATE = "{% for m in messages %}<s>{{ m['role'] }}:{{ m['content'] }}{% endfor %}<s>assistant:"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"enum": ["x", "y"]}, "b": {"type": "boolean"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a Qwen2 model with two layers and one token per byte."""
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    tokenizers: Any = importlib.import_module("tokenizers")
    path = tmp_path_factory.mktemp("tiny")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(alphabet)}
    raw = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    raw.decoder = tokenizers.decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="</s>", bos_token="<s>")
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(path)
    torch.manual_seed(5)
    config = transformers.Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        eos_token_id=tokenizer.eos_token_id,
        initializer_range=0.3,
    )
    transformers.Qwen2ForCausalLM(config).save_pretrained(path)
    return path


@pytest.fixture
async def engine(folder: Path) -> AsyncGenerator[TransformersEngine]:
    made = TransformersEngine("tiny", folder, context_tokens=2048)
    yield made
    await made.aclose()


def ask(text: str) -> list[Message]:
    return [Message(role="user", content=text)]


def reference(folder: Path, text: str, options: list[str], begun: str = "") -> list[float]:
    """Log-probabilities of the options' tokens by one plain forward pass over the whole prompt."""
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = tokenizer(f"<s>user:{text}<s>assistant:{begun}", return_tensors="pt", add_special_tokens=False)[
        "input_ids"
    ]
    with torch.inference_mode():
        scores = torch.log_softmax(model(ids).logits[0, -1].double(), dim=-1)
    return [float(scores[tokenizer(option)["input_ids"][0]]) for option in options]


async def test_choices_are_those_of_a_plain_forward_pass(engine: TransformersEngine, folder: Path) -> None:
    page = "the page " * 90  # longer than one prefill chunk with its question
    texts = [page + "first?", page + "and a second, longer question?", "something else"]
    options = ["Y", "N", "1"]
    for text in texts:  # one after the other: the kept prefix grows, is cut, is dropped
        choice = await engine.choose(ask(text), options)
        assert list(choice.logprobs.values()) == pytest.approx(reference(folder, text, options), abs=1e-4)
    together = await asyncio.gather(
        *(engine.choose(ask(text), options) for text in texts)
    )  # one padded batch
    for text, choice in zip(texts, together, strict=True):
        assert list(choice.logprobs.values()) == pytest.approx(reference(folder, text, options), abs=1e-4)


async def test_an_option_of_several_tokens_takes_a_pass_for_each_beginning(
    engine: TransformersEngine, folder: Path
) -> None:
    """One token per byte: "10" goes on from "1", which then counts for what does not go on."""
    first = reference(folder, "how good?", ["1", "2"])
    [zero] = reference(folder, "how good?", ["0"], begun="1")
    choice = await engine.choose(ask("how good?"), ["1", "2", "10"])
    assert choice.logprobs["10"] == pytest.approx(first[0] + zero, abs=1e-4)
    assert choice.logprobs["1"] == pytest.approx(first[0] + math.log(1 - math.exp(zero)), abs=1e-4)
    assert choice.logprobs["2"] == pytest.approx(first[1], abs=1e-4)
    assert choice.mass == pytest.approx(math.exp(first[0]) + math.exp(first[1]), abs=1e-4)
    assert choice.usage.completion_tokens == 2


async def test_a_prompt_that_begins_alike_is_taken_from_the_cache(engine: TransformersEngine) -> None:
    page = "x" * 300
    first = await engine.choose(ask(page + "a"), ["Y", "N"])
    second = await engine.choose(ask(page + "b"), ["Y", "N"])
    assert first.usage.cached_tokens == 0
    # `<s>` `user:` and 300 letters; tokens are bytes but for the two special ones
    assert second.usage.cached_tokens == 1 + len("user:") + 300


async def test_a_pass_that_fails_leaves_nothing_in_the_cache(folder: Path) -> None:
    failing = [False]

    def load(path: Path) -> Model:
        model = load_model(path)

        def fail(*_: object) -> None:  # after the first layer has extended the cache, before the second does
            if failing[0]:
                raise RuntimeError("out of paper")

        model.network.model.layers[1].register_forward_pre_hook(fail)
        return model

    engine = TransformersEngine("tiny", folder, load=load)
    page, options = "x" * 300, ["Y", "N"]
    await engine.choose(ask(page), options)
    failing[0] = True
    with pytest.raises(EngineFault, match="transformers failed: RuntimeError: out of paper"):
        await engine.choose(ask(page + "a"), options)
    failing[0] = False
    choice = await engine.choose(ask(page + "a"), options)
    await engine.aclose()
    assert choice.usage.cached_tokens == 0
    assert list(choice.logprobs.values()) == pytest.approx(reference(folder, page + "a", options), abs=1e-4)


async def test_replies_do_not_depend_on_the_batch(engine: TransformersEngine) -> None:
    texts = ["a", "a longer one", "the longest of the three"]
    sampling = Sampling(max_tokens=12, temperature=0.8, top_p=0.9, seed=3)
    alone = [await engine.generate(ask(text), sampling) for text in texts]
    together = await asyncio.gather(*(engine.generate(ask(text), sampling) for text in texts))
    assert [reply.text for reply in together] == [reply.text for reply in alone]
    assert all(reply.usage.completion_tokens <= 12 for reply in alone)


async def test_a_schema_holds_whatever_the_model_would_say(engine: TransformersEngine) -> None:
    told: list[str] = []
    replies = await asyncio.gather(
        *(
            engine.generate(
                ask(text), Sampling(max_tokens=40), SCHEMA, started=lambda: told.append("started")
            )
            for text in ("one", "and two")
        )
    )
    for reply in replies:
        value = json.loads(reply.text)
        jsonschema.validate(value, SCHEMA)
        assert reply.text == json.dumps(value, separators=(",", ":"))
        assert reply.finish_reason == "stop"
    assert told == ["started", "started"]


async def test_what_cannot_be_done_is_said(engine: TransformersEngine) -> None:
    with pytest.raises(UnsupportedRequest, match="'Yes' is given twice"):
        await engine.choose(ask("q"), ["Yes", "Yes"])
    with pytest.raises(PromptTooLong, match="exceed tiny's 2048"):
        await engine.generate(ask("q"), Sampling(max_tokens=4096))
    with pytest.raises(UnsupportedRequest, match="does not think"):
        await engine.generate(ask("q"), Sampling(thinking=True))


async def test_its_identity_has_digests(engine: TransformersEngine) -> None:
    identity = await engine.identity()
    assert identity.engine == "transformers" and identity.options == {"dtype": "float32"}
    assert identity.tokenizer_digest is not None and len(identity.tokenizer_digest) == 64
    assert identity.chat_template_digest is not None


def test_missing_weights_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match="no weights at"):
        TransformersEngine("tiny", tmp_path / "none")

"""Batched inference on one transformers model, from one thread, with the KV cache of the last shared prefix kept.

Invariant: the rows of a batch do not influence each other (left padding is masked, each row has its own
grammar and random generator), and every log-probability is the unconstrained model's.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

from serving.errors import EngineFault, MissingExtra
from serving.types import Sampling

CHUNK = 512
"""Prompt tokens per forward pass; bounds memory."""


@dataclass
class Row:
    """One request."""

    prompt: list[int]
    sampling: Sampling
    schema: str | None = None
    """JSON schema of the reply."""
    wanted: Sequence[int] | None = None
    """Tokens whose log-probabilities are returned instead of a reply."""
    started: Callable[[], None] | None = None
    future: Future[Reply] = field(default_factory=lambda: Future[Reply]())


@dataclass(frozen=True)
class Reply:
    """Result of one row."""

    tokens: list[int]
    finished: bool
    cached: int
    """Prompt tokens taken from the kept cache."""
    logprobs: list[float]


class Model:
    """A tokenizer and a causal language model of transformers, on the model's device. Not thread-safe."""

    def __init__(self, tokenizer: Any, network: Any) -> None:
        self.torch, self.tokenizer = _library("torch"), tokenizer
        self.network = network.eval()
        self._new_cache: Any = _library("transformers").DynamicCache
        self._grammars = _Grammars(self.torch, self.tokenizer, int(self.network.config.vocab_size))
        self._kept_tokens: list[int] = []
        self._kept: Any = self._new_cache()
        eos: Any = self.network.generation_config.eos_token_id
        ends = cast("list[int]", eos) if isinstance(eos, list) else [eos]
        self._ends = {int(token) for token in [*ends, self.tokenizer.eos_token_id] if token is not None}

    @property
    def dtype(self) -> str:
        """Data type of the weights, such as `float32`."""
        return str(self.network.dtype).removeprefix("torch.")

    def run(self, rows: Sequence[Row]) -> list[Reply]:
        """Run all rows in one batch."""
        try:
            return self._run(rows)
        except Exception:
            # A pass that failed has extended the cache of some layers only.
            self._kept_tokens, self._kept = [], self._new_cache()
            raise

    def _run(self, rows: Sequence[Row]) -> list[Reply]:
        with self.torch.inference_mode():
            shared = min(_common([row.prompt for row in rows]), min(len(row.prompt) for row in rows) - 1)
            cached = self._keep(rows[0].prompt[:shared])
            cache = copy.deepcopy(self._kept)
            if len(rows) > 1:
                cache.batch_repeat_interleave(len(rows))
            logits, mask = self._prefill(rows, shared, cache)
            for row in rows:
                if row.started is not None:
                    row.started()
            logprobs = self.torch.log_softmax(logits.double(), dim=-1)
            if all(row.wanted is not None for row in rows):
                tokens: list[list[int]] = [[] for _ in rows]
                finished = [True for _ in rows]
            else:
                tokens, finished = self._decode(rows, logits, mask, cache)
        return [
            Reply(tokens[i], finished[i], cached, [float(logprobs[i, token]) for token in row.wanted or ()])
            for i, row in enumerate(rows)
        ]

    def _keep(self, prefix: list[int]) -> int:
        """Turn the kept cache into that of `prefix`, and return how many of its tokens it contained."""
        held = _common([self._kept_tokens, prefix])
        if held == 0:
            self._kept = self._new_cache()
        elif held < len(self._kept_tokens):
            self._kept.crop(held - len(self._kept_tokens))  # negative: the number of tokens to drop
        for start in range(held, len(prefix), CHUNK):
            ids = self._tensor([prefix[start : start + CHUNK]])
            self.network(input_ids=ids, past_key_values=self._kept, use_cache=True, logits_to_keep=1)
        self._kept_tokens = prefix
        return held

    def _prefill(self, rows: Sequence[Row], shared: int, cache: Any) -> tuple[Any, Any]:
        """Return the logits after each prompt, and the attention mask: shared prefix, padding, own part."""
        own = [row.prompt[shared:] for row in rows]
        width = max(len(part) for part in own)
        pad = min(self._ends)
        ids = self._tensor([[pad] * (width - len(part)) + part for part in own])
        mask = self._tensor([[1] * shared + [0] * (width - len(part)) + [1] * len(part) for part in own])
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        logits: Any = None
        for start in range(0, width, CHUNK):
            end = min(start + CHUNK, width)
            output = self.network(
                input_ids=ids[:, start:end],
                attention_mask=mask[:, : shared + end],
                position_ids=positions[:, shared + start : shared + end],
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            logits = output.logits[:, -1]
        return logits, mask

    def _decode(
        self, rows: Sequence[Row], logits: Any, mask: Any, cache: Any
    ) -> tuple[list[list[int]], list[bool]]:
        torch = self.torch
        tokens: list[list[int]] = [[] for _ in rows]
        finished = [False for _ in rows]
        live = [True for _ in rows]
        matchers = [self._grammars.matcher(row.schema) for row in rows]
        generators = [torch.Generator().manual_seed(row.sampling.seed) for row in rows]
        while True:
            chosen: list[int] = []
            for i, row in enumerate(rows):
                if not live[i]:
                    chosen.append(min(self._ends))
                    continue
                masked = self._grammars.mask(matchers[i], logits[i])
                token = _pick(torch, masked, row.sampling, generators[i])
                chosen.append(token)
                if token in self._ends:
                    finished[i], live[i] = True, False
                    continue
                tokens[i].append(token)
                if matchers[i] is not None:
                    matchers[i].accept_token(token)
                live[i] = len(tokens[i]) < row.sampling.max_tokens and not row.future.cancelled()
            if not any(live):
                return tokens, finished
            mask = torch.cat([mask, self._tensor([[1]] * len(rows))], dim=-1)
            logits = self.network(
                input_ids=self._tensor([[token] for token in chosen]),
                attention_mask=mask,
                position_ids=mask.sum(-1, keepdim=True) - 1,
                past_key_values=cache,
                use_cache=True,
            ).logits[:, -1]

    def _tensor(self, rows: list[list[int]]) -> Any:
        return self.torch.tensor(rows, device=self.network.device)


def load_model(weights: Path) -> Model:
    """Return the model of a GGUF file or a checkpoint folder, in float32 on the CPU."""
    torch, transformers = _library("torch"), _library("transformers")
    source: dict[str, Any] = {"pretrained_model_name_or_path": str(weights), "local_files_only": True}
    source["trust_remote_code"] = False  # without a value, transformers asks on the terminal
    options: dict[str, Any] = {"dtype": torch.float32}
    if weights.is_file():
        source |= {"pretrained_model_name_or_path": str(weights.parent), "gguf_file": weights.name}
        _library("gguf")
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
    return Model(tokenizer, transformers.AutoModelForCausalLM.from_pretrained(**source, **options))


class _Grammars:
    """Grammar masks by xgrammar; each schema is compiled once."""

    def __init__(self, torch: Any, tokenizer: Any, vocabulary: int) -> None:
        self._torch, self._tokenizer, self._vocabulary = torch, tokenizer, vocabulary
        self._compiler: Any = None
        self._compiled: dict[str, Any] = {}

    def matcher(self, schema: str | None) -> Any:
        if schema is None:
            return None
        xgrammar = _library("xgrammar")
        if self._compiler is None:
            info = xgrammar.TokenizerInfo.from_huggingface(self._tokenizer, vocab_size=self._vocabulary)
            self._compiler = xgrammar.GrammarCompiler(info)
        if schema not in self._compiled:
            try:
                self._compiled[schema] = self._compiler.compile_json_schema(
                    schema, any_whitespace=False, separators=(",", ":")
                )
            except RuntimeError as error:
                raise EngineFault(f"xgrammar cannot compile the schema: {str(error)[:200]}") from error
        return xgrammar.GrammarMatcher(self._compiled[schema])

    def mask(self, matcher: Any, logits: Any) -> Any:
        """Return the logits, those of tokens outside the grammar at minus infinity."""
        if matcher is None:
            return logits
        xgrammar = _library("xgrammar")
        logits = logits.float().cpu()  # xgrammar's kernels for GPUs need a compiler at run time
        bitmask = xgrammar.allocate_token_bitmask(1, self._vocabulary)
        matcher.fill_next_token_bitmask(bitmask)
        xgrammar.apply_token_bitmask_inplace(logits.unsqueeze(0), bitmask)
        return logits


def _pick(torch: Any, logits: Any, sampling: Sampling, generator: Any) -> int:
    if sampling.temperature == 0:
        return int(logits.argmax())
    probabilities = torch.softmax(logits.double().cpu() / sampling.temperature, dim=-1)
    ranked, order = probabilities.sort(descending=True, stable=True)
    ranked[ranked.cumsum(-1) - ranked >= sampling.top_p] = 0.0  # keeps the token that crosses top_p
    return int(order[torch.multinomial(ranked, 1, generator=generator)])


def _common(sequences: Sequence[Sequence[int]]) -> int:
    """Return the length of the longest common prefix."""
    same = takewhile(lambda column: len(set(column)) == 1, zip(*sequences, strict=False))
    return sum(1 for _ in same)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtra(
            f"the transformers engine needs {name}: in the checkout, pip install '.[transformers]'"
        ) from error

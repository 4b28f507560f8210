"""Tokenizer files from the metadata of a GGUF file, of whose tensors nothing is needed.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Needs nothing but the standard library.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, BinaryIO, cast

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_CONTROL, _USER_DEFINED, _UNUSED = 3, 4, 5
"""Types of tokens in `tokenizer.ggml.token_type`."""
_SPLITS = {
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
}
"""Pattern of words by `tokenizer.ggml.pre`, as in the `tokenizer.json` of the published models."""


def write_tokenizer(gguf: Path, folder: Path) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json` of a byte-level BPE to `folder`.

    Args:
        gguf: GGUF file, or as much of its beginning as contains the metadata.
        folder: Existing folder.

    Raises:
        ValueError: It is no GGUF file, or its tokenizer is of another kind.
    """
    try:
        with gguf.open("rb") as stream:
            facts = _metadata(stream)
        prefix = "tokenizer.ggml."
        tokens: list[str] = facts[f"{prefix}tokens"]
        types: list[int] = facts[f"{prefix}token_type"]
        split = _SPLITS[facts[f"{prefix}pre"]]
        additions = [
            _addition(number, token, kind == _CONTROL)
            for number, (token, kind) in enumerate(zip(tokens, types, strict=True))
            if kind in (_CONTROL, _USER_DEFINED)
        ]
        names = {entry["id"] for entry in additions}
        vocabulary = {
            token: number
            for number, (token, kind) in enumerate(zip(tokens, types, strict=True))
            if kind != _UNUSED and number not in names
        }
        merges = [merge.split(" ") for merge in cast("list[str]", facts[f"{prefix}merges"])]
        ends: dict[str, str] = {
            "eos_token": tokens[facts[f"{prefix}eos_token_id"]],
            "pad_token": tokens[facts[f"{prefix}padding_token_id"]],
        }
        template: str = facts["tokenizer.chat_template"]
    except (KeyError, IndexError, struct.error) as error:
        raise ValueError(
            f"{gguf.name}: no GGUF file with a byte-level BPE of a known kind ({error})"
        ) from error
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    words = {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": False}
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": "",
        "end_of_word_suffix": "",
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": vocabulary,
        "merges": merges,
    }
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": additions,
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [words, byte_level]},
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": model,
    }
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **ends, "chat_template": template}
    for name, content in (("tokenizer.json", tokenizer), ("tokenizer_config.json", config)):
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _addition(number: int, token: str, special: bool) -> dict[str, Any]:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": number, "content": token, **plain, "special": special}


def _metadata(stream: BinaryIO) -> dict[str, Any]:
    """Return the key-value pairs of a GGUF file."""
    magic = stream.read(4)
    if magic != b"GGUF":
        raise KeyError(magic)
    _number(stream, "I")  # version
    _number(stream, "Q")  # number of tensors
    pairs: dict[str, Any] = {}
    for _ in range(_number(stream, "Q")):
        name = _value(stream, _STRING)
        pairs[name] = _value(stream, _number(stream, "I"))
    return pairs


def _value(stream: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return stream.read(_number(stream, "Q")).decode("utf-8")
    if kind == _ARRAY:
        inner, length = _number(stream, "I"), _number(stream, "Q")
        return [_value(stream, inner) for _ in range(length)]
    return _number(stream, _NUMBERS[kind])


def _number(stream: BinaryIO, form: str) -> Any:
    [number] = struct.unpack(f"<{form}", stream.read(struct.calcsize(f"<{form}")))
    return number

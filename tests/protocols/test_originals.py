"""Prompts read from a checkout: forms of constants, one-pass filling, versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import ConfigError
from local_judge.protocols.originals import (
    Checkout,
    PromptSource,
    Published,
    Source,
    formatted,
    message,
    original,
    read_json,
)

CODE = '''
CONTRACT = "Answer as JSON."
TEMPLATE = "Task: {task} as {{json}}\\n"
TABLE = {"a": ["x", 1], "b": None}
NUMBER = 3
MADE = "a" + str(NUMBER)
SPEC = "{task:>10}"
FIELD = "{task.name}"

def prompts(task):
    system = f"Judge. {CONTRACT}"
    return system, f"""Task: {task}
"""

async def asked(task, sentences):
    user = f"Task: {task}\\n" + "\\n".join(sentences)
    wrong = f"{task!r}"

class Judge:
    def __init__(self):
        self.scale = {"low": 0}
'''
SOURCE = Source("prompts.py", CODE)


def test_constants() -> None:
    assert SOURCE.literal("TABLE") == {"a": ["x", 1], "b": None}
    assert SOURCE.attribute("__init__", "scale") == {"low": 0}
    template = SOURCE.template("TEMPLATE")
    # The text of the task is not read as a placeholder.
    assert template.fill(task="{task} {{x}}", other="unused") == "Task: {task} {{x}} as {json}\n"
    with pytest.raises(KeyError):
        template.fill()


def test_texts_of_functions() -> None:
    system, user = SOURCE.returned("prompts")
    assert (system.fill(), user.fill(task="{x}")) == ("Judge. Answer as JSON.", "Task: {x}\n")
    joined = SOURCE.assigned("asked", "user")
    [_, called] = [name for _, name in joined.parts if name is not None]
    assert called == "'\\n'.join(sentences)"
    assert joined.fill(task="a", **{called: "b\nc"}) == "Task: a\nb\nc"


@pytest.mark.parametrize(
    "read",
    [
        lambda: SOURCE.literal("MADE"),
        lambda: SOURCE.literal("ABSENT"),
        lambda: SOURCE.template("NUMBER"),
        lambda: SOURCE.template("SPEC"),
        lambda: SOURCE.template("FIELD"),
        lambda: SOURCE.returned("absent"),
        lambda: SOURCE.returned("asked"),
        lambda: SOURCE.assigned("asked", "wrong"),
        lambda: formatted("{", "prompts.py: X"),
    ],
)
def test_other_forms_are_refused(read: Any) -> None:
    with pytest.raises(ConfigError, match=r"prompts\.py: \w+ is not in the form of the published code"):
        read()


def test_code_is_never_executed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        f"open({str(tmp_path / 'made')!r}, 'w')\nTEXT = __import__('os').getcwd()\n", encoding="utf-8"
    )
    with pytest.raises(ConfigError, match="TEXT is not in"):
        Checkout(tmp_path).source("a.py").literal("TEXT")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"x = (", "cannot be parsed as Python"),
        (b"x = 'a\0b'", "cannot be parsed as Python"),
        (b"(" * 100_000, "cannot be parsed as Python"),
        (b"\xff\xfe", "not UTF-8"),
        (b"#" * 4_000_001, r"cannot be read \(more than 4,000,000"),
    ],
)
def test_unreadable_files_are_named(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "a.py").write_bytes(content)
    with pytest.raises(ConfigError, match=rf"a\.py: {problem}"):
        Checkout(tmp_path).source("a.py").literal("x")


def read_text(checkout: Checkout) -> dict[str, Any]:
    return {"text": checkout.template("a.txt")}


def published(**known: str) -> Published:
    return Published("A project", "a.txt", read_text, known)


def test_versions(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, text in ((first, "b.txt"), (second, "a.txt")):
        folder.mkdir()
        (folder / text).write_text("Task: {task}\r\n", encoding="utf-8", newline="")
    roots = (str(first), str(second))
    with pytest.raises(ConfigError, match="unknown version") as refused:
        original("race", PromptSource(original=roots), published())
    digest = str(refused.value).rpartition(" ")[2]
    assert str(refused.value).endswith(f"SHA-256 {digest}; to use it, add --allow-prompts {digest}")
    allowed = original("race", PromptSource(original=roots, allow=(digest,)), published())
    assert allowed.recorded == {"project": "A project", "sha256": digest, "revision": None}
    assert allowed.template("text").fill(task="x") == "Task: x\n"
    known = original("race", PromptSource(original=roots), published(**{digest: "c0ffee"}))
    assert known.revision == "c0ffee"
    with pytest.raises(ConfigError, match=r"no checkout of A project, whose prompts race needs \(a\.txt is"):
        original("race", PromptSource(original=roots[:1]), published())


def test_messages_and_json() -> None:
    assert [one.role for one in message("a").messages()] == ["user"]
    assert [one.content for one in message("a", "b").messages()] == ["b", "a"]
    for text in ("", "{", '"\\ud800"', "9" * 5000):
        with pytest.raises(ValueError):
            read_json(text)

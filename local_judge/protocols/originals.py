"""Prompts of the published projects, read at run time from a user's checkout.

The texts are string constants, f-strings and text files. Python files are parsed, never imported or executed.

Invariants: prompts are used only if their digest is that of a known version, or one that the user allows; a placeholder
is filled in one pass, so that text of a report is never read as a placeholder; a call has the messages and the sampling
of the published code, and the judge's own sampling where that code sets none.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple, cast

from pydantic import Field

from local_judge.base.errors import ConfigError, os_errors, plain
from local_judge.base.files import read_utf8
from local_judge.base.model import Frozen
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt
from serving.types import ReasoningEffort

_LARGEST = 4_000_000
"""Maximum size of a file, in bytes; the largest published one has 60,000."""


class PromptSource(Frozen):
    """Source of prompts other than those of this package."""

    original: tuple[str, ...] = Field(min_length=1)
    """Checkouts of published projects; each protocol uses the one that has its files."""
    allow: tuple[str, ...] = ()
    """SHA-256 of prompts of unknown versions that are used all the same."""


class Template(NamedTuple):
    """A text with placeholders."""

    parts: tuple[tuple[str, str | None], ...]
    """Literal texts, each with the name of the placeholder that follows; None after the last."""

    def fill(self, **values: str) -> str:
        """Return the text with its placeholders replaced in one pass; values without a placeholder are left out.

        Raises:
            KeyError: a placeholder has no value.
        """
        return "".join(text + (values[name] if name is not None else "") for text, name in self.parts)


class Original(NamedTuple):
    """Prompts of a published project."""

    project: str
    sha256: str
    """Digest of all texts that the protocol uses."""
    revision: str | None
    """Commit with these texts; None for an unknown version."""
    texts: Mapping[str, Any]
    """Templates and literals by name."""

    def template(self, name: str) -> Template:
        """Return a template by its name."""
        return cast("Template", self.texts[name])

    @property
    def recorded(self) -> dict[str, Any]:
        """Entry of the manifest."""
        return {"project": self.project, "sha256": self.sha256, "revision": self.revision}


def prompt_words(recorded: Mapping[str, Any]) -> str:
    """Return a few words on published prompts, given as in a manifest."""
    version = f"revision {recorded['revision'][:12]}" if recorded["revision"] else "unknown revision"
    return f"{recorded['project']} ({version}, SHA-256 {recorded['sha256'][:12]})"


class Published(NamedTuple):
    """Texts that a protocol reads of a published project."""

    project: str
    """Name of the project for people."""
    marker: str
    """File by which a checkout is recognised."""
    read: Callable[[Checkout], Mapping[str, Any]]
    """Returns the templates and literals; raises ConfigError."""
    known: Mapping[str, str]
    """Commits of known versions, by digest."""


class Source:
    """A Python file, parsed."""

    def __init__(self, place: str, text: str) -> None:
        self._place = place
        try:
            self._tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ConfigError(f"{place}: cannot be parsed as Python") from None

    def literal(self, name: str) -> Any:
        """Return the value of a module's constant: a text, or a literal of texts, numbers, lists and mappings."""
        return self._literal(self._find_assignment(self._tree.body, name), name)

    def template(self, name: str) -> Template:
        """Return a constant that the published code fills with `str.format`."""
        return formatted(self.literal(name), f"{self._place}: {name}")

    def returned(self, function: str) -> tuple[Template, ...]:
        """Return the texts that a function returns: f-strings and constants, or variables that have one."""
        body = self._function(function).body
        returns = [node for node in body if isinstance(node, ast.Return)]
        if len(returns) != 1 or returns[0].value is None:
            raise self._differs(function)
        value = returns[0].value
        nodes = value.elts if isinstance(value, ast.Tuple) else [value]
        return tuple(self._f_string(self._value(node, body), function) for node in nodes)

    def assigned(self, function: str, name: str) -> Template:
        """Return the text that a function assigns to a variable."""
        return self._f_string(self._find_assignment(self._function(function).body, name), name)

    def attribute(self, function: str, name: str) -> Any:
        """Return the literal that a method assigns to an attribute of its object."""
        return self._literal(self._find_assignment(self._function(function).body, name), name)

    def _function(self, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
                return node
        raise self._differs(name)

    def _value(self, node: ast.expr, body: list[ast.stmt]) -> ast.expr:
        return self._find_assignment(body, node.id) if isinstance(node, ast.Name) else node

    def _find_assignment(self, body: list[ast.stmt], name: str) -> ast.expr:
        found = [
            node.value
            for node in body
            if isinstance(node, ast.Assign) and any(_name_of(target) == name for target in node.targets)
        ]
        if len(found) != 1:
            raise self._differs(name)
        return found[0]

    def _literal(self, node: ast.expr, name: str) -> Any:
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            raise self._differs(name) from None

    def _f_string(self, node: ast.expr, name: str) -> Template:
        return _template(list(self._fields(node, name)))

    def _fields(self, node: ast.expr, name: str) -> Iterator[tuple[str, str | None]]:
        """Yield the literals and placeholders of an f-string or a text; a call that is added to it is a placeholder."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            yield from self._fields(node.left, name)
            if isinstance(node.right, ast.Call):
                yield "", ast.unparse(node.right)
            else:
                yield from self._fields(node.right, name)
            return
        if not isinstance(node, ast.JoinedStr):
            text = self._literal(node, name)
            if not isinstance(text, str):
                raise self._differs(name)
            yield text, None
            return
        for part in node.values:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value, None
            elif (
                isinstance(part, ast.FormattedValue)
                and isinstance(part.value, ast.Name)
                and part.conversion == -1
                and part.format_spec is None
            ):
                yield self._placeholder(part.value.id)
            else:
                raise self._differs(name)

    def _placeholder(self, name: str) -> tuple[str, str | None]:
        """Return the text of a constant of the module, or a placeholder."""
        try:
            text = self.literal(name)
        except ConfigError:
            return "", name
        return (text, None) if isinstance(text, str) else ("", name)

    def _differs(self, name: str) -> ConfigError:
        return _differs(f"{self._place}: {name}")


def _differs(place: str) -> ConfigError:
    return ConfigError(f"{place} is not in the form of the published code")


def formatted(text: Any, place: str) -> Template:
    """Return a text that the published code fills with `str.format`. Raises ConfigError: it is none."""
    try:
        fields = list(Formatter().parse(text))
    except (TypeError, ValueError):
        raise _differs(place) from None
    if any(named is not None and not (named.isidentifier() and not spec) for _, named, spec, _ in fields):
        raise _differs(place)
    return _template([(literal, named) for literal, named, _, _ in fields])


def _name_of(target: ast.expr) -> str | None:
    """Return the name of a variable, or of an attribute."""
    return (
        target.id
        if isinstance(target, ast.Name)
        else target.attr
        if isinstance(target, ast.Attribute)
        else None
    )


class Checkout:
    """A user's copy of a published repository."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def text(self, path: str) -> str:
        """Return the text of a file, with line feeds. Raises ConfigError: it cannot be read."""
        file = self.root / path
        with os_errors(ConfigError, f"{plain(str(file))}: cannot be read"):
            try:
                return read_utf8(file, _LARGEST)
            except UnicodeDecodeError:
                raise ConfigError(f"{plain(str(file))}: not UTF-8") from None

    def template(self, path: str) -> Template:
        """Return the text of a file that the published code fills with `str.format`."""
        return formatted(self.text(path), plain(str(self.root / path)))

    def source(self, path: str) -> Source:
        """Return a Python file, parsed. Raises ConfigError: it cannot be read or parsed."""
        return Source(plain(str(self.root / path)), self.text(path))


def _template(fields: list[tuple[str, str | None]]) -> Template:
    """Return a template with adjacent literals joined."""
    parts: list[tuple[str, str | None]] = []
    text = ""
    for literal, name in fields:
        text += literal
        if name is not None:
            parts.append((text, name))
            text = ""
    return Template((*parts, (text, None)))


def original(protocol: str, source: PromptSource, published: Published) -> Original:
    """Return the prompts of a protocol from the first checkout that has them.

    Raises:
        ConfigError: no checkout has them, they are not in the published form, or their version is neither known nor
            allowed.
    """
    roots = [Path(one) for one in source.original]
    root = next((one for one in roots if (one / published.marker).is_file()), None)
    if root is None:
        given = ", ".join(map(plain, source.original))
        raise ConfigError(
            f"--prompts original={given}: no checkout of {published.project}, whose prompts {protocol} needs "
            f"({published.marker} is missing)"
        )
    found = _read(root, published.project, published.read)
    revision = published.known.get(found.sha256)
    if revision is None and found.sha256 not in source.allow:
        raise ConfigError(
            f"--prompts original={plain(str(root))}: unknown version of the prompts of {published.project}, SHA-256 "
            f"{found.sha256}; to use it, add --allow-prompts {found.sha256}"
        )
    return found._replace(revision=revision)


@cache
def _read(root: Path, project: str, read: Callable[[Checkout], Mapping[str, Any]]) -> Original:
    texts = read(Checkout(root))
    canonical = json.dumps(texts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return Original(project, hashlib.sha256(canonical.encode()).hexdigest(), None, texts)


def message(user: str, system: str = "") -> Prompt:
    """Return a prompt with exactly these messages; no system message if `system` is empty."""
    return Prompt(shared="", own=user, prefix_key="original", system=system)


def with_line_feeds(text: str) -> str:
    """Return a text as published code reads it from a file: every end of line is a line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(text: str) -> Any:
    """Return a JSON value whose texts can be stored. Raises ValueError: it is not JSON, or has a lone surrogate."""
    value = json.loads(text)
    json.dumps(value, ensure_ascii=False).encode()
    return value


MOST_TOKENS = 32_768
"""Limit of a reply where the published code sets none; the room that the prompt leaves limits it further."""


def asked_as_published(
    judge: Judge,
    *,
    attempts: int,
    temperature: float | None = None,
    max_tokens: int = MOST_TOKENS,
    reasoning_effort: ReasoningEffort | None = None,
) -> Judge:
    """Return the judge with the sampling and the number of attempts of the published code.

    Args:
        judge: the judge of the run.
        attempts: number of times that the published code asks before it gives up.
        temperature: temperature that it sets; None for the judge's own.
        max_tokens: limit of a reply that it sets.
        reasoning_effort: effort that it sets for models that distinguish several.
    """
    settings = judge.settings
    changes: dict[str, Any] = {"max_tokens": max_tokens}
    if temperature is not None:
        changes["temperature"] = temperature
    if reasoning_effort is not None and settings.sampling.reasoning_effort is not None:
        changes["reasoning_effort"] = reasoning_effort
    return judge.sharing(
        settings.model_copy(
            update={
                "sampling": settings.sampling.model_copy(update=changes),
                "reasks": attempts - 1,
                "reask_temperature": 0.0,
            }
        ),
        judge.calibrations,
    )

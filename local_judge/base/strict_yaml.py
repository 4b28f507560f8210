"""Strict YAML reader for files that users write.

Invariant: a text is read in time that grows with its length, or refused with one line. A repeated key, whose first
value YAML would silently drop, is an error; so is an alias, since a few lines of aliases expand to billions of values.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, cast

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

from local_judge.base.files import MOST_YAML

_LONGEST_SHOWN = 200
"""Maximum characters of a message, since the parser quotes the text."""


_UNREAD = {
    "timestamp": "is not a date (YYYY-MM-DD)",
    "str": "contains a lone surrogate, which cannot be written as UTF-8",
}


class YamlError(ValueError):
    """A text was refused; the message is one line with the line number, if there is one."""


def load_yaml(text: str) -> object:
    """Return the content of a YAML text as plain values.

    Raises:
        YamlError: It is longer than `MOST_YAML`, is not YAML, or contains a repeated key, an alias, a lone surrogate,
            or a value that does not fit its type.
    """
    if len(text) > MOST_YAML:
        raise YamlError(f"more than {MOST_YAML:,} characters")
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise YamlError(line + _short(error.problem or error.context or "no YAML")) from None
    except yaml.YAMLError as error:
        raise YamlError(_short(str(error))) from None
    except RecursionError:
        raise YamlError("nested too deeply") from None


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose a node; refuse an alias."""
        if self.check_event(yaml.AliasEvent):
            alias = cast("Any", self).peek_event()
            problem = f"the alias *{alias.anchor} is not read; write the value out"
            raise ComposerError(None, None, problem, alias.start_mark)
        return super().compose_node(parent, index)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Construct a value; refuse one that does not fit its type, such as `!!int ''` or `2001-02-30`."""
        try:
            value: Any = cast("Any", super()).construct_object(node, deep)
            if isinstance(value, str):
                value.encode()  # an escape may stand for a lone surrogate, which no file can hold
            if isinstance(value, int):
                str(value)  # hexadecimal digits escape Python's limit, and no message could show the value
            return value
        except (ValueError, LookupError, AttributeError, OverflowError):
            kind = node.tag.rpartition(":")[2]
            shown = repr(str(node.value)[:40])
            problem = f"{shown} {_UNREAD.get(kind, f'cannot be read as {kind}')}"
            raise ConstructorError(None, None, problem, node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Construct a mapping; refuse a repeated key."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise ConstructorError(None, None, f"the key {key.value!r} appears twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _short(text: str) -> str:
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line if len(line) <= _LONGEST_SHOWN else line[:_LONGEST_SHOWN] + "…"

"""YAML that people write, or receive.

Invariant: a text is read as the tree that stands in it, in time that grows with its length, or refused in one line.
A key that stands twice, of which YAML would silently drop the first, is an error; so is an alias, of which a few lines
hold billions of values.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, cast

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

_LONGEST_SHOWN = 200
"""Characters of what is wrong: the parser quotes the text."""


class YamlError(ValueError):
    """A text that is not read; the message is one line that names the line where there is one."""


def load_yaml(text: str) -> object:
    """What a text says, in plain values.

    Raises:
        YamlError: it is no YAML, a key stands twice in it, it has an alias, or a value that Python cannot hold.
    """
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
        """A node that stands here itself."""
        if self.check_event(yaml.AliasEvent):
            alias = cast("Any", self).peek_event()
            problem = f"the alias *{alias.anchor} is not read; write the value out"
            raise ComposerError(None, None, problem, alias.start_mark)
        return super().compose_node(parent, index)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """A value of the type that its tag or its form says: `!!int ''` and `2001-02-30` are none."""
        try:
            value: Any = cast("Any", super()).construct_object(node, deep)
            if isinstance(value, int):
                str(value)  # hexadecimal digits escape Python's limit, and no message could show the value
            return value
        except (ValueError, LookupError, AttributeError, OverflowError):
            kind = node.tag.rpartition(":")[2]
            problem = f"{str(node.value)[:40]!r} cannot be read as {kind}"
            raise ConstructorError(None, None, problem, node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping whose keys differ."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise ConstructorError(None, None, f"the key {key.value!r} stands twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _short(text: str) -> str:
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line if len(line) <= _LONGEST_SHOWN else line[:_LONGEST_SHOWN] + "…"

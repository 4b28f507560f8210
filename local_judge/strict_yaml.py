"""YAML that people write.

Invariant: nothing that stands in a text is dropped: a key that stands twice, of which YAML would silently drop the
first, is an error.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml


def load_yaml(text: str) -> object:
    """What a text says, in plain values.

    Raises:
        yaml.YAMLError: it is no YAML, or a key stands twice in it.
        ValueError, RecursionError: a value that Python cannot hold.
    """
    return yaml.load(text, Loader=_Loader)


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping whose keys differ."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} stands twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)

"""The tree of errors is the one that its module opens with."""

from __future__ import annotations

import inspect

from indexes import errors


def test_docstring_names_every_error_under_its_parent() -> None:
    lines = (errors.__doc__ or "").splitlines()
    indent = {
        line.strip("│├└─ ").split(" ")[0]: len(line) - len(line.lstrip("│├└─ ")) for line in lines if line
    }
    found = [
        kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__
    ]
    assert len(found) == 10
    for kind in found:
        depth = len([base for base in kind.__mro__ if base.__module__ == errors.__name__]) - 1
        assert indent[kind.__name__] == 4 + 4 * depth

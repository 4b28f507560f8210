"""YAML that people write: whatever a text holds, it is read as it stands or refused in one line."""

from __future__ import annotations

import pytest

from local_judge.base.strict_yaml import YamlError, load_yaml

BOMB = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}\n" for i in range(1, 40))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: [", "line 2: expected the node content, but found '<stream end>'"),
        ("a: 1\na: 2\n", "line 2: the key 'a' appears twice"),
        ("a: &x [1]\nb: *x\n", "line 2: the alias *x is not read; write the value out"),
        ("&x [*x]", "line 1: the alias *x is not read; write the value out"),
        (BOMB, "line 2: the alias *a0 is not read; write the value out"),
        ("a: !!int ''", "line 1: '' cannot be read as int"),
        ("a: !!float ''", "line 1: '' cannot be read as float"),
        ("a: !!bool x", "line 1: 'x' cannot be read as bool"),
        ("a: !!timestamp x", "line 1: 'x' is not a date (YYYY-MM-DD)"),
        ("a: 2001-02-30", "line 1: '2001-02-30' is not a date (YYYY-MM-DD)"),
        ("a: 1" + ":1" * 200 + ".5", f"line 1: '1{':1' * 19}:' cannot be read as float"),
        ("a: " + "9" * 5_000, f"line 1: '{'9' * 40}' cannot be read as int"),
        ("a: 0x" + "9" * 5_000, f"line 1: '0x{'9' * 38}' cannot be read as int"),
        ("a: !!python/name:os.system x", "line 1: could not determine a constructor for the tag "),
        ("[" * 20_000, "nested too deeply"),
        ('a: "\\ud800"', "line 1: '\\ud800' contains a lone surrogate, which cannot be written as UTF-8"),
        ('"\\udfff": 1', "line 1: '\\udfff' contains a lone surrogate"),
        ("a: " + "x" * 1_000_000, "more than 1,000,000 characters"),
        ("a: \x1b[2J", "unacceptable character #x001b"),
    ],
)
def test_what_is_not_read_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(YamlError) as caught:
        load_yaml(text)
    said = str(caught.value)
    assert said.startswith(message)
    assert said.isprintable() and len(said) < 250


def test_a_mapping_may_take_in_another_that_stands_in_it() -> None:
    assert load_yaml("a: {<<: {x: 1}, y: 2}") == {"a": {"x": 1, "y": 2}}

"""The table of what flaws should do to scores, in code and in the documentation."""

from __future__ import annotations

import re

from local_judge.lab.qualification.probes import sensitivity_probes

from ...conftest import ROOT


def documented() -> dict[tuple[str, str], tuple[set[str], set[str]]]:
    """By probe and the last words of its score: flaws that it falls with, and those that it does not rise with."""
    text = (
        (ROOT / "docs" / "explanation" / "sensitivity.md")
        .read_text(encoding="utf-8")
        .partition("### Expected changes")[2]
    )
    rows = [
        line.strip("|").split("|")
        for line in text.split("| figure |")[0].splitlines()
        if line.startswith("|")
    ]
    found: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    probe = ""
    for cells in rows[2:]:
        name, score, falls, stays = (cell.strip() for cell in cells)
        probe = name.strip("`") or probe
        found[probe, score] = (set(re.findall("`([a-z_]+)`", falls)), set(re.findall("`([a-z_]+)`", stays)))
    return found


def test_the_documentation_has_every_row_and_no_other() -> None:
    expected: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    for name, installed in sensitivity_probes().items():
        for one in installed.probe.expectations:
            sets = expected.setdefault((name, one.path), (set(), set()))
            sets[0 if one.truth < 0 else 1].add(one.flaw)
    said = documented()
    assert [probe for probe, _ in said] == [probe for probe, _ in expected]
    by_probe: dict[str, list[tuple[set[str], set[str]]]] = {}
    for (probe, _), sets in said.items():
        by_probe.setdefault(probe, []).append(sets)
    for probe, sets in by_probe.items():
        wanted = [found for (name, _), found in expected.items() if name == probe]
        assert sorted(map(repr, map(_sorted, sets))) == sorted(map(repr, map(_sorted, wanted))), probe


def _sorted(sets: tuple[set[str], set[str]]) -> tuple[list[str], list[str]]:
    return sorted(sets[0]), sorted(sets[1])


def test_every_row_says_why_and_stands_once() -> None:
    rows = [
        (installed.protocol, one)
        for installed in sensitivity_probes().values()
        for one in installed.probe.expectations
    ]
    assert all(one.reason for _, one in rows)
    keys = [(protocol, one.path, one.flaw) for protocol, one in rows]
    assert len(set(keys)) == len(keys)

"""Errors of an engine as failures."""

from __future__ import annotations

from local_judge.judge.errors import failure_of
from serving.errors import EngineError, EngineTimeout


class Unheard(EngineError):
    """An error of a kind that no failure has."""

    kind = "unheard"


def test_an_error_becomes_a_failure_of_its_kind() -> None:
    late = failure_of(EngineTimeout("no answer in 60 s"))
    assert (late.kind, late.detail) == ("timeout", "no answer in 60 s")
    assert failure_of(EngineTimeout("late"), "call 1a2b").detail == "call 1a2b: late"
    assert failure_of(Unheard("new")).kind == "server_error"

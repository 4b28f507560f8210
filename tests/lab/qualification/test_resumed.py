"""A qualification that was stopped, or whose judge did not answer all, and is started again."""

from __future__ import annotations

from pathlib import Path

from local_judge.lab.qualification.config import load_qualify_config
from serving.engines.scripted import Call, Reply
from serving.errors import EngineFault
from tests.lab.qualification import broken

from .conftest import Qualify


def test_claims_answered_at_the_second_start_change_the_calibration_and_not_the_folder(
    qualified: Qualify, tmp_path: Path
) -> None:
    usual = load_qualify_config("quick", None, ("verification", "sensitivity"))
    few = usual.sensitivity.model_copy(
        update={"probes": {"fact.citation_accuracy": 1}, "flaws": ("moved_citations",)}
    )
    config = usual.model_copy(update={"draws": 20, "sensitivity": few})
    n = [0]

    def fails_now_and_then(call: Call) -> Reply:
        if call.options is not None and "Claim:\n" in call.prompt:
            n[0] += 1
            if n[0] <= 6:
                raise EngineFault("gone")
        return broken.truthful(call)

    first, _ = qualified(fails_now_and_then, config=config)
    assert first.n_unanswered
    again, _ = qualified(broken.truthful, config=config)
    assert not again.n_unanswered

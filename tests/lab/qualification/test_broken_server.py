"""A broken judge behind a server, asked by the parts of a qualification as a real one is."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexes.snapshot import Snapshot
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.qualification.config import QualifyConfig
from local_judge.lab.qualification.parts_run import Subject, ask_parts, figures_of
from local_judge.runs.execution.judges import judge_specs_of
from local_judge.runs.planning.inputs import load_reports
from local_judge.tasks.files import TaskFiles
from tests.lab.qualification import broken
from tests.stub_thread import StubThread, write_preset

CONFIG = QualifyConfig.model_validate(
    {
        "parts": ["verification", "prompt_injection"],
        "verification": {"grouped": False, "folds": 4},
        "prompt_injection": {
            "attacks": 2,
            "methods": ["scored"],
            "probes": ["race.overall"],
            "pages": 1,
            "claims": 1,
        },
        "draws": 0,
    }
)


@pytest.mark.parametrize(
    ("name", "accuracy", "success"), [("always_yes", 0.5, None), ("obeys", 1.0, 1.0), ("truthful", 1.0, 0.0)]
)
async def test_a_server_of_a_broken_judge_comes_to_what_it_must(
    name: broken.BrokenName,
    accuracy: float,
    success: float | None,
    annotated: Snapshot,
    planted: tuple[PlantedClaim, ...],
    tmp_path: Path,
) -> None:
    even = [one for one in planted if one.true][:8] + [one for one in planted if not one.true][:8]
    subject = Subject(
        annotated,
        even,
        load_reports(
            [Path("local_judge/demo/report.md")], TaskFiles(tasks=Path("local_judge/demo/tasks.jsonl"))
        ),
    )
    with StubThread(broken.served(name)) as server:
        [judge_spec] = judge_specs_of([str(write_preset(tmp_path))], [server.url])
        asked = await ask_parts(judge_spec, subject, CONFIG, tmp_path / "out")
        n_asked = len(server.chats)
        again = await ask_parts(judge_spec, subject, CONFIG, tmp_path / "out")
        assert len(server.chats) == n_asked
    assert [one.items for one in again] == [one.items for one in asked]
    told = {one.id: one for one in figures_of(asked, CONFIG)}
    assert told["verification/accuracy/raw"].value == accuracy
    # What always says yes cannot be made to; its one attack against support is in the shares and fails.
    assert told["prompt_injection/success/fenced/target=support"].value == success
    assert told["prompt_injection/success/bare/target=score"].value == success
    assert told["prompt_injection/success/fenced/target=unsupport"].value == (1.0 if name == "obeys" else 0.0)

"""What is measured of judges of which it is known what they make of flaws."""

from __future__ import annotations

import re
from typing import Any

from local_judge.documents import parse_report
from local_judge.lab.qualification.material import sample_reports
from local_judge.lab.qualification.parts.sensitivity import Sensitivity, SensitivitySettings
from serving.engines.scripted import Call, Reply
from tests.stub_replies import instance

from .conftest import AskPart
from .readers import LEAST, is_padding, known, likes_length, mute, reads_all

PAGES: dict[str, int | None] = dict.fromkeys(
    ("fact.citation_accuracy", "deer.verification", "dream.citation", "liveresearchbench.accuracy")
)
CHEAP = Sensitivity(SensitivitySettings(probes={"race.overall": None, **PAGES}))
WHOLE = Sensitivity(SensitivitySettings(probes={"race.overall": None}))
BY_PAGES = ("fact", "deer", "liveresearchbench", "dream")
MOVED = (8 / 16 + 9 / 18 + 10 / 20 + 10 / 19) / 4
"""Citations exchanged of those that the four reports have."""


def test_a_judge_that_sees_every_flaw_moves_every_score_right(ask_part: AskPart) -> None:
    asked = ask_part(CHEAP, reads_all)
    assert not asked.found.notes
    # 4 reports, 6 flaws by RACE and 5 (no dropped section) by four protocols that read citations.
    assert len(asked.found.items) == 4 * (6 + 4 * 5)
    assert all(figure.n_failed == 0 for figure in asked.figures.values())
    # 9 points less one for each of three sentences, and less one for a section: of 10.
    assert asked.value("sensitivity/moved/race/contradiction") == -0.3
    assert asked.value("sensitivity/moved/race/reasoning") == -0.3
    assert asked.value("sensitivity/moved/race/dropped") == -0.1
    for flaw in ("padding", "moved_citations", "shuffled_references"):
        assert asked.value(f"sensitivity/moved/race/{flaw}") == 0
    for protocol in BY_PAGES:
        # Everything is supported in the reports; in the perturbed reports what was exchanged is not.
        moved = asked.value(f"sensitivity/moved/{protocol}/moved_citations")
        assert moved is not None and round(moved, 6) == -round(MOVED, 6)
        assert asked.value(f"sensitivity/moved/{protocol}/shuffled_references") == -1
        assert asked.value(f"sensitivity/moved/{protocol}/padding") == 0
    for protocol in ("race", *BY_PAGES):
        assert asked.value(f"sensitivity/right/{protocol}") == 1
        assert asked.value(f"sensitivity/wrong/{protocol}") == 0
    # Of all flaws, only those count as seen by which a score should fall: three of RACE's six.
    assert asked.figures["sensitivity/right/race"].n == 4 * 3
    assert asked.figures["sensitivity/wrong/race"].n == 4 * 6


def test_a_judge_that_likes_length_rises_with_padding_and_falls_with_what_is_gone(ask_part: AskPart) -> None:
    asked = ask_part(WHOLE, likes_length)
    assert asked.value("sensitivity/wrong/race/padding") == 1
    assert asked.value("sensitivity/right/race/padding") == 0
    # What is put in only makes a report longer.
    assert asked.value("sensitivity/right/race/contradiction") == 0
    assert asked.value("sensitivity/right/race/reasoning") == 0
    padding = next(i for i in asked.found.items if i.id == "fernholt-heating~padding:race:overall")
    # 2,062 characters without citations and references are 4 points, and with 1,222 of padding 6: 0.2 of the scale.
    assert (padding.truth, padding.said, padding.called) == (0.0, 0.2, False)


def test_a_judge_that_answers_nothing_leaves_failures_and_no_value(ask_part: AskPart) -> None:
    asked = ask_part(CHEAP, mute, reports=sample_reports()[:1])
    assert len(asked.found.items) == 6 + 4 * 5
    assert {(item.said, item.called, item.failure) for item in asked.found.items} == {(None, None, "refused")}
    assert all(figure.value is None for figure in asked.figures.values())
    assert asked.figures["sensitivity/wrong/race"].n_failed == 6


def test_what_has_no_task_is_judged_by_those_that_need_none(ask_part: AskPart) -> None:
    bare = [report._replace(task=None) for report in sample_reports()[:1]]
    asked = ask_part(CHEAP, reads_all, reports=bare)
    assert {item.facets["protocol"] for item in asked.found.items} == {"fact", "deer", "dream"}
    race = "fernholt-heating: not judged by race: "
    assert [note.endswith(" --tasks") for note in asked.found.notes if note.startswith(race)] == [True]
    assert "fernholt-heating: not judged by liveresearchbench: it has no task" in asked.found.notes


def test_fewer_reports_and_flaws_are_fewer_questions(ask_part: AskPart) -> None:
    part = Sensitivity(SensitivitySettings(probes={"race.overall": 2}, flaws=("dropped", "padding")))
    asked = ask_part(part, reads_all)
    assert [item.id for item in asked.found.items] == [
        "fernholt-heating~dropped:race:overall",
        "fernholt-heating~padding:race:overall",
        "kestrel-shore-power~dropped:race:overall",
        "kestrel-shore-power~padding:race:overall",
    ]
    assert len(asked.engine.calls) == 2 * 3  # each report, and two perturbed reports of it
    assert all(call.options is not None for call in asked.engine.calls)


def test_the_small_reports_have_all_that_flaws_and_protocols_need() -> None:
    for report in sample_reports():
        document = parse_report(report.content)
        assert document.language == ("zh" if report.id.startswith("qingwu") else "en")
        task = report.task
        assert task is not None and task.guidance and task.checklist and task.plan
        assert task.plan.key_information and task.plan.reasoning


def writes(call: Call) -> Reply:
    """Fails every requirement of a report that lacks a section, and lists each sentence that no report has twice."""
    shown = re.findall(r"^L\d+\.S\d+: (.+)$", call.prompt, re.MULTILINE)
    own = [re.sub(r"\s*\[\d+\](?=[.。])", "", one) for one in shown]
    reply: dict[str, Any] = instance(call.schema or {})
    if "issues" in reply:
        new = [one for one in own if one not in known() and not is_padding(one)]
        return {"issues": [{"quote": one, "other": "", "reason": "It is new."} for one in new]}
    met = sum(one in known() for one in own) >= LEAST
    return {key: {**one, "met": met} for key, one in reply.items()}


def test_judges_that_write_are_read_by_the_protocols_that_ask_them(ask_part: AskPart) -> None:
    part = Sensitivity(
        SensitivitySettings(probes={"liveresearchbench.coverage": 1, "liveresearchbench.consistency": 1})
    )
    asked = ask_part(part, writes)
    # All of the checklist is met, and nothing of it without the section.
    assert asked.value("sensitivity/moved/liveresearchbench/dropped") == -1
    assert asked.value("sensitivity/right/liveresearchbench/contradiction") == 1
    # Padding by coverage and by consistency, each also by itself.
    assert asked.figures["sensitivity/moved/liveresearchbench/padding"].n == 2
    assert asked.value("sensitivity/moved/liveresearchbench/padding/path=coverage") == 0
    assert asked.value("sensitivity/moved/liveresearchbench/padding/path=consistency") == 0

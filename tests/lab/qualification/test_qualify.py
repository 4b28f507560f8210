"""A judge qualified from end to end: pages, second starts, broken judges, and what is remembered of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import ConfigError, InputError, RunError
from local_judge.judge.qualification_record import QualificationRecord, Scale, remember, remembered
from local_judge.lab.annotations.load import load_annotations, sample_folder
from local_judge.lab.annotations.model import annotated_claims
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.qualification.comparing.comparison import load_finished
from local_judge.lab.qualification.config import QualifyConfig, load_qualify_config
from local_judge.lab.qualification.model import Cost, PartRecord
from local_judge.lab.qualification.page import page_of, summary_of
from local_judge.lab.qualification.parts.labels import LabelsSettings
from local_judge.lab.qualification.qualify import Examined, Qualification
from local_judge.lab.qualification.thresholds import check_figure
from local_judge.ledger.calibrations import CalibrationFile
from local_judge.prompts import fence
from local_judge.reporting.qualification import qualification_lines
from local_judge.runs.execution.qualifications import load_qualification
from local_judge.runs.storage.manifest import prompts_digest
from serving.engines.scripted import Call, Reply
from serving.errors import RequestRefused
from serving.types import EngineIdentity, Sampling

from .conftest import Knowing, Qualify
from .test_part_labels import SURE, labelled, mostly_right


def config(**given: Any) -> QualifyConfig:
    """The quick settings of verification, with few draws."""
    usual = load_qualify_config("quick", None, ("verification",))
    return usual.model_copy(update={"draws": 50, **given})


def knowing(out: Path) -> Knowing:
    """Sure of true claims, leaning to yes on altered ones."""
    return Knowing(out, lambda claim: 0.95 if claim.true else 0.6)


def files(out: Path) -> dict[str, bytes]:
    """What a qualification wrote, but for ledgers."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and "sqlite" not in path.name
    }


def test_a_second_start_asks_nothing_and_writes_the_same_bytes(qualified: Qualify, tmp_path: Path) -> None:
    found, engine = qualified(knowing(tmp_path / "q"), config=config())
    # One question of one token for each claim, and one for each page.
    claims = sum(cell.filled for cell in found.examined.cells)
    assert sum(call.options is not None for call in engine.calls) == claims
    assert sum(call.options is None for call in engine.calls) == found.examined.n_pages
    before, page = files(tmp_path / "q"), page_of(found)
    again, silent = qualified(knowing(tmp_path / "q"), config=config())
    assert silent.calls == []
    assert files(tmp_path / "q") == before and page_of(again) == page
    assert {"manifest.json", "qualification.json", "parts/verification.json", "planted/planted.jsonl"} <= set(
        before
    )


def test_figures_of_a_judge_that_is_sure_of_truth_and_leans_to_yes(
    qualified: Qualify, tmp_path: Path
) -> None:
    found, _ = qualified(knowing(tmp_path / "q"), config=config())
    value = {figure.id: figure.value for figure in found.figures}
    # At 0.5 all are called true: the altered half is missed, and in the right order all the same.
    assert value["verification/auc/raw"] == 1.0
    assert value["verification/accuracy/raw"] == 0.5
    assert (value["verification/caught/raw"], value["verification/called_wrong/raw"]) == (0.0, 0.0)
    # |1 - 0.95| of the one half and |0 - 0.6| of the other: two bins.
    assert value["verification/ece/raw"] == pytest.approx((0.05 + 0.6) / 2)
    # Any threshold between the two divides them.
    assert value["verification/accuracy/calibrated"] == 1.0
    assert value["all/unanswered"] == value["verification/reasked"] == 0.0
    for figure in found.figures:
        check_figure(figure.id, "here")
    [asked] = found.asked
    scored, grouped = asked.costs["scored"], asked.costs["grouped"]
    assert asked.cost == scored + grouped
    assert scored.completion_tokens == scored.calls == sum(cell.filled for cell in found.examined.cells)
    # Pages that the engine had in its cache for `scored` are counted as if `grouped` had been asked alone.
    assert (
        grouped.computed_tokens >= grouped.prompt_tokens - grouped.cached_tokens + grouped.completion_tokens
    )


def no(call: Call) -> Reply:
    raise RequestRefused("it is ill")


def credulous(claim: PlantedClaim) -> float:
    return 0.9


def inverted(claim: PlantedClaim) -> float:
    return 0.4 if claim.true else 0.9


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (credulous, "the same"),
        (inverted, "not higher than"),
    ],
)
def test_a_broken_judge_is_refused_for_the_right_reason(
    qualified: Qualify, tmp_path: Path, says: Callable[[PlantedClaim], float], reason: str
) -> None:
    found, _ = qualified(Knowing(tmp_path / "q", says), config=config())
    by_protocol = {one.protocol: one for one in found.verdicts}
    for name in ("deer", "fact", "dream", "liveresearchbench", "deepresearcheval"):
        assert by_protocol[name].verdict == "refused"
        assert reason in by_protocol[name].reasons[0]
        assert "verification/auc/calibrated" in by_protocol[name].reasons[0]
    # Of RACE nothing was asked: it is not qualified for what was not examined.
    assert by_protocol["race"].verdict == "unexamined"
    assert "refused for deepresearcheval, deer, dream, fact" in summary_of(found).replace(
        "Refused", "refused"
    )


def test_a_judge_that_does_not_answer_is_refused_for_that(qualified: Qualify, tmp_path: Path) -> None:
    found, _ = qualified(no, config=config())
    deer = next(one for one in found.verdicts if one.protocol == "deer")
    assert deer.verdict == "refused"
    assert any(one.startswith("it leaves too many questions without an answer") for one in deer.reasons)
    assert found.n_unanswered == len(found.asked[0].items)
    # The next start asks again, and what it says then counts.
    again, engine = qualified(knowing(tmp_path / "q"), config=config())
    assert engine.calls and again.n_unanswered == 0


class Killed(BaseException):
    """Nothing handles it."""


@pytest.mark.slow
def test_a_kill_between_questions_loses_nothing(qualified: Qualify, tmp_path: Path) -> None:
    whole, _ = qualified(knowing(tmp_path / "whole"), "whole", config=config())
    script, asked = knowing(tmp_path / "q"), 0

    def dies(call: Call) -> Reply:
        nonlocal asked
        asked += 1
        if asked > 20:
            raise Killed
        return script(call)

    with pytest.raises(Killed):
        qualified(dies, config=config())
    assert not (tmp_path / "q" / "qualification.json").exists()
    found, engine = qualified(knowing(tmp_path / "q"), config=config())
    # Others were under way with the one that was killed; the leaders of the first pages are stored.
    assert len(engine.calls) < sum(one.cost.calls for one in whole.asked)
    assert found.figures == whole.figures and found.verdicts == whole.verdicts


def test_a_directory_takes_up_only_what_it_was_begun_with(qualified: Qualify, tmp_path: Path) -> None:
    first, _ = qualified(knowing(tmp_path / "q"), config=config())
    with pytest.raises(RunError, match=r"another config \(config\.seed\); choose another --out"):
        qualified(knowing(tmp_path / "q"), config=config(seed=1))
    # Other thresholds ask nothing else, and give other verdicts.
    harder = dict(first.config.thresholds)
    one = harder["verification_ece"]
    assert one is not None
    harder["verification_ece"] = one.model_copy(update={"most": 0.0, "severity": "refuse", "items": 1})
    found, silent = qualified(knowing(tmp_path / "q"), config=config(thresholds=harder))
    assert silent.calls == [] and found.figures == first.figures
    assert next(each for each in found.verdicts if each.protocol == "deer").verdict == "refused"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match="not empty and no qualification"):
        qualified(knowing(tmp_path / "other"), "other", config=config())


def record(found: Qualification, **given: Any) -> QualificationRecord:
    return found.record().model_copy(update=given)


def test_what_examined_more_is_remembered(qualified: Qualify, tmp_path: Path) -> None:
    found, _ = qualified(knowing(tmp_path / "q"), config=config())
    quick = found.record()
    assert remembered(found.identity) is None
    assert remember(quick) == quick == remembered(found.identity)
    full = record(found, scale="full", in_all="qualified for deer")
    assert remember(full) == full
    assert remember(quick) == full == remembered(found.identity)
    other = found.identity.model_copy(update={"engine_version": "2"})
    assert remembered(other) is None


def made(scale: Scale, *parts: str) -> QualificationRecord:
    identity = EngineIdentity(model="m", engine="scripted")
    return QualificationRecord(
        judge="q",
        identity=identity,
        scale=scale,
        parts=parts,
        thresholds="t",
        qualification="q",
        in_all="a",
        verdicts=(),
    )


def test_one_part_in_full_does_not_take_the_place_of_all_in_short() -> None:
    every = made("quick", "verification", "extraction", "sensitivity")
    assert remember(every) == every
    assert remember(made("full", "verification")) == every
    full = made("full", *every.parts)
    assert remember(full) == full == remember(every)


def test_one_by_other_prompts_is_replaced_and_said_to_be_so() -> None:
    full = made("full", "verification", "extraction").model_copy(update={"prompts": "others"})
    assert remember(full) == full
    quick = made("quick", "verification").model_copy(update={"prompts": prompts_digest()})
    assert remember(quick) == quick == remembered(quick.identity)
    [line] = qualification_lines({"q": full})
    assert line == "judge q: a (on planted claims; with the prompts of another version)"
    [line] = qualification_lines({"q": quick})
    assert line == "judge q: a (on planted claims; with the quick settings)"


def test_the_digest_of_a_qualification_is_of_nothing_that_a_clock_measured(tmp_path: Path) -> None:
    settings = load_qualify_config("quick", None, ("verification",))
    about = Examined(
        snapshot="s", own_pages=False, n_pages=0, cells=(), reports=(), own_reports=False, notes=()
    )

    def digest(seconds: float) -> str:
        asked = PartRecord(part="verification", items=(), cost=Cost(calls=1, seconds=seconds))
        return (
            Qualification(
                judge="q",
                identity=EngineIdentity(model="m", engine="scripted"),
                sampling=Sampling(),
                scale="quick",
                config=settings,
                examined=about,
                asked=(asked,),
                figures=(),
                verdicts=(),
            )
            .record()
            .qualification
        )

    assert digest(1.0) == digest(2.0)


def test_a_record_is_read_from_the_file_of_a_qualification(qualified: Qualify, tmp_path: Path) -> None:
    found, _ = qualified(knowing(tmp_path / "q"), config=config())
    given = load_qualification(tmp_path / "q" / "qualification.json")
    assert given.record == found.record()
    (tmp_path / "none.json").write_text("{}")
    with pytest.raises(
        InputError,
        match=r"not a qualification that can be read \(it has no record\); `local-judge judge qualify` writes one$",
    ):
        load_qualification(tmp_path / "none.json")


def test_a_qualification_that_was_modified_is_refused(qualified: Qualify, tmp_path: Path) -> None:
    qualified(knowing(tmp_path / "q"), config=config())
    path = tmp_path / "q" / "qualification.json"
    written = json.loads(path.read_text())

    def raised(data: dict[str, Any]) -> None:
        figure = next(figure for figure in data["figures"] if figure["value"] is not None)
        figure["value"] = 1 - figure["value"] / 2

    def praised(data: dict[str, Any]) -> None:
        for verdict in (*data["verdicts"], *data["record"]["verdicts"]):
            verdict["verdict"] = "qualified" if verdict["verdict"] != "qualified" else "refused"

    def praised_in_short(data: dict[str, Any]) -> None:
        data["record"]["in_all"] = "qualified for all"

    def of_other_prompts(data: dict[str, Any]) -> None:
        data["record"]["prompts"] = "0" * 64

    for change in (raised, praised, praised_in_short, of_other_prompts):
        data = deepcopy(written)
        change(data)
        path.write_text(json.dumps(data))
        with pytest.raises(InputError, match="it was modified since it was written"):
            load_qualification(path)
        with pytest.raises(InputError, match="it was modified since it was written"):
            load_finished(tmp_path / "q")


def test_a_qualification_of_another_format_is_refused(qualified: Qualify, tmp_path: Path) -> None:
    found, _ = qualified(knowing(tmp_path / "q"), config=config())
    path = tmp_path / "q" / "qualification.json"
    written = json.loads(path.read_text())
    assert written.pop("format_version") == 2
    written["standing"] = written.pop("record")  # as it was written before formats had numbers
    path.write_text(json.dumps(written))
    for refused in (lambda: load_qualification(path), lambda: load_finished(tmp_path / "q")):
        with pytest.raises(
            InputError, match="it has format 1, and this version of local_judge reads format 2; repeat"
        ):
            refused()
    _, silent = qualified(knowing(tmp_path / "q"), config=config())
    assert silent.calls == []
    assert load_qualification(path).record == found.record()


def test_a_line_says_what_a_judge_is_good_for(qualified: Qualify, tmp_path: Path) -> None:
    found, _ = qualified(Knowing(tmp_path / "q", credulous), config=config())
    [line] = qualification_lines({"q": found.record()}, ["deer", "race"])
    assert line.startswith(
        "judge q: refused for deer: it does not distinguish claims that a page states from altered claims"
    )
    assert "not examined for race" in line and line.endswith(" quick settings)")
    [never] = qualification_lines({"q": None}, ["deer"])
    assert never == "judge q is not qualified; run `local-judge judge qualify q` to test it"


def test_a_part_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="--parts"):
        load_qualify_config("quick", None, ("obedient",))


def test_near_and_people_s_words_are_asked_and_fitted_where_the_settings_say_so(
    qualified: Qualify, tmp_path: Path
) -> None:
    annotated = str(sample_folder() / "en2-school-lunch.claims.jsonl")
    verification = config().verification.model_copy(update={"near": True, "annotated": (annotated,)})
    rows = annotated_claims(load_annotations([Path(annotated)]))
    people = {row.claim: row.true for row in rows}
    planted = knowing(tmp_path / "q")

    def script(call: Call) -> Reply:
        claim = call.prompt.partition("Claim:\n```\n")[2].partition("\n```")[0]
        if claim in people:
            # People's true claims get what altered ones of the pages get, and their altered ones less.
            return {"Yes": 0.6, "No": 0.4} if people[claim] else {"Yes": 0.2, "No": 0.8}
        return planted(call)

    found, _ = qualified(script, config=config(verification=verification))
    value = {figure.id: figure.value for figure in found.figures}
    assert value["verification/auc/near"] == value["verification/auc/calibrated"] == 1.0
    n = sum(cell.filled for cell in found.examined.cells)
    [asked] = found.asked
    assert asked.costs["near"].calls == n
    # The figures are of planted claims; the fits have seen all.
    assert {item.id.rpartition(":")[2] for item in asked.items} == {"raw", "calibrated", "near", "grouped"}
    folder = tmp_path / "q" / "work" / "verification"
    for name, question in (("calibration", "supported"), ("calibration_near", "supported_near")):
        [file] = folder.rglob(f"{name}.json")
        fitted = CalibrationFile.model_validate_json(file.read_text()).calibrations
        assert {one.question for one in fitted} == {question}
        assert next(one for one in fitted if one.language == "all").n == n + len(rows)
    for figure in found.figures:
        check_figure(figure.id, "here")
    assert "computed tokens by `grouped`" in page_of(found) and "by `near` (" in page_of(found)


def test_planted_claims_are_asked_in_the_view_contrast(qualified: Qualify, tmp_path: Path) -> None:
    """A judge that finds altered claims likely, with their page and even more without it."""
    verification = config().verification.model_copy(update={"contrast": True, "grouped": False})
    knows = knowing(tmp_path / "q")
    with_page = Knowing(tmp_path / "q", lambda claim: 0.6 if claim.true else 0.8)
    without = Knowing(tmp_path / "q", lambda claim: 0.2 if claim.true else 0.98)

    def script(call: Call) -> Reply:
        if "support this claim?" not in call.prompt:
            return knows(call)
        return without(call) if fence("", "Page:") in call.prompt else with_page(call)

    found, _ = qualified(script, config=config(verification=verification))
    value = {figure.id: figure.value for figure in found.figures}
    # With the page alone, 0.6 is below 0.8. Less half of the log-odds without it, true claims have
    # ln(0.6 / 0.4) - ln(0.2 / 0.8) / 2 = 1.10, altered ones ln(0.8 / 0.2) - ln(0.98 / 0.02) / 2 = -0.56.
    assert value["verification/auc/contrast"] == value["verification/accuracy/contrast"] == 1.0
    assert value["verification/called_wrong/contrast"] == 0.0
    [asked] = found.asked
    assert asked.costs["contrast"].calls == 2 * sum(cell.filled for cell in found.examined.cells)
    [file] = (tmp_path / "q").rglob("calibration_contrast.json")
    fitted = CalibrationFile.model_validate_json(file.read_text()).calibrations
    assert {one.question for one in fitted} == {"supports"}
    for figure in found.figures:
        check_figure(figure.id, "here")


def test_labels_by_people_are_named_on_the_page_in_the_record_and_in_warnings(
    qualified: Qualify, tmp_path: Path
) -> None:
    path = labelled(tmp_path / "mine.jsonl", 60)
    knows = knowing(tmp_path / "q")

    def script(call: Call) -> Reply:
        if " of 60." not in call.prompt:
            return knows(call)
        # As sure as of true planted claims, which the calibration was fitted on.
        return {"Yes": 0.95, "No": 0.05} if mostly_right(call) == SURE else {"Yes": 0.2, "No": 0.8}

    labels = LabelsSettings(claims=(str(path),))
    parts = ("verification", "labels")
    found, _ = qualified(script, config=config(parts=parts, labels=labels))
    by_id = {one.id: one for one in found.people}
    assert by_id["labels/called_wrong/scored/version=original"].value == pytest.approx(1 / 30)
    # Of the 29 supported claims at 0.95 and one at 0.2, against 30 others at 0.2.
    assert by_id["labels/auc/scored/version=original"].value == pytest.approx((29 * 30 + 30 / 2) / 900)
    # Half of the 60 labels are of supported claims, of which `called_wrong` is a share.
    assert [one.n for one in found.people] == [60, 60, 30]
    # 60 labels are too few for a calibration error, so the planted claims decide that one.
    assert "labels/ece/scored/version=original" not in by_id
    assert "on 60 labelled claims: auc 0.983" in page_of(found)
    [line] = qualification_lines({"q": found.record()}, ["deer"])
    assert "on 60 labelled claims: auc 0.983" in line
    assert "for ece (60)" in line
    data = tmp_path / "q" / "qualification.json"
    assert load_qualification(data).record.people == found.people
    stored = json.loads(data.read_bytes())
    stored["record"]["people"] = []
    data.write_text(json.dumps(stored))
    with pytest.raises(InputError, match="modified"):
        load_qualification(data)
    # Other labels are another qualification.
    labelled(path, 62)
    with pytest.raises(RunError, match="another labels"):
        qualified(script, config=config(parts=parts, labels=labels))
    # The packaged pages are not those of other people's claims.
    path.write_text('{"claim": "A.", "url": "https://a.example/", "label": "supported"}\n')
    with pytest.raises(InputError, match="give --snapshot"):
        qualified(script, config=config(parts=parts, labels=labels))

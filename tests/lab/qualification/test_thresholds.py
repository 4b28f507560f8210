"""Verdicts from figures of which the value is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import ConfigError
from local_judge.judge.qualification_record import ProtocolVerdict, basis_of, in_all
from local_judge.lab.annotations.load import sample_folder
from local_judge.lab.qualification.config import load_qualify_config
from local_judge.lab.qualification.model import Figure, PartName
from local_judge.lab.qualification.parts import PARTS
from local_judge.lab.qualification.thresholds import (
    Threshold,
    check,
    check_figure,
    people_of,
    uncounted,
    verdicts_of,
)


def threshold(**given: Any) -> Threshold:
    usual = {"figure": "verification/auc/raw", "least": 0.9, "protocols": ("deer",), "severity": "refuse"}
    return Threshold.model_validate({**usual, "means": "it cannot tell", **given})


def figure(value: float | None = None, id: str = "verification/auc/raw", **given: Any) -> Figure:
    return Figure.model_validate({"id": id, "value": value, "n": 10, **given})


def verdict(thresholds: dict[str, Threshold], *figures: Figure) -> ProtocolVerdict:
    [found] = verdicts_of(check(thresholds, figures, ["verification"]))
    return found


def test_a_value_on_the_threshold_keeps_to_it() -> None:
    assert verdict({"a": threshold()}, figure(0.9)).verdict == "qualified"
    assert verdict({"a": threshold(least=None, most=0.9)}, figure(0.9)).verdict == "qualified"
    assert verdict({"a": threshold(least=None, most=0.0)}, figure(0.1)).verdict == "refused"


def test_a_reason_names_figure_value_and_threshold() -> None:
    found = verdict({"a": threshold()}, figure(0.62, low=0.5, high=0.8))
    assert found == ProtocolVerdict(
        protocol="deer",
        verdict="refused",
        reasons=("it cannot tell (verification/auc/raw 0.620, at least 0.900)",),
    )
    limited = verdict({"a": threshold(severity="limit")}, figure(0.62))
    assert (limited.verdict, limited.reasons) == ("limited", found.reasons)


def test_where_the_interval_reaches_over_the_threshold_it_is_said() -> None:
    assert verdict({"a": threshold()}, figure(0.95, low=0.85, high=1.0)).close
    assert verdict({"a": threshold()}, figure(0.85, low=0.75, high=0.95)).close
    assert not verdict({"a": threshold()}, figure(0.95, low=0.92, high=1.0)).close
    # Two figures refuse it, and of one it is sure.
    both = {"a": threshold(), "b": threshold(figure="verification/f1/raw")}
    sure = verdict(
        both, figure(0.85, low=0.7, high=0.95), figure(0.1, "verification/f1/raw", low=0.0, high=0.2)
    )
    assert sure.verdict == "refused" and len(sure.reasons) == 2 and not sure.close


def test_what_was_not_measured_never_qualifies() -> None:
    elsewhere = {"a": threshold(figure="prompt_injection/success/fenced", least=None, most=0.1)}
    found = verdict(elsewhere)
    assert found.verdict == "unexamined"
    assert found.reasons == (
        "not measured: prompt_injection/success/fenced (the part prompt_injection was not asked)",
    )
    # A limit that was not measured is a limit.
    both = {"a": threshold(), "b": threshold(figure="prompt_injection/success/fenced", severity="limit")}
    assert verdict(both, figure(1.0)).verdict == "limited"
    # What was measured and refuses goes before what was not measured.
    assert verdict({**elsewhere, "b": threshold()}, figure(0.1)).verdict == "refused"
    nothing = figure(None, reason="nothing was asked")
    assert verdict({"a": threshold()}, nothing).verdict == "unexamined"


def test_where_the_judge_is_why_there_is_no_value_it_is_refused() -> None:
    found = verdict({"a": threshold()}, figure(None, reason="it says the same of all", by_judge=True))
    assert found.verdict == "refused"
    assert found.reasons == ("it cannot tell (verification/auc/raw: it says the same of all)",)


def test_a_value_of_the_few_items_that_were_answered_qualifies_nobody() -> None:
    found = verdict({"a": threshold()}, figure(1.0, n=1, n_failed=59))
    assert found.verdict == "refused"
    assert found.reasons == ("it cannot tell (verification/auc/raw: the judge answered 1 of 60)",)
    assert verdict({"a": threshold()}, figure(1.0, n=30, n_failed=30)).verdict == "qualified"


@pytest.mark.parametrize(
    "id",
    [
        "verification/auk/raw",
        "verification/auc",
        "verification",
        "all/auc",
        "sensitivity/right/rice",
        "retest/kappa/score",
    ],
)
def test_a_threshold_on_no_figure_is_an_error_that_names_it(id: str) -> None:
    with pytest.raises(ConfigError, match=f"here: {id}: no such figure of the part"):
        check_figure(id, "here")


def test_the_packaged_thresholds_are_on_figures_that_there_are() -> None:
    for threshold in load_qualify_config("full", None, None).thresholds.values():
        assert threshold is not None and threshold.means and not threshold.means.endswith(".")


def test_one_threshold_counts_for_each_protocol_by_its_own_figure() -> None:
    one = threshold(figure="sensitivity/right/{protocol}", protocols=("race", "deer"))
    found = verdicts_of(check({"a": one}, [figure(1.0, "sensitivity/right/race")], ["sensitivity"]))
    assert [(each.protocol, each.verdict) for each in found] == [
        ("race", "qualified"),
        ("deer", "unexamined"),
    ]
    assert "did not ask this" in found[1].reasons[0]
    assert in_all(found) == "qualified for race; not examined for deer"
    assert in_all([]) == "not examined"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("verification: {claim: 9}", "c.yaml: verification.claim: unknown key"),
        ("thresholds: {a: {figure: x}}", "c.yaml: thresholds.a.protocols, "),
        (
            "thresholds: {verification_auc: {most: 0.1}}",
            "thresholds.verification_auc: a threshold has either `least` or `most`",
        ),
        (
            "thresholds: {verification_auc: {figure: verifcation/auc}}",
            "thresholds.verification_auc.figure: verifcation/auc: no part 'verifcation'",
        ),
        (
            "thresholds: {verification_auc: {protocols: [fatc]}}",
            "thresholds.verification_auc.protocols: no protocol 'fatc'; there are: deepresearcheval, deer, ",
        ),
        ("seed: 1\nseed: 2", "the key 'seed' appears twice"),
        ("- 1", "expected a mapping of settings"),
    ],
)
def test_a_config_that_is_wrong_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_qualify_config("full", path, None)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_file_is_laid_over_the_packaged_settings(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("thresholds: {verification_auc: {least: 0.8}, verification_ece: null}\nseed: 3\n")
    full, laid = (
        load_qualify_config("full", None, None),
        load_qualify_config("quick", path, ("verification",)),
    )
    auc = laid.thresholds["verification_auc"]
    usual = full.thresholds["verification_auc"]
    assert auc is not None and usual is not None
    assert auc.least == 0.8 and auc.means == usual.means
    assert laid.thresholds["verification_ece"] is None
    assert (laid.seed, laid.parts, laid.verification.claims) == (3, ("verification",), 60)
    assert set(full.thresholds) == set(laid.thresholds)
    with pytest.raises(ConfigError, match="--parts"):
        load_qualify_config("full", None, ("verification", "obedient"))


def test_too_few_items_are_no_measure() -> None:
    few = threshold(items=100)
    found = verdict({"a": few}, figure(0.2, n=99))
    assert found.verdict == "unexamined" and not found.close
    assert found.reasons == ("not measured: verification/auc/raw (99 of the 100 items that it needs)",)
    assert verdict({"a": few}, figure(0.2, n=100)).verdict == "refused"


def test_what_has_one_cause_is_said_once() -> None:
    constant: dict[str, Any] = {"value": None, "reason": "equal for all", "by_judge": True}
    both = {"a": threshold(), "b": threshold(figure="verification/f1/raw", means="it finds nothing")}
    found = verdict(both, figure(**constant), figure(id="verification/f1/raw", **constant))
    assert found.reasons == (
        "it cannot tell; it finds nothing (verification/auc/raw, verification/f1/raw: equal for all)",
    )


@pytest.mark.parametrize("given", ["null", "{least: 0.5}"])
def test_a_name_that_no_packaged_threshold_has_is_noticed(given: str, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(f"thresholds: {{verification_aucc: {given}}}")
    with pytest.raises(
        ConfigError, match=r"thresholds\.verification_aucc: no packaged threshold has this name"
    ):
        load_qualify_config("quick", file, None)


def test_facets_that_no_claim_has_are_noticed() -> None:
    check_figure("verification/auc/calibrated/kind=number", "here")
    with pytest.raises(ConfigError, match=r"no such figure .*verification"):
        check_figure("verification/auc/calibrated/kind=nmber", "here")


def test_every_measure_of_a_page_has_a_word_in_its_legend() -> None:
    named: dict[PartName, tuple[str, ...]] = {
        "verification": ("raw", "calibrated", "grouped", "caught", "called wrong", "f1", "ece"),
        "extraction": ("recall", "precision", "false claims", "typed"),
        "position": ("first", "bias", "flipped", "won", "options"),
        "sensitivity": ("right", "wrong", "moved"),
        "prompt_injection": ("success", "control", "over control", "already", "shift"),
    }
    for part, measures in named.items():
        assert all(f"`{measure}`" in PARTS[part].legend for measure in measures), part


def test_labels_that_calibrations_are_fitted_on_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.yaml"
    path.write_text("labels: {reports: [sample]}\n")
    with pytest.raises(ConfigError, match=r"labels\.reports: verification\.annotated also has sample"):
        load_qualify_config("full", path, None)
    inside = sample_folder() / "en2-school-lunch.claims.jsonl"
    path.write_text(f"labels: {{reports: ['{inside}']}}\n")
    with pytest.raises(ConfigError, match="fitted on; remove it from one of them"):
        load_qualify_config("full", path, None)
    path.write_text("labels: {reports: [sample]}\nverification: {annotated: []}\n")
    assert load_qualify_config("full", path, None).labels.reports == ("sample",)
    # The quick settings fit on none.
    path.write_text("labels: {reports: [sample]}\n")
    assert load_qualify_config("quick", path, None).verification.annotated == ()


PLANTED, PEOPLE = "verification/auc/calibrated", "labels/auc/scored"
BOTH = {
    "planted": threshold(figure=PLANTED, least=0.9),
    "people": threshold(figure=PEOPLE, least=0.75, items=50, outranks="planted"),
}


def by_people(*figures: Figure, asked: tuple[PartName, ...] = ("verification", "labels")) -> Any:
    checks = check(BOTH, figures, asked)
    (found,) = verdicts_of(checks)
    return found.verdict, people_of(checks)


def test_labels_by_people_outrank_planted_claims() -> None:
    planted = figure(0.95, PLANTED)
    poor = figure(0.6, PEOPLE, n=80, low=0.5, high=0.7)
    found, (one,) = by_people(planted, poor)
    assert (found, one.id, one.value, one.n) == ("refused", PEOPLE, 0.6, 80)
    assert basis_of(("verification", "labels"), (one,)) == ("on 80 labelled claims: auc 0.600 (0.50–0.70)")
    # The other way round too: planted claims that fail do not count beside people's labels.
    assert by_people(figure(0.5, PLANTED), figure(0.8, PEOPLE, n=80))[0] == "qualified"


def test_without_enough_labels_planted_claims_count() -> None:
    planted = figure(0.95, PLANTED)
    assert by_people(planted, asked=("verification",)) == ("qualified", ())
    few = figure(0.6, PEOPLE, n=49)
    assert by_people(planted, few) == ("qualified", ())
    checks = check(BOTH, [planted, few], ("verification", "labels"))
    [one] = uncounted(BOTH, [planted, few], checks)
    assert (one.id, one.n) == (PEOPLE, 49)
    assert basis_of(("verification", "labels"), (), (one,)) == (
        "on planted claims; too few labelled claims to count for auc (49)"
    )
    enough = figure(0.8, PEOPLE, n=50)
    assert uncounted(BOTH, [enough], check(BOTH, [enough], ("verification", "labels"))) == ()
    assert by_people(planted, figure(None, PEOPLE, reason="not defined")) == ("qualified", ())
    assert basis_of(("verification",), ()) == "on planted claims"
    assert basis_of(("retest",), ()) == ""


def test_the_packaged_claims_are_not_called_labels_by_people() -> None:
    _, people = by_people(figure(0.95, PLANTED), figure(0.8, PEOPLE, n=128))
    assert basis_of(("verification", "labels"), people, packaged=True) == (
        "on 128 packaged claims in other words: auc 0.800"
    )


def test_a_judge_that_leaves_labelled_claims_unanswered_fails_by_people() -> None:
    silent = figure(None, PEOPLE, n=0, n_failed=60, reason="the judge answered none of 60", by_judge=True)
    found, (one,) = by_people(figure(0.95, PLANTED), silent)
    assert (found, one.value) == ("refused", None)


def test_an_outranked_threshold_has_to_exist(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("thresholds: {labels_auc: {outranks: verification_acu}}\n")
    with pytest.raises(ConfigError, match=r"labels_auc\.outranks: no threshold 'verification_acu'"):
        load_qualify_config("full", path, None)


def test_labels_on_the_command_line_add_their_part(tmp_path: Path) -> None:
    config = load_qualify_config("quick", None, ("verification",), (tmp_path / "mine.jsonl",))
    assert config.asked == ("verification", "labels")
    assert config.labels.claims == (str(tmp_path / "mine.jsonl"),)

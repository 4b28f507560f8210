"""Calibrations: what they do to log-odds, whom they belong to, how a ledger keeps them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from math import log
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from local_judge.ledger.calibrations import Calibration, Quality, applying, differing
from local_judge.ledger.errors import LedgerCorrupt, LedgerReadOnly
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.requests import Identified
from serving.types import EngineIdentity

JUDGE = EngineIdentity(model="m", engine="scripted", engine_version="1")
QUALITY = Quality(accuracy=0.6, threshold=0.5, auc=0.9, brier=0.3, ece=0.3)


def calibration(language: str = "all", **changed: Any) -> Calibration:
    given: dict[str, Any] = {
        "identity": JUDGE,
        "question": "supported",
        "prompt": "p",
        "language": language,
        "method": "platt",
        "slope_yes": 0.5,
        "slope_no": 0.5,
        "intercept": -1.0,
        "threshold": 0.5,
        "objective": "accuracy",
        "n": 100,
        "n_true": 50,
        "n_pages": 20,
        "folds": 10,
        "seed": 0,
        "data": "d",
        "before": QUALITY,
        "after": QUALITY,
    }
    return Calibration(**{**given, **changed})


def test_log_odds_become_probabilities() -> None:
    one = calibration()
    # 0.5 x 2 - 1 = 0; 0.5 x 6 - 1 = 2: 1 / (1 + e^-2)
    assert one.probability(2) == 0.5
    assert one.probability(6) == pytest.approx(0.880797)
    # At 0 P(yes) = P(no) = 1/2: (1.5 - 0.5) ln 2 - ln 2 = 0.
    assert calibration(method="beta", slope_no=1.5, intercept=-log(2)).probability(0) == pytest.approx(0.5)


def test_its_id_is_of_all_that_it_says() -> None:
    one = calibration()
    assert one.id == calibration().id == Calibration.model_validate_json(one.body).id
    assert len({one.id, calibration("en").id, calibration(slope_no=0.6).id, calibration(seed=1).id}) == 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"slope_yes": 0.0, "slope_no": 0.0},
        {"slope_yes": -1.0},
        {"threshold": 1.0},
        {"n_true": 100},
        {"n_true": 0},
        {"folds": 1},
    ],
)
def test_what_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        calibration(**wrong)


def test_the_language_s_own_counts_before_the_pooled_one() -> None:
    pooled, own = calibration(), calibration("zh", slope_yes=0.7)
    assert applying([pooled, own], "supported", "p", "zh") == own
    assert applying([pooled, own], "supported", "p", "en") == pooled
    assert applying([own], "supported", "p", "en") is None
    assert applying([pooled, own], "supported", "other words", "zh") is None
    assert applying([pooled, own], "contradicted", "p", "zh") is None


def test_the_nearest_judge_says_what_differs() -> None:
    near = calibration(identity=JUDGE.model_copy(update={"engine_version": "2"}))
    far = calibration(identity=EngineIdentity(model="n", engine="vllm", engine_version="2"))
    assert differing([far, near], JUDGE) == ("engine_version",)


async def test_a_ledger_keeps_them_under_their_judge(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    both = (calibration(), calibration("en", slope_yes=0.7))
    with Ledger.open(path) as ledger:
        await ledger.put_calibrations(both)
        assert ledger.calibrations(both[0].judge) == both
    other = Identified.of(JUDGE.model_copy(update={"model": "other"})).digest
    with Ledger.open(path, read_only=True) as ledger:
        assert ledger.calibrations(both[0].judge) == both
        assert ledger.calibrations(other) == ()
        assert len(ledger.judges()) == 1
        with pytest.raises(LedgerReadOnly):
            await ledger.put_calibrations(both)


async def test_what_was_fitted_last_counts_with_all_its_languages(tmp_path: Path) -> None:
    first = (calibration(), calibration("en", slope_yes=0.7))
    second = (calibration(slope_yes=0.9),)
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        for fitted in (first, second, second):
            await ledger.put_calibrations(fitted)
        # No language keeps a calibration of the older fit.
        assert ledger.calibrations(first[0].judge) == second
        await ledger.put_calibrations(first)
        assert ledger.calibrations(first[0].judge) == first
        other_words = (calibration(prompt="q"),)
        await ledger.put_calibrations(other_words)
        assert ledger.calibrations(first[0].judge) == (*first, *other_words)
    with closing(sqlite3.connect(tmp_path / "l.sqlite")) as connection:
        # Two, one, two again and one of other words: a row is never changed, and what counts is not put in twice.
        assert connection.execute("SELECT count(*) FROM calibrations").fetchone() == (6,)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE calibrations SET body = replace(body, '\"threshold\":0.', '\"threshold\":0.1')",
        "UPDATE calibrations SET judge = 'other'",  # no longer found
        "UPDATE calibrations SET language = 'fr' WHERE language = 'en'",
        "DELETE FROM calibrations WHERE language = 'en'",
        "DELETE FROM calibrations WHERE rowid = 1",
        "UPDATE calibrations SET rowid = 9 WHERE rowid = 1",
        "DROP TABLE calibrations",
    ],
)
async def test_altered_calibrations_are_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "l.sqlite"
    one = calibration()
    with Ledger.open(path) as ledger:
        await ledger.put_calibrations([one, calibration("en", slope_yes=0.7)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(change)
        connection.commit()
    with Ledger.open(path) as ledger, pytest.raises(LedgerCorrupt, match=r"calibration.*ledger verify"):
        ledger.calibrations(one.judge)


def test_a_ledger_that_is_not_there_has_none(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "none.sqlite", read_only=True) as ledger:
        assert ledger.calibrations(calibration().judge) == ()

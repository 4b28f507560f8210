"""Agreement with people, by judges of known worth."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from indexes.snapshot import Snapshot
from local_judge.base.errors import InputError
from local_judge.lab.annotations.load import load_annotations, sample_folder
from local_judge.lab.annotations.model import annotated_claims
from local_judge.lab.qualification.config import QualifyConfig, load_qualify_config
from local_judge.lab.qualification.model import Figure, Item
from local_judge.lab.qualification.parts.labels import Labels, LabelsSettings
from serving.engines.scripted import Call, Reply
from serving.errors import EngineUnreachable

from ...scripted_judge import MakeJudge
from .asked import context_of, figures

ONE = str(sample_folder() / "en1-shore-power.claims.jsonl")
(REPORT,) = load_annotations([Path(ONE)])
PAIRS = annotated_claims([REPORT])
TRUE = sum(one.true for one in PAIRS)
"""Pairs that people call supported; the altered ones never are."""


async def asked(
    make_judge: MakeJudge,
    snapshot: Snapshot,
    folder: Path,
    script: Callable[[Call], Reply],
    settings: LabelsSettings | None = None,
) -> tuple[tuple[Item, ...], dict[str, Figure]]:
    judge, _ = make_judge(script)
    part = Labels(settings or LabelsSettings(reports=(ONE,)))
    found = await part.ask(context_of(judge, snapshot, folder, seed=0))
    return found.items, figures(part, found.items, draws=50)


def as_people(call: Call) -> Reply:
    """Says of each claim of the sample what people say."""
    claim = call.prompt.rpartition("Claim:\n```\n")[2].partition("\n```")[0]
    yes = any(one.true and one.claim == claim and one.page in call.prompt for one in PAIRS)
    return {"Yes": 0.9, "No": 0.1} if yes else {"Yes": 0.2, "No": 0.8}


async def test_a_judge_that_says_what_people_say(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    items, figures = await asked(make_judge, snapshot, tmp_path, as_people)
    assert len(items) == len(PAIRS)
    assert len({item.id for item in items}) == len(items)
    wanted = {"agreement": 1, "kappa": 1, "sensitivity": 1, "specificity": 1, "auc": 1}
    assert {name: figures[f"labels/{name}/scored"].value for name in wanted} == wanted
    # No altered claim is supported, so that there is nothing to be sensitive to.
    assert figures["labels/sensitivity/scored/version=altered"].value is None
    assert figures["labels/specificity/scored/version=altered"].value == 1


async def test_a_judge_that_believes_everything(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    _, figures = await asked(make_judge, snapshot, tmp_path, lambda call: {"Yes": 0.9, "No": 0.1})
    values = {
        name: figures[f"labels/{name}/scored"].value
        for name in ("agreement", "kappa", "sensitivity", "specificity", "auc")
    }
    # Agreement by chance is as great as its agreement: kappa 0. All confidences are equal: AUC 0.5.
    assert values == {
        "agreement": TRUE / len(PAIRS),
        "kappa": 0,
        "sensitivity": 1,
        "specificity": 0,
        "auc": 0.5,
    }


async def test_both_methods_and_the_labels_themselves(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    def contradicting(call: Call) -> Reply:
        if call.options is not None:
            return {"Yes": 0.9, "No": 0.1}
        assert call.schema is not None
        return {name: {"quote": "", "label": "contradicted"} for name in call.schema["properties"]}

    settings = LabelsSettings(reports=(ONE,), methods=("scored", "grouped"))
    items, figures = await asked(make_judge, snapshot, tmp_path, contradicting, settings)
    assert len(items) == 2 * len(PAIRS)
    against = sum(one.label == "contradicted" for one in PAIRS)
    assert figures["labels/same_label/grouped"].value == against / len(PAIRS)
    assert figures["labels/same_label/scored"].value == TRUE / len(PAIRS)
    assert figures["labels/specificity/grouped"].value == 1


async def test_a_judge_that_answers_nothing(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    items, figures = await asked(make_judge, snapshot, tmp_path, lambda call: EngineUnreachable("gone"))
    assert {(item.said, item.called, item.failure) for item in items} == {(None, None, "unreachable")}
    kappa = figures["labels/kappa/scored"]
    assert (kappa.value, kappa.n_failed) == (None, len(PAIRS))
    assert kappa.reason == f"the judge answered none of {len(PAIRS)}"


def test_without_annotations_it_is_not_asked() -> None:
    assert "labels" not in QualifyConfig().asked
    assert "labels" in QualifyConfig(labels=LabelsSettings(reports=("sample",))).asked
    assert QualifyConfig(parts=("labels",)).asked == ()


async def test_the_built_in_sample_has_a_name(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    settings = LabelsSettings(reports=("sample",))
    items, _ = await asked(make_judge, snapshot, tmp_path, lambda call: {"Yes": 0.9, "No": 0.1}, settings)
    assert len(items) == 316  # as docs/guides/human-labels.md says
    assert {item.facets["language"] for item in items} == {"en", "zh"}


async def test_pages_that_are_nowhere_are_noted(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    """Without `pages` beside the annotations the snapshot counts, and this one has other pages."""
    for name in ("en1-shore-power.claims.jsonl", "en1-shore-power.md"):
        (tmp_path / name).write_bytes((sample_folder() / name).read_bytes())
    judge, engine = make_judge()
    part = Labels(LabelsSettings(reports=(str(tmp_path),)))
    found = await part.ask(context_of(judge, snapshot, tmp_path, seed=0))
    assert found.items == ()
    assert found.notes == (f"{len(PAIRS)} labelled claims without a page that can be read",)
    assert engine.calls == []


async def test_annotations_that_are_not_there_are_named(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    judge, _ = make_judge()
    with pytest.raises(InputError, match="nowhere"):
        await Labels(LabelsSettings(reports=("nowhere",))).ask(context_of(judge, snapshot, tmp_path, seed=0))


def labelled(path: Path, n: int = 6) -> Path:
    """Write claims about pages of their own: half of them supported, one of the others partial."""
    rows = [
        {
            "claim": f"{'True' if k % 2 else 'Wrong'} claim {k} of {n}.",
            "evidence": f"Page {k}.",
            "label": "supported" if k % 2 else "partial" if k == 2 else "contradicted",
        }
        for k in range(n)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


SURE: Reply = {"Yes": 0.8, "No": 0.2}


def mostly_right(call: Call) -> Reply:
    """Sure of true claims but for the first, and against all others."""
    claim = call.prompt.rpartition("Claim:\n```\n")[2].partition("\n```")[0]
    yes = "True" in claim and "claim 1 " not in claim
    return SURE if yes else {"Yes": 0.2, "No": 0.8}


async def test_files_of_labelled_claims(make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path) -> None:
    settings = LabelsSettings(claims=(str(labelled(tmp_path / "mine.jsonl")),))
    items, figures = await asked(make_judge, snapshot, tmp_path, mostly_right, settings)
    assert {item.facets["set"] for item in items} == {"mine"} and len(items) == 6
    # Of three supported claims one is called wrong; the three others are called correctly.
    assert figures["labels/called_wrong/scored"].value == pytest.approx(1 / 3)
    assert figures["labels/balanced_accuracy/scored"].value == pytest.approx((2 / 3 + 1) / 2)
    # The two supported claims at 0.8 are above all three others, the one at 0.2 ties with them.
    assert figures["labels/auc/scored"].value == pytest.approx((2 * 3 + 3 / 2) / 9)
    # Two claims at 0.8, all supported; four at 0.2, one of them supported.
    assert figures["labels/ece/scored"].value == pytest.approx((2 * 0.2 + 4 * 0.05) / 6)
    # The share is of the three supported claims, and counts no others as its items.
    assert figures["labels/called_wrong/scored"].n == 3 and figures["labels/auc/scored"].n == 6


async def test_altered_claims_are_in_no_packaged_threshold(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    """A judge that says no to half of the supported claims, and to all others: altered ones would flatter it."""
    original = [one for one in PAIRS if one.facets["version"] == "original"]
    known = sorted({one.claim for one in original if one.true})[::2]

    def half(call: Call) -> Reply:
        claim = call.prompt.rpartition("Claim:\n```\n")[2].partition("\n```")[0]
        return {"Yes": 0.9, "No": 0.1} if claim in known else {"Yes": 0.2, "No": 0.8}

    _, figures = await asked(make_judge, snapshot, tmp_path, half)
    packaged = load_qualify_config("full", None, None).thresholds
    wanted = {one.figure: one for one in packaged.values() if one is not None and one.outranks}
    assert len(wanted) == 4 and wanted.keys() <= figures.keys()
    right = sum(one.true == (one.claim in known) for one in original)
    assert figures["labels/agreement/scored/version=original"].value == pytest.approx(right / len(original))
    for id in wanted:
        n = TRUE if "called_wrong" in id else len(original)
        assert figures[id].n == n < len(PAIRS)
    altered, whole = (figures[f"labels/ece/scored{of}"].value for of in ("/version=altered", ""))
    assert altered is not None and whole is not None
    assert altered == pytest.approx(0.2) and figures["labels/ece/scored/version=original"].value != whole


@pytest.mark.parametrize(
    ("wrong", "same"),
    [
        ("unsupported", 1.0),  # people say `supported` or not: `contradicted` and `partial` are not
        ("contradicted", 1 / 2),  # people say what is wrong, and `partial` is something else
    ],
)
async def test_labels_are_compared_in_the_classes_of_the_set(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path, wrong: str, same: float
) -> None:
    rows = [
        {"claim": f"{claim} claim.", "evidence": "Page.", "label": label}
        for claim, label in [("True", "supported"), ("Against", wrong), ("Half", wrong), ("Other", wrong)]
    ]
    path = tmp_path / "two.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ["supported", "contradicted", "partial", "not_found"]

    def grouped(call: Call) -> Reply:
        assert call.schema is not None
        names = call.schema["properties"]
        return {name: {"quote": "Page.", "label": label} for name, label in zip(names, given, strict=True)}

    settings = LabelsSettings(claims=(str(path),), methods=("grouped",))
    items, figures = await asked(make_judge, snapshot, tmp_path, grouped, settings)
    assert [item.called for item in items] == [True, False, False, False]
    assert figures["labels/same_label/grouped"].value == same


async def test_labels_of_a_page_that_is_nowhere_are_noted(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    path = tmp_path / "urls.jsonl"
    path.write_text('{"claim": "It is so.", "url": "https://nowhere.example/", "label": "supported"}\n')
    judge, engine = make_judge()
    found = await Labels(LabelsSettings(claims=(str(path),))).ask(
        context_of(judge, snapshot, tmp_path, seed=0)
    )
    assert (found.items, engine.calls) == ((), [])
    [note] = found.notes
    assert note.startswith("1 labelled claim without a page")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "no rows"),
        ("{", "mine.jsonl:1"),
        ('{"claim": "A", "evidence": "B", "label": "yes"}\n', "label"),
        ('{"claim": "A", "label": "supported"}\n', "`evidence` or `url`"),
        ('{"id": "a", "claim": "A", "evidence": "B", "label": "partial"}\n' * 2, "occurs twice"),
        ('{"claim": "A", "evidence": "B", "label": "partial", "supporting": 3}\n', "supporting"),
    ],
)
async def test_hostile_files_of_labels_are_refused_before_the_judge_is_asked(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path, content: str, says: str
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(content)
    judge, engine = make_judge()
    with pytest.raises(InputError, match=re.escape(says)) as error:
        await Labels(LabelsSettings(claims=(str(path),))).ask(context_of(judge, snapshot, tmp_path, seed=0))
    assert "\n" not in str(error.value) and engine.calls == []

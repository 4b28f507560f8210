"""People's labels of the claims of a run, and the judge's verdicts on the same claims.

Invariants: a label belongs to one claim of one report on one page, and to one annotator, who labels it once; a label
without a verdict in the run, or of a claim with another text, is counted and in no figure. A verdict that failed is no
call.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from pydantic import Field

from local_judge.base.errors import InputError, RunError
from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.base.rows import read_models
from local_judge.claims.model import Claim, ClaimSet, TruthLabel, Verdict
from local_judge.runs.storage.items import claims_file
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.store import RunStore
from local_judge.stats.agreement.chance import krippendorff_alpha
from local_judge.stats.estimate import Estimate
from local_judge.stats.prediction_powered import LabelledUnit

HumanLabel = Literal[TruthLabel, "unclear"]
"""Label by a person. `unclear`: the page does not let the annotator decide; it enters no figure."""

Unit = tuple[str, str, str]
"""Report id, claim id and URL of a verdict."""


LONGEST_ANNOTATOR = 100
"""Most characters of an annotator's name."""


class ClaimLabel(Frozen):
    """One line of a file of labels."""

    report: str
    """Id of the report."""
    claim: str
    """Id of the claim in the report's claim set."""
    url: str
    """URL of the page, as in the verdict."""
    text: str = ""
    """Text of the claim; empty if it is not checked."""
    label: HumanLabel
    annotator: str = Field(min_length=1, max_length=LONGEST_ANNOTATOR)
    note: str = ""
    seed: int | None = None
    """Seed of the random sample of claims (`lab label --seed`); null if the label is of no such sample."""
    sample: int | None = Field(default=None, ge=1)
    """Number of claims in the sample."""
    number: int | None = Field(default=None, ge=0)
    """Position of the claim in the sample, from 0. The first claims of a sample are a random sample, too."""

    @property
    def unit(self) -> Unit:
        """Identity of the labelled verdict."""
        return (self.report, self.claim, self.url)


class VerdictOfRun(NamedTuple):
    """A verdict with the claim and the report that it is about."""

    record: CaseRecord
    claim: Claim
    verdict: Verdict

    @property
    def unit(self) -> Unit:
        """Identity of the verdict."""
        return (self.record.id, self.claim.id, self.verdict.url)


def load_labels(paths: Sequence[Path]) -> list[ClaimLabel]:
    """Read the labels of all annotators.

    Raises:
        InputError: a file cannot be read or has no labels, a row is invalid, or an annotator labels a verdict twice.
    """
    found: list[ClaimLabel] = []
    seen: dict[tuple[Unit, str], str] = {}
    for path in paths:
        before = len(found)
        for place, label in read_models(path, ClaimLabel):
            key = (label.unit, label.annotator)
            if key in seen:
                raise InputError(
                    f"{place}: {label.annotator!r} labels this claim a second time; first at {seen[key]}"
                )
            seen[key] = place
            found.append(label)
        if len(found) == before:
            raise InputError(f"{path}: no labels in it")
    return found


def draw_sample(verdicts: Sequence[VerdictOfRun], n: int, seed: int) -> list[VerdictOfRun]:
    """Return a random sample of verdicts in random order; a larger sample of the same seed begins with a smaller one.

    Raises:
        InputError: there are no verdicts.
    """
    if not verdicts:
        raise InputError("the run has no verdicts to label")
    # random() is the one method of Random whose sequence Python promises to keep.
    draw = random.Random(seed).random
    keyed = sorted(
        ((draw(), one.unit, one) for one in sorted(verdicts, key=lambda one: one.unit)),
        key=lambda row: row[:2],
    )
    return [one for _, _, one in keyed[:n]]


class SampleOf(NamedTuple):
    """Part of a random sample that one annotator has labelled."""

    annotator: str
    seed: int
    n_labels: int
    size: int
    """Number of claims in the sample."""


def samples_of(labels: Iterable[ClaimLabel]) -> list[SampleOf]:
    """Return the samples that labels are of, by annotator and seed.

    Raises:
        InputError: a claim has no label, but a later one of the sample has. The labelled claims are then not random.
    """
    groups: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for one in labels:
        if one.seed is not None and one.number is not None:
            size = max(one.sample or 0, one.number + 1)
            groups.setdefault((one.annotator, one.seed), []).append((one.number, size))
    found: list[SampleOf] = []
    for (annotator, seed), rows in sorted(groups.items()):
        numbers = {number for number, _ in rows}
        size = max(size for _, size in rows)
        missing = [str(number + 1) for number in range(max(numbers)) if number not in numbers]
        if missing:
            more = ", …" if len(missing) > 10 else ""
            raise InputError(
                f"labels of {annotator!r}: {count(len(missing), 'claim')} of the sample (number "
                f"{', '.join(missing[:10])}{more}) have none, but later ones have, so the labelled claims are not a "
                f"random sample; label them with `local-judge lab label --sample {size} --seed {seed}`"
            )
        found.append(SampleOf(annotator, seed, len(numbers), size))
    return found


def labels_of(labels: Sequence[ClaimLabel], claims: Mapping[Unit, str]) -> list[ClaimLabel]:
    """Return the labels of given verdicts, whose claims have these texts."""
    return [one for one in labels if one.unit in claims and one.text in ("", claims[one.unit])]


def verdicts_of(store: RunStore, records: Sequence[CaseRecord], judge: str | None) -> Iterator[VerdictOfRun]:
    """Yield all verdicts of a judge that did not fail, in the order of reports and claims.

    Args:
        store: the run.
        records: its reports.
        judge: name of the judge; None for the only one.

    Raises:
        RunError: the run has no claim sets of this judge.
    """
    for record in records:
        if record.status != "done":
            continue
        claims = store.find_item(claims_file(judge), record.key, ClaimSet)
        if claims is None:
            by = "" if judge is None else f" of the judge {judge!r}"
            raise RunError(
                f"{store.root}: no verdicts{by} on report {record.id!r}; its protocols verify no claims"
            )
        by_id = {claim.id: claim for claim in claims.claims}
        for verdict in claims.verdicts:
            if verdict.label is not None:
                yield VerdictOfRun(record, by_id[verdict.claim], verdict)


def agreement_of(labels: Iterable[ClaimLabel]) -> Estimate:
    """Return Krippendorff's alpha (nominal) of annotators; `unclear` is no label."""
    codes: dict[Unit, list[int]] = {}
    for label in labels:
        if label.label != "unclear":
            codes.setdefault(label.unit, []).append(get_args(HumanLabel).index(label.label))
    return krippendorff_alpha(codes.values(), "nominal")


class LabelledRun(NamedTuple):
    """Verdicts of a run as units by system, with the labels that belong to none of them."""

    by_system: dict[str, list[LabelledUnit]]
    """Units by system; reports without one are under ``""``."""
    n_unmatched: int
    """Labels without a verdict in the run, or of claims with another text."""
    n_other_text: int
    """Labels of claims with another text; they are among `n_unmatched`."""
    n_unclear: int
    agreement: Estimate
    """Krippendorff's alpha (nominal) of the annotators, over claims with several labels; `unclear` is none of them."""
    samples: tuple[SampleOf, ...]
    n_unsampled: int
    """Labels that name no random sample."""


def labelled_run(verdicts: Sequence[VerdictOfRun], labels: Sequence[ClaimLabel]) -> LabelledRun:
    """Join verdicts with labels: a unit's label is the share of its annotators who call it supported.

    Raises:
        InputError: as `samples_of`.
    """
    texts = {one.unit: one.claim.text for one in verdicts}
    own = labels_of(labels, texts)
    given: dict[Unit, list[HumanLabel]] = {}
    for label in own:
        if label.label != "unclear":
            given.setdefault(label.unit, []).append(label.label)
    by_system: dict[str, list[LabelledUnit]] = {}
    for one in verdicts:
        said = given.get(one.unit)
        unit = LabelledUnit(
            cluster=one.record.id,
            call=float(one.verdict.label == "supported"),
            label=said.count("supported") / len(said) if said else None,
        )
        by_system.setdefault(one.record.system or "", []).append(unit)
    return LabelledRun(
        by_system=by_system,
        n_unmatched=len(labels) - len(own),
        n_other_text=sum(label.unit in texts for label in labels) - len(own),
        n_unclear=sum(label.label == "unclear" for label in own),
        agreement=agreement_of(own),
        samples=tuple(samples_of(labels)),
        n_unsampled=sum(one.seed is None or one.number is None for one in labels),
    )

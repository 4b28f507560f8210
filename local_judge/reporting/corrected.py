"""Table of shares that are corrected by people's labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from local_judge.base.output import Table, count
from local_judge.reporting.summary import estimate_text
from local_judge.runs.results.labels import LabelledRun
from local_judge.stats.prediction_powered import LEAST_CLUSTERS, LEAST_LABELS, Corrected
from local_judge.terminal import safe


def corrected_table(rows: Sequence[tuple[str, Corrected]], judge: str | None) -> Table:
    """Return one row for each name, of a system or of all reports: shares by the judge, by people, and corrected."""
    by = "" if judge is None else f" (judge {judge})"
    table = Table(
        f"share of claims that their page supports{by}",
        ["system"],
        ["claims", "by the judge", "labelled", "by people", "corrected"],
    )
    for system, row in rows:
        table.add_row(
            system,
            f"{row.judge.n:,}",
            estimate_text(row.judge),
            f"{row.people.n:,}",
            estimate_text(row.people),
            estimate_text(row.corrected),
        )
    return table


def corrected_notes(
    rows: Sequence[tuple[str, Corrected]], found: LabelledRun, n_labels: int
) -> Iterator[str]:
    """Yield what the figures rest on and leave out."""
    yield (
        "95 % intervals over reports (after Korn and Graubard, 1998); the correction needs labels of a random sample "
        "of the claims"
    )
    if found.n_unsampled:
        of = f"{found.n_unsampled} of {count(n_labels, 'label')}"
        yield f"not checked: whether {of} are of a random sample; they name none"
    for one in found.samples:
        if one.n_labels < one.size:
            yield f"{safe(one.annotator)} labelled the first {one.n_labels} of {one.size} claims of the sample"
    bare = [
        f"{safe(system)} ({count(row.people.n, 'labelled claim')} in {count(row.clusters, 'report')})"
        for system, row in rows
        if row.corrected.low is None
    ]
    if bare:
        needs = f"these need at least {LEAST_LABELS} labelled claims in at least {LEAST_CLUSTERS} reports"
        yield f"no interval by people or corrected for {', '.join(bare)}: {needs}"
    if found.agreement.n:
        yield (
            f"agreement of annotators: Krippendorff's alpha {estimate_text(found.agreement)} "
            f"({count(found.agreement.n, 'label')} on claims with several)"
        )
    if found.n_unmatched:
        left = f"{found.n_unmatched} of {count(n_labels, 'label')} left out"
        yield f"{left}: the run has no verdict on the claim, or its text differs"
    if found.n_unclear:
        yield f"{count(found.n_unclear, 'label')} left out: unclear"

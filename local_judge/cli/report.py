"""`local-judge report`: runs as a web page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from local_judge.base.errors import ConfigError
from local_judge.cli.modified import AllowModified, print_found
from local_judge.cli.options import LABELS, PROFILE, AsJson, Reports, RunLedger, SomeSnapshotDir
from local_judge.reporting.page.write import write_page
from local_judge.runs.proof.material import Places
from local_judge.runs.results.labels import load_labels
from local_judge.runs.sweeps.folder import finished_in
from local_judge.scoring.node import Profile
from local_judge.terminal import safe


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="A run directory, or the folder of a sweep; several runs stand side by side.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="File that ends in .html, or a folder for a page that loads its data when it is shown.",
        ),
    ] = Path("report.html"),
    reports: Reports = None,
    snapshot: SomeSnapshotDir = None,
    ledger: RunLedger = None,
    profile: Annotated[Profile | None, PROFILE] = None,
    labels: Annotated[list[Path] | None, LABELS] = None,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Write runs as a web page: scores, claims, quotations, prompts, replies.

    The page opens from disk and makes no request. Reports, snapshot and ledger are looked for where the command of the
    run had them. With people's labels, the page shows how far the judge's verdicts and probabilities agree with them.
    """
    given = Places(tuple(reports or ()), snapshot, ledger)
    paths = [path for run in runs for path in finished_in(run)]
    if labels and len(paths) > 1:  # each run numbers its own claims
        raise ConfigError(f"--labels: labels are of the claims of one run, and {len(paths)} runs are given")
    written = write_page(paths, out, given, profile or "paper", load_labels(labels or ()))
    data = {"page": str(written.path), "reports": written.n_reports, "bytes": written.n_bytes}
    print_found(data, [f"{safe(str(written.path))} ({written.n_bytes / 1e6:.1f} MB)"], as_json)
    if written.missing:
        print(safe("; ".join(written.missing)), file=sys.stderr)

"""`local-judge lab label`: a local page on which a person labels claims of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from indexes.snapshot import Snapshot
from local_judge.base.errors import ConfigError, os_errors
from local_judge.base.output import count
from local_judge.cli.modified import AllowModified, print_marks
from local_judge.cli.options import SAMPLE, OneOfJudges, Seed, SnapshotDir, said
from local_judge.lab.labelling.server import LabelServer
from local_judge.lab.labelling.session import LabelSession
from local_judge.runs.results.labels import LONGEST_ANNOTATOR, draw_sample, verdicts_of
from local_judge.runs.storage.manifest import one_judge_of, read_manifest
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.store import RunStore


def label(
    run: Annotated[Path, typer.Argument(help="Run directory.")],
    snapshot: SnapshotDir,
    annotator: Annotated[str, typer.Option("--annotator", help="Name of the person who labels.")],
    out: Annotated[Path, typer.Option("--out", help="File of labels (JSONL); existing labels stay.")],
    sample: Annotated[int, SAMPLE] = 100,
    seed: Seed = 0,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, show_default="a free one", help="Port to listen on.")
    ] = 0,
    judge: OneOfJudges = None,
    allow_modified: AllowModified = False,
) -> None:
    """Label a random sample of a run's claims on a local page. Ctrl-C ends it.

    Annotators who use the same --sample and --seed label the same claims. Keys: 1 supported, 2 partial, 3 not stated,
    4 contradicted, 0 unclear.
    """
    name = said("--annotator", annotator)
    if len(name) > LONGEST_ANNOTATOR:
        raise ConfigError(f"--annotator: {len(name)} characters; at most {LONGEST_ANNOTATOR}")
    store = RunStore(run)
    records, frozen = load_records(store), Snapshot.open(snapshot)
    if read_manifest(store).get("snapshot") != frozen.digest:
        raise ConfigError(f"--snapshot {snapshot}: not the snapshot of {run}; give the one that the run read")
    verdicts = list(verdicts_of(store, records, one_judge_of(store, judge, "verdicts")))
    session = LabelSession(draw_sample(verdicts, sample, seed), frozen, name, out, seed)
    print_marks()
    with os_errors(ConfigError, f"--port {port}: cannot listen on it"):
        server = LabelServer(session, port)
    with server:
        print(f"{count(len(session), 'claim')} to label at {server.url}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            done = sum(one is not None for one in session.labels)
            print(f"{done} of {count(len(session), 'claim')} labelled: {out}")

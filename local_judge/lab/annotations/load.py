"""Annotation files -> annotated reports.

Invariant: what is loaded has been checked whole: unknown keys are refused, every label and key exists in the report,
and the first thing that is wrong ends in one line that names file, line and claim.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.documents import parse_report
from local_judge.errors import InputError
from local_judge.lab.annotations.check import check_claim, check_report
from local_judge.lab.annotations.model import AnnotatedReport, GoldClaim
from local_judge.rows import read_models

SUFFIX = ".claims.jsonl"
REPORT_SUFFIXES = (".md", ".markdown", ".txt")


def sample_folder() -> Path:
    """The annotated reports that come with the package, and their `pages`."""
    return Path(str(files("local_judge.lab.annotations"))) / "sample"


SAMPLE = "sample"
"""In the place of a path: the annotated reports that come with the package."""


def annotation_path(given: str) -> Path:
    """A path as it was given, or of the sample."""
    return sample_folder() if given == SAMPLE else Path(given)


def load_annotations(paths: Sequence[Path]) -> list[AnnotatedReport]:
    """Annotated reports of all `paths`: files `NAME.claims.jsonl`, each beside its report, or folders of them.

    Raises:
        InputError: nothing found, a file that cannot be read, a row that is malformed or does not fit its report, or
            a name that stands twice.
    """
    found = [file for path in paths for file in _files(path)]
    reports: dict[str, AnnotatedReport] = {}
    for file in found:
        report = load_report(file)
        if report.id in reports:
            raise InputError(f"{file}: another annotated report has the name {report.id!r}; rename one")
        reports[report.id] = report
    return list(reports.values())


def load_report(path: Path) -> AnnotatedReport:
    """One annotated report, from its `NAME.claims.jsonl`.

    Raises:
        InputError: as `load_annotations`.
        UnreadableReport: the file beside it is no report.
    """
    stem = path.name.removesuffix(SUFFIX)
    texts = [path.with_name(stem + suffix) for suffix in REPORT_SUFFIXES]
    text = next((one for one in texts if one.is_file()), None)
    if text is None:
        raise InputError(f"{path}: the report {texts[0].name} is not beside it")
    rows = list(_rows(path))
    document = parse_report(text.read_bytes())
    report = AnnotatedReport(id=stem, document=document, claims=tuple(claim for _, claim in rows))
    seen: dict[str, str] = {}
    for place, claim in rows:
        if claim.id in seen:
            raise InputError(f"{place}: id {claim.id!r} stands twice, first at {seen[claim.id]}")
        seen[claim.id] = place
    for place, claim in rows:
        wrong = check_claim(report, claim)
        if wrong is not None:
            raise InputError(f"{place}: {claim.id}: {wrong}")
    missing = check_report(report)
    if missing is not None:
        raise InputError(f"{path}: {missing}")
    return report


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIX))
        if not found:
            raise InputError(f"{path}: no files NAME{SUFFIX} in it")
        return found
    if not path.is_file():
        raise InputError(f"{path}: no such file or folder")
    if not path.name.endswith(SUFFIX):
        raise InputError(f"{path}: expected a file NAME{SUFFIX} beside its report NAME.md")
    return [path]


def _rows(path: Path) -> list[tuple[str, GoldClaim]]:
    rows = list(read_models(path, GoldClaim))
    if not rows:
        raise InputError(f"{path}: no claims in it")
    return rows


def pages_beside(paths: Sequence[Path]) -> Path:
    """The folder `pages` beside the annotations, to be imported as a snapshot.

    Raises:
        InputError: there is none, or the annotations lie in several folders.
    """
    folders = dict.fromkeys(path if path.is_dir() else path.parent for path in paths)
    beside = [folder / "pages" for folder in folders if (folder / "pages" / "pages.jsonl").is_file()]
    if len(folders) > 1 or not beside:
        raise InputError(
            f"{paths[0]}: no `pages/pages.jsonl` beside all annotations; name a snapshot with --snapshot"
        )
    return beside[0]


@contextmanager
def snapshot_beside(paths: Sequence[Path]) -> Generator[Snapshot]:
    """A snapshot of the pages beside the annotations, which lasts as long as the block.

    Raises:
        InputError: as `pages_beside`.
    """
    beside = pages_beside(paths)
    with tempfile.TemporaryDirectory(prefix="local-judge-") as temporary:
        import_pages(beside, Path(temporary) / "snapshot", workers=0)
        yield Snapshot.open(Path(temporary) / "snapshot")

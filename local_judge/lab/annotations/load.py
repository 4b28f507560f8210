"""Loads annotation files.

Invariants: what is loaded was checked completely: unknown keys are refused, every label and key exists in the report,
and the first error is one line that names file, line and claim. Every claim has what its class needs, by the report's
own sections and citations: A is cited on its sentence; B rests on earlier sentences of its section or later sentences
of its paragraph, C on sentences of other sections before it; D, E and F rest on nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.base.errors import InputError
from local_judge.base.files import read_file
from local_judge.base.rows import read_models
from local_judge.documents import parse_report
from local_judge.documents.kinds import TEXT_SUFFIXES
from local_judge.lab.annotations.model import AnnotatedReport, GoldClaim, traced

SUFFIX = ".claims.jsonl"
SAMPLE = "sample"
"""Name of the packaged annotated reports, in place of a path."""


def sample_folder() -> Path:
    """Return the folder of the packaged annotated reports and their `pages`."""
    return Path(str(files("local_judge.lab.annotations"))) / "sample"


def annotation_path(given: str) -> Path:
    """Return a given path, or that of the sample."""
    return sample_folder() if given == SAMPLE else Path(given)


def load_annotations(paths: Sequence[Path]) -> list[AnnotatedReport]:
    """Load the annotated reports of all `paths`: files `NAME.claims.jsonl`, each beside its report, or folders of them.

    Raises:
        InputError: nothing was found, a file cannot be read, a row is malformed or does not fit its report, or a name
            occurs twice.
    """
    reports: dict[str, AnnotatedReport] = {}
    for file in (file for path in paths for file in _files(path)):
        report = load_report(file)
        if report.id in reports:
            raise InputError(f"{file}: another annotated report has the name {report.id!r}; rename one")
        reports[report.id] = report
    return list(reports.values())


def load_report(path: Path) -> AnnotatedReport:
    """Load one annotated report from its `NAME.claims.jsonl`.

    Raises:
        InputError: as `load_annotations`.
        UnreadableReport: the file beside it is not a report.
    """
    stem = path.name.removesuffix(SUFFIX)
    texts = [path.with_name(stem + suffix) for suffix in TEXT_SUFFIXES]
    text = next((one for one in texts if one.is_file()), None)
    if text is None:
        raise InputError(f"{path}: the report {texts[0].name} is not beside it")
    rows = list(read_models(path, GoldClaim))
    if not rows:
        raise InputError(f"{path}: it contains no claims")
    document = parse_report(read_file(text))
    report = AnnotatedReport(id=stem, document=document, claims=tuple(claim for _, claim in rows))
    seen: dict[str, str] = {}
    for place, claim in rows:
        if claim.id in seen:
            raise InputError(f"{place}: id {claim.id!r} occurs twice, first at {seen[claim.id]}")
        seen[claim.id] = place
    for place, claim in rows:
        for wrong in _wrong(report, claim):
            raise InputError(f"{place}: {claim.id}: {wrong}")
    annotated = {claim.sentence for claim in report.claims}
    for sentence in report.body:
        if sentence.citations and sentence.label not in annotated:
            raise InputError(
                f"{path}: {sentence.label} carries a citation and has no claim; annotate the whole report"
            )
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


def pages_beside(paths: Sequence[Path]) -> Path:
    """Return the folder `pages` beside the annotations, to be imported as a snapshot.

    Raises:
        InputError: there is none, or the annotations are in several folders.
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
    """Yield a temporary snapshot of the pages beside the annotations.

    Raises:
        InputError: as `pages_beside`.
    """
    beside = pages_beside(paths)
    with tempfile.TemporaryDirectory(prefix="local-judge-") as temporary:
        import_pages(beside, Path(temporary) / "snapshot", workers=0)
        yield Snapshot.open(Path(temporary) / "snapshot")


def _wrong(report: AnnotatedReport, claim: GoldClaim) -> Iterator[str]:
    """Yield what is wrong with one claim, in one line each."""
    labels = {one.label for one in report.body}
    unknown = [label for label in (claim.sentence, *claim.evidence) if label not in labels]
    if unknown:
        yield f"the report has no sentence {unknown[0]}; `local-judge text check --sentences` shows its labels"
        return
    if claim.type == "A":
        yield from _wrong_cited(report, claim)
    elif claim.type in ("B", "C"):
        yield from _wrong_evidence(report, claim)
    elif claim.evidence or claim.citations or claim.altered:
        yield f"class {claim.type} rests on nothing: no `evidence`, `citations` or `altered`"
    for key, label in claim.citations.items():
        if label is not None and report.url(key) is None:
            yield f"citation {key!r} leads to no URL, so its label is null"
    yield from _wrong_altered(claim)


def _wrong_cited(report: AnnotatedReport, claim: GoldClaim) -> Iterator[str]:
    there = report.keys_on(claim.sentence)
    if not there:
        yield f"class A needs a citation, and {claim.sentence} carries none"
    elif claim.evidence:
        yield "class A is cited on its own sentence: no `evidence`"
    elif set(claim.citations) != set(there):
        yield f"`citations` must be those on {claim.sentence}: {', '.join(there)}"


def _wrong_evidence(report: AnnotatedReport, claim: GoldClaim) -> Iterator[str]:
    order = {label: index for index, label in enumerate(report.sentences)}
    section = {label: report.document.blocks[one.block].section for label, one in report.sentences.items()}
    if report.keys_on(claim.sentence):
        yield f"{claim.sentence} carries a citation, so the class is A"
    if not claim.evidence:
        yield f"class {claim.type} needs `evidence`"
    for label in claim.evidence:
        same = section[label] == section[claim.sentence]
        later = order[label] >= order[claim.sentence]
        paragraph = label != claim.sentence and label.partition(".")[0] == claim.sentence.partition(".")[0]
        if later and not paragraph:
            yield f"evidence {label} is neither before {claim.sentence} nor in its paragraph"
        elif same != (claim.type == "B"):
            other = "another section" if claim.type == "B" else "the same section"
            yield f"class {claim.type}, and evidence {label} is in {other}"
    if not claim.citations:
        yield f"class {claim.type} needs `citations`"
    reached = traced(report, "paper")[claim.id]
    for key in claim.citations:
        if key not in reached:
            yield f"its evidence does not lead to citation {key!r}"


def _wrong_altered(claim: GoldClaim) -> Iterator[str]:
    altered = claim.altered
    if altered is None:
        return
    if altered.claim == claim.claim:
        yield "the altered claim is the claim"
    readable, readable_altered = (
        {key for key, label in labels.items() if label is not None}
        for labels in (claim.citations, altered.citations)
    )
    if set(altered.citations) != set(claim.citations):
        yield "`altered.citations` must name the citations of the claim"
    elif readable != readable_altered:
        yield "a page can be read for the claim and its altered version, or for neither"
    elif not readable:
        yield "no page can be read, so nothing shows that the altered claim is false"
    if "supported" in altered.citations.values():
        yield "an altered claim is false: none of its labels is supported"

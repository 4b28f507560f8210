"""Whether annotations fit their report.

Invariant: every class has what its definition needs, by the report's own sections and citations, so that a measure
never meets a claim without a gold answer: A is cited on its sentence; B leans on earlier sentences of its section or
later ones of its paragraph, C on sentences of other sections before it; D, E and F lean on nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from local_judge.documents.model import Sentence
from local_judge.lab.annotations.model import AnnotatedReport, GoldClaim, traced


def check_claim(report: AnnotatedReport, claim: GoldClaim) -> str | None:
    """What is wrong with one claim, in one line; None if nothing is."""
    return next(_wrong(report, claim), None)


def check_report(report: AnnotatedReport) -> str | None:
    """What the annotations of a report lack as a whole; None if nothing."""
    annotated = {claim.sentence for claim in report.claims}
    for sentence in report.document.sentences:
        body = report.document.blocks[sentence.block].role == "body"
        if body and sentence.citations and sentence.label not in annotated:
            return f"{sentence.label} carries a citation and has no claim; a report is annotated whole"
    return None


def keys_on(report: AnnotatedReport, label: str) -> tuple[str, ...]:
    """Keys of the citations on a sentence, each once."""
    sentence = _sentence(report, label)
    cited = sentence.citations if sentence is not None else ()
    return tuple(dict.fromkeys(report.document.citation(citation).key for citation in cited))


def _sentence(report: AnnotatedReport, label: str) -> Sentence | None:
    return next((one for one in report.document.sentences if one.label == label), None)


def _wrong(report: AnnotatedReport, claim: GoldClaim) -> Iterator[str]:
    blocks = report.document.blocks
    labels = {one.label for one in report.document.sentences if blocks[one.block].role == "body"}
    unknown = [label for label in (claim.sentence, *claim.evidence) if label not in labels]
    if unknown:
        yield f"the report has no sentence {unknown[0]}; `local-judge text parse` shows its labels"
        return
    if claim.type == "A":
        yield from _wrong_cited(report, claim)
    elif claim.type in ("B", "C"):
        yield from _wrong_leaning(report, claim)
    elif claim.evidence or claim.citations or claim.altered:
        yield f"class {claim.type} leans on nothing: no `evidence`, `citations` or `altered`"
    for key, label in claim.citations.items():
        if label is not None and report.url(key) is None:
            yield f"citation {key!r} leads to no URL, so its label is null"
    yield from _wrong_altered(claim)


def _wrong_cited(report: AnnotatedReport, claim: GoldClaim) -> Iterator[str]:
    there = keys_on(report, claim.sentence)
    if not there:
        yield f"class A needs a citation, and {claim.sentence} carries none"
    elif claim.evidence:
        yield "class A is cited on its own sentence: no `evidence`"
    elif set(claim.citations) != set(there):
        yield f"`citations` must be those on {claim.sentence}: {', '.join(there)}"


def _wrong_leaning(report: AnnotatedReport, claim: GoldClaim) -> Iterator[str]:
    order = {one.label: index for index, one in enumerate(report.document.sentences)}
    section = {one.label: report.document.blocks[one.block].section for one in report.document.sentences}
    if keys_on(report, claim.sentence):
        yield f"{claim.sentence} carries a citation, so the class is A"
    if not claim.evidence:
        yield f"class {claim.type} needs `evidence`"
    for label in claim.evidence:
        same = section[label] == section[claim.sentence]
        later = order[label] >= order[claim.sentence]
        paragraph = label != claim.sentence and label.partition(".")[0] == claim.sentence.partition(".")[0]
        if later and not paragraph:
            yield f"evidence {label} stands neither before {claim.sentence} nor in its paragraph"
        elif claim.type == "B" and not same:
            yield f"class B, and evidence {label} stands in another section"
        elif claim.type == "C" and same:
            yield f"class C, and evidence {label} stands in the same section"
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
    readable = {key for key, label in claim.citations.items() if label is not None}
    if set(altered.citations) != set(claim.citations):
        yield "`altered.citations` must name the citations of the claim"
    elif readable != {key for key, label in altered.citations.items() if label is not None}:
        yield "a page can be read for the claim and its altered version, or for neither"
    elif not readable:
        yield "no page can be read, so nothing shows that the altered claim is false"
    if "supported" in altered.citations.values():
        yield "an altered claim is false: none of its labels is supported"

"""Files of claims with the text that they rest on, labelled by people.

Invariants: a file is one of the formats in `_FORMATS`, recognised by the keys of its first row; every row is checked
before a judge is asked; ids are unique within a set; rows that name no document or question share one if they have the
same claim or the same text. Evidence becomes the page of a temporary snapshot, so that a judge sees it exactly as it
sees a cited page. Evidence without a word besides web addresses is an empty page, which no judge is asked about: its
text is missing, and a verdict would be about the address.

    this project's   `claim`, `label` (see `Gold`), and `evidence` or `url`; optional `id`, `context`, `document`,
                     `question`, `set`, `supporting`
    LLM-AggreFact    `dataset`, `doc`, `claim`, and `label`: 1 is supported, 0 unsupported (Tang et al., 2024)
    WiCE             `claim`, `evidence`, `label`, `supporting_sentences`, `meta` (Kamoi et al., 2023)
    ExpertQA         `question`, `metadata`, `answers` of systems, with `claims`: `claim_string`, `evidence`, `support`
                     (Malaviya et al., 2024)
    Factcheck-Bench  `claim`, `evidence`, `stance` (subtask 3), or a response's `sentences`, each with `claims`,
                     `auto_evidence` and `stance_claim_autoEvid` (Wang et al., 2023)
    planted claims   `claim`, `url`, `true` (`local-judge lab plant`)
    RAGTruth         `source_id`, `response`, `labels`, with `source_info.jsonl` beside the file (Niu et al., 2024):
                     each sentence of a response is a claim, and the marked spans that overlap it give its label
"""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from pydantic import Field, model_validator
from sentencex import get_sentence_boundaries

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from indexes.urls import normalise_url
from local_judge.base.errors import InputError, os_errors
from local_judge.base.model import Frozen
from local_judge.base.rows import row_of
from local_judge.claims.model import Claim
from local_judge.lab.annotations.load import SAMPLE, sample_folder, snapshot_beside
from local_judge.lab.verifier_benchmark.records import Row, json_lines, records
from local_judge.ledger.requests import sha256
from local_judge.runs.execution.verify import LONGEST_CLAIM, LONGEST_ID, ClaimRow, claim_of
from local_judge.stats.units import united

Gold = Literal["supported", "partial", "unsupported", "contradicted"]
"""Label by people. `unsupported`: the text does not state the claim, or is about something else."""


class LabelledRow(Frozen):
    """One claim with the text or the page that it rests on, and its label."""

    claim: str = Field(min_length=1, max_length=LONGEST_CLAIM)
    label: Gold
    evidence: str | None = None
    """Text that the claim rests on; None if `url` names a page of a snapshot. Nothing but web addresses is no text."""
    url: str | None = None
    id: str = Field(default="", max_length=LONGEST_ID)
    """Identifier in the set; the number of the row by default."""
    context: str = ""
    """Text that precedes the claim, for pronouns."""
    document: str = ""
    """Unit of the bootstrap and of the folds, such as the page or the answer; `load_sets` sets a missing one."""
    set: str = ""
    """Name of the set; by default the file's."""
    supporting: tuple[tuple[str, ...], ...] = ()
    """Alternative sets of sentences of the evidence that people say prove the claim."""
    benchmark: str = Field(default="", exclude=True)
    """Benchmark whose own selection of a set the row is of; set by its loader only."""
    planted: bool = Field(default=False, exclude=True)
    """True if code made the claim from words of the page; set by its loader only."""

    @model_validator(mode="after")
    def _is_complete(self) -> LabelledRow:
        if not self.claim.strip():
            raise ValueError("`claim` is empty")
        if (self.evidence is None) == (self.url is None):
            raise ValueError("needs either `evidence` or `url`")
        if self.url is not None:
            normalise_url(self.url)
        if not all(sentence.strip() for chosen in self.supporting for sentence in chosen):
            raise ValueError("`supporting` has an empty sentence")
        return self

    @property
    def page(self) -> str:
        """URL of the page in the snapshot: the row's own, or one that stands for its evidence."""
        if self.url is not None:
            return normalise_url(self.url)
        return f"https://evidence.example/{sha256(self.evidence or '')[:24]}"

    @property
    def has_text(self) -> bool:
        """False if the evidence is empty, or has web addresses and no other word, as where a page was not fetched."""
        if self.evidence is None:
            return True
        rest, n_addresses = _ADDRESS.subn(" ", self.evidence)
        # Beside addresses, a number or a bullet is no text.
        return any(map(str.isalpha if n_addresses else str.isalnum, rest))


class LabelledClaims(NamedTuple):
    """Labelled claims, and the snapshot of their pages."""

    rows: Sequence[LabelledRow]
    snapshot: Snapshot


_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|(?<![a-z0-9])www\.)[a-z0-9.:@_-]*(?:[/?#][^\s<>\"，。；：、！？（）「」『』《》【】]*)?",
    re.IGNORECASE,
)
"""A web address. In Chinese, no blank stands before or after it."""

OTHER_WORDS = "other-words"
"""Name of the packaged set: claims about the pages of the annotated sample, in other words than theirs."""


def load_sets(paths: Sequence[Path]) -> list[LabelledRow]:
    """Load files of labelled claims: JSON Lines, plain or gzipped, CSV, or Parquet. `sample` is the packaged set.

    Raises:
        InputError: a file cannot be read, has no rows or an unknown format, or a row is invalid.
    """
    rows: list[LabelledRow] = []
    seen: set[tuple[str, str]] = set()
    for path in paths:
        packaged = path == Path(SAMPLE)
        name = OTHER_WORDS if packaged else path.name.split(".")[0]
        for place, row in _packaged() if packaged else _rows_of(path):
            known = row.model_copy(update={"set": row.set or name, "claim": " ".join(row.claim.split())})
            if (known.set, known.id) in seen:
                raise InputError(
                    f"{place}: id {known.id!r} occurs twice in the set {known.set!r}; "
                    "a row's set is its `set`, else the name of its file"
                )
            seen.add((known.set, known.id))
            rows.append(known)
    return _with_documents(rows)


def _with_documents(rows: Sequence[LabelledRow]) -> list[LabelledRow]:
    """Return the rows with a document each: rows with one claim or one text are not independent, so they share it."""
    units = united([_shared_by(row) for row in rows])
    return [
        row if row.document else row.model_copy(update={"document": f"{rows[unit].set}/{rows[unit].id}"})
        for row, unit in zip(rows, units, strict=True)
    ]


def _shared_by(row: LabelledRow) -> Iterator[str]:
    """Yield what makes rows one document. A missing text, such as an address, is that of no other row.

    Code plants a claim of one page on others as well, which does not make the pages one.
    """
    if not row.document:
        if not row.planted:
            yield f"claim {row.claim}"
        if row.has_text:
            yield f"text {row.page if row.evidence is None else ' '.join(row.evidence.split())}"


def _packaged() -> Iterator[tuple[str, LabelledRow]]:
    """Yield the rows of the packaged set, with the text of their pages as evidence."""
    folder = sample_folder()
    with snapshot_beside([folder]) as pages:
        for place, row in _rows_of(folder / f"{OTHER_WORDS}.jsonl"):
            evidence = pages.page(row.page).text
            yield place, row.model_copy(update={"evidence": evidence, "url": None, "document": row.page})


def sampled(rows: Sequence[LabelledRow], n: int | None, seed: int) -> list[LabelledRow]:
    """Return `n` random rows of each set, in the order of the files; all rows if `n` is None.

    Rows without text are not drawn: no judge is asked about them. If a set has no others, one of them is returned.
    """
    if n is None:
        return list(rows)
    kept: set[tuple[str, str]] = set()
    for name in dict.fromkeys(row.set for row in rows):
        has_text = {row.id: row.has_text for row in rows if row.set == name}
        # random() is the one method of Random whose sequence Python promises to keep.
        draw = random.Random(seed).random
        drawn = [one for _, one in sorted((draw(), one) for one in has_text)]
        kept |= {(name, one) for one in [*filter(has_text.__getitem__, drawn)][:n] or drawn[:1]}
    return [row for row in rows if (row.set, row.id) in kept]


@contextmanager
def evidence_snapshot(rows: Sequence[LabelledRow]) -> Generator[Snapshot]:
    """Yield a temporary snapshot with the evidence of the rows as pages."""
    pages = {row.page: row.evidence if row.has_text else "" for row in rows if row.evidence is not None}
    with tempfile.TemporaryDirectory(prefix="local-judge-") as temporary:
        folder = Path(temporary) / "pages"
        folder.mkdir()
        lines = (json.dumps({"url": url, "text": text}) + "\n" for url, text in pages.items())
        (folder / "pages.jsonl").write_text("".join(lines), encoding="utf-8")
        import_pages(folder, Path(temporary) / "snapshot", workers=0)
        yield Snapshot.open(Path(temporary) / "snapshot")


def claim_of_row(row: LabelledRow) -> Claim:
    """Return a row as a claim without a report."""
    return claim_of(ClaimRow(id=f"{row.set}/{row.id}", claim=row.claim, url=row.page))


class _Format(NamedTuple):
    name: str
    keys: frozenset[str]
    """Keys that identify the format."""
    read: Callable[[Path, str, Row], Iterator[dict[str, Any]]]
    """Return the rows, in this project's format, for one row of the file at a place."""
    id_of: Callable[[int], str] = str
    """Return the id of a row without one, by its number in the file, from 1."""


def _rows_of(path: Path) -> Iterator[tuple[str, LabelledRow]]:
    found: _Format | None = None
    number = 0
    for place, row in records(path):
        if found is None:
            found = next((one for one in _FORMATS if one.keys <= row.keys()), None)
        if found is None:
            raise InputError(
                f"{place}: no known format of labelled claims: a row needs `claim`, `label`, and `evidence` or `url`; "
                "a planted one `claim`, `url` and `true`"
            )
        try:
            converted = [row_of(LabelledRow, made, place) for made in found.read(path, place, row)]
        except KeyError as error:
            raise InputError(f"{place}: the row has the keys of {found.name}, but no {error}") from None
        except (TypeError, LookupError, AttributeError, ValueError):
            raise InputError(f"{place}: the row has the keys of {found.name}, but not its types") from None
        for made in converted:
            number += 1
            yield place, made.model_copy(update={"id": made.id or found.id_of(number)})
    if found is None:
        raise InputError(f"{path}: no rows in it")
    if not number:
        raise InputError(f"{path}: no claim with evidence and a label in it")


def _own(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    del path, place
    names = [name for name, field in LabelledRow.model_fields.items() if not field.exclude]
    own = {name: row[name] for name in names if row.get(name) is not None}
    yield own if own.get("document") else {**own, "document": row.get("question") or ""}


AGGREFACT = "LLM-AggreFact"
_AGGREFACT_LABELS = {
    **dict.fromkeys(("1", "1.0", "true"), "supported"),
    **dict.fromkeys(("0", "0.0", "false"), "unsupported"),
}
"""Labels as the benchmark has them, and as pandas writes columns of floats and of booleans."""


def _aggrefact(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    del path
    label = _AGGREFACT_LABELS.get(str(row["label"]).lower())
    if label is None:
        raise InputError(f"{place}: label {row['label']!r}; in LLM-AggreFact it is 0 or 1")
    own = {"claim": row["claim"], "evidence": row["doc"], "set": row["dataset"]}
    yield {**own, "label": label, "benchmark": AGGREFACT}


def _planted(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    del path
    truth = {"true": True, "false": False}.get(str(row["true"]).lower())
    if truth is None:
        raise InputError(f"{place}: true {row['true']!r}; in planted claims it is true or false")
    own = {name: row[name] for name in ("id", "claim", "url") if row.get(name) is not None}
    yield {**own, "label": "supported" if truth else "unsupported", "planted": True}


_WICE_LABELS = {"supported": "supported", "partially_supported": "partial", "not_supported": "unsupported"}


def _wice(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    del path
    sentences = _texts(row["evidence"])
    chosen: list[list[int]] = row["supporting_sentences"]
    there = {index: sentence for index, sentence in enumerate(sentences) if sentence.strip()}
    label = _WICE_LABELS.get(row["label"])
    if label is None:
        raise InputError(f"{place}: label {row['label']!r}; in WiCE it is one of {', '.join(_WICE_LABELS)}")
    try:
        supporting = [[there[index] for index in indices] for indices in chosen]
    except (KeyError, TypeError):
        raise InputError(f"{place}: `supporting_sentences` names a sentence that is not there") from None
    meta: Row = row["meta"]
    yield {
        "id": meta.get("id", ""),
        "claim": row["claim"],
        "context": meta.get("claim_context", ""),
        "evidence": "\n".join(sentences),
        "label": label,
        "supporting": supporting,
    }


_SUPPORT = {"Complete": "supported", "Partial": "partial", "Incomplete": "unsupported"}
"""Experts' labels of a claim and its evidence. Others say that there is no evidence, or that it cannot be opened."""


def _expertqa(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    """Yield the claims of all answers that experts compared with evidence; the claims before are the context."""
    del path, place
    for answer in row["answers"].values():
        before: list[str] = []
        for claim in answer["claims"] or ():
            passages, text = claim["evidence"], claim["claim_string"]
            label = _SUPPORT.get(str(claim["support"]).strip().capitalize())
            if label is not None and passages and text.strip():
                yield {
                    "claim": text,
                    "context": " ".join(before),
                    "evidence": "\n\n".join(_texts([passages] if isinstance(passages, str) else passages)),
                    "label": label,
                    "document": row["question"],
                }
            before.append(text)


_STANCES = {
    "completely-support": "supported",
    "partially-support": "partial",
    "irrelevant": "unsupported",
    "refute": "contradicted",
}
_MISSING = (None, "NA")
"""Values that Factcheck-Bench has for what was not annotated."""


def _stance(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    del path
    label = _STANCES.get(row["stance"])
    if label is None:
        raise InputError(
            f"{place}: stance {row['stance']!r}; in Factcheck-Bench it is one of {', '.join(_STANCES)}"
        )
    yield {"claim": row["claim"], "evidence": row["evidence"], "label": label}


def _factcheck(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    """Yield each claim of a response with each passage that has a stance, in the order of subtask 3."""
    keys = ("auto_evidence", "stance_claim_autoEvid")
    for sentence in row["sentences"].values():
        for claim, *found in zip(_texts(sentence["claims"]), *(sentence[key] for key in keys), strict=True):
            for passage, stance in zip(*map(_annotated, found), strict=True):
                if stance not in _MISSING:
                    yield from _stance(path, place, {"claim": claim, "evidence": passage, "stance": stance})


def _annotated(value: Any) -> Sequence[Any]:
    return () if value in _MISSING else _list(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return cast("list[Any]", value)


def _texts(value: Any) -> list[str]:
    texts = _list(value)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    return texts


def _factcheck_id(number: int) -> str:
    """Return the place of a row in subtask 3 from 0."""
    return f"fc-{number - 1:04d}"


_CONFLICT = "Conflict"
"""Word in the names of RAGTruth's labels for what the source contradicts; other labels are baseless."""


_REFUSED = "incorrect_refusal"
"""Value of `quality` for a response of RAGTruth that only refuses: without a span, but no claim of it is supported."""


def _ragtruth(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    """Yield each sentence of a response; its label follows from the marked spans that overlap it."""
    if row.get("quality") == _REFUSED:
        return
    sources = _ragtruth_sources(path.with_name("source_info.jsonl"))
    if str(row["source_id"]) not in sources:
        raise InputError(f"{place}: source {row['source_id']!r} is not in source_info.jsonl")
    response, spans = row["response"], _list(row["labels"])
    bounds: list[tuple[int, int]] = [(span["start"], span["end"]) for span in spans]
    if not all(type(end) is int for span in bounds for end in span):
        raise TypeError
    if any(not 0 <= start <= end <= len(response) for start, end in bounds):
        raise InputError(f"{place}: a span in `labels` is outside the response")
    for number, one in enumerate(get_sentence_boundaries("en", response), 1):
        sentence = response[one["start_index"] : one["end_index"]].strip()
        if not sentence:
            continue
        kinds = [
            str(span["label_type"])
            for span, (start, end) in zip(spans, bounds, strict=True)
            if max(start, one["start_index"]) < min(end, one["end_index"])
        ]
        wrong = "contradicted" if any(_CONFLICT in kind for kind in kinds) else "unsupported"
        yield {
            "id": f"{row.get('id', place.rpartition(':')[2])}/{number}",
            "claim": sentence,
            "context": response[: one["start_index"]].strip(),
            "evidence": sources[str(row["source_id"])],
            "label": wrong if kinds else "supported",
            "document": str(row["source_id"]),
        }


@lru_cache(maxsize=1)
def _ragtruth_sources(path: Path) -> dict[str, str]:
    """Return the texts of the sources by id; structured data is shown as JSON, and a missing text is empty."""
    known: dict[str, str] = {}
    with os_errors(InputError, f"{path}: cannot be read"):
        for _, row in json_lines(path):
            info = row.get("source_info") or ""
            is_data = isinstance(info, dict | list)
            known[str(row.get("source_id"))] = json.dumps(info, ensure_ascii=False) if is_data else info
    return known


_FORMATS = (
    _Format(AGGREFACT, frozenset({"claim", "doc", "label", "dataset"}), _aggrefact),
    _Format("WiCE", frozenset({"claim", "evidence", "label", "supporting_sentences", "meta"}), _wice),
    _Format("RAGTruth", frozenset({"source_id", "response", "labels"}), _ragtruth),
    _Format("ExpertQA", frozenset({"question", "answers", "metadata"}), _expertqa),
    _Format("Factcheck-Bench", frozenset({"claim", "evidence", "stance"}), _stance, _factcheck_id),
    _Format("Factcheck-Bench", frozenset({"prompt", "response", "sentences"}), _factcheck, _factcheck_id),
    _Format("labelled claims", frozenset({"claim", "label"}), _own),
    _Format("planted claims", frozenset({"claim", "url", "true"}), _planted),
)
"""Formats, the more specific ones first."""

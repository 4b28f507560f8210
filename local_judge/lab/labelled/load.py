"""Files of claims with the text that they rest on, labelled by people.

Invariants: a file is one of the formats in `_FORMATS`, recognised by the keys of its first row; every row is checked
before a judge is asked; ids are unique within a set; claims that name no document or question share one if they have
the same words or the same text. Evidence becomes the page of a temporary snapshot, so that a judge sees it exactly as
it sees a cited page. Evidence without a word besides web addresses is an empty page, which no judge is asked about: its
text is missing, and a verdict would be about the address.

    this project's   `claim`, `label` (`TruthLabel`), and `evidence` or `url`; optional `id`, `context`, `document`,
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
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from sentencex import get_sentence_boundaries

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.base.errors import ConfigError, InputError, os_errors
from local_judge.base.rows import row_of
from local_judge.claims.model import TruthLabel
from local_judge.lab.annotations.load import SAMPLE, sample_folder, snapshot_beside
from local_judge.lab.labelled.model import LabelledClaim, LabelledSet
from local_judge.lab.labelled.records import Row, json_lines, records
from local_judge.stats.units import united

AGGREFACT = "LLM-AggreFact"
LABELS: Mapping[str, Mapping[str, TruthLabel]] = {
    # As the benchmark has them, and as pandas writes columns of floats and of booleans.
    AGGREFACT: {
        **dict.fromkeys(("1", "1.0", "true"), "supported"),
        **dict.fromkeys(("0", "0.0", "false"), "unsupported"),
    },
    "WiCE": {"supported": "supported", "partially_supported": "partial", "not_supported": "unsupported"},
    # Others say that there is no evidence, or that it cannot be opened.
    "ExpertQA": {"Complete": "supported", "Partial": "partial", "Incomplete": "unsupported"},
    "Factcheck-Bench": {
        "completely-support": "supported",
        "partially-support": "partial",
        "irrelevant": "unsupported",
        "refute": "contradicted",
    },
    "planted claims": {"true": "supported", "false": "unsupported"},
}
"""Labels of other formats in the words of `LabelledClaim`; annotated reports have those of verdicts."""

OTHER_WORDS = "other-words"
"""Name of the packaged set: claims about the pages of the annotated sample, in other words than theirs."""


def load_sets(paths: Sequence[Path]) -> list[LabelledClaim]:
    """Load files of labelled claims: JSON Lines, plain or gzipped, CSV, or Parquet. `sample` is the packaged set.

    Raises:
        InputError: a file cannot be read, has no rows or an unknown format, or a row is invalid.
    """
    rows: list[LabelledClaim] = []
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


def _with_documents(rows: Sequence[LabelledClaim]) -> list[LabelledClaim]:
    """Return the rows with a document each: rows with one claim or one text are not independent, so they share it."""
    units = united([_shared_by(row) for row in rows])
    return [
        row if row.document else row.model_copy(update={"document": f"{rows[unit].set}/{rows[unit].id}"})
        for row, unit in zip(rows, units, strict=True)
    ]


def _shared_by(row: LabelledClaim) -> Iterator[str]:
    """Yield what makes rows one document. A missing text, such as an address, is that of no other row.

    Code plants a claim of one page on others as well, which does not make the pages one.
    """
    if not row.document:
        if row.origin == "labelled":
            yield f"claim {row.claim}"
        if row.has_text:
            yield f"text {row.page if row.evidence is None else ' '.join(row.evidence.split())}"


def _packaged() -> Iterator[tuple[str, LabelledClaim]]:
    """Yield the rows of the packaged set, with the text of their pages as evidence."""
    folder = sample_folder()
    with snapshot_beside([folder]) as pages:
        for place, row in _rows_of(folder / f"{OTHER_WORDS}.jsonl"):
            evidence = pages.page(row.page).text
            yield place, row.model_copy(update={"evidence": evidence, "url": None, "document": row.page})


@contextmanager
def evidence_snapshot(claims: Sequence[LabelledClaim]) -> Generator[Snapshot]:
    """Yield a temporary snapshot with the evidence of the claims as pages."""
    pages = {one.page: one.evidence if one.has_text else "" for one in claims if one.evidence is not None}
    with tempfile.TemporaryDirectory(prefix="local-judge-") as temporary:
        folder = Path(temporary) / "pages"
        folder.mkdir()
        lines = (json.dumps({"url": url, "text": text}) + "\n" for url, text in pages.items())
        (folder / "pages.jsonl").write_text("".join(lines), encoding="utf-8")
        import_pages(folder, Path(temporary) / "snapshot", workers=0)
        yield Snapshot.open(Path(temporary) / "snapshot")


@contextmanager
def with_pages(claims: Sequence[LabelledClaim], snapshot: Snapshot | None) -> Generator[list[LabelledSet]]:
    """Yield the claims with `url` and their snapshot, then those with their own evidence and a temporary one.

    Raises:
        InputError: claims have a `url`, and there is no snapshot.
    """
    cited = [one for one in claims if one.evidence is None]
    texts = [one for one in claims if one.evidence is not None]
    if cited and snapshot is None:
        raise InputError("claims with `url` need a snapshot of their pages; give --snapshot")
    sets = [LabelledSet(cited, snapshot)] if cited and snapshot is not None else []
    with evidence_snapshot(texts) if texts else nullcontext() as pages:
        yield [*sets, LabelledSet(texts, pages)] if pages is not None else sets


def snapshot_of(path: Path | None, claims: Sequence[LabelledClaim]) -> Snapshot | None:
    """Open the snapshot that claims with `url` are about.

    Raises:
        ConfigError: there is one, and every claim has its own `evidence`.
    """
    if path is None:
        return None
    if all(one.evidence is not None for one in claims):
        raise ConfigError("--snapshot: every claim has its own `evidence`; leave the option out")
    return Snapshot.open(path)


class _Format(NamedTuple):
    name: str
    keys: frozenset[str]
    """Keys that identify the format."""
    read: Callable[[Path, str, Row], Iterator[dict[str, Any]]]
    """Return the rows, in this project's format, for one row of the file at a place."""
    id_of: Callable[[int], str] = str
    """Return the id of a row without one, by its number in the file, from 1."""


def _rows_of(path: Path) -> Iterator[tuple[str, LabelledClaim]]:
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
            converted = [row_of(LabelledClaim, made, place) for made in found.read(path, place, row)]
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


def _label(name: str, value: str, place: str, key: str = "label") -> TruthLabel:
    """Return a label of a format as ours."""
    found = LABELS[name].get(value)
    if found is None:
        raise InputError(f"{place}: {key} {value!r}; in {name} it is one of {', '.join(LABELS[name])}")
    return found


def _own(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    del path, place
    names = [name for name, field in LabelledClaim.model_fields.items() if not field.exclude]
    own = {name: row[name] for name in names if row.get(name) is not None}
    yield own if own.get("document") else {**own, "document": row.get("question") or ""}


def _aggrefact(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    del path
    label = _label(AGGREFACT, str(row["label"]).lower(), place)
    own = {"claim": row["claim"], "evidence": row["doc"], "set": row["dataset"]}
    yield {**own, "label": label, "benchmark": AGGREFACT}


def _planted(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    del path
    label = _label("planted claims", str(row["true"]).lower(), place, "true")
    own = {name: row[name] for name in ("id", "claim", "url") if row.get(name) is not None}
    yield {**own, "label": label, "origin": "planted"}


def _wice(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    del path
    sentences = _texts(row["evidence"])
    chosen: list[list[int]] = row["supporting_sentences"]
    there = {index: sentence for index, sentence in enumerate(sentences) if sentence.strip()}
    label = _label("WiCE", row["label"], place)
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


def _expertqa(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    """Yield the claims of all answers that experts compared with evidence; the claims before are the context."""
    del path, place
    for answer in row["answers"].values():
        before: list[str] = []
        for claim in answer["claims"] or ():
            passages, text = claim["evidence"], claim["claim_string"]
            label = LABELS["ExpertQA"].get(str(claim["support"]).strip().capitalize())
            if label is not None and passages and text.strip():
                yield {
                    "claim": text,
                    "context": " ".join(before),
                    "evidence": "\n\n".join(_texts([passages] if isinstance(passages, str) else passages)),
                    "label": label,
                    "document": row["question"],
                }
            before.append(text)


_MISSING = (None, "NA")
"""Values that Factcheck-Bench has for what was not annotated."""


def _stance(path: Path, place: str, row: Row) -> Iterator[dict[str, Any]]:
    del path
    label = _label("Factcheck-Bench", row["stance"], place, "stance")
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

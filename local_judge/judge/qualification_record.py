"""Records of judges' qualifications on this machine.

    $LOCAL_JUDGE_QUALIFICATIONS, else $LOCAL_JUDGE_HOME/qualifications, else the user's data folder
    └── <SHA-256 of the judge's identity>.json

Invariant: a record applies only to the examined identity, and to no other model, quantisation, engine or version. A
record with fewer parts, or with as many in quick sizes, does not replace a more complete one, unless the prompts
differ.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args

from platformdirs import user_data_path
from pydantic import ValidationError

from local_judge.base.errors import brief
from local_judge.base.files import read_file
from local_judge.base.model import Frozen
from local_judge.ledger.requests import Identified, canonical, sha256
from serving.types import EngineIdentity

FOLDER = "LOCAL_JUDGE_QUALIFICATIONS"
"""Environment variable that names another folder."""

Verdict = Literal["qualified", "limited", "refused", "unexamined"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)

WORDS: Final[dict[Verdict, str]] = {
    "qualified": "qualified for",
    "limited": "limited for",
    "refused": "refused for",
    "unexamined": "not examined for",
}

Scale = Literal["quick", "full"]
"""Sizes of the examination."""


FORMAT: Final = 2
"""Version of `qualification.json`, its `format_version`. A file without one has version 1."""


class ProtocolVerdict(Frozen):
    """Verdict about a judge for one protocol."""

    protocol: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    """Reasons of `refused` and `unexamined`; limits of `limited`."""
    close: bool = False
    """True if the interval of a decisive figure includes its threshold."""


class PeopleFigure(Frozen):
    """Figure on labelled claims that decides verdicts in place of one on planted claims, if the labels suffice."""

    id: str
    """Id of the figure, such as `labels/auc/scored`."""
    value: float | None
    """None if the judge's answers cannot be measured."""
    low: float | None = None
    high: float | None = None
    """95 % bootstrap interval over documents."""
    n: int
    """Number of labelled claims with an answer."""

    @property
    def name(self) -> str:
        """Name of the measure."""
        return self.id.split("/")[1].replace("_", " ")

    def __str__(self) -> str:
        """Return the figure in words: `auc 0.812 (0.74–0.87)`."""
        if self.value is None:
            return f"{self.name} not measurable"
        if self.low is None or self.high is None:
            return f"{self.name} {self.value:.3f}"
        return f"{self.name} {self.value:.3f} ({self.low:.2f}–{self.high:.2f})"


class QualificationRecord(Frozen):
    """Summary of a qualification."""

    judge: str
    """Name of the preset."""
    identity: EngineIdentity
    """Identity of the judge."""
    scale: Scale
    """Size of the examination."""
    parts: tuple[str, ...]
    """Parts of the examination."""
    thresholds: str
    """SHA-256 of the thresholds."""
    prompts: str = ""
    """SHA-256 of the prompts of the examination."""
    qualification: str
    """SHA-256 of the figures, items and settings (`qualification.json`), without durations."""
    in_all: str
    """Summary on one line."""
    verdicts: tuple[ProtocolVerdict, ...]
    """Verdict on each protocol, with reasons and `close`, true if other items might change it."""
    people: tuple[PeopleFigure, ...] = ()
    """Figures on labelled claims that decided verdicts; empty if planted claims did."""
    uncounted: tuple[PeopleFigure, ...] = ()
    """Figures on labelled claims in place of which planted claims decided: too few labels, or labels of one kind."""
    packaged: bool = False
    """True if the labelled claims are the packaged ones in other words."""

    @property
    def basis(self) -> str:
        """Claims on which the verdicts rest, in words; empty if no claims were verified."""
        return basis_of(self.parts, self.people, self.uncounted, self.packaged)

    def of(self, protocol: str) -> ProtocolVerdict | None:
        """Return the verdict for a protocol; None if it was not examined."""
        return next((one for one in self.verdicts if one.protocol == protocol), None)

    @property
    def breadth(self) -> tuple[int, bool]:
        """Extent of the examination, for comparison: the number of parts first, then the sizes."""
        return len(self.parts), self.scale == "full"


def qualification_digest(found: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the content of `qualification.json` without its record and its format version.

    Seconds and cached tokens are of the day, and are left out: the same answers to the same questions are one
    qualification.
    """
    asked = [
        {key: value for key, value in one.items() if key not in ("cost", "costs")} for one in found["asked"]
    ]
    rest = {key: value for key, value in found.items() if key not in ("asked", "record", "format_version")}
    return sha256(canonical({**rest, "asked": asked}))


def checked_record(found: Mapping[str, Any]) -> QualificationRecord:
    """Return the record in `qualification.json`.

    Raises:
        ValueError: there is none, the file has another format version, or the record does not follow from the rest of
            the file, so that one of them was modified.
    """
    if not {"record", "standing"} & found.keys():
        raise ValueError("it has no record")
    version = found.get("format_version", 1)
    if version != FORMAT:
        raise ValueError(
            f"it has format {brief(version)}, and this version of local_judge reads format {FORMAT}; "
            "repeat `local-judge judge qualify` with the same --out, which reuses the answers"
        )
    record = QualificationRecord.model_validate(found["record"])
    try:
        said = {name: found[name] for name in ("judge", "identity", "scale", "prompts", "verdicts")}
        said |= {name: found.get(name, []) for name in ("people", "uncounted")}
        said |= {"packaged": found.get("packaged", False)}
        said |= {"parts": [one["part"] for one in found["asked"]], "in_all": in_all(record.verdicts)}
        whole = qualification_digest(found) == record.qualification
    except (KeyError, TypeError, AttributeError):
        raise ValueError("it has no figures") from None
    dumped = record.model_dump(mode="json")
    if not whole or any(dumped[name] != value for name, value in said.items()):
        raise ValueError("it was modified since it was written")
    return record


def basis_of(
    parts: Sequence[str],
    people: Sequence[PeopleFigure],
    uncounted: Sequence[PeopleFigure] = (),
    packaged: bool = False,
) -> str:
    """Return the claims on which verdicts rest, in words; empty if no claims were verified."""
    said: list[str] = []
    if people:
        n, what = (
            max(one.n for one in people),
            "packaged claims in other words" if packaged else "labelled claims",
        )
        said.append(f"on {n} {what}: {', '.join(map(str, people))}")
    elif "verification" in parts:
        said.append("on planted claims")
    if uncounted:
        figures = ", ".join(f"{one.name} ({one.n})" for one in uncounted)
        said.append(f"too few labelled claims to count for {figures}")
    return "; ".join(said)


def in_all(verdicts: Sequence[ProtocolVerdict]) -> str:
    """Return one line that names the protocols for which the judge is qualified."""
    said = [
        f"{words} {', '.join(names)}"
        for verdict, words in WORDS.items()
        if (names := [one.protocol for one in verdicts if one.verdict == verdict])
    ]
    return "; ".join(said) or "not examined"


def qualifications_folder() -> Path:
    """Return the folder of the judges' qualifications on this machine."""
    named, home = os.environ.get(FOLDER), os.environ.get("LOCAL_JUDGE_HOME")
    if named:
        return Path(named)
    return (Path(home) if home else user_data_path("local_judge")) / "qualifications"


def remembered(identity: EngineIdentity) -> QualificationRecord | None:
    """Return the record of a judge on this machine; None if there is no readable one."""
    path = _place(identity)
    try:
        found = QualificationRecord.model_validate_json(read_file(path), strict=True)
    except (OSError, ValidationError):
        return None
    return found if found.identity == identity else None


def remember(record: QualificationRecord) -> QualificationRecord:
    """Store a record unless a more complete one exists, and return the stored one.

    Raises:
        OSError: It cannot be written.
    """
    there = remembered(record.identity)
    same = there is not None and there.prompts == record.prompts
    if there is not None and same and there.breadth > record.breadth:
        return there
    path = _place(record.identity)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(record.model_dump_json(indent=1) + "\n", encoding="utf-8")
    beside.replace(path)
    return record


def _place(identity: EngineIdentity) -> Path:
    return qualifications_folder() / f"{Identified.of(identity).digest}.json"

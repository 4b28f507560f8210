"""What a judge was found to be worth, and where that is remembered.

    $LOCAL_JUDGE_QUALIFICATIONS, else $LOCAL_JUDGE_HOME/qualifications, else the user's data folder
    └── <SHA-256 of the judge's identity>.json

Invariant: a record is found only under the identity that was examined: another model, quantisation, engine or version
has none. One of fewer parts, or of as many by the quick sizes, does not take the place of one that examined more,
unless that was by other prompts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args

from platformdirs import user_data_path
from pydantic import ValidationError

from local_judge.errors import brief
from local_judge.judge.requests import Identified, canonical, sha256
from serving.types import EngineIdentity, Frozen

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
"""By which sizes it was examined."""


FORMAT: Final = 2
"""Version of `qualification.json`, its `format_version`. A file without one has version 1."""


class ProtocolVerdict(Frozen):
    """What a judge is good for."""

    protocol: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    """Of `refused` and `unexamined`, why; of `limited`, the limits."""
    close: bool = False
    """Whether the interval of a figure that counted reaches over its threshold."""


class QualificationRecord(Frozen):
    """A qualification in short."""

    judge: str
    """Name of the preset."""
    identity: EngineIdentity
    scale: Scale
    parts: tuple[str, ...]
    """What was examined."""
    thresholds: str
    """SHA-256 of the thresholds."""
    prompts: str = ""
    """SHA-256 of the prompts by which it was examined."""
    qualification: str
    """SHA-256 of the figures, items and settings (`qualification.json`), and of nothing that a clock measured."""
    in_all: str
    """One line."""
    verdicts: tuple[ProtocolVerdict, ...]

    def of(self, protocol: str) -> ProtocolVerdict | None:
        """The verdict for a protocol; None where it was not considered."""
        return next((one for one in self.verdicts if one.protocol == protocol), None)

    @property
    def breadth(self) -> tuple[int, bool]:
        """Greater where more was examined: one part in full says nothing of most protocols, all in short of each."""
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
        said |= {"parts": [one["part"] for one in found["asked"]], "in_all": in_all(record.verdicts)}
        whole = qualification_digest(found) == record.qualification
    except (KeyError, TypeError, AttributeError):
        raise ValueError("it has no figures") from None
    dumped = record.model_dump(mode="json")
    if not whole or any(dumped[name] != value for name, value in said.items()):
        raise ValueError("it was modified since it was written")
    return record


def in_all(verdicts: Sequence[ProtocolVerdict]) -> str:
    """One line: which protocols the judge is good for."""
    said = [
        f"{words} {', '.join(names)}"
        for verdict, words in WORDS.items()
        if (names := [one.protocol for one in verdicts if one.verdict == verdict])
    ]
    return "; ".join(said) or "not examined"


def qualifications_folder() -> Path:
    """Where the qualifications of judges are kept on this machine."""
    named, home = os.environ.get(FOLDER), os.environ.get("LOCAL_JUDGE_HOME")
    if named:
        return Path(named)
    return (Path(home) if home else user_data_path("local_judge")) / "qualifications"


def remembered(identity: EngineIdentity) -> QualificationRecord | None:
    """The record of a judge on this machine; None where it has none that can be read."""
    path = _place(identity)
    try:
        found = QualificationRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return found if found.identity == identity else None


def remember(record: QualificationRecord) -> QualificationRecord:
    """Keep a record, unless one that examined more is there; gives the one that is kept.

    Raises:
        OSError: it cannot be written.
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

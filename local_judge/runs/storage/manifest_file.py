"""Reading of `manifest.json`, which may come from somebody else.

Invariant: whoever reads a manifest finds every key that is there with the type that this version writes; any other
manifest is refused in one line. Whether it was modified is shown by the seal (`runs.seal`), not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from local_judge.base.errors import RunError, first_problem, listed
from local_judge.judge.qualification_record import QualificationRecord
from local_judge.runs.planning.config import RunConfig
from local_judge.runs.storage.store import MANIFEST, RunStore, check_format
from serving.types import EngineIdentity, Sampling


class _Lax(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class _Calibration(_Lax):
    id: str


class _Judge(_Lax):
    name: str = Field(min_length=1)
    identity: EngineIdentity
    sampling: Sampling
    threshold: float | None = None
    calibrations: list[_Calibration] = []


class _Protocol(_Lax):
    version: str
    data: str | None = None
    original_prompts: dict[str, Any] | None = None


class _Reports(_Lax):
    n: int = Field(ge=0, lt=1 << 40)
    sha256: str = ""


class _Imported(_Lax):
    format: str
    sha256: str


class _Manifest(_Lax):
    format_version: int
    local_judge: str = ""
    revision: str | None = None
    code: str = ""
    python: str = ""
    packages: dict[str, str | None] = {}
    run: dict[str, Any] = {}
    config: RunConfig
    judges: list[_Judge] = []
    context_tokens: dict[str, int] = {}
    extractor: str | None = None
    snapshot: str | None = None
    protocols: dict[str, _Protocol] = {}
    prompts: str = ""
    reports: _Reports
    qualifications: dict[str, QualificationRecord | None] | None = None
    imported: _Imported | None = None
    seal: dict[str, Any] = {}


class _Whole(_Manifest):
    """Manifest of a run that was not imported, with all that its results are derived from."""

    judges: list[_Judge] = Field(default=[], min_length=1)

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        needed = ("local_judge", "judges", "context_tokens", "snapshot", "protocols", "prompts")
        if lacking := [key for key in needed if key not in self.model_fields_set]:
            raise ValueError(f"{listed(lacking)} {'is' if len(lacking) == 1 else 'are'} missing")
        names = [judge.name for judge in self.judges]
        if len({*names}) < len(names):
            raise ValueError("two judges have the same name")
        if lacking := [name for name in names if name not in self.context_tokens]:
            raise ValueError(f"context_tokens: {lacking[0]} is missing")
        if self.extractor not in (None, *names):
            raise ValueError("extractor: not one of the judges")
        return self


def manifest_data(store: RunStore, keys: Sequence[str] = ()) -> dict[str, Any]:
    """Read the manifest of a run directory as plain data; of its keys, only that `keys` are there is checked.

    Raises:
        RunError: it is missing, is not an object with these keys, or has another format version.
    """
    found: object = store.read_json(MANIFEST)
    if not isinstance(found, dict) or any(key not in found for key in keys):
        raise RunError(f"{store.root}: its {MANIFEST} is not the manifest of a run; choose another directory")
    manifest = cast("dict[str, Any]", found)
    check_format(store.root, manifest)
    try:
        _check_text(manifest)
    except UnicodeEncodeError:
        raise RunError(f"{store.root}: its {MANIFEST} is damaged (a lone surrogate in a text)") from None
    return manifest


def stored_manifest(store: RunStore, *, whole: bool = False) -> dict[str, Any]:
    """Read the manifest of a run directory without checking its seal.

    Args:
        store: the run.
        whole: whether to require the keys that only a run which was not imported has.

    Raises:
        RunError: as `manifest_data`, or it is not the manifest of a run, or a key is missing or has another type.
    """
    manifest = manifest_data(store, ("config", "reports"))
    try:
        (_Whole if whole else _Manifest).model_validate(manifest)
    except ValidationError as error:
        raise RunError(f"{store.root}: its {MANIFEST} is damaged ({first_problem(error)})") from None
    return manifest


def _check_text(value: object) -> None:
    """Raise UnicodeEncodeError for a text that no file can hold; bytes of a path that are not UTF-8 are allowed."""
    if isinstance(value, str):
        value.encode("utf-8", "surrogateescape")
    elif isinstance(value, dict):
        for key, one in cast("dict[str, object]", value).items():
            _check_text(key)
            _check_text(one)
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            _check_text(one)

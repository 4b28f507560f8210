"""The judges of a run: presets with the servers that run them.

Invariant: each judge of a run has a name of its own, which its files and scores bear; a server is asked for the judges
that it was given for, and a name that nobody bears is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from local_judge.errors import ConfigError
from serving.presets import Preset, load_preset

_PLAIN = re.compile(r"[^\W_][\w.+-]{0,79}")
"""A name that can be a folder's on every system."""


class JudgeSpec(NamedTuple):
    """One judge of a run."""

    preset: Preset
    base_urls: tuple[str, ...] = ()
    """Servers that run it; none for a model in this process."""

    @property
    def name(self) -> str:
        """The preset's, or of a preset file the stem."""
        return self.preset.name


def judge_specs_of(judges: Sequence[str], base_urls: Sequence[str]) -> tuple[JudgeSpec, ...]:
    """The judges of a run, in the order in which they are named: the first extracts the claims.

    Args:
        judges: presets, by name or file.
        base_urls: `NAME=URL` for one judge; a URL alone for each judge that no other is given for.

    Raises:
        ConfigError: no judge, one named twice, one whose name cannot be a folder's, a URL for a judge that is not one.
        PresetError: a preset is missing or wrong.
    """
    if not judges:
        raise ConfigError("no judge was given; name at least one with --judge")
    presets = [load_preset(judge) for judge in judges]
    names = [preset.name for preset in presets]
    for preset, judge in zip(presets, judges, strict=True):
        if names.count(preset.name) > 1:
            raise ConfigError(
                f"--judge {judge}: several judges are called {preset.name!r}; one that is to be asked twice needs a "
                "preset file of its own for the second time, with another name and other sampling"
            )
        if len(names) > 1 and not _PLAIN.fullmatch(preset.name):
            raise ConfigError(f"--judge {judge}: its scores stand in a folder of its name; rename the file")
    own: dict[str, list[str]] = {name: [] for name in names}
    common: list[str] = []
    for given in base_urls:
        name, equals, url = given.partition("=")
        if not equals or "://" in name:
            common.append(given)
        elif name in own:
            own[name].append(url)
        else:
            raise ConfigError(f"--base-url {given}: no judge {name!r}; there are: {', '.join(names)}")
    return tuple(JudgeSpec(preset, tuple(own[preset.name] or common)) for preset in presets)

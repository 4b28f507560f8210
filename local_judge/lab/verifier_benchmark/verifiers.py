"""Verifiers by name: settings of verification, or published prompts, that a benchmark compares.

scored                                            a packaged name
scored:evidence_tokens=1000,passages_per_claim=8  a packaged name with other settings
mine.yaml                                         a run file with the key `claims`; its name is `mine`
fact                                              a protocol whose published prompt verifies claims
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local_judge.base.errors import ConfigError
from local_judge.base.strict_yaml import load_yaml
from local_judge.claims.config import ClaimsConfig
from local_judge.lab.labelled.answers import Verifier
from local_judge.protocols.base import OriginalVerifier, load_protocol, protocol_names
from local_judge.protocols.originals import PromptSource
from local_judge.runs.planning.config import read_mapping, validated
from local_judge.runs.planning.run_file import load_config

VERIFIERS: Mapping[str, ClaimsConfig] = {
    "scored": ClaimsConfig(method="scored", reliability=False, calibration="none"),
    "near": ClaimsConfig(method="scored", view="near", reliability=False, calibration="none"),
    "contrast": ClaimsConfig(
        method="scored", view="contrast", context_sentences=2, reliability=False, calibration="none"
    ),
    "grouped": ClaimsConfig(method="grouped", reliability=False),
}
"""Settings that have a name."""


def gives_probabilities(how: Verifier) -> bool:
    """Check whether a verifier gives probabilities, which calibrations are fitted to."""
    return isinstance(how, ClaimsConfig) and how.method == "scored"


def verifiers_of(given: Sequence[str], prompts: PromptSource | None = None) -> dict[str, Verifier]:
    """Return verifiers by name, in the order given.

    Args:
        given: their names.
        prompts: checkouts of the published prompts that some of them ask with.

    Raises:
        ConfigError: a verifier is unknown, a setting is invalid, a name occurs twice, or published prompts are missing,
            of an unknown version, or of no use.
    """
    found: dict[str, Verifier] = {}
    for one in given:
        name, verifier = _verifier(one, prompts)
        if name in found:
            raise ConfigError(f"--verifier {one}: a second verifier with the name {name!r}")
        found[name] = verifier
    if prompts is not None and not any(isinstance(one, OriginalVerifier) for one in found.values()):
        raise ConfigError("--prompts: no verifier asks with them; add --verifier fact or --verifier deer")
    return found


def _verifier(given: str, prompts: PromptSource | None) -> tuple[str, Verifier]:
    if given in protocol_names():
        if prompts is None:
            raise ConfigError(
                f"--verifier {given}: asks with published prompts; name their checkout with --prompts original=PATH"
            )
        return given, load_protocol(given).original_verifier(prompts)
    if given.endswith((".yaml", ".yml")):
        config = load_config(Path(given), {})
        if not {"claims", "settings"} & read_mapping(Path(given)).keys():
            raise ConfigError(f"--verifier {given}: the key `claims` is missing")
        return Path(given).stem, config.claims.model_copy(update={"reliability": False})
    base, _, settings = given.partition(":")
    if base not in VERIFIERS:
        raise ConfigError(
            f"--verifier {given}: no such verifier; choose from {', '.join(VERIFIERS)}, fact and deer with --prompts, "
            "or name a run file (YAML)"
        )
    if not settings:
        return given, VERIFIERS[base]
    data: dict[str, Any] = VERIFIERS[base].model_dump()
    for setting in settings.split(","):
        key, is_set, value = setting.partition("=")
        if not is_set:
            raise ConfigError(f"--verifier {given}: {setting!r} is not KEY=VALUE")
        try:
            data[key.strip()] = load_yaml(value)
        except ValueError as error:
            raise ConfigError(f"--verifier {given}: {key}: {' '.join(str(error).split())}") from None
    return given, validated(ClaimsConfig, data, f"--verifier {given}")

"""The experiments by name.

Invariant: an option that an experiment does not know is refused, never ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.errors import ConfigError
from local_judge.experiments.corruption import RATES, corruption
from local_judge.experiments.model import Experiment, Name
from local_judge.experiments.reasoning import reasoning
from local_judge.experiments.temporal import temporal


def experiment_named(
    name: Name, rates: Sequence[float] | None = None, topics: int | None = None, seed: int | None = None
) -> Experiment:
    """An experiment.

    Args:
        name: which.
        rates: of `corruption`; None for its own.
        topics: only the first so many claim pairs, affairs or pairs of reports; None for all.
        seed: of `corruption`; None for 0.

    Raises:
        ConfigError: an option that the experiment does not have, or cannot be made with.
    """
    if name == "corruption":
        return corruption(RATES if rates is None else rates, topics, seed or 0)
    for option, value in (("--rates", rates), ("--seed", seed)):
        if value is not None:
            raise ConfigError(f"{option}: only the experiment corruption has it, not {name}")
    return temporal(topics) if name == "temporal" else reasoning(topics)

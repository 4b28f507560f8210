"""Criteria that are the same for every task.

Invariant: they have the form and the sums of a task's own, so that everything that reads criteria reads them alike; a
file that has not is refused in one line that names the place.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

from pydantic import Field, ValidationError

from local_judge.base.errors import ConfigError, InputError, first_problem, reason_of
from local_judge.base.files import MOST_YAML, read_utf8
from local_judge.base.model import Frozen
from local_judge.base.strict_yaml import load_yaml
from local_judge.tasks.criteria import CriteriaRow, CriterionRow, check_weights
from local_judge.tasks.model import Criteria


class _Dimension(Frozen):
    weight: float = Field(ge=0)
    criteria: tuple[CriterionRow, ...] = Field(min_length=1)


class _File(Frozen):
    dimensions: dict[str, _Dimension]


@cache
def static_criteria(path: str | None = None) -> Criteria:
    """Read criteria from a YAML file in the form of `data/static.yaml`, or from this one where none is given.

    Raises:
        ConfigError: the file cannot be read, has another form, or weights that do not sum to 1.
    """
    if path is None:
        return _read(files("local_judge.protocols.race") / "data" / "static.yaml")
    return _read(Path(path))


def _read(file: Traversable) -> Criteria:
    try:
        with as_file(file) as path:
            given = _File.model_validate(load_yaml(read_utf8(path, MOST_YAML)))
    except OSError as error:
        raise ConfigError(f"{file}: the criteria cannot be read: {reason_of(error)}") from None
    except ValidationError as error:
        raise ConfigError(f"{file}: {first_problem(error, 'the file', _File)}") from None
    except ValueError as error:
        raise ConfigError(f"{file}: {' '.join(str(error).split())}") from None
    row = CriteriaRow(
        id="static",
        prompt="",
        dimension_weight={name: dimension.weight for name, dimension in given.dimensions.items()},
        criterions={name: dimension.criteria for name, dimension in given.dimensions.items()},
    )
    try:
        check_weights(row, str(file))
    except InputError as error:
        raise ConfigError(str(error)) from None
    return row.as_content("given")

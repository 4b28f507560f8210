"""A person's decision on drafted criteria."""

from __future__ import annotations

import json

import pytest
import yaml

from local_judge.base.errors import InputError
from local_judge.tasks.criteria import CriteriaRow
from local_judge.tasks.review import decide

from ..protocols.race.race_cases import ROW

DRAFTED = CriteriaRow.model_validate({**ROW, "status": "drafted", "replies": ["k"]})


def changed(key: str, weight: float) -> str:
    """The draft's YAML with another weight for a dimension."""
    data = yaml.safe_load(DRAFTED.editable)
    data["dimension_weight"][key] = weight
    return yaml.safe_dump(data, allow_unicode=True)


def test_a_person_edits_weights_and_criteria_as_yaml() -> None:
    data = yaml.safe_load(DRAFTED.editable)
    assert data == {key: ROW[key] for key in ("dimension_weight", "criterions")}
    data["criterions"]["insight"] = [{"criterion": "Why", "explanation": "", "weight": 1}]
    edited = decide(DRAFTED, "edit", "Ada", lambda text: json.dumps(data))  # JSON is YAML
    assert edited is not None
    assert (edited.status, edited.reviewer, edited.replies) == ("reviewed", "Ada", ("k",))
    assert [one.criterion for one in edited.criterions["insight"]] == ["Why"]
    assert edited.before is not None and edited.before.criterions == DRAFTED.criterions
    # A second change keeps what the judge wrote, and not what the first reviewer made of it.
    again = decide(edited, "edit", "Bob", lambda text: text.replace("Why", "Whence"))
    assert again is not None and again.before == edited.before
    assert decide(DRAFTED, "edit", "Ada", lambda text: text + "\n") is None
    # Another way to write the same is no change.
    same = decide(DRAFTED, "edit", "Ada", lambda text: "# mine\n" + text)
    assert same is not None and (same.status, same.before) == ("reviewed", None)


_NESTED = "\n".join(f"  k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]" for n in range(1, 30))
BOMB = f"dimension_weight: &k0 [x]\ncriterions:\n{_NESTED}\n"
"""Nine to the power of 29 items, if anything unfolds them."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed("insight", 0.9), "dimension_weight: .*sum to 1"),
        (changed("insight", -0.1), "dimension_weight: .*sum to 1"),
        ("dimension_weight: {insight: 1}", "expected the keys criterions and dimension_weight and no others"),
        (DRAFTED.editable + "status: given\n", "expected the keys criterions and dimension_weight"),
        ("[", "not YAML: "),
        ("", "expected the keys"),
        (DRAFTED.editable.replace("weight: ", "wieght: "), "weight is missing"),
        (changed("style", 0.0), "dimension_weight must name comprehensiveness, insight"),
        (
            changed("insight", 0.35).replace("0.35", "2026-01-01"),
            "dimension_weight.insight must be a number",
        ),
        (
            "dimension_weight: &a {insight: *a}\ncriterions: *a",
            "not YAML: line 1: the alias \\*a is not read",
        ),
        (
            DRAFTED.editable + "dimension_weight: {}\n",
            "not YAML: line \\d+: the key 'dimension_weight' appears twice",
        ),
        (BOMB, "not YAML: line 3: the alias \\*k0 is not read"),
    ],
)
def test_what_no_criteria_file_may_hold_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        DRAFTED.reviewed("Ada", text)
    assert str(raised.value).startswith("task '900'") and "\n" not in str(raised.value)

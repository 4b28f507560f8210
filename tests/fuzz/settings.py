"""Files that people write or receive: settings in YAML, rows in JSONL, indexes in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from indexes.errors import ImportRefused
from indexes.making.pagelist import read_page_list
from local_judge.base.errors import UserError
from local_judge.documents import UnreadableReport
from local_judge.lab.annotations.load import load_report
from local_judge.lab.labelled.load import load_sets
from local_judge.lab.qualification.config import load_qualify_config
from local_judge.runs.execution.qualifications import load_qualification
from local_judge.runs.execution.verify import load_claim_rows
from local_judge.runs.planning.calibrations import load_calibrations
from local_judge.runs.planning.config import parse_settings
from local_judge.runs.planning.run_file import load_config
from local_judge.tasks.checklists import CHECKLIST_KIND
from local_judge.tasks.criteria import CRITERIA_KIND
from local_judge.tasks.dimensions import DIMENSIONS_KIND
from local_judge.tasks.files import load_references
from local_judge.tasks.guidance import GUIDANCE_KIND
from local_judge.tasks.layouts import read_batch, read_index
from local_judge.tasks.load import load_tasks
from local_judge.tasks.plans import PLAN_KIND
from serving.errors import PresetError
from serving.presets import load_preset
from tests.fuzz.mutation import mutated
from tests.fuzz.target import Check, Shape, Target, assert_one_line, scratch, text_of, written

_ERRORS = (UserError, PresetError, ImportRefused, UnreadableReport)

_YAML_TOKENS = tuple(
    token.encode()
    for token in (
        *(
            "&a ",
            "*a",
            "<<: *a\n",
            "<<: [*a, *a]",
            "!!int ''",
            "!!float ''",
            "!!bool x",
            "!!timestamp x",
            "!!binary x",
        ),
        *(
            "? ",
            "- ",
            ": ",
            "\n",
            "\n  ",
            "|\n",
            ">-\n",
            "---\n",
            "...\n",
            "%YAML 1.2\n",
            "{",
            "}",
            "[",
            "]",
            ",",
            '"',
        ),
        *(
            "'",
            "#",
            "@",
            "`",
            "null",
            "~",
            "yes",
            "2001-01-01",
            "2001-01-01T00:00:00+99:99",
            ".nan",
            ".inf",
            "1:2.5",
        ),
        *(
            "!!python/object:os.system x",
            "!!set {a}",
            "!!omap [a: 1]",
            "!!str 1",
            "\t",
            "deer",
            "settings:\n",
        ),
    )
)
_JSON_TOKENS = (
    b'{"',
    b'":',
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b'"',
    b"\\ud800",
    b"\\u0000",
    b"null",
    b"true",
    b"\n",
    b"\xef\xbb\xbf",
)


def _reads(name: str, read: Callable[[Path], object]) -> Check:
    """A check that a file is read, or refused in one line."""

    def check(data: bytes) -> None:
        try:
            read(written(name, data))
        except _ERRORS as error:
            assert_one_line(error)

    return check


def _merges(n: int) -> bytes:
    """Each level merges the one before it twice: 2 ** n keys where a reader unfolds them."""
    levels = b"".join(b"a%d: &a%d {<<: [*a%d, *a%d]}\n" % (i, i, i - 1, i - 1) for i in range(1, n + 1))
    return b"a0: &a0 {x: 1}\n" + levels


_YAML_SHAPES: Mapping[str, Shape] = {
    "keys": lambda n: b"".join(b"k%d: 1\n" % i for i in range(n)),
    "lists": lambda n: b"[" * n + b"]" * n,
    "merges": _merges,
    "aliases": lambda n: b"a: &a 1\nb: [" + b"*a, " * n + b"]\n",
}


def _yaml(name: str, read: Callable[[Path], object], *valid: str, examples: int = 100) -> Target:
    return Target(
        name,
        mutated(st.sampled_from([text.encode() for text in valid]), _YAML_TOKENS),
        _reads(f"{name}.yaml", read),
        shapes=_YAML_SHAPES,
        examples=examples,
        unit=12,
    )


_CONFIG = """\
protocols: [deer, fact]
claims: {method: grouped}
reasks: 1
date: 2026-01-31
settings:
  deer: &s {}
"""
_PRESET = (Path(__file__).parents[2] / "configs" / "judges" / "qwen3-8b.yaml").read_text(encoding="utf-8")
_QUALIFY = """\
parts: [verification, retest]
verification: {claims: 8, near: false}
seed: 3
thresholds:
  mine: {figure: verification/accuracy, least: 0.5, protocols: [deer], severity: limit, means: errs}
"""


def _check_option(data: bytes) -> None:
    text = text_of(data)
    try:
        parse_settings([text, f"deer.scale={text}"])
    except UserError as error:
        assert_one_line(error)


def _lines(*rows: Any) -> SearchStrategy[bytes]:
    """Files of some of these rows."""
    lines = [json.dumps(row, ensure_ascii=False).encode() for row in rows]
    return st.lists(st.sampled_from(lines), min_size=1, max_size=4).map(b"\n".join)


def _rows(name: str, read: Callable[[Path], object], *rows: Any) -> Target:
    line = json.dumps(rows[0]).encode()

    def many(n: int) -> bytes:
        return b"\n".join(json.dumps({**rows[0], **_other(rows[0], i)}).encode() for i in range(n))

    return Target(
        name,
        mutated(_lines(*rows), (*_JSON_TOKENS, line)),
        _reads(f"{name}.jsonl", read),
        shapes={
            "rows": many,
            "lists": lambda n: line[:-1] + b', "more": ' + b"[" * n + b"]" * n + b"}",
            "keys": lambda n: b"{" + b",".join(b'"k%d":1' % i for i in range(n)) + b"}",
        },
        examples=100,
        unit=30,
    )


def _other(row: Any, number: int) -> dict[str, Any]:
    """Whatever must differ between two rows of a file."""
    return {key: f"{row[key]}{number}" for key in ("id", "task_id", "prompt") if key in row}


def _json(name: str, read: Callable[[Path], object], *valid: Any) -> Target:
    return Target(
        name,
        mutated(st.sampled_from([json.dumps(value).encode() for value in valid]), _JSON_TOKENS),
        _reads(f"{name}.json", read),
        examples=60,
    )


def _annotated(path: Path) -> object:
    (scratch() / "report.md").write_text("# A\n\nSales rose [1].\n\n## References\n\n[1] https://a.example\n")
    return load_report(path.rename(scratch() / "report.claims.jsonl"))


_CRITERIA = ("comprehensiveness", "insight", "instruction_following", "readability")
_DIMENSIONS = [
    {
        "name": name,
        "kind": kind,
        "weight": 0.2,
        "criteria": [{"criterion": "says so", "explanation": "why", "weight": 1.0}],
    }
    for name, kind in (
        *(("Coverage", "general"), ("Insight", "general"), ("Instruction following", "general")),
        *(("Clarity", "general"), ("Cost", "specific")),
    )
]
_PUBLISHED: dict[str, Any] = {
    "query_prompt": "q",
    "additional_dimensions": [{"meta_dimension_name": "Cost", "definition": "d"}],
} | {
    "dimension_weights": {
        "coverage": 0.2,
        "insight": 0.2,
        "instruction_following": 0.2,
        "clarity": 0.2,
        "cost": 0.2,
    },
    "all_criteria": {
        name: [{"criterion": "c", "explanation": "e", "weight": 1.0}]
        for name in ("coverage", "insight", "instruction_following", "clarity", "cost")
    },
}

TARGETS = (
    _yaml("run-config", lambda path: load_config(path, {}), _CONFIG, "protocols: [deer]\n", ""),
    _yaml("preset", load_preset, _PRESET),
    _yaml("qualification", lambda path: load_qualify_config("quick", path, None), _QUALIFY, examples=15),
    _yaml("batch", read_batch, "input_files: [a.json, b.json]\ncriteria: [depth]\n"),
    Target(
        "option",
        mutated(st.sampled_from((b"deer.scale=5", b"fact.a.b=[1, {c: 2}]", b"race.x=null")), _YAML_TOKENS),
        _check_option,
        shapes=_YAML_SHAPES,
        unit=12,
    ),
    _rows(
        "pages",
        lambda path: list(read_page_list(path, scratch())),
        {"url": "https://a.example/x", "text": "A page.", "title": "T", "fetched": "2026-01-31T12:00:00Z"},
        {"url": "http://b.example", "file": "pages.jsonl", "status": 200},
        {"url": "https://c.example", "status": "dead", "reason": "HTTP 404"},
    ),
    _rows(
        "tasks",
        load_tasks,
        {
            "id": "1",
            "prompt": "What is known of it?",
            "guidance": "Say all.",
            "checklist": ["a", "b"],
            "topic": "t",
        },
        {"id": 2, "question": "And of that?", "kept": False},
    ),
    _rows(
        "claims",
        load_claim_rows,
        {"id": "1", "claim": "Sales rose by 12%.", "url": "https://a.example/x"},
        {"claim": "中文", "url": "www.b.example"},
    ),
    _rows(
        "labelled-claims",
        lambda path: load_sets([path]),
        {"id": "1", "claim": "Sales rose.", "url": "https://a.example", "label": "supported"},
        {
            "claim": "Sales fell.",
            "evidence": "Sales rose.",
            "label": "contradicted",
            "supporting": [["Sales rose."]],
        },
    ),
    _rows(
        "annotations",
        _annotated,
        {
            "id": "1",
            "sentence": "L2.S1",
            "claim": "Sales rose.",
            "type": "A",
            "citations": {"1": "supported"},
        },
        {"id": "2", "sentence": "L2.S1", "claim": "Sales rose.", "type": "B", "evidence": ["L2.S1"]},
    ),
    _rows(
        "criteria",
        CRITERIA_KIND.load,
        {
            "id": 1,
            "prompt": "q",
            "dimension_weight": dict.fromkeys(_CRITERIA, 0.25),
            "criterions": {
                name: [{"criterion": "c", "explanation": "e", "weight": 1.0}] for name in _CRITERIA
            },
        },
    ),
    _rows(
        "checklists",
        CHECKLIST_KIND.load,
        {"task_id": "1", "task": "q", "items": ["a", "b"]},
        {"id": "1", "prompt": "q"},
    ),
    _rows("dimensions", DIMENSIONS_KIND.load, {"task_id": "1", "task": "q", "dimensions": _DIMENSIONS}),
    _rows(
        "guidance",
        GUIDANCE_KIND.read,
        {"task_id": "1", "task": "q", "guidance": "Say all.", "status": "reviewed"},
    ),
    _rows(
        "plans",
        PLAN_KIND.load,
        {
            "task_id": "1",
            "task": "q",
            "key_information": [{"question": "a?", "source": {"url": "https://a.example", "quote": "b"}}],
            "reasoning": [],
        },
    ),
    _rows(
        "references",
        lambda path: load_references([path]),
        {"id": "1", "prompt": "q", "article": "# A\n\nB [1]."},
    ),
    _json(
        "dimension-results",
        DIMENSIONS_KIND.load,
        {"query_results": {"1": _PUBLISHED}},
        {
            "dimensions_1": _PUBLISHED["additional_dimensions"],
            "weights_1_1": _PUBLISHED["dimension_weights"],
            **{f"criteria_1_{name}": rows for name, rows in _PUBLISHED["all_criteria"].items()},
        },
    ),
    _json(
        "report-index",
        read_index,
        {
            "reports": [
                {
                    "model_name": "m",
                    "query_id": "qid_1",
                    "query": "q",
                    "report_file_path": "report-index.json",
                }
            ]
        },
    ),
    _json("calibrations", load_calibrations, {"calibrations": []}, {}),
    _json("qualification", load_qualification, {"verdicts": []}, {}),
)

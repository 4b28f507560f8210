"""Pages of docs/appendix that are written from the code; `python -m scripts.write_reference` writes them.

`tests/docs/test_reference.py` fails where a page is not what the code says. As a hook of the documentation site, the
module removes what follows the language of a code block, which says how tests check the block.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import typer
from pydantic import TypeAdapter

from local_judge.cli.commands import Lazy, app
from local_judge.cli.help import GENERAL, label
from local_judge.lab.qualification.probes import sensitivity_probes
from local_judge.ledger.database import TABLES
from local_judge.protocols.deer.rubric.load import label_of, load_rubric
from serving.memory import GIB, gib_per_gpu, smallest_gpu
from serving.presets import THINKING_SUFFIX, Preset, list_presets, load_preset

ROOT = Path(__file__).resolve().parent.parent
APPENDIX = ROOT / "docs" / "appendix"
NOTE = "`python -m scripts.write_reference` writes this page from the code."

MODELS: Mapping[str, Mapping[str, str]] = {
    "Input files": {
        "indexes.making.pagelist": "PageLine",
        "local_judge.runs.execution.verify": "ClaimRow VerifiedRow",
        "local_judge.runs.planning.run_file": "RunFile",
        "local_judge.claims.config": "ClaimsConfig",
        "local_judge.protocols.originals": "PromptSource",
    },
    "Judge presets": {
        "serving.presets": "Preset",
        "serving.preset_sections": "Weights IndexParts Memory Yarn Reasoning VllmSettings EmbeddedSettings",
        "serving.types": "Sampling",
    },
    "Task data": {
        "local_judge.tasks.guidance": "GuidanceRow Point",
        "local_judge.tasks.checklists": "ChecklistRow",
        "local_judge.tasks.labels": "LabelRow",
        "local_judge.tasks.plans": "PlanRow",
        "local_judge.tasks.model": "KeySource",
        "local_judge.tasks.topics": "TopicRow NeedRow",
    },
    "Task construction": {
        "local_judge.lab.task_construction.settings": (
            "BuildConfig PersonaSettings NecessitySettings DuplicateSettings"
        ),
        "local_judge.lab.task_construction.model": "AuditRow",
    },
    "Sweeps": {
        "local_judge.runs.sweeps.file": "Axes Cells Override",
    },
    "Search agents": {
        "local_judge.agents.result": "AgentLimits EvidenceGap",
    },
    "Snapshots": {
        "indexes.records": "PageRecord",
        "indexes.model": "FoundBy",
    },
    "Run directory": {
        "local_judge.runs.storage.records": "CaseRecord ScoreRecord RunScoreRecord",
        "local_judge.claims.model": "ClaimSet Claim Source Verdict Evidence",
        "local_judge.rubric.answers": "JudgedItem Rating",
        "local_judge.protocols.rubric.protocol": "RubricAnswers",
        "local_judge.rubric.judging": "ItemAnswer",
        "local_judge.rubric.items": "Item",
        "local_judge.claims.unread": "Unread UnreadSentence",
        "local_judge.protocols.deer.rubric.model": "RubricFindings Grade",
        "local_judge.protocols.fact.findings": "FactFindings Pair",
        "local_judge.protocols.race.findings": "RaceFindings Comparison CriterionScore",
        "local_judge.protocols.dream.protocol": "DreamFindings",
        "local_judge.protocols.dream.factuality.findings": "FactualityFindings CheckedFact",
        "local_judge.protocols.dream.claims": "CitationFindings CheckedSource",
        "local_judge.protocols.dream.authority": "CitedDomain",
        "local_judge.protocols.deepresearcheval.findings": "DreFindings QualityFindings",
        "local_judge.protocols.liveresearchbench.findings": "LrbFindings",
        "local_judge.protocols.checklist": "Item",
        "local_judge.protocols.liveresearchbench.metrics.issues": "IssueFindings Issue",
        "local_judge.protocols.liveresearchbench.metrics.accuracy": "CitedPage CitedClaim",
        "local_judge.protocols.liveresearchbench.depth.games": "DepthFindings Opponent Order",
        "local_judge.scoring.node": "ScoreNode Score",
        "local_judge.runs.storage.summaries": "SystemScore",
        "local_judge.runs.storage.rescoring": "AgreementRecord",
        "local_judge.stats.estimate": "Estimate",
    },
    "Result files": {
        "local_judge.protocols.file_formats": "NumberedReport",
        "local_judge.protocols.race.export": "ExportedRow",
        "local_judge.protocols.liveresearchbench.export": "ExportedResults",
        "local_judge.protocols.deepresearcheval.export": "ExportedQuality",
        "local_judge.tasks.dimensions": "DimensionsRow",
        "local_judge.tasks.criteria": "CriteriaRow",
        "local_judge.lab.qualification.model": "Item Figure",
        "local_judge.judge.qualification_record": "QualificationRecord",
    },
    "Protocols: settings, and findings of their parts": {
        "local_judge.protocols.deer.settings": "DeerSettings",
        "local_judge.protocols.race.settings": "RaceSettings",
        "local_judge.protocols.fact.settings": "FactSettings",
        "local_judge.protocols.rubric.protocol": "RubricSettings",
        "local_judge.protocols.liveresearchbench.metrics.presentation": "PresentationSettings",
        "local_judge.protocols.liveresearchbench.metrics.coverage": "CoverageSettings",
        "local_judge.protocols.liveresearchbench.metrics.issues": "IssueSettings",
        "local_judge.protocols.liveresearchbench.metrics.accuracy": "AccuracySettings",
        "local_judge.protocols.liveresearchbench.metrics.depth": "DepthSettings",
        "local_judge.protocols.dream.writing": "WritingSettings",
        "local_judge.protocols.dream.factuality.findings": "FactualitySettings",
        "local_judge.protocols.dream.claims": "CitationSettings",
        "local_judge.protocols.dream.authority": "AuthoritySettings",
        "local_judge.protocols.dream.key_information": "KeyInformationSettings KeyInformationFindings",
        "local_judge.protocols.dream.reasoning_findings": "ReasoningSettings QuestionFindings Deduction",
        "local_judge.protocols.deepresearcheval.quality": "QualitySettings",
        "local_judge.protocols.deepresearcheval.facts.findings": (
            "FactsSettings SegmentSettings FactLimits FactsFindings Statement Ruling"
        ),
        "local_judge.protocols.deepresearcheval.export": "ExportedFacts",
    },
    "Qualification": {
        "local_judge.lab.qualification.config": "QualifyConfig",
        "local_judge.lab.qualification.parts.verification": "VerificationSettings",
        "local_judge.lab.qualification.parts.extraction": "ExtractionSettings",
        "local_judge.lab.qualification.parts.retest": "RetestSettings",
        "local_judge.lab.qualification.parts.position": "PositionSettings",
        "local_judge.lab.qualification.parts.sensitivity": "SensitivitySettings",
        "local_judge.lab.qualification.parts.labels": "LabelsSettings",
        "local_judge.lab.qualification.parts.injection_trials": "PromptInjectionSettings",
    },
    "Replications": {
        "local_judge.lab.replication": "Replication Column",
    },
    "Labels": {
        "local_judge.lab.annotations.model": "GoldClaim Altered",
    },
    "Experiments": {
        "local_judge.lab.experiments.corruption": "Topic",
        "local_judge.lab.experiments.temporal": "Timeline KeyItem PublishedQuery",
        "local_judge.lab.experiments.reasoning": "Argument Flaw",
        "local_judge.lab.experiments.planning": "Rating",
    },
    "Planted files": {
        "local_judge.lab.planting.model": "PlantedClaim SourceSentence Edit PlantedFlaw Change",
        "local_judge.lab.planting.injections": "Attack",
        "local_judge.demo.outcome": "Planted",
    },
}
"""Models whose fields `docs/appendix/fields.md` shows: heading -> module -> names."""

PYTHON = (
    "local_judge.api",
    "local_judge.protocols.base",
    "local_judge.protocols.metric",
    "serving.engine",
    "indexes.snapshot",
)
"""Modules whose public names `docs/appendix/python.md` shows."""


TYPES = {"string": "text", "boolean": "true or false", "null": "null", "array": "list", "object": "object"}
FENCE = re.compile(r"^(\s*```\w+) .*$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Remove what follows the language of each code block."""
    return FENCE.sub(r"\1", markdown)


def write() -> None:
    """Write all pages."""
    for name, generate in PAGES.items():
        (APPENDIX / name).write_text(generate(), encoding="utf-8")


def commands() -> str:
    """Return a section on each command."""
    program: Any = typer.main.get_command(app)
    program.name = "local-judge"
    context = typer.Context(program, info_name="local-judge", **program.context_settings)
    return f"# Command reference\n\n{NOTE}\n" + "".join(_command_sections(program, context, 2))


def _command_sections(command: Any, context: Any, level: int) -> Iterator[str]:
    command = command.load() if isinstance(command, Lazy) else command
    context.command = command
    yield f"\n{'#' * min(level, 4)} {context.command_path}\n\n{_line(command.help)}\n"
    arguments = " ".join(piece for piece in command.collect_usage_pieces(context) if piece)
    if level > 2:
        yield f"\nUsage: `{context.command_path} {arguments}`\n"
    rows = [row for param in command.get_params(context) if (row := _option_row(param, context))]
    if rows:
        yield "\n| option | |\n|---|---|\n" + "".join(rows)
    for name, below in getattr(command, "commands", {}).items():
        yield from _command_sections(below, typer.Context(below, info_name=name, parent=context), level + 1)


def _option_row(param: Any, context: Any) -> str | None:
    record = param.get_help_record(context)
    if record is None or "--help" in param.opts:
        return None
    if context.parent is not None and getattr(param, "rich_help_panel", None) == GENERAL:
        return None
    return f"| `{_cell(label(param))}` | {_cell(record[1])} |\n"


def fields() -> str:
    """Return a table of the fields of each model in `MODELS`, and the tables of a ledger."""
    counts = Counter(
        name for models in MODELS.values() for names in models.values() for name in names.split()
    )
    parts = [f"# Fields of files\n\n{NOTE}\n"]
    for heading, models in MODELS.items():
        parts.append(f"\n## {heading}\n")
        for module, names in models.items():
            for name in names.split():
                title = name if counts[name] == 1 else f"{module}.{name}"
                parts.append(
                    f"\n### `{title}`\n\n{field_table(getattr(importlib.import_module(module), name))}\n"
                )
    parts.append(f"\n## Tables of a ledger\n\n```sql\n{TABLES.strip()}\n```\n")
    return "".join(parts)


def field_table(model: type[Any]) -> str:
    """Return a Markdown table of the fields of a model or dataclass, with their values and docstrings."""
    texts = field_docstrings(model)
    schema: Mapping[str, Any] = TypeAdapter(model).json_schema()
    rows = [
        f"| `{key}` | {_values(value, schema)}{_default(value)} | {texts.get(key, '')} |\n"
        for key, value in schema.get("properties", {}).items()
    ]
    return f"| `{model.__name__}` | value | |\n|---|---|---|\n" + "".join(rows).rstrip("\n")


def field_docstrings(model: type[Any]) -> dict[str, str]:
    """Return the docstring of each field of a model or dataclass, on one line; those of base classes too."""
    texts: dict[str, str] = {}
    for base in reversed(model.__mro__):
        try:
            source = inspect.getsource(base)
        except (
            OSError,
            TypeError,
        ):  # built in, or made by a program, such as a generic model with its arguments
            continue
        (definition,) = ast.parse(textwrap.dedent(source)).body
        assert isinstance(definition, ast.ClassDef)
        texts.update(_docstrings(definition))
    return texts


def _docstrings(definition: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, _line(text)
            case _:
                pass


def _values(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return the values that a key can have, in words."""
    if path := value.get("$ref"):
        name = path.rpartition("/")[2]
        below = schema["$defs"][name]
        return f"`{name}`" if "properties" in below else _values(below, schema)
    if options := value.get("enum"):
        return ", ".join(f"`{option}`" for option in options)
    if "const" in value:
        return f"`{value['const']}`"
    if options := value.get("anyOf") or value.get("oneOf"):
        return " or ".join(dict.fromkeys(_values(option, schema) for option in options))
    kind = value.get("type", "")
    if kind == "array" and (below := _values(value.get("items", {}), schema)):
        return f"list of {below}"
    return TYPES.get(kind, kind) + _bounds(value)


def _bounds(value: Mapping[str, Any]) -> str:
    low, high = value.get("minimum"), value.get("maximum")
    if low is not None and high is not None:
        return f", {low:g} to {high:g}"
    if low is not None:
        return f", at least {low:g}"
    return ""


def _default(value: Mapping[str, Any]) -> str:
    match value.get("default"):
        case bool() as flag:
            return f"; default {str(flag).lower()}"
        case "" | None:
            return ""
        case str() | int() | float() as default:
            return f"; default `{default}`"
        case _:
            return ""


def python() -> str:
    """Return the signatures and docstrings of the public classes and functions of the modules in `PYTHON`."""
    parts = [f"# Python reference\n\n{NOTE}\n"]
    for name in PYTHON:
        module = importlib.import_module(name)
        parts.append(f"\n## `{name}`\n\n{_summary(inspect.getdoc(module))}\n")
        source = inspect.getsource(module)
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name[0] != "_":
                parts.extend(_definition(node, source.splitlines(), ""))
    return "".join(parts)


def _definition(
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str], owner: str
) -> Iterator[str]:
    """Yield the heading, the signature and the docstring of a class or function; of a class, its methods too."""
    name = f"{owner}.{node.name}" if owner else node.name
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    signature = textwrap.dedent("\n".join(lines[first - 1 : node.body[0].lineno - 1])).removesuffix(":")
    yield f"\n{'####' if owner else '###'} `{name}`\n\n```python signature\n{signature}\n```\n\n"
    yield f"{sections(ast.get_docstring(node) or '')}\n"
    if isinstance(node, ast.ClassDef):
        rows = [f"| `{field}` | {text} |\n" for field, text in _docstrings(node) if field[0] != "_"]
        if rows:
            yield "\n| field | |\n|---|---|\n" + "".join(rows)
        for member in node.body:
            if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) and member.name[0] != "_":
                yield from _definition(member, lines, name)


def sections(docstring: str) -> str:
    """Return a docstring as Markdown: arguments and errors as lists, examples as code."""
    text, *rest = re.split(r"^(Args|Attributes|Returns|Raises|Examples):\n", docstring, flags=re.MULTILINE)
    parts = [text.strip()]
    for heading, body in zip(rest[::2], rest[1::2], strict=True):
        content = textwrap.dedent(body).strip()
        if heading == "Examples":
            parts.append(f"```pycon doctest\n{content}\n```")
        elif heading == "Returns":
            parts.append(f"**Returns:** {_line(content)}")
        else:
            entries = re.sub(r"^(\S[^:]*): ", r"- `\1`: ", content, flags=re.MULTILINE)
            parts.append(f"**{heading}:**\n\n{entries}")
    return "\n\n".join(parts)


def _summary(docstring: str | None) -> str:
    return (docstring or "").partition("\n\n")[0]


def presets() -> str:
    """Return a table with one row per preset file."""
    loaded = [load_preset(name) for name in list_presets()]
    return (
        "# Preset table\n\nOne row per file in `configs/judges`. [Choose a judge](../guides/judges.md#size-and-memory) "
        f"explains the columns. {NOTE}\n\n"
        "| preset | model | licence | context | native | weights, GiB | KV cache, KiB per token | GiB per GPU | GPU "
        "| tensor parallel | thinking | files |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
        + "".join(_preset_row(preset) for preset in loaded if not preset.name.endswith(THINKING_SUFFIX))
    )


def _preset_row(preset: Preset) -> str:
    return f"| {' | '.join(_preset_cells(preset))} |\n"


def _preset_cells(preset: Preset) -> Iterator[str]:
    weights, memory = preset.weights, preset.memory
    gib = memory.weights_gib if memory is not None else (weights.size or 0) / GIB
    yield f"`{preset.name}`"
    yield f"{preset.model}{f', {preset.quantisation}' if preset.quantisation else ''}"
    yield preset.licence
    yield f"{preset.context_tokens:,}"
    yield f"{preset.native_context_tokens:,}" if preset.native_context_tokens else ""
    yield f"{gib:.1f}"
    yield f"{memory.kv_bytes_per_token / 1024:g}" if memory is not None else ""
    needed = gib_per_gpu(preset)
    yield f"{needed:.1f}" if needed is not None else ""
    yield smallest_gpu(preset) or "CPU"
    yield str(preset.vllm.tensor_parallel) if preset.vllm is not None else ""
    yield _thinking(preset)
    yield f"[{str(weights.revision)[:7]}](https://huggingface.co/{weights.hub}/tree/{weights.revision})"


def _thinking(preset: Preset) -> str:
    if preset.reasoning is None:
        return "off"
    effort = preset.reasoning.sampling.reasoning_effort
    which = "always" if preset.reasoning.always else "off or on"
    return f"{which}, effort {effort}" if effort else which


def rubric() -> str:
    """Return the items of DEER's rubric, by dimension."""
    parts = [
        f"# Items of DEER's rubric\n\n[DEER's rubric](../protocols/deer_rubric.md) explains them. {NOTE}\n"
    ]
    for dimension, items in groupby(load_rubric().items(), key=lambda row: row[0][0]):
        parts.append(f"\n## {label_of(dimension)}\n\n| item | text |\n|---|---|\n")
        parts += [f"| `{'.'.join(path[1:])}` | {item.text} |\n" for path, item in items]
    return "".join(parts)


def probes() -> str:
    """Return the expectations of all sensitivity probes."""
    rows = [
        f"| `{name}` | `{expected.path}` | `{expected.flaw}` | {'fall' if expected.truth < 0 else 'not rise'} "
        f"| {expected.reason} |\n"
        for name, installed in sensitivity_probes().items()
        for expected in installed.probe.expectations
    ]
    return (
        "# Sensitivity probes\n\nScores that should fall, or not rise, when a report gets a flaw "
        f"([explanation](../explanation/measured.md#sensitivity)). {NOTE}\n\n"
        "| probe | score | flaw | should | reason |\n|---|---|---|---|---|\n" + "".join(rows)
    )


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")


PAGES: Mapping[str, Callable[[], str]] = {
    "commands.md": commands,
    "fields.md": fields,
    "python.md": python,
    "presets.md": presets,
    "rubric.md": rubric,
    "probes.md": probes,
}
"""File -> the function that returns its text."""

if __name__ == "__main__":
    write()

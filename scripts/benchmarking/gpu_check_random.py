"""Check of the engines on a judge's architecture with random weights: `scripts/gpu_check --random-weights`.

The transformers engine runs the model in this process, in bfloat16 on a GPU and in float32 elsewhere. vLLM, where it is
installed, serves it with `--load-format dummy`. The replies mean nothing; time, memory and errors do:

    start           seconds until the first request can be sent, libraries included
    speed           prefill and decode, as in the check with weights
    prefix          a second prompt that begins as the first: its tokens, and those taken from the cache
    client          share of the time of calls one after another that passes outside the model's forward passes, each of
                    which is timed; for vLLM, outside the latency that the server itself reports of its requests
    schema          a reply under a JSON schema
    memory          memory of the GPU and of the process
    out_of_memory   message of the product when the memory of a GPU runs out, and whether the engine answers afterwards

Invariant: nothing is installed or fetched; what could not be measured is in the report with its reason.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
import importlib.util
import json
import re
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from scripts.benchmarking.gpu_check_command import CPU_JUDGE, GPU_JUDGE, SUPPLIES
from scripts.benchmarking.gpu_check_report import Figures, publish
from scripts.benchmarking.gpu_check_steps import StepFailed, memory, numbers, speed, step, versions
from scripts.environment import has_cuda
from serving.engine import Engine
from serving.engines.transformers import TransformersEngine
from serving.engines.transformers_model import Model
from serving.errors import EngineError, LaunchFailed, ServingError
from serving.launch import launch
from serving.metrics import kv_cache_tokens
from serving.presets import Preset, load_preset
from serving.types import Message, Sampling

ARCHITECTURES = Path(__file__).with_name("gpu_check_architectures.json")
"""`config.json` by model, with the numbers of the published one."""
TOKENIZER = SUPPLIES / "tokenizer"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"verdict": {"enum": ["supported", "not_found"]}, "numeric": {"type": "boolean"}},
    "required": ["verdict", "numeric"],
    "additionalProperties": False,
}
START_SECONDS = 600.0
_LATENCY = re.compile(r"^vllm:e2e_request_latency_seconds_sum\{[^}]*\} (\S+)$", re.MULTILINE)


class RandomWeights:
    """Loader of a model with random weights from the `config.json` and the tokenizer of a folder.

    `seconds` is the time that its forward passes have taken so far.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.n_parameters = 0
        self._begun = 0.0

    def __call__(self, folder: Path) -> Model:
        """Return the model, on the GPU if there is one."""
        torch: Any = importlib.import_module("torch")
        transformers: Any = importlib.import_module("transformers")
        gpu: bool = torch.cuda.is_available()
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        torch.manual_seed(0)
        with torch.device("cuda" if gpu else "cpu"):
            dtype = torch.bfloat16 if gpu else torch.float32
            network = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype)
        self.n_parameters = sum(tensor.numel() for tensor in network.parameters())
        wait = torch.cuda.synchronize if gpu else lambda: None

        def before(*_: object) -> None:
            wait()
            self._begun = time.perf_counter()

        def after(*_: object) -> None:
            wait()
            self.seconds += time.perf_counter() - self._begun

        network.register_forward_pre_hook(before)
        network.register_forward_hook(after)
        return Model(tokenizer, network)


def write_architecture(model: str, layers: int | None, folder: Path) -> int:
    """Write `config.json` and the tokenizer to `folder`; return the number of layers.

    Raises:
        StepFailed: The shapes of the model are not known, it has fewer layers, or there is no tokenizer.
    """
    shapes = json.loads(ARCHITECTURES.read_text(encoding="utf-8"))
    if model not in shapes:
        raise StepFailed(f"{ARCHITECTURES.name} has no {model}; it has {', '.join(shapes)}")
    if not TOKENIZER.is_dir():
        raise StepFailed("no tokenizer: run in a folder that `scripts/gpu_check --pack FOLDER` has written")
    config = shapes[model]
    n_layers: int = config["num_hidden_layers"] if layers is None else layers
    if n_layers > config["num_hidden_layers"]:
        raise StepFailed(f"{model} has {config['num_hidden_layers']} layers; choose no more with --layers")
    shutil.copytree(TOKENIZER, folder, dirs_exist_ok=True)
    # Without a version as in the published file, transformers takes the tokenizer for a faulty one of Mistral.
    config |= {"num_hidden_layers": n_layers, "transformers_version": "4.51.0"}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return n_layers


async def measure(engine: Engine, record: Figures, inside: Callable[[], float], quick: bool) -> None:
    """Add the figures of an engine to `record`; `inside` returns the seconds that the model has worked so far."""
    with step(record, "speed") as figures:
        figures |= await speed(engine, "gpu" if has_cuda() else "cpu", quick)
    with step(record, "prefix") as figures:
        figures |= await prefix(engine, 200 if quick else 2000)
    with step(record, "client") as figures:
        figures |= await client(engine, inside, *((4, 8) if quick else (16, 32)))
    with step(record, "schema") as figures:
        messages = [Message(role="user", content="Is the claim supported?")]
        reply = await engine.generate(messages, Sampling(max_tokens=64), SCHEMA)
        if json.loads(reply.text).keys() != SCHEMA["properties"].keys():
            raise StepFailed(f"the reply does not match the schema: {reply.text}")
        figures["reply"] = reply.text


async def prefix(engine: Engine, n_numbers: int) -> Figures:
    """Ask two questions about one new page; return the prompt tokens of the second."""
    page = numbers(n_numbers)
    for question in ("Is the first number even?", "Is the last number even?"):
        choice = await engine.choose([Message(role="user", content=f"{page}\n\n{question}")], ["Yes", "No"])
    usage = choice.usage
    return {"prompt_tokens": usage.prompt_tokens, "cached_tokens": usage.cached_tokens or 0}


async def client(engine: Engine, inside: Callable[[], float], n_calls: int, n_tokens: int) -> Figures:
    """Ask calls one after another; return the share of the time outside the model."""
    before, begun = inside(), time.perf_counter()
    for number in range(n_calls):
        messages = [Message(role="user", content=f"Count to {number}.")]
        await engine.generate(messages, Sampling(max_tokens=n_tokens))
    seconds = time.perf_counter() - begun
    share = 1 - (inside() - before) / seconds
    return {"calls": n_calls, "seconds": round(seconds, 3), "share": round(max(0.0, share), 4)}


def in_process(preset: Preset, folder: Path, quick: bool) -> Figures:
    """Measure the transformers engine; a start that fails is a reason."""
    record: Figures = {"judge": f"{preset.name}, transformers"}
    load, begun = RandomWeights(), time.perf_counter()
    engine = TransformersEngine(
        preset.model,
        folder,
        context_tokens=preset.context_tokens,
        concurrency=preset.concurrency,
        load=load,
    )

    async def take() -> None:
        try:
            await engine.identity()
            record["start_seconds"] = round(time.perf_counter() - begun, 1)
            record["parameters"] = load.n_parameters
            await measure(engine, record, lambda: load.seconds, quick)
            torch: Any = importlib.import_module("torch")
            with step(record, "memory") as figures:
                figures |= memory(None)
                figures["peak_gib"] = round(_peak_bytes(torch) / (1 << 30), 2)
            with step(record, "out_of_memory") as figures:
                figures |= await out_of_memory(engine, torch)
        except ServingError as error:
            record["failed"] = str(error)
        finally:
            await engine.aclose()

    asyncio.run(take())
    return record


def _peak_bytes(torch: Any) -> int:
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


async def out_of_memory(engine: Engine, torch: Any) -> Figures:
    """Ask for more than the GPU's memory, which is limited to little more than is taken; then ask for little."""
    if not torch.cuda.is_available():
        return {"skipped": "without a GPU, it would take the memory of everything else on this machine"}
    torch.cuda.empty_cache()
    spare, total = 32 << 20, torch.cuda.mem_get_info()[1]
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + spare) / total)
    figures: Figures = {}
    try:
        await engine.generate([Message(role="user", content=numbers(4000))], Sampling(max_tokens=2))
    except EngineError as error:
        figures["error"] = f"{type(error).__name__}: {error}"
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    if not figures:
        raise StepFailed(f"a long prompt took less than {spare >> 20} MiB")
    reply = await engine.generate([Message(role="user", content="Count.")], Sampling(max_tokens=2))
    return figures | {"answered": reply.usage.completion_tokens}


def served(preset: Preset, folder: Path, args: argparse.Namespace) -> Figures:
    """Measure vLLM with `--load-format dummy`; a start that fails is a reason."""
    record: Figures = {"judge": f"{preset.name}, vLLM"}
    if importlib.util.find_spec("vllm") is None:
        return record | {"skipped": "vLLM is not installed"}
    if preset.vllm is None:
        return record | {"skipped": "it is no preset for vLLM"}
    from scripts.benchmarking.vllm_server import MeasuredServer
    from serving.engines.openai import OpenAIEngine

    settings = preset.vllm.model_copy(update={"args": (*preset.vllm.args, "--load-format", "dummy")})
    # The parser of reasoning needs tokens that the carried tokenizer may not have.
    dummy = preset.model_copy(update={"vllm": settings, "reasoning": None})
    log: Path = args.out.with_suffix(f".{preset.name}.log")
    try:
        with (
            launch(dummy, log=log, timeout=START_SECONDS, model=folder) as running,
            closing(MeasuredServer(running.base_url, running.model)) as server,
        ):
            record["start_seconds"] = round(running.seconds, 1)
            record["kv_tokens"] = kv_cache_tokens(server.metrics())

            def inside() -> float:
                time.sleep(0.5)  # the server counts a request after its reply
                return sum(map(float, _LATENCY.findall(server.metrics())))

            async def take() -> None:
                engine = OpenAIEngine([server.base_url], preset.model, chat_arguments=preset.chat_arguments)
                try:
                    await measure(engine, record, inside, args.quick)
                finally:
                    await engine.aclose()

            asyncio.run(take())
            with step(record, "memory") as figures:
                figures |= memory(running)
        with step(record, "out_of_memory") as figures:
            figures |= refused_start(dummy, folder, log)
    except ServingError as error:
        record["failed"] = str(error)
    return record


def refused_start(preset: Preset, folder: Path, log: Path) -> Figures:
    """Start vLLM with a hundredth of the GPU's memory; return the error."""
    assert preset.vllm is not None
    if preset.vllm.gpu_memory_utilization is None:
        return {"skipped": "without a GPU, the preset does not limit the server's memory"}
    starved = preset.vllm.model_copy(update={"gpu_memory_utilization": 0.01})
    try:
        with launch(
            preset.model_copy(update={"vllm": starved}), log=log, timeout=START_SECONDS, model=folder
        ):
            raise StepFailed("it started with a hundredth of the GPU's memory")
    except LaunchFailed as error:
        return {"error": f"LaunchFailed: {error}"}


def run(args: argparse.Namespace) -> int:
    """Check, print and write; return 1 if anything failed."""
    try:
        preset = load_preset(args.judge or (GPU_JUDGE if has_cuda() else CPU_JUDGE))
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            n_layers = write_architecture(preset.model, args.layers, folder)
            runs = [in_process(preset, folder, args.quick)]
            gc.collect()
            torch: Any = importlib.import_module("torch")
            torch.cuda.empty_cache()
            runs.append(served(preset, folder, args))
    except (ServingError, StepFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    weights = {"weights": f"random, {preset.model}, layers: {n_layers}"}
    report = {"versions": versions() | weights, "random-weights": True, "quick": args.quick, "runs": runs}
    return publish(report, args.out)

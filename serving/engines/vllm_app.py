"""vLLM's API application in this process: the whole engine, or only its tokenizer and chat template.

Invariants: the application is configured by the same command line as a server of the preset, so that both give the same
replies; vLLM is imported when the application starts; no process of it is left when its context ends. Its output goes
to a log, never to the terminal.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import multiprocessing.spawn
import os
import shlex
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from serving.engines.asgi import AppClient, Application, AppThread
from serving.errors import LaunchFailed, MissingExtra, ServerDown
from serving.launch import LOCAL, check_served, command, environment
from serving.presets import Preset
from serving.processes import explain
from serving.weights import checkpoint

GRACE_SECONDS = 10.0
"""Seconds that a process of vLLM gets to end by itself."""


class VllmApp:
    """vLLM's API application for one preset.

    Args:
        preset: Preset with `engine: vllm`.
        log: File for vLLM's output; an existing one is overwritten.
        generating: False for an application that has the tokenizer and the chat template but no model.

    Raises:
        PresetError: As `serving.launch.check_served`.
        WeightsMissing: The weights are not on this machine.
        MissingExtra: vLLM is not installed.
    """

    def __init__(self, preset: Preset, log: Path, *, generating: bool = True) -> None:
        check_served(preset)
        if find_spec("vllm") is None:
            raise MissingExtra(
                f"{preset.name} needs vLLM in this environment: in the checkout, pip install '.[gpu]'"
            )
        self._preset = preset
        self._model = checkpoint(preset)
        self._words = command(preset, model=self._model)[3:]  # without the interpreter and the module
        self._log = log
        self._generating = generating
        self._engine: Any = None
        self._children: frozenset[int] = frozenset()

    def client(self) -> AppClient:
        """Return a client that starts the application at its first request and ends it with `aclose`."""
        thread = AppThread(self._opened, self._end_processes)
        return AppClient(thread, self._preset.timeout_seconds, self._check)

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[Application]:
        self._children = frozenset(child.pid or 0 for child in multiprocessing.active_children())
        with _quiet_python(self._log), _environment(environment(self._preset, LOCAL)):
            try:
                async with self._app() as application:
                    yield application
            except LaunchFailed:
                raise
            except (Exception, SystemExit) as error:
                said = f"{type(error).__name__}: {error}"
                raise LaunchFailed(f"{self._preset.name} did not start: {self._cause(said)}") from error
            finally:
                self._end_processes()

    def _app(self) -> AbstractAsyncContextManager[Application]:
        return self._with_model() if self._generating else self._without_model()

    @asynccontextmanager
    async def _with_model(self) -> AsyncGenerator[Application]:
        launchers = "vllm.entrypoints.launchers"
        entry = importlib.import_module(f"{launchers}.api_server.entry")
        arguments = self._arguments()
        async with entry.build_async_engine_client(arguments) as engine:
            tasks = await engine.get_supported_tasks()
            application = importlib.import_module(f"{launchers}.app").build_app(
                arguments, tasks, engine.model_config
            )
            await entry.init_app_state(engine, application.state, arguments, tasks)
            application.state.server = SimpleNamespace(should_exit=False)  # set when the engine has died
            self._engine = engine
            yield application

    @asynccontextmanager
    async def _without_model(self) -> AsyncGenerator[Application]:
        launchers = "vllm.entrypoints.launchers"
        arguments = self._arguments()
        engine = importlib.import_module("vllm.engine.arg_utils").AsyncEngineArgs.from_cli_args(arguments)
        model = engine.create_model_config()
        model.quantization = None  # as vLLM's own server without a model does: no kernel is needed
        config = importlib.import_module("vllm.config").VllmConfig(
            model_config=model, structured_outputs_config=engine.create_structured_outputs_config()
        )
        application = importlib.import_module(f"{launchers}.app").build_app(arguments, ("render",))
        state = importlib.import_module(f"{launchers}.render.app_state")
        await state.init_render_app_state(config, application.state, arguments)
        yield application

    def _arguments(self) -> Any:
        """Return the server's options, read by vLLM's own parser."""
        parser = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser()
        options = importlib.import_module("vllm.entrypoints.launchers.cli_args").make_arg_parser(parser)
        return options.parse_args(self._words)

    def _cause(self, said: str = "") -> str:
        """Return the cause of a failure as one line, from vLLM's log and what an exception said."""
        text = self._log.read_text(encoding="utf-8", errors="replace")
        facts = {"name": self._preset.name, "model": str(self._model), "port": "", "python": sys.executable}
        return f"{explain(f'{text}{said}', 1, facts)} (log: {self._log})"

    def _check(self) -> None:
        """Raise ServerDown if vLLM's engine process has ended."""
        if self._engine is not None and self._engine.errored:
            raise ServerDown(
                f"vLLM in this process has ended: {self._cause()}; what is finished is kept: run the same command again"
            )

    def _end_processes(self) -> None:
        """End the processes that vLLM has started, so that an unfinished start fails."""
        ours = [child for child in multiprocessing.active_children() if child.pid not in self._children]
        for child in ours:
            child.terminate()
        for child in ours:
            child.join(GRACE_SECONDS)
            if child.is_alive():
                child.kill()
                child.join()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Generator[None]:
    """Set environment variables in the block. vLLM reads them at any time."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _quiet_python(log: Path) -> Generator[None]:
    """Send the log records of vLLM, and all output of the processes that it starts, to a file.

    Processes are spawned: one that is forked from a process with threads may hang, and the guard of offline runs lets
    it make no socket, not even to its siblings.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    handler = {"class": "logging.FileHandler", "filename": str(log), "formatter": "plain"}
    settings = {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": "%(levelname)s %(asctime)s %(message)s"}},
        "handlers": {"file": handler},
        "loggers": {"vllm": {"handlers": ["file"], "level": "INFO", "propagate": False}},
    }
    with tempfile.TemporaryDirectory(prefix="local_judge-") as folder:
        logging, python = Path(folder, "logging.json"), Path(folder, "python")
        logging.write_text(json.dumps(settings), encoding="utf-8")
        python.write_text(
            f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@" >>{shlex.quote(str(log))} 2>&1\n'
        )
        python.chmod(0o700)
        variables = {
            "VLLM_LOGGING_CONFIG_PATH": str(logging),
            "VLLM_CONFIGURE_LOGGING": "1",
            "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
        }
        before = multiprocessing.spawn.get_executable()
        multiprocessing.set_executable(str(python))
        try:
            with _environment(variables):
                yield
        finally:
            multiprocessing.set_executable(before)

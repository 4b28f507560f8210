"""Engines: what can be asked. One module per engine, imported only when it is used; `ENGINES` is the table of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

SectionName = Literal["vllm", "embedded"]


class Persistence(NamedTuple):
    """Retry settings; they change no answer."""

    attempts: int = 5
    """Maximum number of attempts per call."""
    wait_seconds: float = 600.0
    """Longest outage of all servers to wait for; 0 lets each call fail by itself."""
    fail_after: int | None = None
    """Number of failed calls that ends a run; None for no limit."""


PERSISTENT = Persistence()


class Connection(NamedTuple):
    """Servers of a judge and the rules for asking them; an engine in this process ignores it."""

    base_urls: tuple[str, ...] = ()
    """Servers such as `http://host:port/v1`; never empty for an engine that needs servers."""
    api_key: str | None = None
    """API key of the servers."""
    persistence: Persistence = PERSISTENT
    """Number of attempts, and longest outage to wait for."""
    tell: Callable[[str], None] = lambda line: None
    """Callback for one line when an outage begins and one when it ends."""


class EngineKind(NamedTuple):
    """An engine that presets can name."""

    module: str
    """Module with a function `connect(preset, connection)` that returns the engine."""
    needs_server: bool
    """True if it asks servers, False if it runs the model in this process."""
    section: SectionName | None = None
    """Section of a preset that describes it: required with this engine, an error with any other."""
    default_urls: tuple[str, ...] = ()
    """Servers to ask if the user names none and `judge up` has started none."""

    @property
    def is_launched(self) -> bool:
        """True if `judge up` starts its servers, which are vLLM's."""
        return self.section == "vllm"


ENGINES: dict[str, EngineKind] = {
    "vllm": EngineKind("serving.engines.openai", needs_server=True, section="vllm"),
    "openvino": EngineKind("serving.engines.openvino", needs_server=False, section="embedded"),
    "transformers": EngineKind("serving.engines.transformers", needs_server=False, section="embedded"),
}
"""Engines by the name that a preset gives as `engine`."""


def kind_of(engine: str, base_urls: Sequence[str] = ()) -> EngineKind:
    """Return the kind that answers for an engine; one for this process gives way to the servers that are named."""
    kind = ENGINES[engine]
    return ENGINES["vllm"] if base_urls and not kind.needs_server else kind

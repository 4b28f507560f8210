from collections.abc import Callable, Sequence
from socket import socket
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self

class Error(Exception): ...
class InterfaceError(Error): ...
class DatabaseError(Error): ...

class Context:
    rows: list[list[Any]] | None
    row_count: int

class Connection:
    py_types: dict[type, Callable[[Any], str | None]]

    def __init__(
        self,
        user: str,
        host: str = ...,
        database: str | None = ...,
        port: int = ...,
        password: str | None = ...,
        *,
        ssl_context: SSLContext | bool | None = ...,
        application_name: str | None = ...,
        startup_params: dict[str, str] | None = ...,
        sock: socket | None = ...,
    ) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def run(self, sql: str) -> list[list[Any]] | None: ...
    def execute_simple(self, statement: str) -> Context: ...
    def execute_unnamed(self, statement: str, vals: Sequence[Any] = ...) -> Context: ...
    def prepare_statement(self, statement: str, oids: Sequence[int]) -> tuple[Any, Any, Any]: ...
    def execute_named(
        self, statement_name_bin: Any, params: Sequence[Any], columns: Any, input_funcs: Any, statement: str
    ) -> Context: ...
    def register_in_adapter(self, oid: int, in_func: Callable[[str], Any]) -> None: ...
    def close(self) -> None: ...

def make_params(
    py_types: dict[type, Callable[[Any], str | None]], values: Sequence[Any]
) -> tuple[Any, ...]: ...

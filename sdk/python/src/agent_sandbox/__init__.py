"""Agent Sandbox: isolated, stateful environments for AI agents.

>>> from agent_sandbox import Sandbox
>>> with Sandbox.create() as box:                         # doctest: +SKIP
...     box.files.write("hello.py", "print('hello')")
...     print(box.run("python3 hello.py").stdout)

`AsyncSandbox` has the same methods, awaited. Everything that goes wrong is a `SandboxError`.
"""

from ._async_sandbox import AsyncClient, AsyncFiles, AsyncProcess, AsyncSandbox
from ._sandbox import Client, Files, Process, Sandbox
from .errors import (
    CommandError,
    ConfigurationError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    NotReadyError,
    OutputLostError,
    SandboxError,
    ServerError,
    UnauthenticatedError,
    UnreachableError,
    WaitTimeoutError,
)
from .results import Change, Entry, Exit, Output, ProcessInfo, Response, Result, SandboxInfo, Stat, TerminalSize

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "AsyncFiles",
    "AsyncProcess",
    "AsyncSandbox",
    "Change",
    "Client",
    "CommandError",
    "ConfigurationError",
    "ConflictError",
    "Entry",
    "Exit",
    "Files",
    "ForbiddenError",
    "InvalidError",
    "NotFoundError",
    "NotReadyError",
    "Output",
    "OutputLostError",
    "Process",
    "ProcessInfo",
    "Response",
    "Result",
    "Sandbox",
    "SandboxError",
    "SandboxInfo",
    "ServerError",
    "Stat",
    "TerminalSize",
    "UnauthenticatedError",
    "UnreachableError",
    "WaitTimeoutError",
]

"""Programs that make credentials, which kubeconfigs of clouds name (`exec`): asked once, and again before what they gave ends."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
PATIENCE = 60.0
"""How long a program may take, in seconds."""
UNDATED = 60.0
"""How long a credential is used that does not say when it ends, in seconds."""
SPARE = 10.0
"""How long before its end a credential is replaced, in seconds."""


@dataclass(frozen=True)
class Credential:
    """What a program gave: a token, or a certificate with its key."""

    token: str | None = None
    certificate: bytes | None = None
    key: bytes | None = None


class Plugin:
    """One such program, and what it gave last. Threads may share it."""

    def __init__(self, setting: dict[str, Any], cluster: dict[str, Any], file: Path) -> None:
        """Nothing is started yet. What `setting` asks for and cannot be had is refused."""
        self._setting, self._cluster, self._file = setting, cluster, file
        self._command = str(setting.get("command") or "")
        if setting.get("apiVersion") not in VERSIONS:
            raise self._error(f"its apiVersion is {setting.get('apiVersion')!r}, and not {' or '.join(VERSIONS)}")
        if setting.get("interactiveMode") == "Always":
            raise self._error("it wants to ask somebody (interactiveMode: Always)")
        self._lock = threading.Lock()
        self._given = Credential()
        self._until = 0.0

    @property
    def is_due(self) -> bool:
        """Whether it is time for `renew`."""
        return time.time() >= self._until

    @property
    def token(self) -> str | None:
        """The token that it gave last."""
        return self._given.token

    def renew(self, use: Callable[[Credential], None]) -> None:
        """Starts the program, which takes its time, if nobody else just did. `use` has what it gave before others go on."""
        with self._lock:
            if self.is_due:
                given, until = self._read(self._run())
                use(given)
                self._given, self._until = given, until

    def _run(self) -> str:
        # As kubectl has it: a name is looked for on PATH, a path is relative to the file that has it.
        command = str(self._file.parent / self._command) if os.sep in self._command else self._command
        words = [command, *map(str, self._setting.get("args") or [])]
        try:
            done = subprocess.run(  # noqa: S603
                words,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
                text=True,
            )
        except FileNotFoundError as error:
            hint = str(self._setting.get("installHint") or "").strip()
            raise self._error(f"there is no such program{f'; {hint}' if hint else ''}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self._error(str(error)) from error
        if done.returncode != 0:
            raise self._error(f"it ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def _environment(self) -> dict[str, str]:
        asked: dict[str, Any] = {"interactive": False}
        if self._setting.get("provideClusterInfo"):
            asked["cluster"] = self._cluster
        info = {"apiVersion": self._setting["apiVersion"], "kind": "ExecCredential", "spec": asked}
        also = {str(it["name"]): str(it["value"]) for it in self._setting.get("env") or []}
        return {**os.environ, **also, "KUBERNETES_EXEC_INFO": json.dumps(info)}

    def _read(self, said: str) -> tuple[Credential, float]:
        try:
            status = json.loads(said)["status"]
            ends = status.get("expirationTimestamp")
            until = datetime.fromisoformat(ends.replace("Z", "+00:00")).timestamp() if ends else None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._error("what it says is no ExecCredential") from error
        certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
        given = Credential(status.get("token"), certificate and certificate.encode(), key and key.encode())
        if not given.token and not (given.certificate and given.key):
            raise self._error("it gave neither a token nor a certificate with its key")
        return given, time.time() + UNDATED if until is None else until - SPARE

    def _error(self, what: str) -> ConfigurationError:
        return ConfigurationError(f"{self._file}: the program {self._command!r} makes no credentials: {what}")

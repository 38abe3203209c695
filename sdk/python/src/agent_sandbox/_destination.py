"""Where to connect to: a decision from what was asked for and what is around, by the rule of `asb`, and in a Pod its account.

The default kubeconfig (`~/.kube/config`) counts only for who names a context: it is likelier to be somebody's production than
what was meant.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a Pod has the credentials of its account."""


@dataclass(frozen=True)
class Asked:
    """What somebody named outright."""

    kubeconfig: Path | None = None
    context: str | None = None
    data_dir: Path | None = None


@dataclass(frozen=True)
class Surroundings:
    """What is around: the environment, and whether this is a Pod, or root."""

    environment: Mapping[str, str]
    in_pod: bool = False
    is_root: bool = False


@dataclass(frozen=True)
class Local:
    """The Agent Sandbox of this machine, by the kubeconfig in its data directory."""

    data_dir: Path

    @property
    def kubeconfig(self) -> Path:
        """The file that `asb up` writes."""
        return self.data_dir / "kubeconfig"


@dataclass(frozen=True)
class Cluster:
    """Kubeconfigs, of which the first has the last word, and a context of theirs if not the current one."""

    files: tuple[Path, ...]
    context: str | None = None


@dataclass(frozen=True)
class InCluster:
    """The cluster that this Pod is in, as the Pod's account."""

    server: str
    account: Path = ACCOUNT


Destination = Local | Cluster | InCluster


def surroundings() -> Surroundings:
    """Those of this process."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return Surroundings(os.environ, (ACCOUNT / "token").is_file(), is_root)


def choose(asked: Asked, around: Surroundings) -> Destination:
    """An argument, else `KUBECONFIG`, else `ASB_DATA_DIR`, else the account of the Pod that this is, else this machine."""
    if asked.data_dir is not None:
        return Local(asked.data_dir)
    if asked.kubeconfig is not None:
        return Cluster((asked.kubeconfig,), asked.context)
    named = around.environment.get("KUBECONFIG", "")
    if named:
        files = tuple(Path(part) for part in named.split(os.pathsep) if part)
        return Cluster(files, asked.context)
    if asked.context is not None:
        return Cluster((_home(around) / ".kube" / "config",), asked.context)
    host = around.environment.get("KUBERNETES_SERVICE_HOST", "")
    if host and around.in_pod and not around.environment.get("ASB_DATA_DIR"):
        port = around.environment.get("KUBERNETES_SERVICE_PORT", "443")
        return InCluster(f"https://{f'[{host}]' if ':' in host else host}:{port}")
    return Local(_data_dir(around))


def _data_dir(around: Surroundings) -> Path:
    named = around.environment.get("ASB_DATA_DIR", "")
    if named:
        return Path(named)
    if around.is_root:
        return Path("/var/lib/asb")
    state = around.environment.get("XDG_STATE_HOME", "")
    return (Path(state) if state else _home(around) / ".local" / "state") / "asb"


def _home(around: Surroundings) -> Path:
    home = around.environment.get("HOME", "")
    if not home:
        raise ConfigurationError("HOME is not set; name a place with data_dir=, or a cluster with kubeconfig=")
    return Path(home)

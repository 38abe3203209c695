"""Finds the router: the Pod behind its Service, as `kubectl port-forward` does, or in a Pod the Service itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._answers import asked
from ._objects import is_machine
from ._wire import Flow, Peer, Request, path
from .errors import ConfigurationError, ForbiddenError, NotFoundError, UnreachableError

if TYPE_CHECKING:
    from ._objects import Object

NAMESPACE = "agent-sandbox-system"
SERVICE = "sandbox-router-svc"
PORT = 8080


@dataclass(frozen=True)
class Place:
    """A port of a Pod."""

    namespace: str
    pod: str
    port: int

    def forward(self) -> str:
        """Where the API server connects to it."""
        return path("api", "v1", "namespaces", self.namespace, "pods", self.pod, "portforward", ports=self.port)


@dataclass(frozen=True)
class Within:
    """The Service, for those within the cluster. They are strangers to the router until they show a token."""

    host: str = f"{SERVICE}.{NAMESPACE}.svc"
    port: int = PORT


def locate(in_pod: bool) -> Flow[Place | Within]:
    """Where the router is. Services of one machine lead to no router, also not from its Pods."""
    if in_pod:
        answer = yield from asked(Request(Peer.API, "GET", "/version", doing="ask the server what it is"))
        if not is_machine(answer.json()):
            return Within()
    try:
        return (yield from _ready_pod())
    except ForbiddenError as error:
        raise ForbiddenError(f"{error}; or pass router= with the router's address, which takes a token") from error


def _ready_pod() -> Flow[Place]:
    where = path("api", "v1", "namespaces", NAMESPACE, "services", SERVICE)
    try:
        found = yield from asked(Request(Peer.API, "GET", where, doing="find the router"))
    except NotFoundError as error:
        raise ConfigurationError(
            f"there is no Service {NAMESPACE}/{SERVICE}, so this server has no router; `asb up` has one unless it was started "
            "with --no-router. For a router elsewhere pass router="
        ) from error
    service: Object = found.json()
    selector = ",".join(f"{name}={value}" for name, value in (service["spec"].get("selector") or {}).items())
    if not selector:
        raise ConfigurationError(
            f"the Service {NAMESPACE}/{SERVICE} selects no Pods; pass router= with the router's address"
        )
    where = path("api", "v1", "namespaces", NAMESPACE, "pods", labelSelector=selector)
    pods = (yield from asked(Request(Peer.API, "GET", where, doing="find the router's Pods"))).json()["items"]
    return choose(service, pods)


def choose(service: Object, pods: list[Object]) -> Place:
    """The first Pod that is ready, and the port behind the Service's."""
    ready = [pod for pod in pods if _is_ready(pod)]
    if not ready:
        raise UnreachableError("the router has no Pod that is ready; try again in a moment")
    pod = ready[0]
    wanted = next((it.get("targetPort", it["port"]) for it in service["spec"]["ports"] if it["port"] == PORT), PORT)
    return Place(pod["metadata"]["namespace"], pod["metadata"]["name"], _number(pod, wanted))


def _is_ready(pod: Object) -> bool:
    if pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = pod.get("status", {}).get("conditions") or []
    return any(it.get("type") == "Ready" and it.get("status") == "True" for it in conditions)


def _number(pod: Object, port: Any) -> int:
    if isinstance(port, int) or str(port).isdigit():
        return int(port)
    for container in pod["spec"].get("containers") or []:
        for known in container.get("ports") or []:
            if known.get("name") == port:
                return int(known["containerPort"])
    raise ConfigurationError(f"the router's Pod has no port called {port!r}")

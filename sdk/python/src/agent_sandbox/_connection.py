"""Everything that is known before the first byte is sent: the API server, the router, and who we are to each."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from . import _kubeconfig
from ._destination import Asked, InCluster, choose, surroundings
from ._kubeconfig import Access
from .errors import ConfigurationError

KEEPALIVE = 20.0
"""How long a connection is kept that nobody uses, in seconds."""


def _socket_options() -> list[tuple[int, int, int]]:
    """A peer that has vanished is noticed after a minute, also where nothing is said for hours."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options


SOCKET_OPTIONS = _socket_options()


@dataclass(frozen=True)
class Connection:
    """Whom to talk to. The router is reached through the API server unless it has an address here."""

    access: Access
    router: str | None = None
    router_token: str | None = None
    in_pod: bool = False
    """Whether this is a Pod of that server's, from where Services can be reached."""

    def router_context(self) -> ssl.SSLContext:
        """What TLS is spoken with a router that has an address. It is no part of the API server: whoever vouches for that says
        nothing about it, and it sees no certificate of ours.
        """
        return ssl.create_default_context()

    def token_for_router(self) -> str | None:
        """Who we are to the router: a token of its own, else that for the API server. Users with certificates have none."""
        return self.router_token or self.access.bearer()


def connection(
    *,
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    data_dir: str | Path | None = None,
    server: str | None = None,
    token: str | None = None,
    router: str | None = None,
    router_token: str | None = None,
) -> Connection:
    """Reads how to connect. Nothing is sent."""
    in_pod = False
    if server is not None:
        access = Access(server=_address(server, "server"), token=token, origin="server=")
    else:
        asked = Asked(_place(kubeconfig), context, _place(data_dir))
        if asked.data_dir and (asked.kubeconfig or asked.context):
            raise ConfigurationError("data_dir= means this machine; leave kubeconfig= and context= out")
        destination = choose(asked, surroundings())
        access, in_pod = _kubeconfig.read(destination), isinstance(destination, InCluster)
        if token is not None:
            access = Access(
                server=access.server,
                namespace=access.namespace,
                authority=access.authority,
                token=token,
                server_name=access.server_name,
                insecure=access.insecure,
                origin="token=",
            )
    address = _address(router, "router") if router else None
    return Connection(access, address, router_token, in_pod)


def _place(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path).expanduser()


def _address(url: str, argument: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ConfigurationError(f"{argument}= is an address such as https://host:port, not {url!r}")
    return url.rstrip("/")

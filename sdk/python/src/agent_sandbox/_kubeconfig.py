"""Reads kubeconfigs and the account of a Pod: the server, how to know it, and who we are to it.

Understood are certificates, tokens, files with tokens and programs that make credentials (`exec`). Plugins of old
(`auth-provider`), passwords, impersonation and proxies are refused with the reason, never passed over.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ._destination import Cluster, Destination, InCluster, Local
from ._plugin import Credential, Plugin
from .errors import ConfigurationError

UNSUPPORTED = {
    "auth-provider": "a plugin of old",
    "username": "a password",
    "as": "impersonation",
}

CLUSTER_INFO = ("server", "tls-server-name", "insecure-skip-tls-verify")
"""What programs that make credentials are told of the cluster, beside its authority and what is meant for them."""


@dataclass(frozen=True)
class Access:
    """How to reach an API server."""

    server: str
    namespace: str = "default"
    authority: bytes | None = None
    """What its certificate is checked with, as PEM; the machine's own authorities if there is none."""
    certificate: bytes | None = None
    key: bytes | None = None
    token: str | None = None
    token_file: Path | None = None
    plugin: Plugin | None = None
    """A program that makes credentials, where none of these is given."""
    server_name: str | None = None
    """The name that its certificate must have, if it is not that of the address."""
    insecure: bool = False
    origin: str = ""
    """Where this was read, for messages."""

    @property
    def is_due(self) -> bool:
        """Whether it is time for `renew`."""
        return self.plugin is not None and self.plugin.is_due

    def renew(self, context: ssl.SSLContext) -> None:
        """Has a program make credentials, which takes its time. What TLS is spoken with shows its certificate from now on."""

        def use(given: Credential) -> None:
            if given.certificate and given.key:
                self._show(context, given.certificate, given.key)

        if self.plugin is not None:
            self.plugin.renew(use)

    def bearer(self) -> str | None:
        """The token, read anew if it is in a file: those are replaced before they end."""
        if self.plugin is not None:
            return self.plugin.token
        if self.token_file is None:
            return self.token
        try:
            return self.token_file.read_text().strip()
        except OSError as error:
            raise ConfigurationError(f"cannot read the token {self.token_file}: {error.strerror}") from error

    def context(self) -> ssl.SSLContext:
        """What TLS is spoken with."""
        try:
            context = ssl.create_default_context(cadata=self.authority.decode() if self.authority else None)
            if self.insecure:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
        except (ssl.SSLError, ValueError) as error:
            raise self._unusable(error) from error
        if self.certificate and self.key:
            self._show(context, self.certificate, self.key)
        return context

    def _show(self, context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
        try:
            _load(context, certificate + b"\n" + key)
        except (ssl.SSLError, ValueError) as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> ConfigurationError:
        return ConfigurationError(f"{self.origin}: its certificates cannot be used: {error}")


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    # The ssl module reads from files alone. This one is readable by nobody else, and gone afterwards.
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(pem)
        context.load_cert_chain(name)
    finally:
        Path(name).unlink()


def read(destination: Destination) -> Access:
    """How to reach a destination. Nothing is sent."""
    if isinstance(destination, InCluster):
        return _account(destination)
    if isinstance(destination, Cluster):
        return _of_files(destination.files, destination.context)
    return _local(destination)


def _local(destination: Local) -> Access:
    if not destination.kubeconfig.is_file():
        raise ConfigurationError(
            f"no Agent Sandbox has run here yet: there is no {destination.kubeconfig}. Start one with `asb up` (as root), or "
            "name a cluster with KUBECONFIG or kubeconfig="
        )
    return _of_files((destination.kubeconfig,), None)


def _account(destination: InCluster) -> Access:
    namespace = destination.account / "namespace"
    authority = destination.account / "ca.crt"
    return Access(
        server=destination.server,
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
        authority=authority.read_bytes() if authority.is_file() else None,
        token_file=destination.account / "token",
        origin=str(destination.account),
    )


def _of_files(files: tuple[Path, ...], context: str | None) -> Access:
    there = [file for file in files if file.is_file()]
    if not there:
        named = ", ".join(map(str, files))
        raise ConfigurationError(f"there is no kubeconfig at {named}; check KUBECONFIG or kubeconfig=")
    return resolve([(file, _load_yaml(file)) for file in there], context)


def _load_yaml(file: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ConfigurationError(f"cannot read the kubeconfig {file}: {error}") from error
    if not isinstance(content, dict):
        raise ConfigurationError(f"{file} is no kubeconfig")
    return content


def resolve(documents: list[tuple[Path, dict[str, Any]]], context: str | None) -> Access:
    """The access that one context of kubeconfigs means. Of two things of a name, the first counts."""
    origin = str(documents[0][0])
    chosen = context or next((it["current-context"] for _, it in documents if it.get("current-context")), None)
    if not chosen:
        raise ConfigurationError(f"{origin} has no current context; name one with context=")
    _, setting = _find(documents, "contexts", "context", chosen)
    home, cluster = _find(documents, "clusters", "cluster", str(setting.get("cluster", "")))
    whose, user = _find(documents, "users", "user", str(setting.get("user", "")))
    _refuse(origin, chosen, cluster, user)
    token_file = user.get("tokenFile")
    authority = _material(home, cluster, "certificate-authority")
    return Access(
        server=str(cluster.get("server", "")).rstrip("/"),
        namespace=str(setting.get("namespace") or "default"),
        authority=authority,
        certificate=_material(whose, user, "client-certificate"),
        key=_material(whose, user, "client-key"),
        token=user.get("token"),
        token_file=whose.parent / token_file if token_file else None,
        plugin=_plugin(whose, user, cluster, authority),
        server_name=cluster.get("tls-server-name"),
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        origin=origin,
    )


def _plugin(file: Path, user: dict[str, Any], cluster: dict[str, Any], authority: bytes | None) -> Plugin | None:
    """What is written counts before what a program makes."""
    if not user.get("exec") or any(user.get(it) for it in ("token", "tokenFile")):
        return None
    told = {name: cluster[name] for name in CLUSTER_INFO if cluster.get(name)}
    if authority:
        told["certificate-authority-data"] = base64.b64encode(authority).decode()
    for extension in cluster.get("extensions") or []:
        if extension.get("name") == "client.authentication.k8s.io/exec":
            told["config"] = extension.get("extension")
    return Plugin(user["exec"], told, file)


def _find(
    documents: list[tuple[Path, dict[str, Any]]], plural: str, singular: str, name: str
) -> tuple[Path, dict[str, Any]]:
    for file, document in documents:
        for item in document.get(plural) or []:
            if item.get("name") == name:
                return file, item.get(singular) or {}
    raise ConfigurationError(f"{documents[0][0]} has no {singular} {name!r}")


def _refuse(origin: str, context: str, cluster: dict[str, Any], user: dict[str, Any]) -> None:
    for field, what in UNSUPPORTED.items():
        if user.get(field):
            raise ConfigurationError(
                f"the user of context {context!r} in {origin} has {what} ({field}), which this package does not understand; use "
                "a token instead: kubectl create token ACCOUNT, and token= with server=, or a kubeconfig with that token"
            )
    if cluster.get("proxy-url"):
        raise ConfigurationError(
            f"the cluster of context {context!r} in {origin} has a proxy-url, which is not supported"
        )
    if not cluster.get("server"):
        raise ConfigurationError(f"the cluster of context {context!r} in {origin} has no server")


def _material(file: Path, section: dict[str, Any], field: str) -> bytes | None:
    data, name = section.get(f"{field}-data"), section.get(field)
    try:
        if data:
            return base64.b64decode(data, validate=True)
        return (file.parent / name).read_bytes() if name else None
    except (OSError, binascii.Error) as error:
        raise ConfigurationError(f"{file}: {field} cannot be read: {error}") from error

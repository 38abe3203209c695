"""Programs that make credentials, as kubeconfigs of clouds name them."""

import json
import ssl
import sys
import threading
from datetime import datetime, timedelta, timezone

import pytest
from test_kubeconfig import written

from agent_sandbox import ConfigurationError
from agent_sandbox._destination import Cluster
from agent_sandbox._kubeconfig import read

VERSION = "client.authentication.k8s.io/v1"
NOTES_CALLS = """
import json, os, pathlib, sys
calls = pathlib.Path(sys.argv[1])
with calls.open("a") as file:
    file.write("x")
seen = {"info": json.loads(os.environ["KUBERNETES_EXEC_INFO"]), "own": os.environ.get("OWN")}
(calls.parent / "seen").write_text(json.dumps(seen))
print(json.dumps({"status": {"token": "t%d" % len(calls.read_text()), **json.loads(sys.argv[2])}}))
"""


def access(folder, status=None, cluster=None, user=None, **setting):
    (folder / "plugin.py").write_text(NOTES_CALLS)
    args = [str(folder / "plugin.py"), str(folder / "calls"), json.dumps(status or {})]
    named = {"apiVersion": VERSION, "command": sys.executable, "args": args, **setting}
    return read(Cluster((written(folder, user={"exec": named, **(user or {})}, cluster=cluster),)))


def renewed(found):
    found.renew(ssl.create_default_context())
    return found.bearer()


def ending(seconds):
    return {"expirationTimestamp": (datetime.now(timezone.utc) + timedelta(seconds=seconds)).isoformat()}


def test_a_program_is_asked_once_for_as_long_as_what_it_gave_is_good(tmp_path):
    found = access(tmp_path, ending(600), env=[{"name": "OWN", "value": "1"}])
    assert (found.is_due, (tmp_path / "calls").exists()) == (True, False)
    assert (renewed(found), renewed(found), found.is_due) == ("t1", "t1", False)
    seen = json.loads((tmp_path / "seen").read_text())
    assert seen["info"] == {"apiVersion": VERSION, "kind": "ExecCredential", "spec": {"interactive": False}}
    assert seen["own"] == "1"


def test_it_is_asked_again_when_that_is_about_to_end(tmp_path):
    found = access(tmp_path, ending(5))
    assert (renewed(found), found.is_due, renewed(found)) == ("t1", True, "t2")


def test_threads_that_come_together_start_it_once(tmp_path):
    found = access(tmp_path)
    threads = [threading.Thread(target=renewed, args=(found,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "calls").read_text() == "x"


def test_it_is_told_of_the_cluster_if_it_wants_to_know(tmp_path):
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    found = access(
        tmp_path, cluster={"extensions": [extension], "insecure-skip-tls-verify": True}, provideClusterInfo=True
    )
    renewed(found)
    told = json.loads((tmp_path / "seen").read_text())["info"]["spec"]["cluster"]
    assert told == {
        "server": "https://host:6443/",
        "insecure-skip-tls-verify": True,
        "config": {"audience": "a"},
    }


def test_a_token_that_is_written_counts_first(tmp_path):
    found = access(tmp_path, user={"token": "written"})
    assert (found.is_due, found.bearer()) == (False, "written")


def test_a_path_is_relative_to_the_kubeconfig(tmp_path):
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "login"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    script.chmod(0o755)
    assert renewed(access(tmp_path, command="bin/login")) == "t1"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "its apiVersion is"),
        ({"interactiveMode": "Always"}, "wants to ask somebody"),
        ({"command": "no-such-program", "installHint": "get it at x"}, "no such program; get it at x"),
        ({"args": ["-c", "import sys; sys.exit('log in first')"]}, "ended with 1: log in first"),
        ({"args": ["-c", "print('hello')"]}, "no ExecCredential"),
        ({"args": ["-c", "print('{\"status\": {}}')"]}, "neither a token nor a certificate"),
        (
            {"args": ["-c", 'print(\'{"status": {"clientCertificateData": "x", "clientKeyData": "y"}}\')']},
            "certificates",
        ),
    ],
)
def test_what_does_not_work_is_said(tmp_path, setting, words):
    with pytest.raises(ConfigurationError, match=words):
        renewed(access(tmp_path, **setting))

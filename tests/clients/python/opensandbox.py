"""Runs the unmodified opensandbox-server with its provider for agent-sandbox, and does with it what its clients do.

    opensandbox.py IMAGE EXECD NAMESPACE

KUBECONFIG says where the API server is. The image EXECD has a `bootstrap.sh` that starts what it is given: the daemon that
belongs there is not tried. Every operation that the server offers must be called, but those of other providers.
"""

import datetime
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import httpx

from surface import expect

KEY = "a key"

# Pools and templates are kinds of other providers, snapshots and policies need daemons inside, and clients send metrics of
# their own.
OTHERS = re.compile(r"/v1/(pools|templates|snapshots|metrics)|/v1/sandboxes/{sandbox_id}/(snapshots|networkpolicy)")

PATIENCE = 60

# A web server that ends when it is told to, and whose page grows with every start.
SERVER = """
echo "$WORD" >> /data/index.html && httpd -p 8000 -h /data && echo started
trap 'exit 0' TERM
while :; do sleep 1 & wait $!; done
"""

called = set()


class Server:
    """The server, for as long as it is needed, and requests to it."""

    def __init__(self, namespace, execd, directory):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        path = os.path.join(directory, "config.toml")
        with open(path, "w") as config:
            config.write(configuration(port, namespace, execd, directory))
        program = os.path.join(os.path.dirname(sys.executable), "opensandbox-server")
        self.process = subprocess.Popen(
            [program, "--config", path],
            env=os.environ | {"HOME": directory},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = []
        self.is_open = threading.Event()
        threading.Thread(target=self.listen, daemon=True).start()
        key = {"OPEN-SANDBOX-API-KEY": KEY}
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=key, timeout=2 * PATIENCE)

    def listen(self):
        for line in self.process.stdout:
            self.said.append(line)
            if "Uvicorn running" in line:
                self.is_open.set()
        self.is_open.set()

    def __enter__(self):
        if not self.is_open.wait(PATIENCE) or self.process.poll() is not None:
            raise SystemExit("it does not start:\n" + "".join(self.said))
        return self

    def __exit__(self, kind, error, trace):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
        if error:
            sys.stderr.write("".join(self.said))

    def ask(self, method, path, *, status=200, at=(), **more):
        """What is answered to an operation, whose path has places for `at`."""
        called.add((method, path))
        values = iter(at)
        place = re.sub("{[^}]*}", lambda _: str(next(values)), path)
        answer = self.http.request(method, place, **more)
        if answer.status_code != status:
            raise SystemExit(f"{method} {place}: {answer.status_code} instead of {status}: {answer.text}")
        return answer

    def operations(self):
        paths = self.http.get("/openapi.json").json()["paths"]
        ours = [path for path in paths if path.startswith("/v1/") and not OTHERS.match(path)]
        return {(method.upper(), path) for path in ours for method in paths[path]}


def configuration(port, namespace, execd, directory):
    return f"""
[server]
host = "127.0.0.1"
port = {port}
api_key = "{KEY}"

[runtime]
type = "kubernetes"
execd_image = "{execd}"

[store]
type = "sqlite"
path = "{directory}/store"

[kubernetes]
kubeconfig_path = "{os.environ["KUBECONFIG"]}"
namespace = "{namespace}"
workload_provider = "agent-sandbox"

[ingress]
mode = "direct"
"""


def until(what, wanted, look):
    """Asks again until the answer is as wanted."""
    last, deadline = None, time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        last = look()
        if last == wanted:
            return
        threading.Event().wait(0.05)
    raise SystemExit(f"{what}: {last!r} instead of {wanted!r} after {PATIENCE} s")


def use(server, image):
    sandbox = begin(server, image, "first")
    look(server, sandbox)
    reach(server, sandbox, "word\n")
    diagnose(server, sandbox)
    pause(server, sandbox)
    change(server, sandbox)
    server.ask("DELETE", "/v1/sandboxes/{sandbox_id}", at=[sandbox], status=204)
    gone(server, sandbox)
    expire(server, begin(server, image, "second"))


def begin(server, image, claim):
    request = {
        "image": {"uri": image, "auth": {"username": "somebody", "password": "secret"}},
        "entrypoint": ["/bin/sh", "-c", SERVER],
        "timeout": 600,
        "resourceLimits": {"cpu": "500m", "memory": "64Mi"},
        "env": {"WORD": "word"},
        "metadata": {"team": "red"},
        "volumes": [{"name": "data", "pvc": {"claimName": claim, "createIfNotExists": True}, "mountPath": "/data"}],
    }
    made = server.ask("POST", "/v1/sandboxes", json=request, status=202).json()
    expect("made", made["status"]["state"], "Running")
    return made["id"]


def state(server, sandbox):
    return server.ask("GET", "/v1/sandboxes/{sandbox_id}", at=[sandbox]).json()["status"]["state"]


def look(server, sandbox):
    found = server.ask("GET", "/v1/sandboxes/{sandbox_id}", at=[sandbox]).json()
    expect("found", (found["id"], found["status"]["state"], found["metadata"]), (sandbox, "Running", {"team": "red"}))
    for team, wanted in [("red", [sandbox]), ("blue", [])]:
        listed = server.ask("GET", "/v1/sandboxes", params={"metadata": f"team={team}"}).json()["items"]
        expect("listed", [item["id"] for item in listed], wanted)


def reach(server, sandbox, page):
    endpoint = server.ask("GET", "/v1/sandboxes/{sandbox_id}/endpoints/{port}", at=[sandbox, 8000]).json()
    expect("its own address", httpx.get(f"http://{endpoint['endpoint']}/index.html").text, page)
    proxy = "/v1/sandboxes/{sandbox_id}/proxy/{port}"
    for path, more in [(proxy, []), (proxy + "/{full_path}", ["index.html"])]:
        expect("through the server", server.ask("GET", path, at=[sandbox, 8000, *more]).text, page)
        for method in ["POST", "PUT", "DELETE", "PATCH"]:
            # That is what this web server answers to all of them.
            server.ask(method, path, at=[sandbox, 8000, *more], status=501)


def diagnose(server, sandbox):
    parts = {"logs": "started", "inspect": "execd-installer", "events": "Started", "summary": "SANDBOX DIAGNOSTICS"}
    for part, words in parts.items():
        text = server.ask("GET", "/v1/sandboxes/{sandbox_id}/diagnostics/" + part, at=[sandbox]).text
        expect(f"{part}: {text}", words in text, True)


def pause(server, sandbox):
    server.ask("POST", "/v1/sandboxes/{sandbox_id}/pause", at=[sandbox], status=202)
    until("paused", "Paused", lambda: state(server, sandbox))
    server.ask("POST", "/v1/sandboxes/{sandbox_id}/pause", at=[sandbox], status=409)
    server.ask("POST", "/v1/sandboxes/{sandbox_id}/resume", at=[sandbox], status=202)
    until("resumed", "Running", lambda: state(server, sandbox))
    server.ask("POST", "/v1/sandboxes/{sandbox_id}/resume", at=[sandbox], status=409)
    reach(server, sandbox, "word\nword\n")


def change(server, sandbox):
    changed = server.ask("PATCH", "/v1/sandboxes/{sandbox_id}/metadata", at=[sandbox], json={"team": "blue"}).json()
    expect("metadata", changed["metadata"], {"team": "blue"})
    renew(server, sandbox, datetime.timedelta(hours=2))


def renew(server, sandbox, lifetime):
    end = (datetime.datetime.now(datetime.UTC) + lifetime).replace(microsecond=0)
    request = {"expiresAt": end.isoformat()}
    renewed = server.ask("POST", "/v1/sandboxes/{sandbox_id}/renew-expiration", at=[sandbox], json=request).json()
    expect("expires", datetime.datetime.fromisoformat(renewed["expiresAt"]), end)


def expire(server, sandbox):
    renew(server, sandbox, datetime.timedelta(seconds=3))
    gone(server, sandbox)


def gone(server, sandbox):
    until("gone", 404, lambda: server.http.get(f"/v1/sandboxes/{sandbox}").status_code)


def main(image, execd, namespace):
    with tempfile.TemporaryDirectory() as directory, Server(namespace, execd, directory) as server:
        use(server, image)
        left = server.operations() - called
        expect("operations that nobody calls", sorted(left), [])


main(*sys.argv[1:])

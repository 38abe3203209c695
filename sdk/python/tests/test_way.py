"""The way to the router, as an API server sees it."""

import http.server
import json
import ssl
import threading
from contextlib import contextmanager

import anyio
import pytest
from script import Script, ok
from test_tunnel import pod, service

from agent_sandbox import ForbiddenError
from agent_sandbox._async_transport import AsyncTransport
from agent_sandbox._connection import Connection
from agent_sandbox._kubeconfig import Access
from agent_sandbox._router import Place, Within, locate
from agent_sandbox._sync_transport import SyncTransport
from agent_sandbox._transport import explained
from agent_sandbox._wire import Peer, Request, send

ROUTER = {**service(8080)["spec"], "selector": {"app": "router"}}


@contextmanager
def api_server(asked):
    """One whose router is the Pod `new`, to which nobody may forward ports."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            path = self.path.partition("?")[0].removeprefix("/api/v1/namespaces/")
            asked.append(path)
            said = {"message": "no"}
            status = 403 if "new" in path else 404
            if path.endswith("services/sandbox-router-svc"):
                status, said = 200, {"spec": ROUTER}
            elif path.endswith("/pods"):
                status, said = 200, {"items": [pod("new")]}
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Nobody reads it."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield Connection(Access(f"http://127.0.0.1:{server.server_port}"))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask_sync(connection, request):
    transport = SyncTransport(connection)
    transport._way.place = Place("n", "old", 8080)
    transport.run(send(request))


def ask_async(connection, request):
    async def ask():
        transport = AsyncTransport(connection)
        transport._way.place = Place("n", "old", 8080)
        await transport.run(send(request))

    anyio.run(ask)


@pytest.mark.parametrize("ask", [ask_sync, ask_async])
def test_where_the_routers_pod_is_gone_its_successor_is_looked_for(ask):
    asked = []
    with api_server(asked) as connection, pytest.raises(ForbiddenError, match="right to portforward"):
        ask(connection, Request(Peer.ROUTER, "GET", "/"))
    there = "agent-sandbox-system/"
    assert asked == [
        "n/pods/old/portforward",
        f"{there}services/sandbox-router-svc",
        f"{there}pods",
        "n/pods/new/portforward",
    ]


def test_pods_of_a_cluster_go_to_the_service_and_those_of_one_machine_through_the_tunnel():
    assert Script(ok({"gitVersion": "v1.36.3"})).run(locate(True)) == Within(
        "sandbox-router-svc.agent-sandbox-system.svc", 8080
    )
    script = Script(ok({"gitVersion": "v1.36.3+asb-0.1.0"}), ok({"spec": ROUTER}), ok({"items": [pod("router")]}))
    assert script.run(locate(True)) == Place("n", "router", 8080)
    script = Script(ok({"spec": ROUTER}), ok({"items": [pod("router")]}))
    assert script.run(locate(False)) == Place("n", "router", 8080)


def test_who_vouches_for_the_api_server_does_not_vouch_for_a_router_elsewhere():
    connection = Connection(Access("https://host", insecure=True), "https://router.example")
    assert connection.access.context().verify_mode is ssl.CERT_NONE
    assert connection.router_context().verify_mode is ssl.CERT_REQUIRED
    assert SyncTransport(connection)._router._ssl_context.verify_mode is ssl.CERT_REQUIRED
    assert AsyncTransport(connection)._router._ssl_context.verify_mode is ssl.CERT_REQUIRED


def test_what_helps_depends_on_where_nobody_answers():
    def words(server):
        return str(explained(OSError("no"), Connection(Access(server)), Request(Peer.API, "GET", "/")))

    assert "`asb up` starts it" in words("http://127.0.0.1:6443")
    assert "asb" not in words("https://cluster.example")

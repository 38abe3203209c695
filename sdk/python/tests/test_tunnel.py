"""The tunnel, with a server at its other end."""

import pytest
from websockets.http11 import Request
from websockets.server import ServerProtocol

from agent_sandbox import ConfigurationError, ForbiddenError, UnauthenticatedError, UnreachableError
from agent_sandbox._router import Place, choose
from agent_sandbox._tunnel import LARGEST, PROTOCOL, Tunnel

PORT = (8080).to_bytes(2, "little")


class Server:
    def __init__(self, status=None, message=""):
        self.tunnel = Tunnel("ws://host/api?ports=8080", [("Authorization", "Bearer t")])
        self.protocol = ServerProtocol(subprotocols=[PROTOCOL])
        self.protocol.receive_data(self.tunnel.outgoing())
        (self.request,) = self.protocol.events_received()
        assert isinstance(self.request, Request)
        answer = self.protocol.accept(self.request)
        if status:
            answer = self.protocol.reject(status, message)
        self.protocol.send_response(answer)

    def bytes(self):
        return b"".join(self.protocol.data_to_send())

    def send(self, channel, data):
        self.protocol.send_binary(bytes([channel]) + data)

    def received(self):
        self.protocol.receive_data(self.tunnel.outgoing())
        return [bytes(frame.data) for frame in self.protocol.events_received()]


def opened():
    server = Server()
    server.send(0, PORT)
    server.send(1, PORT)
    server.tunnel.received(server.bytes())
    return server


def test_bytes_go_both_ways_and_the_number_of_the_port_is_not_taken_for_data():
    server = opened()
    assert server.request.headers["Authorization"] == "Bearer t"
    assert (server.tunnel.opened, server.tunnel.stale, server.tunnel.take(10)) == (True, False, b"")
    server.tunnel.write(b"head")
    server.tunnel.write(b"body")
    assert server.received() == [b"\0headbody"]
    server.send(0, b"answer")
    server.tunnel.received(server.bytes())
    assert (server.tunnel.stale, server.tunnel.take(3), server.tunnel.take(10)) == (True, b"ans", b"wer")


def test_frames_may_be_cut_anywhere_and_messages_come_in_parts():
    server = opened()
    server.protocol.send_binary(b"\0one", fin=False)
    server.protocol.send_continuation(b"two", fin=True)
    for byte in server.bytes():
        server.tunnel.received(bytes([byte]))
    assert server.tunnel.take(100) == b"onetwo"


def test_large_writes_are_sent_in_messages_of_some_size():
    server = opened()
    assert server.tunnel.write(b"x" * (LARGEST + 1))
    assert [len(message) for message in server.received()] == [LARGEST + 1, 2]


def test_complaints_ends_and_refusals_are_told_apart():
    server = opened()
    server.send(1, b"nobody listens")
    with pytest.raises(UnreachableError, match="nobody listens"):
        server.tunnel.received(server.bytes())
    server = opened()
    server.protocol.send_close()
    server.tunnel.received(server.bytes())
    assert server.tunnel.ended
    for status, kind in ((403, ForbiddenError), (401, UnauthenticatedError), (404, UnreachableError)):
        refusing = Server(status, "no way")
        with pytest.raises(kind, match="no way"):
            refusing.tunnel.received(refusing.bytes())
    with pytest.raises(UnreachableError, match="closed the connection"):
        Server().tunnel.received(b"")


def pod(name, ready="True", ports=()):
    return {
        "metadata": {"name": name, "namespace": "n"},
        "spec": {"containers": [{"ports": list(ports)}]},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def service(target):
    return {"spec": {"ports": [{"port": 80, "targetPort": 1}, {"port": 8080, "targetPort": target}]}}


def test_the_router_is_a_pod_that_is_ready_and_the_port_behind_the_services():
    leaving = pod("c")
    leaving["metadata"]["deletionTimestamp"] = "2026-11-16T12:00:00Z"
    assert choose(service(9000), [pod("a", "False"), leaving, pod("b")]) == Place("n", "b", 9000)
    assert choose(service("http"), [pod("a", ports=[{"name": "http", "containerPort": 7}])]).port == 7
    assert Place("n", "b", 9).forward() == "/api/v1/namespaces/n/pods/b/portforward?ports=9"
    with pytest.raises(UnreachableError, match="no Pod that is ready"):
        choose(service(1), [pod("a", "False"), leaving])
    with pytest.raises(ConfigurationError, match="no port called 'http'"):
        choose(service("http"), [pod("a")])

"""Commands: what is sent, how often, and how output reads."""

import base64
import json

import pytest
from script import Script, line, ok

from agent_sandbox import ConflictError, InvalidError, OutputLostError, UnreachableError, WaitTimeoutError
from agent_sandbox._deadline import Deadline
from agent_sandbox._lifecycle import Target
from agent_sandbox._processes import WINDOW, Command, OutputFeed, run, wait
from agent_sandbox.results import Exit, TerminalSize

BOX = Target("box", "team", "uid", root="/", workdir="/workspace")
POOLED = Target("box", "team", "uid", root="/tmp")


def process(state="running", **more):
    return {"id": 7, "pid": 9, "command": ["x"], "state": state, "output": {"from": 0, "to": 0}, **more}


def data(offset, content, stream="stdout"):
    return line({"data": {"offset": offset, "stream": stream, "base64": base64.b64encode(content).decode()}})


EXIT = line({"exit": {"code": 3}})


def test_a_line_is_for_the_shell_and_a_list_is_not():
    assert Command("ls | wc").body(BOX) == {"shell": "ls | wc", "cwd": "/workspace"}
    assert Command(["ls", "a b"]).body(POOLED) == {"command": ["ls", "a b"]}
    full = Command("x", {"A": "b"}, "sub", True, TerminalSize(3, 4), "t", 1.5, True).body(BOX)
    assert full == {
        "shell": "x", "env": {"A": "b"}, "cwd": "/workspace/sub", "stdin": True, "pty": {"cols": 3, "rows": 4}, "tag": "t",
        "timeoutSeconds": 1.5, "onOverflow": "wait",
    }  # fmt: skip
    with pytest.raises(InvalidError):
        Command([]).body(BOX)


def test_a_command_is_sent_once_and_its_output_kept_apart():
    script = Script(ok(process(), 201), [data(0, b"out"), data(3, b"err", "stderr") + EXIT], ok())
    result = script.run(run(BOX, Command("x", timeout=5), None, None))
    assert (result.stdout, result.stderr, result.exit_code) == ("out", "err", 3)
    assert script.said == [
        "POST /v1/processes",
        f"GET /v1/processes/7/output?from=0&follow=true&most={WINDOW}",
        "DELETE /v1/processes/7",
    ]
    assert json.loads(script.requests[0].body)["onOverflow"] == "wait"
    assert dict(script.requests[0].headers)["X-Sandbox-UID"] == "uid"


def test_a_command_whose_answer_was_lost_is_not_sent_again():
    script = Script(UnreachableError("lost"))
    with pytest.raises(UnreachableError):
        script.run(run(BOX, Command("x"), None, None))
    assert script.said == ["POST /v1/processes"]


def test_output_goes_on_where_the_connection_broke():
    lost = UnreachableError("lost")
    script = Script(ok(process()), [data(0, b"one"), data(3, b"tw")[:20], lost], [data(3, b"two"), EXIT], ok())
    assert script.run(run(BOX, Command("x"), None, None)).stdout == "onetwo"
    assert script.said[2] == f"GET /v1/processes/7/output?from=3&follow=true&most={WINDOW}"
    assert script.said.count("POST /v1/processes") == 1


def test_a_connection_that_breaks_again_and_again_is_an_error_and_the_command_is_ended():
    script = Script(ok(process()), *[[UnreachableError("lost")]] * 6, ok())
    with pytest.raises(UnreachableError):
        script.run(run(BOX, Command("x"), None, None))
    assert script.said[-1] == "DELETE /v1/processes/7"


def test_output_that_is_missing_is_never_passed_over():
    lost = line({"lost": {"from": 3, "to": 10}})
    script = Script(ok(process()), [data(0, b"one"), lost, data(10, b"two"), EXIT], ok())
    with pytest.raises(OutputLostError, match="7 bytes") as caught:
        script.run(run(BOX, Command("x"), None, None))
    assert (caught.value.result.stdout, caught.value.result.exit_code) == ("onetwo", 3)
    feed = OutputFeed(BOX, 7)
    pieces = feed.feed(lost + EXIT)
    assert [(piece.lost, piece.data) for piece in pieces] == [(7, b"")]


def test_lines_may_be_cut_anywhere():
    whole = data(0, b"hello") + EXIT
    for at in range(len(whole)):
        feed = OutputFeed(BOX, 7)
        pieces = feed.feed(whole[:at]) + feed.feed(whole[at:])
        assert ([piece.text for piece in pieces], feed.exit, feed.offset) == (["hello"], Exit(3), 5)


def taken(count):
    return ok({"taken": count})


PIECE = 64 * 1024


def test_input_is_written_in_pieces_and_output_read_meanwhile():
    script = Script(ok(process()), *[taken(PIECE)] * 4, [data(0, b"a")], taken(PIECE), [data(1, b"b"), EXIT], ok())
    assert script.run(run(BOX, Command("x", stdin=True), b"x" * (PIECE * 5), None)).stdout == "ab"
    assert script.said[4:7] == [
        "POST /v1/processes/7/stdin?partial=true",
        f"GET /v1/processes/7/output?from=0&most={WINDOW}",
        "POST /v1/processes/7/stdin?close=true&partial=true",
    ]


def test_input_that_waits_for_output_to_be_read_is_offered_again():
    stdin = bytes(range(200))
    script = Script(ok(process()), taken(150), [data(0, b"a")], taken(0), [data(1, b"b")], taken(50), [EXIT], ok())
    assert script.run(run(BOX, Command("x", stdin=True), stdin, None)).stdout == "ab"
    offered = [it.body for it in script.requests if "stdin" in it.path]
    assert offered == [stdin, stdin[150:], stdin[150:]]


def test_no_input_is_closed_at_once():
    script = Script(ok(process()), taken(0), [EXIT], ok())
    script.run(run(BOX, Command("x", stdin=True), b"", None))
    assert script.said[1] == "POST /v1/processes/7/stdin?close=true&partial=true"


def test_input_that_nobody_reads_is_left_over():
    script = Script(ok(process()), ConflictError("ended"), [EXIT], ok())
    assert script.run(run(BOX, Command("true", stdin=True), b"x", None)).exit_code == 3


def test_an_answer_that_is_full_is_gone_on_with():
    script = Script(ok(process()), [data(0, b"one")], [data(3, b"two")], [EXIT], ok())
    assert script.run(run(BOX, Command("x"), None, None)).stdout == "onetwo"
    assert [it for it in script.said if "output" in it] == [
        f"GET /v1/processes/7/output?from={at}&follow=true&most={WINDOW}" for at in (0, 3, 6)
    ]


def test_what_is_there_now_is_asked_for_in_one_piece():
    assert OutputFeed(BOX, 7, follow=False).request().path == "/v1/processes/7/output?from=0"


def test_waiting_asks_again_and_gives_up_in_time():
    script = Script(ok(process()), ok(process("exited", exit={"code": 1, "signal": "SIGHUP"})))
    assert script.run(wait(BOX, 7, Deadline(None))) == Exit(1, "SIGHUP")
    with pytest.raises(WaitTimeoutError, match="still runs"):
        Script(ok(process())).run(wait(BOX, 7, Deadline(0)))

"""Both classes offer the same, and say what it is."""

import doctest
import inspect

import pytest
from script import Script, ok

import agent_sandbox
from agent_sandbox import (
    AsyncClient,
    AsyncFiles,
    AsyncProcess,
    AsyncSandbox,
    Client,
    CommandError,
    Files,
    Process,
    Result,
    Sandbox,
    UnauthenticatedError,
    UnreachableError,
    _objects,
    _ports,
    _wire,
    errors,
    results,
)
from agent_sandbox._lifecycle import Target

PAIRS = [(Client, AsyncClient), (Sandbox, AsyncSandbox), (Process, AsyncProcess), (Files, AsyncFiles)]
BOX = Target("box", "team", "uid")


def members(kind):
    return {name: member for name, member in inspect.getmembers(kind) if not name.startswith("_")}


@pytest.mark.parametrize(("plain", "awaited"), PAIRS)
def test_both_classes_have_the_same_methods_with_the_same_parameters(plain, awaited):
    assert members(plain).keys() == members(awaited).keys()
    for name, member in members(plain).items():
        if callable(member):
            ours, theirs = (inspect.signature(it).parameters.values() for it in (member, members(awaited)[name]))
            assert [(it.name, it.kind, it.default) for it in ours] == [
                (it.name, it.kind, it.default) for it in theirs
            ], name


@pytest.mark.parametrize("kind", [kind for pair in PAIRS for kind in pair])
def test_every_public_method_says_what_it_does(kind):
    assert [name for name, member in members(kind).items() if not inspect.getdoc(member)] == []


def test_every_error_is_one_of_ours():
    found = [it for it in vars(errors).values() if inspect.isclass(it) and issubclass(it, Exception)]
    assert all(issubclass(it, agent_sandbox.SandboxError) for it in found)
    assert {it.__name__ for it in found} <= set(agent_sandbox.__all__)


@pytest.mark.parametrize("module", [results, _objects, _wire])
def test_examples_in_docstrings_are_true(module):
    tried = doctest.testmod(module)
    assert (tried.failed, tried.attempted > 0) == (0, True)


def test_a_result_can_be_checked():
    assert Result(0, b"x").check().stdout == "x"
    with pytest.raises(CommandError, match="ended with 3: oops") as caught:
        Result(3, b"", b"oops\n").check()
    assert caught.value.result.exit_code == 3
    with pytest.raises(CommandError, match="took too long"):
        Result(137, timed_out=True).check()


def request(answer):
    return Script(answer).run(_ports.request(BOX, 80, "GET", "x", None, b"", 5))


def test_what_a_port_answers_is_an_answer_and_what_the_router_refuses_an_error():
    assert request(ok({"detail": "no such page"}, 404)).status == 404
    assert request(ok(b"forbidden", 403)).status == 403
    with pytest.raises(UnreachableError, match=r"port 80.*0\.0\.0\.0"):
        request(ok(b'{"detail":"Could not connect to the backend sandbox: box"}', 502))
    with pytest.raises(UnauthenticatedError, match="router_token="):
        request(ok(b'{"detail":"unauthenticated"}', 401))

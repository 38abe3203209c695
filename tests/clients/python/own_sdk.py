"""Calls every public method of our own Python package against a live Agent Sandbox.

    own_sdk.py sync|async POOL NAMESPACE     what a class and its companions offer, over the tunnel and by the router's address
    own_sdk.py public POOL NAMESPACE         the names of all public methods
    own_sdk.py documents SNIPPET             the snippet of a document, as it is printed
    own_sdk.py errors POOL NAMESPACE         what is said when something goes wrong
    own_sdk.py tenant POOL NAMESPACE         what somebody does who has the rights that the documents name, and no others
    own_sdk.py stranger POOL NAMESPACE       what is said to somebody who may not forward ports of the router

KUBECONFIG says where the API server is; ROUTER and TOKEN where the router is, and who we are to it; IMAGE what sandboxes are
made of, which needs nothing but a busybox, and OWN_IMAGE what those are that name none, if there is such a thing. Prints what was
called, so that whoever started it can see that nothing was left out.
"""

import asyncio
import contextlib
import inspect
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import agent_sandbox
from agent_sandbox import (
    AsyncClient,
    AsyncFiles,
    AsyncProcess,
    AsyncSandbox,
    Client,
    Files,
    Process,
    Sandbox,
    TerminalSize,
)
from surface import called, expect, public, watch

PAIRS = [(Client, AsyncClient), (Sandbox, AsyncSandbox), (Process, AsyncProcess), (Files, AsyncFiles)]
CLASSES = [kind for pair in PAIRS for kind in pair]
IMAGE = os.environ.get("IMAGE", "")
OWN_IMAGE = os.environ.get("OWN_IMAGE")
PATIENCE = 60.0


def expect_error(what, kind, *words):
    """A block that must fail so, and say this."""

    @contextlib.contextmanager
    def block():
        try:
            yield
        except kind as error:
            for word in words:
                if word not in str(error):
                    raise SystemExit(f"{what}: it does not say {word!r}: {error}") from error
        else:
            raise SystemExit(f"{what}: nothing went wrong")

    return block()


class Tree:
    """A directory of here, to be sent and fetched."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        source = self.path / "source"
        (source / "deep" / "er").mkdir(parents=True)
        (source / "empty").mkdir()
        (source / "run.sh").write_text("#!/bin/sh\necho ran\n")
        (source / "run.sh").chmod(0o755)
        (source / "deep" / "er" / "hällo wörld.txt").write_text("tief")
        (source / "link").symlink_to("run.sh")

    def check(self):
        fetched = self.path / "fetched"
        expect("fetched", sorted(it.name for it in fetched.iterdir()), ["deep", "empty", "run.sh"])
        expect("deep", (fetched / "deep" / "er" / "hällo wörld.txt").read_text(), "tief")
        expect("mode", (fetched / "run.sh").stat().st_mode & 0o777, 0o755 & ~umask())


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Everything below is written once, as coroutines: for the synchronous classes `done` gives back what is there already.


async def done(value):
    """What a method returned, awaited if it has to be."""
    return await value if inspect.isawaitable(value) else value


async def each(iterator):
    """What an iterator of either kind yields."""
    if hasattr(iterator, "__aiter__"):
        async for item in iterator:
            yield item
    else:
        for item in iterator:
            yield item


@contextlib.asynccontextmanager
async def entered(manager):
    """A `with` block of either kind."""
    if hasattr(manager, "__aenter__"):
        async with manager as value:
            yield value
    else:
        with manager as value:
            yield value


async def use(client_class, sandbox_class, pool, namespace, **where):
    async with entered(client_class(namespace=namespace, **where)) as client:
        expect("namespace", client.namespace, namespace)
        made = sandbox_class.create(
            IMAGE,
            name=f"own-{sandbox_class.__name__.lower()}",
            env={"COLOUR": "blue"},
            cpu=0.5,
            memory="256m",
            storage="64Mi",
            labels={"round": "own"},
            lifetime=3600,
            client=client,
        )
        async with entered(made) as box:
            expect("name", (box.name, box.namespace, box.claim_name), (f"own-{sandbox_class.__name__.lower()}", namespace, None))
            await commands(box)
            await processes(box)
            await terminals(box)
            await files(box)
            await ports(box)
            await lifecycle(sandbox_class, box, client)
        await gone(sandbox_class, box, client)
        await claims(sandbox_class, pool, client)
    await on_its_own(sandbox_class, namespace)


async def commands(box):
    result = await done(box.run("echo out; echo err >&2; exit 3"))
    expect("run", (result.stdout, result.stderr, result.exit_code, result.ok), ("out\n", "err\n", 3, False))
    with expect_error("check", agent_sandbox.CommandError, "ended with 3", "err"):
        result.check()
    listed = await done(box.run(["printf", "%s|", "a b", "$HOME"]))
    expect("arguments", listed.check().stdout, "a b|$HOME|")
    env = await done(box.run('echo "$COLOUR $SHAPE"; pwd', env={"SHAPE": "round"}, cwd="/tmp"))
    expect("variables", env.stdout, "blue round\n/tmp\n")
    expect("directory", (await done(box.run("pwd"))).stdout, "/workspace\n")
    expect("input", (await done(box.run("cat", stdin="hällo"))).stdout, "hällo")
    large = bytes(range(256)) * 8192
    echoed = await done(box.run("cat", stdin=large))
    expect("large input", echoed.stdout_bytes == large, True)
    expect("input that nobody reads", (await done(box.run("true", stdin=large))).exit_code, 0)
    slow = await done(box.run("echo first; sleep 60", timeout=1))
    expect("time-out", (slow.timed_out, slow.ok, slow.stdout), (True, False, "first\n"))
    pieces = []
    await done(box.run("echo one; echo two >&2", on_output=pieces.append))
    expect("told", sorted((piece.stream, piece.data) for piece in pieces), [("stderr", b"two\n"), ("stdout", b"one\n")])
    await interrupted(box)
    expect("nothing is left", [it.command for it in await done(box.processes()) if it.running], [])


async def interrupted(box):
    """Whoever stops waiting for a command ends it."""

    def enough(piece):
        raise KeyboardInterrupt

    with expect_error("interrupted", KeyboardInterrupt):
        await done(box.run("echo begun; sleep 600", on_output=enough))
    if isinstance(box, AsyncSandbox):
        with expect_error("cancelled", asyncio.TimeoutError):
            await asyncio.wait_for(box.run("sleep 600"), 0.5)


async def processes(box):
    process = await done(box.start("read line; echo got $line; sleep 0.2; echo bye; exit 4", stdin=True, tag="talk"))
    await done(process.write("hello\n"))
    first = None
    async for piece in each(process.output()):
        first = piece
        break
    expect("first", (first.text, first.offset, first.stream), ("got hello\n", 0, "stdout"))
    again = box.process(process.id)
    rest = [piece.text async for piece in each(again.output(first.end))]
    expect("from where we were", "".join(rest), "bye\n")
    expect("exit", (await done(again.wait(timeout=PATIENCE))).code, 4)
    replay = [piece.text async for piece in each(again.output(follow=False))]
    expect("replay", "".join(replay), "got hello\nbye\n")
    everything = [piece.text async for piece in each(again)]
    expect("iterated", "".join(everything), "got hello\nbye\n")
    expect("by tag", [it.id for it in await done(box.processes(tag="talk"))], [process.id])
    await done(again.remove())
    with expect_error("removed", agent_sandbox.NotFoundError, "no process"):
        await done(again.info())
    await signals(box)


async def signals(box):
    polite = await done(box.start("trap 'echo ouch; exit 5' INT; echo ready; while :; do sleep 0.05; done"))
    async for piece in each(polite.output()):
        if "ready" in piece.text:
            await done(polite.signal("INT"))
            break
    expect("signal", (await done(polite.wait(timeout=PATIENCE))).code, 5)
    stubborn = await done(box.start(["sleep", "600"]))
    expect("runs", (await done(stubborn.info())).running, True)
    with expect_error("wait", agent_sandbox.WaitTimeoutError, "still runs"):
        await done(stubborn.wait(timeout=0.2))
    await done(stubborn.kill())
    expect("killed", (await done(stubborn.wait(timeout=PATIENCE))).signal, "SIGKILL")
    reader = await done(box.start("cat; echo over", stdin=True))
    await done(reader.write(b"a"))
    await done(reader.close_stdin())
    expect("closed", "".join([piece.text async for piece in each(reader)]), "aover\n")


async def terminals(box):
    shell = await done(box.start(["sh"], pty=TerminalSize(80, 24), env={"PS1": "$ "}))
    await done(shell.write("stty size; echo done-$((1+1))\n"))
    seen = ""
    async for piece in each(shell.output()):
        expect("stream", piece.stream, "pty")
        seen += piece.text
        if "done-2" in seen and "24 80" in seen:
            break
    await done(shell.resize(132, 50))
    await done(shell.write("stty size; exit\n"))
    rest = "".join([piece.text async for piece in each(shell.output())])
    expect("resized", "50 132" in rest, True)
    expect("left", (await done(shell.wait(timeout=PATIENCE))).code, 0)


async def files(box):
    await done(box.files.write("deep/hällo.txt", "wörld", mode=0o600))
    expect("read", await done(box.files.read("deep/hällo.txt")), "wörld".encode())
    expect("text", await done(box.files.read_text("/workspace/deep/hällo.txt")), "wörld")
    expect("the same to commands", (await done(box.run("cat deep/hällo.txt"))).stdout, "wörld")
    entry = await done(box.files.stat("deep/hällo.txt"))
    expect("stat", (entry.name, entry.type, entry.size, entry.mode), ("hällo.txt", "file", 6, 0o600))
    expect("recent", abs(entry.modified.timestamp() - time.time()) < 600, True)
    expect("directory", (await done(box.files.stat("deep"))).is_directory, True)
    (await done(box.run(["ln", "-s", "hällo.txt", "deep/link"]))).check()
    link = await done(box.files.stat("deep/link", follow=False))
    expect("link", (link.name, link.is_link, link.target), ("link", True, "hällo.txt"))
    expect("what it leads to", (await done(box.files.stat("deep/link"))).size, 6)
    expect("root", (await done(box.files.stat("/"))).type, "directory")
    with expect_error("no facts", agent_sandbox.NotFoundError, "nothing.txt"):
        await done(box.files.stat("nothing.txt"))
    await done(box.files.mkdir("made/by/us"))
    await done(box.files.mkdir("made/by/us", exist_ok=True))
    with expect_error("made twice", agent_sandbox.ConflictError):
        await done(box.files.mkdir("made/by/us"))
    await done(box.files.copy("deep", "copied"))
    await done(box.files.move("copied/hällo.txt", "copied/other.txt"))
    with expect_error("in the way", agent_sandbox.ConflictError):
        await done(box.files.copy("deep/hällo.txt", "copied/other.txt"))
    await done(box.files.copy("deep/hällo.txt", "copied/other.txt", overwrite=True))
    expect("listed", [it.name for it in await done(box.files.list("copied"))], ["other.txt"])
    await done(box.files.remove("copied/other.txt"))
    expect("removed", await done(box.files.exists("copied/other.txt")), False)
    with expect_error("not empty", agent_sandbox.ConflictError, "not empty"):
        await done(box.files.remove("deep"))
    await done(box.files.remove("deep", recursive=True))
    expect("gone", (await done(box.files.exists("deep")), await done(box.files.exists("made"))), (False, True))
    with expect_error("missing", agent_sandbox.NotFoundError, "nothing.txt"):
        await done(box.files.read("nothing.txt"))
    with expect_error("a directory", agent_sandbox.InvalidError, "is a directory"):
        await done(box.files.read("made"))
    await trees(box)
    await changes(box)


async def trees(box):
    tree = Tree()
    with tree.folder:
        await done(box.files.upload(tree.path / "source", "tree"))
        expect("it runs", (await done(box.run("./tree/run.sh && ./tree/link"))).stdout, "ran\nran\n")
        expect("left out", await done(box.files.download("tree", tree.path / "fetched")), ["link"])
        tree.check()
        large = tree.path / "large.bin"
        large.write_bytes(os.urandom(3 << 20))
        await done(box.files.upload(large, "large.bin"))
        expect("nothing left out", await done(box.files.download("large.bin", tree.path / "again.bin")), [])
        expect("large", (tree.path / "again.bin").read_bytes() == large.read_bytes(), True)


async def changes(box):
    await done(box.files.mkdir("watched"))
    seen = []
    async for change in each(box.files.watch("watched", recursive=True)):
        seen.append((change.event, change.path))
        if change.event == "start":
            await done(box.files.mkdir("watched/new"))
        if change.path == "new":
            break
    expect("watched", (seen[0], seen[-1]), (("start", ""), ("create", "new")))


SERVER = r"""
IFS=" $(printf '\r')" read -r method path rest
while IFS=': ' read -r name value; do
    value="${value%?}"
    case "$name" in
        [Cc]ontent-[Ll]ength) length="$value" ;;
        [Xx]-[Mm]ine) mine="$value" ;;
        ?) break ;;
    esac
done
body="$(head -c "$length")"
printf 'HTTP/1.1 418 Teapot\r\nX-Path: %s\r\nConnection: close\r\n\r\n%s %s %s' "$path" "$method" "$mine" "$body"
"""
"""What answers one request, with nothing but a shell."""


async def ports(box):
    await done(box.files.write("serve.sh", "#!/bin/sh" + SERVER, mode=0o755))
    with expect_error("nobody there", agent_sandbox.UnreachableError, "port 8000"):
        await done(box.request("GET", 8000))
    process = await done(box.start(["nc", "-ll", "-p", "8000", "-e", "./serve.sh"]))
    asked = {"headers": {"X-Mine": "mine"}, "body": "hello"}
    for _ in until("somebody listens"):
        with contextlib.suppress(agent_sandbox.UnreachableError):
            answer = await done(box.request("POST", 8000, "/a%20b?c=d", **asked))
            break
        await asyncio.sleep(0.05)
    found = (answer.status, answer.text, answer.headers["x-path"])
    expect("request", found, (418, "POST mine hello", "/a%20b?c=d"))
    await done(process.remove())


async def lifecycle(sandbox_class, box, client):
    info = await done(box.info())
    expect("info", (info.name, info.phase, info.ready, info.image), (box.name, "Running", True, IMAGE))
    await done(box.files.write("kept.txt", "kept"))
    await done(box.suspend())
    expect("suspended", (await done(box.info())).phase, "Suspended")
    with expect_error("asleep", agent_sandbox.UnreachableError, "suspended"):
        await done(box.run("true"))
    await done(box.resume())
    expect("the volume stays", await done(box.files.read_text("kept.txt")), "kept")
    async with entered(sandbox_class.get(box.name, client=client)) as same:
        expect("the same", (await done(same.run("cat kept.txt"))).stdout, "kept")
    expect("still there", (await done(box.info())).ready, True)
    listed = await done(sandbox_class.list(client=client))
    expect("listed", box.name in [it.name for it in listed], True)


async def gone(sandbox_class, box, client):
    """What a `with` block made is gone after it."""
    for _ in until("the sandbox is gone"):
        if box.name not in [it.name for it in await done(sandbox_class.list(client=client))]:
            return
        await asyncio.sleep(0.1)


def until(what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        yield
    raise SystemExit(f"{what}: not after {PATIENCE} s")


async def claims(sandbox_class, pool, client):
    box = await done(sandbox_class.claim(pool, lifetime=3600, labels={"round": "own"}, client=client))
    expect("claimed", (await done(box.run("echo $((40+2))"))).stdout, "42\n")
    expect("directory", (await done(box.run("pwd"))).stdout, "/tmp\n")
    await done(box.files.write("/tmp/inside.txt", "x"))
    with expect_error("outside", agent_sandbox.InvalidError, "outside"):
        await done(box.files.read("/etc/hostname"))
    same = await done(sandbox_class.get(box.claim_name, client=client))
    expect("by its claim", same.name, box.name)
    await done(box.delete())
    with expect_error("given back", agent_sandbox.NotFoundError, "no sandbox or claim"):
        await done(sandbox_class.get(box.claim_name, client=client))


async def on_its_own(sandbox_class, namespace):
    """Without a client, and where there is such a thing with an image that nobody named."""
    if OWN_IMAGE is None:
        with expect_error("no image", agent_sandbox.ConfigurationError, "name an image"):
            await done(sandbox_class.create(namespace=namespace))
    box = await done(sandbox_class.create(None if OWN_IMAGE else IMAGE, namespace=namespace))
    expect("its own image", (await done(box.info())).image, OWN_IMAGE or IMAGE)
    expect("its own client", (await done(box.run("echo hi"))).stdout, "hi\n")
    await done(box.delete())
    await done(box.close())


async def links(client_class, sandbox_class, namespace):
    """By the router's own address, as somebody whom the API server knows by a token."""
    reach = {"router": os.environ["ROUTER"], "router_token": os.environ["TOKEN"]}
    client = client_class(namespace=namespace, **reach)
    async with entered(sandbox_class.create(IMAGE, client=client)) as box:
        expect("by address", (await done(box.run("echo hi"))).stdout, "hi\n")
        address = f"{os.environ['ROUTER']}/sandboxes/{namespace}/{box.name}/8000/"
        expect("url", box.url(8000), address)
        expect("link", box.url(8000, "/x", token="t/1"), f"{address}x?agent-sandbox-preview=t%2F1")
    await done(client.close())
    stranger = client_class(namespace=namespace, router=os.environ["ROUTER"], router_token="nobody")
    with expect_error("a stranger", agent_sandbox.UnauthenticatedError, "asb token"):
        async with entered(sandbox_class.create(IMAGE, client=stranger)):
            pass
    await done(stranger.close())


def errors(pool, namespace):
    client = Client(namespace=namespace)
    with expect_error("no sandbox", agent_sandbox.NotFoundError, "no sandbox or claim 'nobody'", "asb ls"):
        Sandbox.get("nobody", client=client)
    # Nobody has to find out first where that registry is.
    with expect_error("no image", agent_sandbox.NotReadyError, "127.0.0.1:1"):
        Sandbox.create("127.0.0.1:1/nothing:1", name="hopeless", client=client)
    expect("removed again", "hopeless" in [it.name for it in Sandbox.list(client=client)], False)
    with expect_error("no pool", agent_sandbox.NotReadyError, "WarmPoolNotFound"):
        Sandbox.claim("no-such-pool", client=client)
    with expect_error("a name", agent_sandbox.InvalidError, "metadata.name"):
        Sandbox.create(IMAGE, name="Not A Name", client=client)
    with expect_error("nobody listens", agent_sandbox.UnreachableError, "asb up"):
        Sandbox.list(client=Client(server="http://127.0.0.1:1", namespace=namespace))
    with expect_error("nothing here", agent_sandbox.ConfigurationError, "asb up"):
        Client(data_dir="/nonexistent")
    with expect_error("no address", agent_sandbox.ConfigurationError, "router="), Sandbox.create(IMAGE, client=client) as box:
        box.url(80)
    with Sandbox.create(IMAGE, name="twice", client=client) as box:
        with expect_error("twice", agent_sandbox.ConflictError, "already exists"):
            Sandbox.create(IMAGE, name="twice", client=client)
        flooded(box)
        shared(box)


def flooded(box):
    """Whoever waits for a command gets all of it, however slow they are; what nobody waits for is lost at most with a word."""
    count = "seq 1 1500000"
    expected = "".join(f"{number}\n" for number in range(1, 1_500_001))
    expect("flood", box.run(count).stdout == expected, True)
    some = expected[: expected.index("300000\n")]
    expect("both ways", len(box.run("sed 'p;p;p;p;p;p;p'", stdin=some).stdout), 8 * len(some))
    late = box.start(count, lossless=True)
    for _ in until("it waits"):
        if late.info().output_to == 1 << 20:
            break
        time.sleep(0.05)
    expect("late", b"".join(piece.data for piece in late).decode() == expected, True)
    hasty = box.start(count)
    hasty.wait(timeout=PATIENCE)
    first, *rest = hasty.output()
    expect("lost", (first.lost, first.offset), (len(expected) - (1 << 20),) * 2)
    expect("the rest", sum(len(piece.data) for piece in [first, *rest]), 1 << 20)
    box.run("head -c 20000000 /dev/zero > zeros").check()
    expect("by file", len(box.files.read("zeros")), 20_000_000)


def shared(box):
    """Threads share a client."""
    found = []
    threads = [threading.Thread(target=lambda n=n: found.append(box.run(f"echo {n}").stdout.strip())) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    expect("threads", sorted(found), [str(n) for n in range(8)])


def tenant(pool, namespace):
    """Everything that asks for a right of its own, once."""
    client = Client(namespace=namespace)
    with Sandbox.create(IMAGE, client=client) as box:
        expect("tenant", box.run("echo hi").stdout, "hi\n")
        box.suspend()
        box.resume()
        expect("listed", [it.name for it in Sandbox.list(client=client)].count(box.name), 1)
        box.delete()
    with Sandbox.claim(pool, client=client) as box:
        expect("claimed", Sandbox.get(box.claim_name, client=client).run("echo hi").stdout, "hi\n")
    with expect_error("elsewhere", agent_sandbox.ForbiddenError, "default"):
        Sandbox.list(namespace="default", client=client)


def stranger(pool, namespace):
    """Whoever may not go through the router's Pod hears what else there is."""
    with expect_error("no tunnel", agent_sandbox.ForbiddenError, "pass router="):
        Sandbox.claim(pool, client=Client(namespace=namespace))
    direct = Client(namespace=namespace, router=os.environ["ROUTER"])
    with Sandbox.claim(pool, client=direct) as box:
        expect("by its address", box.run("echo hi").stdout, "hi\n")


def documents(file):
    """Runs the snippet as it is printed, and looks at what its names hold."""
    names = {}
    exec(compile(Path(file).read_text(), file, "exec"), names)
    expect("result", (names["result"].stdout, names["result"].exit_code), ("Hello\n", 0))
    with expect_error("deleted", agent_sandbox.NotFoundError):
        names["client"].get_sandbox("my-sandbox")


def main(mode, *arguments):
    for kind in CLASSES:
        watch(kind)
    if mode == "public":
        print("\n".join(sorted(name for kind in CLASSES for name in public(kind))))
        return
    if mode in ("sync", "async"):
        client_class, sandbox_class = PAIRS[0][mode == "async"], PAIRS[1][mode == "async"]
        asyncio.run(use(client_class, sandbox_class, *arguments))
        asyncio.run(links(client_class, sandbox_class, arguments[1]))
    else:
        {"errors": errors, "documents": documents, "tenant": tenant, "stranger": stranger}[mode](*arguments)
    print("\n".join(sorted(called)))


main(*sys.argv[1:])

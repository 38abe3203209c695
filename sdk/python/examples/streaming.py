"""Output as it comes, input on the way, and coming back to a process after the connection is gone."""

from agent_sandbox import Sandbox, TerminalSize

with Sandbox.create() as box:
    for piece in box.start("for n in 1 2 3; do echo line $n; sleep 0.1; done"):
        print(piece.text, end="")

    process = box.start(["cat"], stdin=True)
    process.write("typed\n")
    first = next(process.output())
    print("it echoes:", first.text, end="")

    same = box.process(process.id)  # as another program would, with nothing but the number
    same.write("later\n")
    same.close_stdin()
    print("from where we were:", "".join(piece.text for piece in same.output(first.end)), end="")
    print("exit code", same.wait(timeout=10).code)

    shell = box.start(["sh"], pty=TerminalSize(100, 30))
    shell.write("stty size; exit\n")
    said = "".join(piece.text for piece in shell)
    print("a terminal of", "30 100" if "30 100" in said else said)

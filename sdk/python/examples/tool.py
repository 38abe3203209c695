"""What an agent may call: code in, text out, with limits, and never on your own machine."""

from agent_sandbox import Result, Sandbox


def run_python(box: Sandbox, code: str, seconds: float = 10) -> str:
    """Run a program and say what became of it, in words that a model can use."""
    result: Result = box.run(["python3", "-"], stdin=code, timeout=seconds)
    if result.timed_out:
        return f"killed after {seconds:g} s; so far it said: {result.stdout}"
    return result.stdout if result.ok else f"exit code {result.exit_code}\n{result.stderr}"


with Sandbox.create(cpu=1, memory="256m", lifetime=600) as box:
    print(run_python(box, "print(6 * 7)"), end="")
    print(run_python(box, "1 / 0").splitlines()[-1])
    print(run_python(box, "print('on and on', flush=True)\nwhile True: pass", seconds=1), end="")

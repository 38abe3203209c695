"""A sandbox, a file, a command."""

from agent_sandbox import Sandbox

with Sandbox.create() as box:
    box.files.write("hello.py", "print('hello from', __import__('socket').gethostname())")
    result = box.run("python3 hello.py")
    print(result.stdout, end="")
    print("exit code", result.exit_code)

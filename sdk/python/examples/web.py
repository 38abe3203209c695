"""A server in the sandbox, asked from outside."""

from agent_sandbox import Sandbox

with Sandbox.create() as box:
    box.files.write("site/index.html", "<h1>hello</h1>")
    server = box.start("python3 -u -m http.server 8000 --directory site 2>&1")
    next(server.output())  # it says so when it listens
    answer = box.request("GET", 8000, "/")
    print(answer.status, answer.text)

"""A sandbox that sleeps: what is on its volume stays, and nothing of it runs meanwhile."""

from agent_sandbox import Sandbox

with Sandbox.create(storage="64Mi") as box:
    box.files.write("diary.txt", "day one\n")
    box.suspend()
    print("asleep:", box.info().phase)
    box.resume()
    print("awake:", box.files.read_text("diary.txt"), end="")

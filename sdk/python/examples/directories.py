"""A directory goes in, something is made of it, and the result comes out."""

import tempfile
from pathlib import Path

from agent_sandbox import Sandbox

with tempfile.TemporaryDirectory() as folder, Sandbox.create() as box:
    source = Path(folder) / "source"
    source.mkdir()
    (source / "a.txt").write_text("one\ntwo\n")
    (source / "b.txt").write_text("three\n")

    box.files.upload(source, "work")
    box.run("mkdir out && cat *.txt | wc -l > out/lines", cwd="work").check()
    box.files.download("work/out", Path(folder) / "result")
    print("lines:", (Path(folder) / "result" / "lines").read_text().strip())

    for change in box.files.watch("work"):
        if change.event == "start":
            box.files.write("work/new.txt", "new")
        elif change.path == "new.txt":
            print("changed:", change.path)
            break

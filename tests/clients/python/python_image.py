"""Writes an image that is called python:3.11, for machines without a registry: this Python and a shell, as `docker save` would.

    python_image.py ARCHIVE
"""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

NAME = "python:3.11"
LEFT_OUT = {"__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "ensurepip", "turtledemo"}


def libraries(program):
    """What a program is linked with, its interpreter included."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return {path for path in re.findall(r"(/\S+) \(0x", said)}


def plain(member):
    if Path(member.name).name in LEFT_OUT or Path(member.name).name.startswith("config-"):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def layer():
    python = os.path.realpath(f"{sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}")
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    shell = os.path.realpath("/bin/sh")
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.add(python, "usr/local/bin/python", filter=plain)
        archive.add(shell, "bin/sh", filter=plain)
        archive.add(stdlib, f"usr/local/lib/{stdlib.name}", filter=plain)
        for library in sorted(libraries(python) | libraries(shell)):
            archive.add(os.path.realpath(library), library.lstrip("/"), filter=plain)
    return content.getvalue()


def add(archive, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def main(file):
    content = layer()
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    config = {
        "architecture": machine,
        "os": "linux",
        "config": {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin"], "Cmd": ["python"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(content).hexdigest()]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [NAME], "Layers": ["layer.tar"]}]
    with tarfile.open(file, "w") as archive:
        add(archive, "manifest.json", json.dumps(manifest).encode())
        add(archive, "config.json", json.dumps(config).encode())
        add(archive, "layer.tar", content)


main(sys.argv[1])

"""Writes an image with this Python and a shell as `docker save` would, for machines without a registry.

    python_image.py ARCHIVE                  called python:3.11, with nothing else
    python_image.py ARCHIVE NAME FOLDER…     also with what is in these folders, and what our own package stands on
"""

import hashlib
import importlib
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
PACKAGES = "packages"
LEFT_OUT = {"__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "ensurepip", "turtledemo"}


def libraries(*programs):
    """What programs are linked with, their interpreter included."""
    said = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    return {path for path in re.findall(r"(/\S+) \(0x", said)}


def plain(member):
    if Path(member.name).name in LEFT_OUT or Path(member.name).name.startswith("config-"):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def foundations():
    """The packages that ours imports, where they are installed."""
    importlib.import_module("agent_sandbox")
    installed = Path(sysconfig.get_paths()["purelib"])
    places = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    within = {Path(place).relative_to(installed).parts[0] for place in places if place and installed in Path(place).parents}
    return [installed / name for name in sorted(within)]


def layer(folders):
    python = os.path.realpath(f"{sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}")
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    shell = os.path.realpath("/bin/sh")
    further = [entry for folder in folders for entry in sorted(Path(folder).iterdir())] + (foundations() if folders else [])
    extensions = [str(it) for place in (stdlib, *further) for it in Path(place).rglob("*.so") if not LEFT_OUT & set(it.parts)]
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.add(python, "usr/local/bin/python", filter=plain)
        archive.add(shell, "bin/sh", filter=plain)
        archive.add(stdlib, f"usr/local/lib/{stdlib.name}", filter=plain)
        for entry in further:
            archive.add(entry, f"{PACKAGES}/{entry.name}", filter=plain)
        for library in sorted(libraries(python, shell, *(extensions if folders else ()))):
            archive.add(os.path.realpath(library), library.lstrip("/"), filter=plain)
    return content.getvalue()


def add(archive, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def main(file, name=NAME, *folders):
    content = layer(folders)
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    config = {
        "architecture": machine,
        "os": "linux",
        "config": {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin", f"PYTHONPATH=/{PACKAGES}"], "Cmd": ["python"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(content).hexdigest()]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    with tarfile.open(file, "w") as archive:
        add(archive, "manifest.json", json.dumps(manifest).encode())
        add(archive, "config.json", json.dumps(config).encode())
        add(archive, "layer.tar", content)


main(*sys.argv[1:])

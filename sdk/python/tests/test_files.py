"""Files: paths, answers, and archives that are not trusted."""

import io
import os
import tarfile
from datetime import timedelta
from pathlib import Path

import pytest
from script import Script, line, ok

from agent_sandbox import ConflictError, InvalidError, NotFoundError, UnreachableError, _archive, _files
from agent_sandbox._lifecycle import Target
from agent_sandbox._paths import resolve

BOX = Target("box", "team", "uid", root="/", workdir="/workspace")
POOLED = Target("box", "team", "uid", root="/tmp")
UNKNOWN = Target("box", "team", "uid")
FILE = {"accept-ranges": "bytes"}
ENTRY = {"name": "a", "size": 1, "type": "file", "modified_at": "2030-01-01T00:00:00Z", "mode": "0600"}


def test_paths_mean_to_files_what_they_mean_to_commands():
    assert [resolve(BOX, it) for it in ("a", "/etc/x", ".")] == ["/workspace/a", "/etc/x", "/workspace/."]
    assert [resolve(POOLED, it) for it in ("a", "/tmp/a", "/tmp")] == ["a", "/tmp/a", "/tmp"]
    for outside in ("/etc/x", "/tmpfoo", "/tmp/../etc"):
        with pytest.raises(InvalidError, match="outside"):
            resolve(POOLED, outside)
    assert resolve(UNKNOWN, "/a") == "/a"


def test_names_are_escaped_once():
    script = Script(ok(b"x", **FILE))
    assert script.run(_files.read(BOX, "a b/100%/ü?#")) == b"x"
    assert script.said == ["GET /v1/files/workspace/a%20b/100%25/%C3%BC%3F%23"]


def test_a_directory_is_not_taken_for_a_file_nor_a_file_for_a_directory():
    with pytest.raises(InvalidError, match="is a directory"):
        Script(ok({"entries": []})).run(_files.read(BOX, "d"))
    with pytest.raises(InvalidError, match="it is a file"):
        Script(ok(b"{}", **FILE)).run(_files.listed(BOX, "f"))


def test_a_list_that_was_cut_is_not_taken_for_all():
    with pytest.raises(InvalidError, match="more than 1 entries"):
        Script(ok({"entries": [ENTRY], "truncated": True})).run(_files.listed(BOX, "d"))


STAT = {
    "path": "/workspace/a", "type": "link", "size": 4, "mode": "01777", "modified_at": "2030-01-01T00:00:00.250Z",
    "accessed_at": "2030-01-02T00:00:00.000Z", "changed_at": "2030-01-03T00:00:00.000Z", "target": "file",
}  # fmt: skip


def test_stat_is_of_what_a_link_leads_to_or_of_the_link():
    script = Script(ok(STAT), ok(STAT))
    found = script.run(_files.stat(BOX, "a", follow=False))
    assert (found.name, found.is_link, found.mode, found.target) == ("a", True, 0o1777, "file")
    assert [it.day for it in (found.modified, found.accessed, found.changed)] == [1, 2, 3]
    assert (found.modified.microsecond, found.modified.utcoffset()) == (250_000, timedelta(0))
    script.run(_files.stat(BOX, "a", follow=True))
    assert script.said == ["GET /v1/stat/workspace/a", "GET /v1/stat/workspace/a?follow=true"]
    with pytest.raises(NotFoundError, match="cannot look at 'b': no such file"):
        Script(ok({"message": "no such file"}, 404)).run(_files.stat(BOX, "b", follow=True))


def test_a_refusal_is_said_in_the_words_of_who_refused():
    with pytest.raises(NotFoundError, match="cannot read 'a': there is nothing"):
        Script(ok({"code": "NOT_FOUND", "message": "there is nothing"}, 404)).run(_files.read(BOX, "a"))
    with pytest.raises(UnreachableError, match="asb describe box"):
        Script(ok({"detail": "Could not connect"}, 502)).run(_files.read(BOX, "a"))


def test_a_directory_that_is_there_may_be_made_again_but_not_over_a_file():
    conflict = ok({"message": "exists"}, 409)
    Script(conflict, ok()).run(_files.mkdir(BOX, "d", None, exist_ok=True))
    with pytest.raises(ConflictError):
        Script(conflict, ok(**FILE)).run(_files.mkdir(BOX, "d", None, exist_ok=True))
    with pytest.raises(ConflictError):
        Script(conflict).run(_files.mkdir(BOX, "d", None, exist_ok=False))


def test_a_watch_that_breaks_off_says_so():
    feed = _files.Changes(BOX, ".", recursive=True)
    start, end = line({"event": "start", "path": ""}), line({"event": "end", "path": ""})
    assert [it.event for it in feed.feed(start)] == ["start"]
    with pytest.raises(UnreachableError, match="interrupted"):
        feed.closed(None)
    feed.feed(end)
    assert feed.ended


def archive(*members):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as made:
        for name, kind, link in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.mode = kind, link, 0o4755
            member.size = 2 if kind == tarfile.REGTYPE else 0
            made.addfile(member, io.BytesIO(b"hi") if member.size else None)
    return content


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out"])
def test_what_a_sandbox_sends_stays_where_it_was_asked_to_go(tmp_path, name):
    with pytest.raises(InvalidError, match="leads elsewhere"):
        _archive.unpack(archive((name, tarfile.REGTYPE, "")), tmp_path / "in")
    assert not (tmp_path / "out").exists()


def test_links_and_devices_are_left_out_and_privileges_dropped(tmp_path):
    members = [
        ("d", tarfile.DIRTYPE, ""),
        ("d/f", tarfile.REGTYPE, ""),
        ("l", tarfile.SYMTYPE, "/etc"),
        ("n", tarfile.CHRTYPE, ""),
    ]
    assert _archive.unpack(archive(*members, ("h", tarfile.LNKTYPE, "d/f")), tmp_path) == ["l", "n", "h"]
    assert (tmp_path / "d" / "f").read_bytes() == b"hi"
    assert (tmp_path / "d" / "f").stat().st_mode & 0o7000 == 0
    assert sorted(it.name for it in tmp_path.iterdir()) == ["d"]


def test_a_file_through_a_link_of_the_same_archive_does_not_leave(tmp_path):
    members = [("l", tarfile.SYMTYPE, str(tmp_path / "out")), ("l/f", tarfile.REGTYPE, "")]
    _archive.unpack(archive(*members), tmp_path / "in")
    assert (tmp_path / "in" / "l" / "f").is_file()
    assert not (tmp_path / "out").exists()


def test_a_download_that_fails_leaves_what_was_there(tmp_path):
    goal = tmp_path / "file"
    goal.write_text("old")
    script = Script(ok(**FILE), [b"new", UnreachableError("lost")])
    with pytest.raises(UnreachableError):
        script.run(_files.download(BOX, "f", goal))
    assert (goal.read_text(), list(tmp_path.iterdir())) == ("old", [goal])
    Script(ok(**FILE), [b"new"]).run(_files.download(BOX, "f", goal))
    assert goal.read_text() == "new"


def test_a_tree_is_packed_without_owners_and_pipes(tmp_path: Path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    packed = io.BytesIO()
    _archive.pack(tmp_path, packed)
    with tarfile.open(fileobj=io.BytesIO(packed.getvalue())) as made:
        assert [(it.name, it.uid, it.uname) for it in made] == [("d", 0, ""), ("d/f", 0, "")]

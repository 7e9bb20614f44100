"""A start under a name that another source has is refused: the offset of the one would be that of the other."""

import os
import threading

import pytest

from tests.end_to_end.running import run_here


@pytest.mark.parametrize("name", ["http", "edges:0"])
def test_a_file_that_is_called_as_another_source_is_refused_before_it_is_read(tmp_path, name):
    path = tmp_path / name
    path.write_text("1,2,3\n")
    code, events = run_here(tmp_path, "--store", "memory:", "--edges", path)
    assert (code, events[-1]["code"]) == (2, "invalid-argument")
    assert f"a file cannot be the source '{name}'" in events[-1]["message"]
    assert "another name" in events[-1]["hint"]


def test_a_file_does_not_come_in_twice_when_another_of_its_name_stands_beside_it(tmp_path):
    url, paths = f"lmdb://{tmp_path}/store", [tmp_path / folder / "roads.csv" for folder in ("old", "new")]
    for path in paths:
        path.parent.mkdir()
        path.write_text("1,2,3\n")
    assert run_here(tmp_path, "--store", url, "--edges", paths[0])[0] == 0
    code, events = run_here(tmp_path, "--store", url, "--edges", paths[0], "--edges", paths[1])
    assert (code, events[-1].get("code")) == (2, "invalid-argument")
    assert "old/roads.csv may be the file that was read as roads.csv" in events[-1]["message"]
    other = tmp_path / "more.csv"
    other.symlink_to(paths[1])
    assert run_here(tmp_path, "--store", url, "--edges", paths[0], "--edges", other)[0] == 0


def test_a_file_and_a_pipe_do_not_take_the_name_of_each_other(tmp_path):
    url, path = f"lmdb://{tmp_path}/store", tmp_path / "roads.csv"
    os.mkfifo(path)
    writing = threading.Thread(target=path.write_text, args=("1,2,3\n",))
    writing.start()
    assert run_here(tmp_path, "--store", url, "--edges", path)[0] == 0
    writing.join()
    path.unlink()
    path.write_text("1,2,3\n")
    code, events = run_here(tmp_path, "--store", url, "--edges", path)
    assert (code, events[-1]["code"]) == (2, "invalid-argument")
    assert "roads.csv cannot be read: records came through a pipe" in events[-1]["message"]
    url = f"lmdb://{tmp_path}/other"
    assert run_here(tmp_path, "--store", url, "--edges", path)[0] == 0
    path.unlink()
    os.mkfifo(path)
    holder = os.open(path, os.O_RDWR)  # so that nobody waits for a writer
    try:
        code, events = run_here(tmp_path, "--store", url, "--edges", path)
    finally:
        os.close(holder)
    assert (code, events[-1]["code"]) == (2, "invalid-argument")
    assert "roads.csv is a pipe, but was a file" in events[-1]["message"]

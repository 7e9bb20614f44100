"""A session and the processes that are forked while it is open: they are refused, and neither close nor spoil what is the other one's."""

import json
import subprocess
import sys

import pytest

FORKS = """
import json, os, signal, sys, threading
import tornado
from apps.sssp import ShortestPaths

store, engine = sys.argv[1:]


def asked(call):
    try:
        return repr(call())
    except Exception as error:
        return f"{type(error).__name__}: {error} {error.hint}"


def in_child(said, session, loop, query, followed):
    signal.alarm(60)
    calls = dict(
        query=lambda: loop.query().values,
        under_way=lambda: query.values,
        status=query.status,
        cancel=query.cancel,
        follow=lambda: next(followed),
        insert=lambda: loop.insert([7], [8]),
        add_vertices=lambda: loop.add_vertices([9]),
        read=loop.read,
        statistics=loop.statistics,
        offsets=loop.offsets,
        wait_idle=loop.wait_idle,
        checkpoint=loop.checkpoint,
        start=lambda: session.start(ShortestPaths(source=2), "other"),
        remove=lambda: session.remove(loop.name),
        rescale=lambda: session.rescale("paths", 2),
        close=session.close,
    )
    said.write(json.dumps({name: asked(call) for name, call in calls.items()}))
    said.close()
    sys.exit(0)  # out of the `with`, and by the end of an interpreter


with tornado.open(store, workers=1, engine=engine) as session:
    loop = session.start(ShortestPaths(source=1), "paths")
    loop.insert([1], [2])
    followed, query = loop.follow(), loop.query()
    next(followed)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        in_child(os.fdopen(write, "w"), session, loop, query, followed)
    os.close(write)
    told = json.loads(os.fdopen(read).read())
    ended = os.waitpid(child, 0)[1]
    loop.insert([2], [3])
    values, offsets = loop.query().values, loop.offsets()
    if store != "memory:":
        loop.checkpoint()
    child = os.fork()  # lives until after the end
    if child == 0:
        signal.pause()
with tornado.open(store, workers=1) as session:
    again = session.start(ShortestPaths(source=1), "paths").query().values
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
print(json.dumps(dict(told=told, ended=ended, values=values, offsets=offsets, again=again)))
"""


@pytest.mark.parametrize(
    ("store", "engine"),
    [("memory", "threads"), ("lmdb", "threads"), ("lmdb", "processes"), ("postgres", "threads")],
)
def test_a_forked_process_is_refused_and_leaves_the_session_as_it_is(store, engine, tmp_path, request):
    if store == "postgres":
        url = request.getfixturevalue("postgres_url")
    else:
        url = "memory:" if store == "memory" else f"lmdb://{tmp_path}/store"
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKS, url, engine],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    told = found["told"]
    assert told.pop("close") == "None"
    for name, said in told.items():
        assert said.startswith("ConnectionLost: the session belongs to the process that opened it"), (
            name,
            said,
        )
        assert "`spawn`" in said
    assert len(told) == 15
    assert (found["ended"], found["offsets"]) == (0, {"insert": 2})
    assert found["values"] == {"1": 0.0, "2": 1.0, "3": 2.0}
    assert found["again"] == ({} if store == "memory" else found["values"])

"""The face for asyncio: that it has what the blocking one has, and answers the same."""

import ast
import asyncio
import contextlib
from pathlib import Path

import pytest

from tests.query.conftest import eventually
from tornado.client import Batch, NotFound, async_service, connect, connect_async, service, transport

# What a call is named where it waits, and where it blocks.
BLOCKING = {
    "AsyncConnection": "Connection",
    "AsyncIterator": "Iterator",
    "AsyncClient": "Client",
    "AsyncLoop": "ServiceLoop",
    "AsyncQuery": "ServiceQuery",
    "AsyncService": "Service",
    "AsyncStream": "ServiceStream",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "aiter_lines": "iter_lines",
    "aread": "read",
    "asyncio": "time",
    "connect_async": "connect",
}
# In one of the two, what a loop reads is a property, and all that a question may have is written out.
DIFFERENT = {"ServiceLoop.stream", "ServiceLoop.insert", "ServiceLoop.remove", "ServiceLoop.query"}


class Blocking(ast.NodeTransformer):
    """Makes of code that waits the code that blocks; without docstrings, which name each other."""

    def visit(self, node):
        self.generic_visit(node)
        for field in ("id", "attr", "name"):
            if isinstance(name := getattr(node, field, None), str):
                setattr(node, field, BLOCKING.get(name, name))
        match node:
            case ast.Await(value=value):
                return value
            case ast.AsyncFunctionDef():
                node = ast.FunctionDef(**dict(ast.iter_fields(node)))
            case ast.AsyncFor():
                node = ast.For(**dict(ast.iter_fields(node)))
            case ast.AsyncWith():
                node = ast.With(**dict(ast.iter_fields(node)))
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        # A generator cannot hand out another one where it waits for each event.
        match node:
            case ast.For(body=[ast.Expr(value=ast.Yield())], iter=over, orelse=[]):
                return ast.Expr(ast.YieldFrom(over))
        return node


def calls_of(module, kinds):
    """Return what is written of each call of some classes, as it would be if it blocked."""
    tree = ast.parse(Path(module.__file__).read_text())
    found = [kind for kind in tree.body if isinstance(kind, ast.ClassDef) and kind.name in kinds]
    assert len(found) == len(kinds)
    return {
        f"{kind.name}.{call.name}": ast.unparse(ast.fix_missing_locations(call))
        for kind in map(Blocking().visit, found)
        for call in kind.body
        if isinstance(call, ast.FunctionDef)
    }


def test_both_faces_are_the_same_but_for_waiting():
    blocking = calls_of(service, ["Service", "ServiceStream", "ServiceLoop", "ServiceQuery"])
    waits = calls_of(async_service, ["AsyncService", "AsyncStream", "AsyncLoop", "AsyncQuery"])
    assert list(blocking) == list(waits)
    assert {name for name, code in blocking.items() if waits[name] != code} == DIFFERENT


def test_both_connections_are_the_same_but_for_waiting():
    blocking, waits = (calls_of(transport, [name]) for name in ("Connection", "AsyncConnection"))
    assert "Connection.run" in blocking
    assert blocking == waits


def test_a_stream_is_filled_asked_and_followed_from_coroutines(running, own_stream):
    async def run():
        async with connect_async(running.url) as service:
            stream, paths = service.stream(own_stream), service.loop(f"{own_stream}-paths")
            assert (await stream.insert([1, 2], [2, 3], [1.0, 2.0])).accepted == 2
            assert (await paths.insert([3], [4], batch=Batch("async", 0))).accepted == 1
            answers = await asyncio.gather(*(paths.query([vertex]) for vertex in (2, 3, 4)))
            assert [answer.values for answer in answers] == [{2: 1.0}, {3: 3.0}, {4: 4.0}]
            async with contextlib.aclosing(paths.follow(interval_s=0.05)) as changes:
                assert (await anext(changes)).values == {1: 0, 2: 1, 3: 3, 4: 4}
                await stream.remove([3], [4])
                change = await anext(changes)
                while not change.values:
                    change = await anext(changes)
                assert change.values == {4: None}
            assert (await paths.neighbours(2)).out == [(3, 2.0)]
            assert (await paths.frontier())["waiting"] == "input 0 of processor"
            asked = await paths.ask()
            assert [seen["state"] async for seen in asked.progress()][-1] == "converged"
            assert (await asked.result()).to_arrow().equals((await paths.query()).to_arrow())
            assert f"{own_stream}-paths" in [loop.name for loop in await service.loops()]
            with pytest.raises(NotFound):
                await service.loop("nowhere").query()

    asyncio.run(run())


def test_a_query_whose_task_is_cancelled_is_cancelled_on_the_service(running, own_stream):
    async def run():
        async with connect_async(running.url) as service:
            paths = service.loop(f"{own_stream}-paths")
            # It waits for records that never come.
            task = asyncio.create_task(paths.query(min_offsets={"insert": 10**6}, deadline_s=600))
            while not any(query.loop_name == paths.name for query in await service.queries()):  # noqa: ASYNC110  # nobody tells
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    with connect(running.url) as service:

        def states():
            return {query.state for query in service.queries() if query.loop_name == f"{own_stream}-paths"}

        eventually(lambda: states() <= {"cancelled"})  # a service that has much to do comes to it later

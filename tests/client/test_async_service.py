"""The face for asyncio: that it has what the blocking one has, and answers the same."""

import asyncio
import contextlib

import pytest

from tornado import client
from tornado.client import Batch, NotFound, connect, connect_async


@pytest.mark.parametrize("name", ["Service", "Stream", "Loop", "Query"])
def test_both_faces_have_the_same_calls(name):
    kinds = (
        getattr(client, "Service" if name == "Service" else f"Service{name}"),
        getattr(client, f"Async{name}"),
    )
    blocking, waited = ({one for one in vars(kind) if not one.startswith("_")} for kind in kinds)
    assert blocking == waited


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
        states = [query.state for query in service.queries() if query.loop_name == f"{own_stream}-paths"]
    assert set(states) <= {"cancelled"}

"""One random program drives both stores and a naive model, which keeps every view in full."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tornado.errors import InvalidArgument
from tornado.storage import MemoryStore
from tornado.storage.lmdb_store import LmdbStore

loops = st.sampled_from(["a", "a\x00", "b"])
keys = st.sampled_from([b"", b"\x00", b"k", b"k\x00", b"k\xff", b"kk"])
pages = st.one_of(st.binary(max_size=8), st.sampled_from([5000, 1_100_000]).map(bytes))
steps = st.integers(0, 3)


class Naive:
    """The laws, word by word: every view is a dictionary of its own."""

    def __init__(self):
        self.views = {}

    def write(self, loop, version, items, deletes):
        versions = self.views.setdefault(loop, {})
        newest = versions[max(versions)] if versions else {}
        versions[version] = {key: page for key, page in (newest | items).items() if key not in deletes}

    def delete_before(self, loop, version):
        versions = self.views.get(loop, {})
        kept = max((stored for stored in versions if stored <= version), default=0)
        self.views[loop] = {stored: view for stored, view in versions.items() if stored >= kept}
        return len(versions) - len(self.views[loop])

    def view(self, loop, version):
        versions = self.views.get(loop, {})
        at = max((stored for stored in versions if stored <= version), default=None)
        return None if at is None else versions[at]


class StoresAgree(RuleBasedStateMachine):
    @initialize()
    def open_stores(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.stores = [MemoryStore(), LmdbStore(self.path, initial_map_size_bytes=1 << 16)]
        self.naive = Naive()
        self.floors = {}

    @rule(
        loop=loops,
        step=steps,
        items=st.dictionaries(keys, pages, max_size=4),
        deletes=st.sets(keys, max_size=2),
    )
    def write(self, loop, step, items, deletes):
        version = max(self.naive.views.get(loop, {}), default=0) + step
        deletes -= set(items)
        for store in self.stores:
            store.write(loop, version, items, deletes=sorted(deletes), metadata=b"%d" % len(items))
        self.naive.write(loop, version, items, deletes)

    @rule(loop=loops, version=st.integers(0, 12))
    def delete_before(self, loop, version):
        forgotten = self.naive.delete_before(loop, version)
        assert [store.delete_before(loop, version) for store in self.stores] == [forgotten, forgotten]
        if forgotten:
            self.floors[loop] = min(self.naive.views[loop])

    @rule(loop=loops)
    def drop(self, loop):
        for store in self.stores:
            store.drop(loop)
        self.naive.views.pop(loop, None)
        self.floors.pop(loop, None)

    @rule()
    def reopen(self):
        self.stores[1].close()
        self.stores[1] = LmdbStore(self.path, initial_map_size_bytes=1 << 16)

    @rule(loop=loops, version=st.integers(0, 30), prefix=keys)
    def read(self, loop, version, prefix):
        for store in self.stores:
            if version < self.floors.get(loop, 0):
                with pytest.raises(InvalidArgument, match="was deleted"):
                    store.read(loop, prefix, version)
                with pytest.raises(InvalidArgument, match="was deleted"):
                    list(store.scan(loop, version))
            else:
                view = self.naive.view(loop, version) or {}
                expected = sorted((key, page) for key, page in view.items() if key.startswith(prefix))
                assert list(store.scan(loop, version, prefix)) == expected
                assert list(store.keys(loop, version, prefix)) == [key for key, _ in expected]
                assert store.read(loop, prefix, version) == view.get(prefix)

    @invariant()
    def the_lists_agree(self):
        if not hasattr(self, "stores"):
            return
        alive = sorted(loop for loop, versions in self.naive.views.items() if versions)
        for store in self.stores:
            assert store.loops() == alive
            for loop in alive:
                assert store.versions(loop) == sorted(self.naive.views[loop])
                assert store.metadata(loop, store.versions(loop)[-1]) is not None

    def teardown(self):
        if hasattr(self, "stores"):
            for store in self.stores:
                store.close()
            self.folder.cleanup()


TestStoresAgree = StoresAgree.TestCase
TestStoresAgree.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)

"""Copies of stores: the same views at all versions, of one state while somebody writes, and wholly or not at all."""

import itertools
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgres_server import PASSWORD
from tornado.errors import InvalidArgument, StoreCorrupt, StoreFull, StoreLocked
from tornado.storage import lmdb_backup, open_store
from tornado.storage.backup import back_up
from tornado.storage.lmdb import DATA_FILE_NAME
from tornado.storage.lmdb_store import LmdbStore

ROOT = Path(__file__).resolve().parents[2]
KINDS = list(itertools.product(["lmdb", "postgres"], repeat=2))
# Writes versions of two pages that say the same, for ever, and lets go of old ones; says of each that it is there.
WRITER = """
import itertools, sys
from tornado.storage import open_store
with open_store(sys.argv[1]) as store:
    store.write("other", 3, {b"k": b"kept"}, metadata=b"m")
    for version in itertools.count():
        page = b"%09d" % version * 20_000
        store.write("line", version, {b"a": page, b"b": page})
        store.delete_before("line", max(0, version - 3))
        print(version, flush=True)
"""


@pytest.fixture
def place(tmp_path, postgres_server):
    """Addresses of empty places of a kind."""
    made = []

    def new(kind):
        name = f"backup{len(made)}"
        made.append(name)
        if kind == "lmdb":
            return f"lmdb://{tmp_path}/{name}"
        postgres_server.execute(f"CREATE DATABASE {name}")
        return postgres_server.url(name)

    yield new
    for name in made:
        postgres_server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def everything(url):
    with open_store(url) as store:
        return {
            loop: [
                (version, store.metadata(loop, version), list(store.scan(loop, version)))
                for version in store.versions(loop)
            ]
            for loop in store.loops()
        }


def fill(url):
    with open_store(url) as store:
        store.write("a", 1, {b"": b"", b"k\x00": b"one", b"gone": b"x"}, metadata=b"\x00meta")
        store.write("a", 4, {b"k\x00": b"four"}, deletes=[b"gone"])
        store.write("a", 9, {b"new": bytes(range(256)) * 20_000})
        store.write("dropped", 1, {b"k": b"v"})
        store.drop("dropped")
        store.write("ünï", 0, {b"%03d" % number: b"%d" % number * number for number in range(700)})
        for version in range(1, 30):
            store.write("cut", version, {b"k": b"%d" % version})
        store.delete_before("cut", 27)


@pytest.mark.parametrize(("kind", "other"), KINDS)
def test_a_copy_has_all_views_and_goes_on_as_the_store_would(kind, other, place, monkeypatch):
    monkeypatch.setattr(lmdb_backup, "_BATCH_ENTRIES", 7)
    store, to = place(kind), place(other)
    fill(store)
    back_up(store, to)
    assert everything(to) == everything(store)
    assert {"a", "cut", "ünï"} == everything(to).keys()
    with open_store(to) as copy:
        with pytest.raises(InvalidArgument, match="begins at version 27"):
            copy.read("cut", b"k", 26)
        copy.write("later", 1, {b"k": b"v"})
        copy.write("a", 10, {b"k\x00": b"ten"})
        assert copy.delete_before("a", 10) == 3
        assert copy.read("a", b"k\x00", 10) == b"ten"
        assert "later" in copy.loops()
    if other == "lmdb":
        folder = Path(to.removeprefix("lmdb://"))
        assert {path.name for path in folder.iterdir()} == {DATA_FILE_NAME, "lock.mdb", "owner.lock"}


@pytest.mark.parametrize(("kind", "other"), KINDS)
def test_copies_of_a_store_that_is_written_have_whole_versions_and_disturb_nobody(kind, other, place):
    store = place(kind)
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, store], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as writer:
        try:
            newest = 5
            for _ in range(4):
                # It goes on while and after a copy is made, if not always as fast.
                while int(writer.stdout.readline()) <= newest:
                    pass
                to = place(other)
                back_up(store, to)
                found = everything(to)
                assert found["other"] == [(3, b"m", [(b"k", b"kept")])]
                assert 1 <= len(found["line"]) <= 5
                for version, _, pages in found["line"]:
                    assert pages == [(key, b"%09d" % version * 20_000) for key in (b"a", b"b")]
                assert found["line"][-1][0] > newest
                newest = found["line"][-1][0]
            assert writer.poll() is None
        finally:
            writer.kill()


@pytest.mark.parametrize("kind", ["lmdb", "postgres"])
def test_what_cannot_be_copied_is_refused_and_nothing_is_left(kind, place, postgres_server, tmp_path):
    store, to = place(kind), place("lmdb")
    with pytest.raises(InvalidArgument, match=r"there is no store at .*--store"):
        back_up(store, to)
    assert not Path(to.removeprefix("lmdb://")).exists()
    if kind == "lmdb":
        assert not Path(store.removeprefix("lmdb://")).exists()
    fill(store)
    for one, other in ((store, "memory:"), ("memory:", to)):
        with pytest.raises(InvalidArgument, match="memory of one process"):
            back_up(one, other)
    with pytest.raises(InvalidArgument, match="are the same store") as raised:
        back_up(store, store)
    assert PASSWORD not in str(raised.value)
    with pytest.raises(InvalidArgument, match="is not known"):
        back_up(store, "redis://there")
    for other in ("lmdb", "postgres"):
        taken = place(other)
        back_up(store, taken)
        kept = everything(taken)
        with open_store(taken) as mine:
            with pytest.raises(StoreLocked):  # somebody uses it
                back_up(store, taken)
            mine.write("a", 100, {b"k": b"mine"})
        kept = everything(taken)
        with pytest.raises(InvalidArgument, match="is not empty") as raised:
            back_up(store, taken)
        assert PASSWORD not in str(raised.value)
        assert everything(taken) == kept
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "letter").write_text("dear")
    with pytest.raises(InvalidArgument, match="it has letter"):
        back_up(store, f"lmdb://{folder}")
    (tmp_path / "link").symlink_to(tmp_path / "papers")
    with pytest.raises(InvalidArgument, match="are the same store"):
        back_up(f"lmdb://{folder}", f"lmdb://{tmp_path}/link")
    with pytest.raises(StoreLocked, match="createdb"):
        back_up(store, postgres_server.url("nowhere"))


def limited(bytes_):
    """Run a backup in a process whose files may have so many bytes."""

    def run(store, to):
        return subprocess.run(
            [sys.executable, "-m", "tornado", "backup", store, to, "--json"],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            preexec_fn=lambda: (
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_)),
            ),
        )

    return run


@pytest.mark.parametrize("kind", ["lmdb", "postgres"])
def test_without_room_nothing_is_left_and_with_room_it_is_there(kind, place):
    store, to = place(kind), place("lmdb")
    fill(store)
    refused = limited(1_000_000)(store, to)
    assert refused.returncode == 1
    assert '"store-full"' in refused.stderr, refused.stderr
    assert {path.name for path in Path(to.removeprefix("lmdb://")).iterdir()} == {"owner.lock"}
    back_up(store, to)
    assert everything(to) == everything(store)


def test_a_database_without_room_has_nothing_of_the_copy(place, postgres_server):
    store, to = place("lmdb"), place("postgres")
    fill(store)
    open_store(to).close()
    name = to.rpartition("/")[2]
    postgres_server.execute(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.key = 'new' THEN RAISE EXCEPTION"
        " 'could not extend file: No space left on device' USING ERRCODE = '53100'; END IF; RETURN NEW; END $$;"
        " CREATE TRIGGER full_disk BEFORE INSERT ON tornado_loops.entries FOR EACH ROW EXECUTE FUNCTION full_disk()",
        name,
    )
    with pytest.raises(StoreFull):
        back_up(store, to)
    assert everything(to) == {}
    postgres_server.execute("DROP TRIGGER full_disk ON tornado_loops.entries", name)
    back_up(store, to)
    assert everything(to) == everything(store)


def test_a_backup_that_is_killed_leaves_no_store_and_is_no_reader_for_ever(place, tmp_path):
    store, to = place("lmdb"), place("lmdb")
    fill(store)
    program = (
        "import os, sys\nfrom tornado.storage import lmdb_backup\nfrom tornado.storage.backup import back_up\n"
        "lmdb_backup.LmdbStore = lambda folder: os.kill(os.getpid(), 9)\nback_up(*sys.argv[1:])"
    )
    with open_store(store) as mine:  # a service that runs before, meanwhile and after
        done = subprocess.run([sys.executable, "-c", program, store, to], check=False, cwd=ROOT)
        assert done.returncode == -signal.SIGKILL
        assert DATA_FILE_NAME not in {path.name for path in Path(to.removeprefix("lmdb://")).iterdir()}
        page = bytes(2_000_000)
        for version in range(100, 130):
            mine.write("a", version, {b"k": page})
            mine.delete_before("a", version)
        assert mine.statistics().size_bytes < 30_000_000
    back_up(store, to)
    assert everything(to) == everything(store)


def test_damage_is_found_and_not_copied(place, postgres_server):
    store, to = place("postgres"), place("lmdb")
    with open_store(store) as mine:
        mine.write("a", 1, {b"k": b"one"})
    postgres_server.execute("UPDATE tornado_loops.entries SET page = 'two'", store.rpartition("/")[2])
    with pytest.raises(StoreCorrupt, match="not what was written"):
        back_up(store, to)
    assert DATA_FILE_NAME not in {path.name for path in Path(to.removeprefix("lmdb://")).iterdir()}
    other = place("lmdb")
    folder = Path(other.removeprefix("lmdb://"))
    folder.mkdir()
    (folder / DATA_FILE_NAME).write_bytes(b"hello" * 5000)
    with pytest.raises(StoreCorrupt):
        back_up(other, place("lmdb"))


def test_a_store_that_is_cut_off_in_the_middle_leaves_no_copy(place, postgres_server, monkeypatch):
    """The connection of the source is lost behind its first rows: no half copy, and the target's retries do not begin again."""
    from tornado.errors import StoreUnreachable
    from tornado.storage.postgres_backup import PostgresHistory

    store, to = place("postgres"), place("postgres")
    fill(store)
    real = PostgresHistory.entries
    calls = []

    def cut(self, loop):
        calls.append(loop)
        entries = real(self, loop)
        yield next(entries)
        self._connection.close()
        yield from entries
        yield from real(self, loop)

    monkeypatch.setattr(PostgresHistory, "entries", cut)
    with pytest.raises(StoreUnreachable):
        back_up(store, to)
    assert len(calls) == 1
    assert everything(to) == {}


def test_a_line_whose_first_version_is_being_written_is_none_yet(tmp_path):
    with LmdbStore(tmp_path / "store") as store:
        store.write("whole", 0, {})
        store._put_chunks(b"begun", "begun", 1, {b"k": memoryview(b"v")}, "write")
    with lmdb_backup.LmdbPlace(tmp_path / "store").history() as history:
        assert [loop.name for loop in history.loops()] == [b"whole"]


def test_the_command_says_what_it_has_copied(place, tmp_path):
    store, to = place("lmdb"), place("postgres")
    fill(store)
    done = subprocess.run(
        [sys.executable, "-m", "tornado", "backup", store, to],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert "7 versions" in done.stderr and PASSWORD not in done.stderr
    assert done.stdout == ""

"""The store in a real PostgreSQL: losses that it outlives, owners, and errors that say what to do, without a password."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest

from tests.postgres_server import PASSWORD
from tests.promised import took_s, within
from tornado.errors import InvalidArgument, StoreCorrupt, StoreError, StoreFull, StoreLocked, StoreUnreachable
from tornado.loops.admission_log import AdmissionLog, LogEntry
from tornado.records.edge_batch import EdgeBatch
from tornado.storage import open_store, postgres
from tornado.storage.postgres_address import label_of
from tornado.storage.postgres_results import PostgresResults, ResultsAddress
from tornado.storage.postgres_store import put_entries

SOON_S = 5.0


def refused(kind, url):
    """Open a store that cannot be; returns what is said, which has no password in it."""
    begun_s = time.monotonic()
    with pytest.raises(kind) as raised:
        open_store(url)
    assert took_s(begun_s) < within(SOON_S)
    for secret in (PASSWORD, "wr0ng"):
        assert secret not in f"{raised.value!r} {raised.value}"
    return str(raised.value)


def test_what_cannot_be_opened_says_why(postgres_server, postgres_url):
    name = postgres_url.rpartition("/")[2]
    assert "Look at the user and the password" in refused(
        StoreLocked, postgres_server.url(name, password="wr0ng")
    )
    assert "createdb" in refused(StoreLocked, postgres_server.url("nowhere"))
    refused(StoreUnreachable, postgres_server.url(name, port=9))
    postgres_server.execute("CREATE ROLE guest LOGIN PASSWORD 'wr0ng'")
    try:
        told = refused(StoreLocked, postgres_server.url(name, user="guest", password="wr0ng"))
        assert "permission denied" in told
    finally:
        postgres_server.execute("DROP ROLE guest")
    for wrong in ("postgresql://", "postgresql://ann@host/", "postgresql://ann:wr0ng@host:port/loops"):
        refused(InvalidArgument, wrong)
    for mark in "@/?#":
        refused(InvalidArgument, f"postgresql://ann:wr0ng{mark}wr0ng@host/loops")
    address = postgres_server.url(name, user="ann", password="wr0ng")
    assert 'parameter: "nonsense"' in refused(InvalidArgument, f"{address}?nonsense=1")
    assert "***" in refused(InvalidArgument, "postgresql://ann:wr0ng@[::1]x/loops")
    assert "settings in the address" in refused(StoreLocked, f"{address}?sslmode=bogus")


def test_a_database_that_can_only_be_read_says_so(postgres_server, postgres_url):
    name = postgres_url.rpartition("/")[2]
    postgres_server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    told = refused(StoreLocked, postgres_url)
    assert "in a read-only transaction" in told
    assert "Name the primary server" in told
    table = PostgresResults(
        ResultsAddress.of(f"{postgres_url}/paths"), vertex_type="int64", value_type="float64"
    )
    with pytest.raises(StoreLocked, match="Name the primary server"):
        table.open()


def test_a_store_has_one_owner_and_a_label_without_its_password(postgres_url):
    with open_store(postgres_url) as store:
        assert store.url == label_of(postgres_url)
        assert PASSWORD not in store.url
        assert "another service" in refused(StoreLocked, postgres_url)
        store.write("a", 1, {b"k": b"one"})
    with open_store(postgres_url) as store:
        assert store.read("a", b"k", 1) == b"one"


def test_tables_of_a_newer_program_are_refused(postgres_server, postgres_url):
    open_store(postgres_url).close()
    name = postgres_url.rpartition("/")[2]
    postgres_server.execute("UPDATE tornado_loops.facts SET value = '99' WHERE name = 'version'", name)
    assert "version 99" in refused(StoreCorrupt, postgres_url)


def test_a_page_that_is_not_what_was_written_is_no_answer(postgres_server, postgres_url):
    with open_store(postgres_url) as store:
        store.write("a", 1, {b"k": b"one"})
        postgres_server.execute(
            "UPDATE tornado_loops.entries SET page = 'two'", postgres_url.rpartition("/")[2]
        )
        with pytest.raises(StoreCorrupt, match="not what was written"):
            store.read("a", b"k", 1)


def test_connections_that_are_cut_are_made_again(postgres_server, postgres_url):
    with open_store(postgres_url) as store:
        for version in range(1, 6):
            postgres_server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tornado-loops'"
            )
            store.write("a", version, {b"k": b"%d" % version})
            assert store.read("a", b"k", version) == b"%d" % version
        assert store.versions("a") == [1, 2, 3, 4, 5]


def test_who_was_cut_off_while_another_service_began_writes_no_more(postgres_server, postgres_url):
    first = open_store(postgres_url)
    first.write("a", 1, {b"k": b"first"})
    postgres_server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tornado-loops'"
    )
    with open_store(postgres_url) as second:
        second.write("a", 2, {b"k": b"second"})
        with pytest.raises(StoreLocked):
            first.write("a", 3, {b"k": b"first"})
    with pytest.raises(StoreLocked, match="another service has taken"):
        first.write("a", 3, {b"k": b"first"})
    first.close()
    with open_store(postgres_url) as third:
        assert third.read("a", b"k", 5) == b"second"


@pytest.mark.parametrize("took_place", [True, False])
def test_a_commit_whose_end_nobody_heard_of_is_looked_up(took_place, postgres_url):
    """The connection is lost behind or before the commit: what was written is there once."""
    with open_store(postgres_url) as store:
        store.write("a", 1, {b"k": b"one"})
        database, real = store._database, store._database._writer
        calls = []

        class Cut:
            def commit(self):
                if took_place:
                    real.commit()
                real.close()
                raise psycopg2.OperationalError("server closed the connection unexpectedly")

            def __getattr__(self, name):
                return getattr(real, name)

        database._writer = Cut()
        change = database.change

        def counted(work, what, **named):
            def once(cursor):
                calls.append(what)
                return work(cursor)

            return change(once, what, **named)

        database.change = counted
        store.write("a", 2, {b"k": b"two"})
        assert len(calls) == (1 if took_place else 2)
        assert (store.read("a", b"k", 2), store.versions("a")) == (b"two", [1, 2])


class CutAtCommit:
    """A connection that is lost when a transaction has taken place, and of which nobody hears that."""

    def __init__(self, real):
        self._real = real

    def commit(self):
        self._real.commit()
        self._real.close()
        raise psycopg2.OperationalError("server closed the connection unexpectedly")

    def __getattr__(self, name):
        return getattr(self._real, name)


def unheard(database, patched):
    """Have the next change take place while the server is away for everybody else, for longer than it is waited for."""

    def away():
        raise psycopg2.OperationalError("could not connect to server: Connection refused")

    patched.setattr(postgres, "PATIENCE_S", 0.2)
    patched.setattr(database, "_connect", away)
    patched.setattr(database, "_writer", CutAtCommit(database._writer))


@pytest.mark.parametrize("looks", [True, False])
def test_a_write_that_failed_is_not_there_though_the_server_has_carried_it_out(
    looks, postgres_url, monkeypatch
):
    with open_store(postgres_url) as store:
        store.write("a", 1, {b"k": b"one", b"l": b"one"})
        for line in ("a", "b"):
            with monkeypatch.context() as patched:
                unheard(store._database, patched)
                with pytest.raises(StoreUnreachable):
                    store.write(line, 2, {b"k": b"two"}, deletes=[b"l"])
            if looks:
                assert (store.versions(line), store.loops()) == ([1] if line == "a" else [], ["a"])
        store.write("a", 3, {b"m": b"three"})
        assert (store.versions("a"), dict(store.scan("a", 3)), store.loops()) == (
            [1, 3],
            {b"k": b"one", b"l": b"one", b"m": b"three"},
            ["a"],
        )


def test_a_log_goes_on_behind_a_group_that_nobody_knows_to_be_written(postgres_url, monkeypatch):
    with open_store(postgres_url) as store:
        log = AdmissionLog(store, "roads")
        entries = [LogEntry(version, "http", version, EdgeBatch.of([version], [0])) for version in (1, 2, 3)]
        log.append(entries[:1])
        with monkeypatch.context() as patched:
            unheard(store._database, patched)
            with pytest.raises(StoreUnreachable):
                log.append(entries[1:2])
        log.append(entries[2:])
        found = AdmissionLog(store, "roads").replay(after=0, points=None)
        assert [entry.version for entry in found] == [1, 3]


def test_a_lock_that_goes_a_moment_later_is_waited_for(postgres_server, postgres_url, monkeypatch):
    """The server notices later than we do that a connection is lost, or who had it killed."""
    with open_store(postgres_url) as store:
        store.write("a", 1, {b"k": b"one"})
        lost = store._database._writer
        store._database._writer = None  # as after an error, while the server has that connection and its lock
        later = threading.Timer(0.3, lost.close)
        later.start()
        store.write("a", 2, {b"k": b"two"})
        later.join()
        assert store.versions("a") == [1, 2]
        monkeypatch.setattr(postgres, "LOCK_PATIENCE_S", 30.0)  # beside much else a moment is longer
        again = threading.Timer(0.3, store.close)
        again.start()
        with open_store(postgres_url) as next_one:
            assert next_one.versions("a") == [1, 2]
        again.join()


def test_a_server_that_is_away_for_a_while_loses_nothing_and_longer_is_an_error(
    postgres_server, postgres_url, monkeypatch
):
    with open_store(postgres_url) as store:
        store.write("a", 1, {b"k": b"one"})
        monkeypatch.setattr(postgres, "PATIENCE_S", 60.0)  # beside much else a server takes long to start
        postgres_server.stop(how=signal.SIGINT)
        again = threading.Timer(1.0, postgres_server.start)
        again.start()
        store.write("a", 2, {b"k": b"two"})  # waits for it
        again.join()
        monkeypatch.setattr(postgres, "PATIENCE_S", 0.5)
        postgres_server.stop(how=signal.SIGINT)
        try:
            with pytest.raises(StoreUnreachable) as raised:
                store.write("a", 3, {b"k": b"three"})
            assert PASSWORD not in str(raised.value)
            with pytest.raises(StoreUnreachable):
                store.read("a", b"k", 2)
            monkeypatch.setattr(postgres, "PATIENCE_S", 1.0)
            tries, together, connect = [], threading.Barrier(6), store._database._connect
            monkeypatch.setattr(store._database, "_connect", lambda: (tries.append("one"), connect())[1])

            def write(version):
                together.wait(60)
                store.write("a", version, {b"k": b"three"})

            with ThreadPoolExecutor(6) as pool:
                many = [pool.submit(write, 3) for _ in range(6)]
            assert {type(one.exception()) for one in many} == {StoreUnreachable}
            # Together in one second, and not a second for each of them, one after the other.
            assert 6 <= len(tries) < 20
        finally:
            postgres_server.start()
        store.write("a", 3, {b"k": b"three"})
        assert [store.read("a", b"k", version) for version in (1, 2, 3)] == [b"one", b"two", b"three"]


def test_a_disk_that_is_full_leaves_what_was_stored(postgres_server, postgres_url):
    name = postgres_url.rpartition("/")[2]
    with open_store(postgres_url) as store:
        store.write("a", 1, {b"k": b"one"})
        postgres_server.execute(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file: No space"
            " left on device' USING ERRCODE = '53100'; END $$; CREATE TRIGGER full_disk BEFORE INSERT ON tornado_loops.entries"
            " EXECUTE FUNCTION full_disk()",
            name,
        )
        with pytest.raises(StoreFull):
            store.write("a", 2, {b"k": b"two"})
        postgres_server.execute("DROP TRIGGER full_disk ON tornado_loops.entries", name)
        assert (store.versions("a"), store.read("a", b"k", 2)) == ([1], b"one")
        store.write("a", 2, {b"k": b"two"})


@pytest.mark.parametrize(
    ("statement", "said", "is_waited_for"),
    [
        ("SET LOCAL statement_timeout = '1ms'; SELECT pg_sleep(600)", "statement timeout", True),
        (f"SELECT concat({', '.join('1' * 101)})", "cannot pass more than 100 arguments", False),
    ],
)
def test_what_the_server_refuses_is_no_connection_that_was_lost(postgres_url, statement, said, is_waited_for):
    with open_store(postgres_url) as store:
        tries = []

        def ask(cursor):
            tries.append(statement)
            cursor.execute(statement)

        with pytest.raises(StoreError, match=said) as raised:
            store._database.read(ask, "ask")
        assert isinstance(raised.value, StoreUnreachable) == is_waited_for
        assert len(tries) == 1
        store.write("a", 1, {b"k": b"one"})


def test_what_goes_wrong_as_pages_are_made_is_told_as_it_is_and_once(postgres_url):
    tries = []

    def pages():
        tries.append("begun")
        yield b"k", 1, b"one"
        raise StoreCorrupt("a page is not what was written")

    with open_store(postgres_url) as store:
        with pytest.raises(StoreCorrupt, match=r"^a page is not what was written"):
            store._database.change(lambda cursor: put_entries(cursor, 1, pages()), "write")
        assert tries == ["begun"]
        store.write("a", 1, {b"k": b"one"})
        assert store.read("a", b"k", 1) == b"one"


def test_a_key_that_ended_takes_no_row_once_its_versions_are_forgotten(postgres_server, postgres_url):
    with open_store(postgres_url) as store:
        store.write("a", 1, {b"k": b"one", b"stays": b"one"})
        store.write("a", 2, {}, deletes=[b"k"])
        store.write("a", 3, {b"stays": b"three"})
        store.delete_before("a", 2)
        rows = store._database.read(_entries, "count rows")
        assert rows == [(b"stays", 1), (b"stays", 3)]


def _entries(cursor):
    cursor.execute("SELECT key, version FROM entries ORDER BY key, version")
    return [(bytes(key), version) for key, version in cursor.fetchall()]


def test_large_pages_and_many_of_them_come_in_batches(postgres_url):
    pages = {b"p%04d" % number: bytes([number % 251]) * (number * 997 % 70_000) for number in range(600)}
    pages[b"large"] = bytes(range(256)) * (1 << 17)
    with open_store(postgres_url) as store:
        store.write("a", 1, pages)
        assert dict(store.scan("a", 1)) == pages
        assert list(store.keys("a", 1, b"p05")) == sorted(key for key in pages if key.startswith(b"p05"))
        assert isinstance(store.statistics().size_bytes, int)

"""A table of results in a real PostgreSQL: what is there is one answer, whatever was there before and whatever broke off."""

import random
import string
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import quote

import numpy as np
import psycopg2
import pytest

from tests.postgres_server import PASSWORD
from tests.promised import took_s, within
from tornado.errors import InvalidArgument, StoreError, StoreLocked, StoreUnreachable
from tornado.storage import postgres_results
from tornado.storage.postgres_results import AnsweredSnapshot, PostgresResults, ResultsAddress, has_row

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOON_S = 6.0


def snapshot(version=1, vertices=0):
    return AnsweredSnapshot(
        version=version,
        answered_at=NOW,
        loop="paths",
        stream="roads",
        offsets='{"http": 7}',
        certificate='{"kind": "exact"}',
        vertices=vertices,
    )


def results(url, vertex_type="int64", value_type="float64", table="paths"):
    return PostgresResults(
        ResultsAddress.of(f"{url}/{table}"), vertex_type=vertex_type, value_type=value_type
    )


def query(url, statement):
    connection = psycopg2.connect(url)
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else None
    finally:
        connection.close()


def rows(url, table="paths"):
    return query(url, f'SELECT vertex, value, version FROM "{table}" ORDER BY vertex')


def noted(url):
    return query(url, "SELECT version, changed, removed FROM paths_snapshots ORDER BY number")


@pytest.fixture
def kept(postgres_url):
    table = results(postgres_url)
    yield table
    table.close()


def test_what_changed_is_put_what_is_gone_goes_and_all_else_stays_as_it_was(postgres_url, kept):
    assert kept.is_anew
    kept.renew([b"1,0.0\n2,\n", b"3,inf\n"], [], snapshot(5, 3))
    assert not kept.is_anew
    kept.renew([b"2,1e-300\n"], [b"3,\n"], snapshot(6, 2))
    assert rows(postgres_url) == [(1, 0.0, 5), (2, 1e-300, 6)]
    assert noted(postgres_url) == [(5, 3, 0), (6, 1, 1)]
    ((at, *others),) = query(
        postgres_url,
        "SELECT answered_at, loop, stream, offsets, certificate, vertices FROM paths_snapshots WHERE version = 6",
    )
    assert at == NOW
    assert others == ["paths", "roads", {"http": 7}, {"kind": "exact"}, 2]
    assert query(postgres_url, "SELECT DISTINCT answered_at FROM paths") == [(NOW,)]


@pytest.mark.parametrize("end", [PostgresResults.close, PostgresResults.compare_all])
def test_whoever_begins_or_wants_to_compares_all_with_what_is_there(postgres_url, kept, end):
    assert kept.renew([b"1,0.0\n2,\n3,4.5\n"], [], snapshot(5)) == 3
    end(kept)
    query(postgres_url, "DELETE FROM paths WHERE vertex = 1")
    assert kept.is_anew
    assert kept.renew([b"1,0.0\n2,\n4,7.0\n"], [], snapshot(9)) == 3
    assert rows(postgres_url) == [(1, 0.0, 9), (2, None, 5), (4, 7.0, 9)]
    assert noted(postgres_url)[-1] == (9, 2, 1)


def test_texts_are_what_they_are(postgres_url):
    names = ["", " ", "\\.", 'a "b", c', "line\nline\r", "NULL", "ß東\t", "x" * 10_000]
    texts = "".join('"{}","{}"\n'.format(*[name.replace('"', '""')] * 2) for name in names[1:]) + ",\n"
    table = results(postgres_url, "string", "string", 'odd "Name"')
    table.renew([texts.encode()], [], snapshot())
    found = {vertex: value for vertex, value, _ in rows(postgres_url, 'odd ""Name""')}
    assert found == {name: name for name in names}
    table.renew([], [b'\\.,\n"",\n'], snapshot(2))
    left = {vertex for vertex, _, _ in rows(postgres_url, 'odd ""Name""')}
    assert left == set(names) - {"", "\\."}
    table.close()


@pytest.mark.parametrize("name", ["%s", "100%", "x%y %(key)s", "changed", "removed", "c" * 53])
def test_a_table_may_be_called_anything(postgres_url, name):
    table = results(postgres_url, table=quote(name))
    table.renew([b"1,0.0\n2,5.0\n"], [], snapshot(1))
    table.renew([b"3,1.0\n"], [b"2,\n"], snapshot(2))
    assert rows(postgres_url, name) == [(1, 0.0, 1), (3, 1.0, 2)]
    table.compare_all()
    table.renew([b"1,7.0\n"], [], snapshot(3))
    assert rows(postgres_url, name) == [(1, 7.0, 3)]
    assert query(postgres_url, f'SELECT count(*) FROM "{name}_snapshots"') == [(3,)]
    table.close()


def test_a_lock_that_somebody_holds_is_said_and_waited_out(postgres_url, kept):
    kept.renew([b"1,0.0\n"], [], snapshot(1))
    other = psycopg2.connect(postgres_url)
    with other.cursor() as cursor:
        cursor.execute("LOCK TABLE paths IN ACCESS EXCLUSIVE MODE")
    with pytest.raises(StoreLocked, match="somebody holds a lock of the table"):
        kept.renew([b"2,5.0\n"], [], snapshot(2))
    other.close()
    kept.renew([b"1,0.0\n2,5.0\n"], [], snapshot(3))
    assert rows(postgres_url) == [(1, 0.0, 1), (2, 5.0, 3)]


@pytest.mark.parametrize("took_place", [True, False])
def test_after_a_commit_whose_end_nobody_heard_of_all_is_compared(
    took_place, postgres_url, kept, monkeypatch
):
    monkeypatch.setattr(postgres_results, "LOCK_PATIENCE_S", 30.0)  # beside much else a moment is longer
    kept.renew([b"1,0.0\n2,5.0\n"], [], snapshot(1))
    real = kept._connection
    # The server does later than we do, and has the lock until then.
    noticed = threading.Timer(0.2, real.close)

    class Cut:
        def commit(self):
            if took_place:
                real.commit()
            noticed.start()
            raise psycopg2.OperationalError("server closed the connection unexpectedly")

        def close(self):
            pass

        def __getattr__(self, name):
            return getattr(real, name)

    kept._connection = Cut()
    with pytest.raises(StoreUnreachable):
        kept.renew([b"3,1.0\n"], [b"2,\n"], snapshot(2))
    assert kept.is_anew
    kept.renew([b"1,0.0\n3,1.0\n"], [], snapshot(3))
    noticed.join()
    assert rows(postgres_url) == [(1, 0.0, 1), (3, 1.0, 2 if took_place else 3)]


def test_a_connection_that_was_cut_is_made_again_and_nothing_half_is_seen(
    postgres_server, postgres_url, kept
):
    kept.renew([b"1,0.0\n2,5.0\n"], [], snapshot(1))
    postgres_server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tornado-loops'"
    )
    with pytest.raises(StoreUnreachable):
        kept.renew([b"1,1.0\n"], [], snapshot(2))
    kept.renew([b"1,1.0\n2,5.0\n"], [], snapshot(2))
    query(postgres_url, "ALTER TABLE paths_snapshots ADD CHECK (version < 3)")
    with pytest.raises(StoreError, match="paths_snapshots"):
        kept.renew([b"1,9.0\n"], [b"2,\n"], snapshot(3))
    assert rows(postgres_url) == [(1, 1.0, 2), (2, 5.0, 1)]


def test_a_table_has_one_that_renews_it_until_that_one_ends(postgres_url, kept):
    kept.open()
    with pytest.raises(StoreLocked, match="kept by another service"):
        results(postgres_url).open()
    other = results(postgres_url, table="others")
    other.open()
    other.close()
    kept.close()
    second = results(postgres_url)
    second.open()
    second.close()


COLUMNS = "(vertex bigint PRIMARY KEY, value float, version bigint, answered_at timestamptz)"
OTHERS = [
    f"DROP TABLE paths; CREATE TABLE paths {COLUMNS}",
    f"ALTER TABLE paths RENAME TO mine; CREATE TABLE paths {COLUMNS}",
    "TRUNCATE paths",
    "DROP TABLE paths",
    "ALTER TABLE paths ALTER value TYPE real; ALTER TABLE paths ALTER value TYPE float",
    "DROP TABLE paths_snapshots",
]


@pytest.mark.parametrize("statements", OTHERS)
def test_a_table_that_has_become_another_one_is_compared_whole_with_the_next_renewal(
    postgres_url, kept, statements
):
    kept.renew([b"1,0.1\n2,5.0\n"], [], snapshot(1))
    kept.open()
    assert not kept.is_anew
    query(postgres_url, statements)
    kept.open()
    assert kept.is_anew
    kept.renew([b"1,0.1\n3,1.0\n"], [], snapshot(2))
    assert [(vertex, value) for vertex, value, _ in rows(postgres_url)] == [(1, 0.1), (3, 1.0)]
    kept.open()
    assert not kept.is_anew
    with pytest.raises(StoreLocked, match="kept by another service"):
        results(postgres_url).open()


@pytest.mark.parametrize("statements", OTHERS[:3])
def test_what_changed_is_not_put_into_a_table_that_has_become_another_one(postgres_url, kept, statements):
    kept.renew([b"1,0.0\n2,5.0\n"], [], snapshot(1))
    query(postgres_url, statements)
    with pytest.raises(
        StoreError, match=r"somebody else has made the table .* anew, altered or truncated it"
    ):
        kept.renew([b"3,1.0\n"], [b"2,\n"], snapshot(2))
    assert rows(postgres_url) == []
    assert kept.is_anew


def test_truncated_partitions_are_noticed(postgres_url, kept):
    made = f"CREATE TABLE paths {COLUMNS} PARTITION BY HASH (vertex)"
    parts = [
        f"CREATE TABLE part_{n} PARTITION OF paths FOR VALUES WITH (MODULUS 2, REMAINDER {n})" for n in (0, 1)
    ]
    query(postgres_url, "; ".join([made, *parts]))
    kept.renew([b"1,0.0\n2,5.0\n3,1.0\n"], [], snapshot(1))
    kept.open()
    assert not kept.is_anew
    query(postgres_url, "TRUNCATE part_0")
    kept.open()
    assert kept.is_anew


@pytest.mark.parametrize("statement", ["ALTER TABLE paths DROP value", "ALTER TABLE paths ADD mine text"])
def test_a_table_that_has_got_other_columns_is_refused_until_it_has_its_own_again(
    postgres_url, kept, statement
):
    kept.renew([b"1,0.0\n"], [], snapshot(1))
    query(postgres_url, statement)
    for _ in range(2):
        with pytest.raises(InvalidArgument, match="is no table of these results"):
            kept.open()
    query(postgres_url, "DROP TABLE paths")
    kept.renew([b"1,0.0\n"], [], snapshot(2))
    assert rows(postgres_url) == [(1, 0.0, 2)]


def test_old_snapshots_go(postgres_url, kept, monkeypatch):
    monkeypatch.setattr(postgres_results, "KEPT_SNAPSHOTS", 3)
    for version in range(1, 8):
        kept.renew([b"1,%d\n" % version], [], snapshot(version))
    assert [version for version, _, _ in noted(postgres_url)] == [5, 6, 7]


def test_a_table_of_another_shape_is_refused_and_left_alone(postgres_url):
    for made, said in [
        ("TABLE paths (vertex bigint PRIMARY KEY, mine text)", "it has (vertex bigint, mine text)"),
        (
            "TABLE paths (vertex bigint, value double precision, version bigint, answered_at timestamptz)",
            "no unique index of vertex",
        ),
        (
            "TABLE paths (vertex text PRIMARY KEY, value float, version bigint, answered_at timestamptz)",
            "vertex text",
        ),
        ("VIEW paths AS SELECT 1 AS vertex", "it has (vertex integer)"),
        ("TABLE paths_snapshots (number int PRIMARY KEY)", "paths_snapshots in"),
    ]:
        query(postgres_url, f"CREATE {made}")
        with pytest.raises(InvalidArgument) as raised:
            results(postgres_url).open()
        assert said in str(raised.value)
        assert PASSWORD not in str(raised.value)
        kind, name = made.split()[:2]
        query(postgres_url, f"DROP {kind} {name}")
        assert query(postgres_url, "SELECT count(*) FROM pg_class WHERE relname LIKE 'paths%'") == [(0,)]


def refused(kind, url):
    begun = time.monotonic()
    with pytest.raises(kind) as raised:
        results(url).open()
    assert took_s(begun) < within(SOON_S)
    for secret in (PASSWORD, "wr0ng"):
        assert secret not in f"{raised.value!r} {raised.value}"
    return str(raised.value)


def test_what_cannot_be_opened_says_why(postgres_server, postgres_url):
    name = postgres_url.rpartition("/")[2]
    wrong = postgres_server.url(name, password="wr0ng")
    assert "Look at the user and the password" in refused(StoreLocked, wrong)
    assert "createdb" in refused(StoreLocked, postgres_server.url("nowhere"))
    refused(StoreUnreachable, postgres_server.url(name, port=9))
    postgres_server.execute("CREATE ROLE guest LOGIN PASSWORD 'wr0ng'")
    guest = postgres_server.url(name, user="guest", password="wr0ng")
    try:
        told = refused(StoreLocked, guest)
        assert "permission denied for schema public" in told
        assert "Let the user create tables" in told
        # Whoever may write the tables need not be let make any.
        results(postgres_url).open()
        query(postgres_url, "GRANT SELECT, INSERT, UPDATE, DELETE ON paths, paths_snapshots TO guest")
        table = results(guest)
        table.renew([b"1,2.0\n"], [], snapshot())
        table.close()
        assert rows(postgres_url) == [(1, 2.0, 1)]
        query(postgres_url, "REVOKE ALL ON paths, paths_snapshots FROM guest")
    finally:
        postgres_server.execute("DROP OWNED BY guest", name)
        postgres_server.execute("DROP ROLE guest")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://ann:wr0ng@host/loops", "names no table"),
        ("postgresql://ann:wr0ng@host/", "names no table"),
        ("postgresql://ann:wr0ng@host//paths", "names no table"),
        ("postgresql://ann:wr0ng@host/loops/paths/more", "names no database"),
        ("mysql://ann:wr0ng@host/loops/paths", "begins with mysql://, but must with postgresql://"),
        ("postgresql://ann:wr0ng@host:port/loops/paths", "cannot be read: it has a port that is no number"),
        ("postgresql://ann:wr0ng@host:99999/loops/paths", "the port 99999, and ports are from 1 to 65535"),
        *(
            (f"postgresql://ann:wr0ng{mark}wr0ng@host/loops/paths", "a number sign that stands for itself")
            for mark in "@/?#"
        ),
        ("postgresql://ann:wr0ng@[host/loops/paths", "cannot be read"),
        ("postgresql://ann:wr0ng%zz@host/loops/paths", "percent sign"),
        (f"postgresql://ann:wr0ng@host/loops/{'x' * 54}", "may have 53 bytes"),
    ],
)
def test_addresses_that_are_none_say_why_and_nothing_secret(url, said):
    with pytest.raises(InvalidArgument, match=said) as raised:
        ResultsAddress.of(url)
    assert "wr0ng" not in f"{raised.value!r} {raised.value}"


def test_an_address_has_what_libpq_has_beside_it():
    address = ResultsAddress.of("postgresql://ann:p%40ss@host:5433/loops/my%20paths?sslmode=require")
    assert (address.database, address.table) == (
        "postgresql://ann:p%40ss@host:5433/loops?sslmode=require",
        "my paths",
    )
    assert address.label == "postgresql://ann@host:5433/loops/my%20paths"


def test_a_thousand_changes_of_a_million_rows_are_there_in_a_tenth_of_a_second(postgres_url, kept):
    """The limit is generous, for machines with much to do at once; what is usual is in docs/operations.md."""
    import pyarrow as pa

    from tornado.query.csv_text import csv_lines  # as they are written

    count, times_s = 1_000_000, []
    ids, values = np.arange(count), np.random.default_rng(1).random(count)
    kept.renew(csv_lines(pa.table({"vertex": ids, "value": values})), [], snapshot(1, count))
    for version in range(2, 12):
        places = np.random.default_rng(version).choice(count, 1000, replace=False)
        values[places] += 1.0
        begun_s = time.monotonic()
        kept.renew(
            csv_lines(pa.table({"vertex": ids[places], "value": values[places]})),
            [],
            snapshot(version, count),
        )
        times_s.append(time.monotonic() - begun_s)
    print("renewed in", sorted(round(time_s, 4) for time_s in times_s), "s")
    assert query(postgres_url, "SELECT count(*), sum(value) FROM paths") == [
        (count, pytest.approx(values.sum()))
    ]
    assert np.median(times_s) < within(0.1)


def name_of(size_bytes):
    """A name that does not compress: the server would have room for more of others."""
    letters = string.ascii_letters + string.digits
    return "".join(random.Random(7).choices(letters, k=size_bytes))


def test_the_longest_name_that_has_a_row_has_room_in_the_index_and_a_longer_one_is_no_lost_connection(
    postgres_url,
):
    table = results(postgres_url, vertex_type="string")
    longest = name_of(postgres_results._LONGEST_VERTEX_BYTES)
    assert has_row(longest)
    table.renew([f"{longest},1.0\n".encode()], [], snapshot())
    assert rows(postgres_url) == [(longest, 1.0, 1)]
    with pytest.raises(StoreError, match="exceeds btree") as raised:
        table.renew([f"{name_of(3000)},1.0\n".encode()], [], snapshot())
    assert not isinstance(raised.value, StoreUnreachable)
    table.close()


@pytest.fixture
def database(postgres_server, request):
    """The address of a database of an encoding."""
    postgres_server.execute(
        f"CREATE DATABASE encoded ENCODING '{request.param}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    yield postgres_server.url("encoded")
    postgres_server.execute("DROP DATABASE encoded WITH (FORCE)")


@pytest.mark.parametrize("database", ["LATIN1"], indirect=True)
@pytest.mark.parametrize("types", [("string", "float64"), ("int64", "string")])
def test_texts_are_refused_by_a_database_that_lacks_characters_before_there_are_any(database, types):
    with pytest.raises(InvalidArgument, match="the encoding of its database is LATIN1") as refused:
        results(database, *types).open()
    assert "createdb -E UTF8" in refused.value.hint
    assert PASSWORD not in str(refused.value)
    assert query(database, "SELECT count(*) FROM pg_class WHERE relname LIKE 'paths%'") == [(0,)]


@pytest.mark.parametrize("database", ["LATIN1"], indirect=True)
def test_a_source_whose_name_a_database_lacks_characters_for_is_told_with_what_to_do(database):
    table = results(database)
    table.renew([b"1,0.5\n"], [], snapshot())
    with pytest.raises(StoreError, match="has no equivalent in encoding") as refused:
        table.renew([b"2,0.5\n"], [], replace(snapshot(2), offsets='{"東.csv": 7}'))
    assert "createdb -E UTF8" in refused.value.hint
    assert rows(database) == [(1, 0.5, 1)]
    table.close()


@pytest.mark.parametrize("database", ["SQL_ASCII", "UTF8"], indirect=True)
def test_a_database_of_any_bytes_takes_every_text(database):
    table = results(database, "string", "string")
    table.renew(["東,ß\n".encode()], [], snapshot())
    assert query(database, "SELECT convert_to(vertex, 'UTF8') = '\\xe69db1' FROM paths") == [(True,)]
    table.close()


def test_a_schema_is_chosen_as_libpq_has_it(postgres_url):
    query(postgres_url, "CREATE SCHEMA analytics")
    address = ResultsAddress.of(f"{postgres_url}/paths?options=-csearch_path%3Danalytics")
    table = PostgresResults(address, vertex_type="int64", value_type="int64")
    table.renew([b"1,9223372036854775807\n"], [], snapshot())
    table.close()
    assert query(postgres_url, "SELECT vertex, value FROM analytics.paths") == [(1, 2**63 - 1)]

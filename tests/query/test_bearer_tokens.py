"""What a line of a file of tokens may say, and that nothing of a token is ever in what is said about it."""

import hashlib
import hmac
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado.errors import InvalidArgument
from tornado.query.bearer_tokens import TokenTable, digest_of, parse_tokens
from tornado.query.token_file import TokenFile

HASHED = f"sha256:{hashlib.sha256(b'hidden').hexdigest()}"


def test_a_line_has_a_right_a_token_and_the_streams_and_limits_it_is_for():
    lines = f"""
    # people
    read  t#1  roads lanes   # the board
    write {HASHED} queries=4 edges/s=10000 bytes/s=1000000 name=loader
    """
    board, loader = parse_tokens(lines, where="tokens")
    assert (board.writes, board.streams, board.digest) == (False, {"roads", "lanes"}, digest_of("t#1"))
    assert (loader.writes, loader.streams, loader.digest) == (True, None, digest_of("hidden"))
    assert (loader.limits.queries, loader.limits.records_per_s, loader.limits.bytes_per_s) == (4, 1e4, 1e6)
    assert (loader.name, board.name) == ("loader", f"sha256:{digest_of('t#1').hex()[:12]}")


def test_how_long_a_look_takes_says_nothing_of_the_tokens_there_are(monkeypatch):
    compare, compared = hmac.compare_digest, []
    monkeypatch.setattr(
        hmac, "compare_digest", lambda *digests: compared.append(digests) or compare(*digests)
    )
    wanted, tokens = digest_of("mine"), parse_tokens("read mine", where="tokens")
    tables = [TokenTable(tokens), TokenTable(tokens)]
    assert all(table.find(wanted) == tokens[0] for table in tables)
    assert compared == [(wanted, wanted)] * 2
    assert tables[0]._place(wanted) != tables[1]._place(wanted)  # a key of each, which nobody knows


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("s3cr3t", "neither read nor write"),
        ("s3cr3t read roads", "neither read nor write"),
        ("READ s3cr3t", "neither read nor write"),
        ("write", "no token"),
        ("read   # s3cr3t", "no token"),
        ("read sha256:s3cr3t", "64 hexadecimal digits"),
        (f"read sha256:{'g' * 64}", "64 hexadecimal digits"),
        ("read s3cr3t-ü", "header cannot carry"),
        (f"read {'s3cr3t' * 1000}", "header cannot carry"),
        ("read s3cr3t speed=3", "none of: name, queries"),
        ("read s3cr3t queries=0", "whole number from 1"),
        ("read s3cr3t queries=1.5", "whole number from 1"),
        ("read s3cr3t edges/s=inf", "whole number from 1"),
        ("read s3cr3t bytes/s=-1", "whole number from 1"),
        (f"read s3cr3t bytes/s={'9' * 5000}", "whole number from 1"),
        ("read s3cr3t queries=1 queries=2", "twice"),
        ("read s3cr3t name=a/b", "letters, digits"),
        ("write good", "same token"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_by_its_number_and_never_shown(tmp_path, line, said):
    path = tmp_path / "tokens"
    path.write_text(f"# who\nread good\n\n{line}\n")
    with pytest.raises(InvalidArgument, match=said) as refused:
        TokenFile.of(path)
    assert ("line 4" in str(refused.value)) or ("and 4 of" in str(refused.value))
    assert str(path) in str(refused.value)
    assert "s3cr3t" not in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("content", ["", "# nobody\n", "\n\n"])
def test_a_file_without_a_token_is_refused(tmp_path, content):
    path = tmp_path / "tokens"
    path.write_text(content)
    with pytest.raises(InvalidArgument, match="no token, so nobody"):
        TokenFile.of(path)


def test_what_cannot_be_read_is_named_with_the_option(tmp_path):
    for path, said in ((tmp_path / "none", "No such file"), (tmp_path, "directory")):
        with pytest.raises(InvalidArgument, match=rf"--tokens .*{said}"):
            TokenFile.of(path)
    binary = tmp_path / "binary"
    binary.write_bytes(b"read \xff\xfe\n")
    with pytest.raises(InvalidArgument, match="UTF-8"):
        TokenFile.of(binary)


def test_a_named_pipe_is_refused_and_what_a_shell_substitutes_is_read(tmp_path):
    named = tmp_path / "named"
    os.mkfifo(named)
    (tmp_path / "link").symlink_to(named)
    for path in (named, tmp_path / "link"):
        with pytest.raises(InvalidArgument, match=rf"--tokens {path} is a named pipe"):
            TokenFile.of(path)
    reads, writes = os.pipe()
    os.write(writes, b"read s3cr3t")
    os.close(writes)
    assert TokenFile.of(f"/dev/fd/{reads}").table.find(digest_of("s3cr3t")) is not None
    os.close(reads)


def test_a_mark_of_the_order_of_bytes_is_no_part_of_the_first_line(tmp_path):
    path = tmp_path / "tokens"
    path.write_text("read s3cr3t", encoding="utf-8-sig")
    assert TokenFile.of(path).table.find(digest_of("s3cr3t")) is not None


def test_a_variable_may_have_the_lines_themselves(tmp_path):
    path = tmp_path / "tokens"
    path.write_text("read inside")
    assert TokenFile.of("write given roads").table.find(digest_of("given")).streams == {"roads"}
    assert TokenFile.of(str(path)).table.find(digest_of("inside")) is not None


@pytest.mark.parametrize(
    "given",
    ["# people\nwrite s3cr3t", "\nread s3cr3t\n", "wirte s3cr3t\n", "s3cr3t", "Write s3cr3t", "s3cr3t" * 100],
)
def test_what_stands_in_place_of_a_file_is_read_or_refused_and_never_shown(given):
    if "read" in given or "write" in given:
        assert TokenFile.of(given).table.find(digest_of("s3cr3t")) is not None
        return
    with pytest.raises(InvalidArgument, match=r"--tokens cannot be read|line 1 of TORNADO_TOKENS") as refused:
        TokenFile.of(given)
    assert "s3cr3t" not in str(refused.value)


def test_a_token_that_was_issued_holds_as_long_as_the_process(tmp_path):
    path = tmp_path / "tokens"
    path.write_text("read first")
    tokens = TokenFile.of(path)
    own = digest_of(tokens.issue(name="pipeline", streams=frozenset({"roads"})))
    path.write_text("read second")
    assert (tokens.table.find(own).name, tokens.table.find(own).writes) == ("pipeline", True)
    assert tokens.table.find(digest_of("second")) is not None
    assert tokens.table.find(digest_of("first")) is None


@given(st.text())
def test_whatever_is_in_a_file_is_read_or_refused(text):
    try:
        tokens = parse_tokens(text, where="tokens")
    except InvalidArgument:
        return
    table = TokenTable(tokens)
    assert [table.find(token.digest) for token in tokens] == tokens
    assert table.find(digest_of("another")) is None

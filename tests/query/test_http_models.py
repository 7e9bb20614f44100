"""Bodies of requests: how many entries one may have, since each costs while nothing else of the process runs."""

import json
from pathlib import Path

import pytest

from tornado.query.http_models import MOST_ENTRIES, QueryBody, parse_body, parse_query
from tornado.query.http_routes_batches import MOST_PARTS, CommitBody
from tornado.query.problems import ProblemError
from tornado.query.request import MOST_VERTICES


def question(entries, **fields):
    """A question with so many entries in all, written by itself: `json` puts a space behind each colon."""
    own = {"loop": "roads", **fields, "parameters": {}}
    parameters = {f"{number}": number for number in range(entries - len(own))}
    return json.dumps(own | {"parameters": parameters}).encode()


def test_a_question_has_as_many_entries_as_are_taken_at_once_and_no_more():
    assert len(parse_query(question(MOST_ENTRIES)).parameters) == MOST_ENTRIES - 2
    with pytest.raises(
        ProblemError, match=f"the question has more than the {MOST_ENTRIES} entries of objects"
    ):
        parse_query(question(MOST_ENTRIES + 1))


def test_entries_are_counted_however_they_are_written_and_nested():
    nested = b'{"loop" : "roads", "parameters" : {"a" : [' + b'{"b"\n:\t1},' * MOST_ENTRIES + b"1]}}"
    with pytest.raises(ProblemError, match="more than the"):
        parse_query(nested)
    with pytest.raises(ProblemError, match="more than the"):
        parse_body(CommitBody, nested, "the commit of a batch", "{}")


def test_a_colon_in_a_string_is_no_entry():
    names = [f'urn:town:"{number}":\\' for number in range(MOST_ENTRIES)]
    assert parse_query(question(3, vertices=names)).vertices == tuple(names)
    for body in (b'{"loop": "' + b":" * (MOST_ENTRIES + 1), b'{"loop": "' + b'\\":' * (MOST_ENTRIES + 1)):
        with pytest.raises(ProblemError, match="no JSON"):
            parse_query(body)


def test_a_question_names_as_many_vertices_as_are_taken_at_once_and_a_longer_list_is_not_looked_through():
    assert len(parse_query(question(2, vertices=list(range(MOST_VERTICES)))).vertices) == MOST_VERTICES
    body = question(2, vertices=[*range(MOST_VERTICES + 1), None])  # the last one is not looked at
    with pytest.raises(ProblemError, match=f"vertices has more than the {MOST_VERTICES} entries"):
        parse_query(body)


def test_a_batch_may_have_as_many_parts_as_it_says():
    parts = [{"part": f"0-{number}", "chunks": 1} for number in range(MOST_PARTS)]
    body = json.dumps({"parts": parts}).encode()
    assert len(parse_body(CommitBody, body, "the commit of a batch", "{}").parts) == MOST_PARTS


def test_the_error_that_the_document_shows_names_the_fields_of_a_question():
    shown = (Path(__file__).resolve().parents[2] / "docs" / "http.md").read_text()
    assert f'valid are: {", ".join(QueryBody.model_fields)}"' in " ".join(shown.split())

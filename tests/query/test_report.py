"""The report: the page in one file, from which nothing is asked."""

import re

import pytest

from tests.query.conftest import start_roads
from tornado.command import main


@pytest.fixture
def client(fake, open_service, serve):
    start_roads(fake)
    made = serve(open_service(fake))
    made.post("/v1/queries?wait_s=20", json={"loop": "roads", "vertices": [3]})
    return made


def test_the_command_writes_one_file_with_everything_in_it(client, tmp_path, capsys):
    target = tmp_path / "report.html"
    assert main(["report", "--url", client.server.url, "--output", str(target)]) == 0
    assert f"wrote {target}" in capsys.readouterr().err
    document = target.read_text(encoding="utf-8")
    # No address but those of data inside, and of names of XML that are never asked for.
    addresses = set(re.findall(r"""(?:src|href)=["'](?!#)([^"'$]+)""", document.partition("<body>")[2]))
    assert addresses == set()
    assert "default-src 'none'" in document
    assert f'"url":"{client.server.url}"' in document


def test_a_file_that_cannot_be_written_is_refused(client, tmp_path, capsys):
    target = tmp_path / "nowhere" / "report.html"
    assert main(["report", "--url", client.server.url, "--output", str(target)]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_name_cannot_end_the_element_that_it_is_in(fake, open_service, serve):
    start_roads(fake, name="</script><script>alert(1)</script>")
    client = serve(open_service(fake))
    document = client.get("/v1/observations/report").text
    assert "<script>alert" not in document
    assert "u003cscript>alert" in document

"""The files of the page: headers, sizes, versions; what the browser makes of them is in `test_page_in_browser.py`."""

import gzip
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.query.conftest import start_roads
from tornado.errors import InternalError
from tornado.query.http_routes_page import page_files
from tornado.query.page_bundle import bundle

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "tornado" / "query" / "static" / "page"
# Loaded when a graph is drawn, and not before.
OF_GRAPHS = {"vendor/sigma.js", "vendor/graphology.js"}
MOST_COMPRESSED_BYTES = 60_000


@pytest.fixture
def client(fake, open_service, serve):
    start_roads(fake)
    return serve(open_service(fake))


def test_the_page_is_at_the_root_with_a_policy_that_lets_it_ask_nobody_else(client):
    answer = client.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert {policy[kind] for kind in ("script-src", "style-src", "connect-src")} == {"'self'"}
    assert {policy[kind] for kind in ("frame-ancestors", "base-uri", "form-action")} == {"'none'"}
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_everything_that_the_page_names_is_there_and_of_its_kind(client):
    document = client.get("/").text
    named = re.findall(r'(?:href|src)="(page/[^"]+)"', document)
    assert len(named) > 5
    for path in named:
        answer = client.get(f"/{path}")
        assert answer.status_code == 200, path
        assert "immutable" in answer.headers["cache-control"]
        kind = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}[path.rpartition(".")[2]]
        assert answer.headers["content-type"].startswith(kind)


def test_modules_import_only_files_that_are_there():
    for path in [*PAGE.glob("*.js"), *PAGE.glob("vendor/*.js")]:
        for named in re.findall(r"""from\s*["']([^"']+)["']""", path.read_text()):
            assert (path.parent / named).is_file(), (path.name, named)


def test_modules_are_one_and_what_is_not_understood_is_refused(client):
    document = client.get(f"/page/{page_files().build}/app.js").text
    assert set(re.findall(r'^import .* from "(.*)";$', document, re.MULTILINE)) == {
        "./vendor/preact.js",
        "./vendor/hooks.js",
        "./vendor/htm.js",
    }
    assert client.get(f"/page/{page_files().build}/view_now.js").status_code == 404
    for text in ('import "./b.js";\n', "export default 1;\n", "export {a};\n", 'export * from "./b.js";\n'):
        with pytest.raises(InternalError, match="not known"):
            bundle({"a.js": text}, "a.js")
    with pytest.raises(InternalError, match=r"a\.js → b\.js → a\.js"):
        bundle({"a.js": 'import {b} from "./b.js";\n', "b.js": 'import {a} from "./a.js";\n'}, "a.js")


def test_files_of_another_version_are_not_kept_under_its_name(client):
    answer = client.get("/page/0000000000000000/app.js")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert client.get(f"/page/{page_files().build}/nobody.js").json()["code"] == "not-found"
    assert client.get(f"/page/{page_files().build}/../../docs.html").status_code == 404


def test_who_has_the_newest_page_is_not_sent_it_again(client):
    tag = client.get("/").headers["etag"]
    again = client.get("/", headers={"if-none-match": tag})
    assert again.status_code == 304
    assert again.content == b""
    assert "content-security-policy" in again.headers


def test_the_page_is_small_where_the_browser_takes_it_compressed(client):
    sizes = {}
    for path, content in page_files().plain.items():
        with client.stream(
            "GET", f"/page/{page_files().build}/{path}", headers={"accept-encoding": "gzip"}
        ) as answer:
            sent = b"".join(answer.iter_raw())
        assert answer.headers["content-encoding"] == "gzip"
        assert gzip.decompress(sent) == content
        sizes[path] = len(sent)
    without = sum(
        size for path, size in sizes.items() if path not in OF_GRAPHS and path.endswith(("js", "css", "html"))
    )
    assert 10_000 < without < MOST_COMPRESSED_BYTES


def test_what_goes_into_a_wheel_has_the_whole_page():
    globs = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"][
        "tornado"
    ]
    packed = {path for glob in globs for path in (ROOT / "tornado").glob(glob)}
    files = {path for path in PAGE.rglob("*") if path.is_file()}
    assert {PAGE / "app.js", PAGE / "vendor" / "LICENSES.txt"} <= files <= packed


@pytest.mark.soak
def test_the_wheel_has_the_whole_page(tmp_path):
    # Of a copy: a build leaves folders behind.
    source = tmp_path / "source"
    source.mkdir()
    for name in ("tornado", "apps"):
        shutil.copytree(ROOT / name, source / name)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", tmp_path, source]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("*.whl")
    expected = {str(path.relative_to(ROOT)) for path in PAGE.rglob("*") if path.is_file()}
    assert expected <= set(zipfile.ZipFile(wheel).namelist())

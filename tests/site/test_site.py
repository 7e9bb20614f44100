"""The site has every document and every analysis; its reference of HTTP says what a service says; it builds without a warning."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"


def part_of_the_site(name):
    spec = importlib.util.spec_from_file_location(name, SITE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def http_reference():
    return part_of_the_site("http_reference")


def test_every_document_is_in_the_menu():
    menu = set(re.findall(r"^/?([\w/.-]+)$", (SITE / "index.md").read_text(), re.MULTILINE))
    documents = {path.relative_to(ROOT).with_suffix("").as_posix() for path in ROOT.glob("docs/*.md")}
    assert documents <= menu
    assert {"README", "ARCHITECTURE", "CHANGELOG", "analyses"} <= menu


def test_every_notebook_is_a_tutorial_with_all_of_its_cells(tmp_path):
    menu = set(re.findall(r"^tutorial-(\w+)$", (SITE / "index.md").read_text(), re.MULTILINE))
    notebooks = sorted(ROOT.glob("docs/notebooks/*.ipynb"))
    assert {path.stem for path in notebooks} == menu
    part_of_the_site("tutorials").write_tutorials(tmp_path)
    for notebook in notebooks:
        page = (tmp_path / f"tutorial-{notebook.stem}.md").read_text()
        assert page.startswith("# ")
        cells = json.loads(notebook.read_text())["cells"]
        assert page.count("```python\n") == sum(cell["cell_type"] == "code" for cell in cells)
        assert all("".join(cell["source"]) in page for cell in cells if cell["cell_type"] == "code")


def test_every_app_is_in_the_table_of_analyses():
    apps = {path.stem for path in ROOT.glob("apps/*.py")} - {"__init__"}
    named = set(re.findall(r"`([a-z_]+)(?: --rounds N)?`", (SITE / "analyses.md").read_text()))
    assert apps <= named, apps - named


def test_a_route_becomes_a_section_with_its_parameters_body_and_answers(http_reference):
    route = {
        "tags": ["loops"],
        "description": "Look at\none loop.",
        "parameters": [
            {
                "name": "ids",
                "in": "query",
                "description": "a | b",
                "schema": {"anyOf": [{"enum": ["x"]}, {"type": "null"}]},
            },
            {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}},
        ],
        "requestBody": {"content": {"application/json": {}}},
        "responses": {"404": {"description": "None of that name."}, "200": {"description": "It."}},
    }
    text = http_reference.reference_of({"paths": {"/v1/loops/{name}": {"post": route}}})
    assert "## Loops\n" in text
    assert "### `POST /v1/loops/{name}`\n" in text
    assert "| `ids` | query | `x` | a \\| b |" in text
    assert "| `name` | path | string | **needed.**  |" in text
    assert "Body: `application/json`" in text
    assert text.index("| 200 | It. |") < text.index("| 404 | None of that name. |")


@pytest.mark.soak
def test_the_site_builds_without_a_warning_and_asks_nobody_else_for_anything(tmp_path):
    pytest.importorskip("sphinx")
    command = [
        *[
            sys.executable,
            "-m",
            "sphinx",
            "--fail-on-warning",
            "--keep-going",
            "--quiet",
            "--builder",
            "html",
        ],
        *["--conf-dir", SITE, "--doctree-dir", tmp_path / "doctrees", ROOT, tmp_path / "site"],
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for page in (tmp_path / "site" / "docs").rglob("*.html"):
        loaded = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(https?:[^\"]+)\"", page.read_text())
        assert not loaded, f"{page.name} loads {loaded}"

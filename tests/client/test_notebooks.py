"""The notebooks of the documents, run in Jupyter's kernel in an environment that has the client's wheel and no tornado-loops.

The environment is made once a machine, under the cache folder, by the packages it needs; the wheel is built and put there each time.
Where no registry can be reached and none was made before, these tests are skipped, and say so.
"""

import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

import tornado
from apps.pagerank import PageRank
from apps.sssp import ShortestPaths
from tornado.config import cache_dir

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "docs" / "notebooks"
NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
PACKAGES = ["httpx>=0.28", "ipykernel>=7", "nbclient>=0.10", "pandas>=3.1", "pyarrow>=26.0", "tqdm>=4.67"]
UNREACHABLE = re.compile(r"connection|resolv|timed out|network|ssl|proxy", re.IGNORECASE)


def run(*command, **changes):
    environment = {
        name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "TORNADO"))
    }
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        stdin=subprocess.DEVNULL,
        env=environment | changes,
        # Not the checkout, whose `tornado` would be found first.
        cwd=tempfile.gettempdir(),
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The client's own wheel, built from the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    built = run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT / "client")
    if built.returncode and UNREACHABLE.search(built.stderr):
        pytest.skip(f"no registry can be reached for what builds a wheel: {built.stderr[-300:]}")
    assert built.returncode == 0, built.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def jupyter(wheel):
    """The Python of an environment with Jupyter's kernel and the client."""
    wanted = hashlib.sha256("\n".join([sys.version, sys.prefix, *PACKAGES]).encode()).hexdigest()[:16]
    folder = cache_dir() / f"notebooks-{wanted}"
    folder.mkdir(parents=True, exist_ok=True)
    python, complete = folder / "made" / "bin" / "python", folder / "complete"
    with (folder / "lock").open("w") as lock:
        # Another run of the tests may be making it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            made = run(sys.executable, "-m", "venv", "--clear", folder / "made")
            assert made.returncode == 0, made.stderr
            installed = run(python, "-m", "pip", "install", "-q", *PACKAGES)
            if installed.returncode and UNREACHABLE.search(installed.stderr):
                pytest.skip(f"no registry can be reached for Jupyter: {installed.stderr[-300:]}")
            assert installed.returncode == 0, installed.stderr
            complete.touch()
        put = run(python, "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", wheel)
        assert put.returncode == 0, put.stderr
        yield python


@pytest.fixture(scope="module")
def service():
    with tornado.open("memory:", workers=2) as session:
        session.start(ShortestPaths(source=0), "sssp")
        session.start(PageRank(), "pagerank")
        points = session.stream("points", schema=tornado.Points(features=2))
        points.start(tornado.LinearModel(loss="logistic", l2=1e-2), "logistic_regression")
        yield session.serve().url


def cells_of(path):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_in_jupyter_beside_a_service(name, jupyter, service, tmp_path):
    target = tmp_path / "run.ipynb"
    runner = Path(__file__).with_name("notebook_runner.py")
    ran = run(jupyter, runner, NOTEBOOKS / f"{name}.ipynb", target, TORNADO_URL=service)
    assert ran.returncode == 0, ran.stderr[-3000:]
    outputs = [output for cell in cells_of(target) for output in cell["outputs"]]
    shown = "".join("".join(output["data"].get("text/html", "")) for output in outputs if "data" in output)
    assert "<table" in shown
    # A bar may be there; warnings are for whoever wrote the notebook.
    said = "".join("".join(output["text"]) for output in outputs if output.get("name") == "stderr")
    assert "Warning" not in said
    if name == "roads":
        assert len([line for line in cells_of(target)[0]["source"] if line.strip()]) == 5
        first = "".join(cells_of(target)[0]["outputs"][-1]["data"]["text/html"])
        assert "exact for http: 3" in first
        assert "<td>2</td><td>5</td>" in first


@pytest.mark.soak
def test_in_all_of_jupyter_made_from_nothing_five_lines_come_to_an_exact_answer(wheel, tmp_path):
    """The first cell installs the client itself: the wheel from a folder, and what it needs from the registry."""
    python = tmp_path / "made" / "bin" / "python"
    for command in (
        (sys.executable, "-m", "venv", tmp_path / "made"),
        (python, "-m", "pip", "install", "-q", "jupyter"),
    ):
        made = run(*command)
        if made.returncode and UNREACHABLE.search(made.stderr):
            pytest.skip(f"no registry can be reached for Jupyter: {made.stderr[-300:]}")
        assert made.returncode == 0, made.stderr
    assert run(python, "-c", "import tornado_loops_client").returncode == 1
    notebook = json.loads((NOTEBOOKS / "roads.ipynb").read_text())
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"][:1]
    (tmp_path / "five.ipynb").write_text(json.dumps(notebook))
    with tornado.open("memory:", workers=2) as session:
        session.start(ShortestPaths(source=0), "sssp")
        url = session.serve().url
        ran = run(
            *(python.with_name("jupyter"), "nbconvert", "--to", "notebook", "--execute"),
            *("--output", "done.ipynb", tmp_path / "five.ipynb"),
            TORNADO_URL=url,
            PIP_FIND_LINKS=str(wheel.parent),
            PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        )
    assert ran.returncode == 0, ran.stderr[-3000:]
    [cell] = cells_of(tmp_path / "done.ipynb")
    assert len([line for line in cell["source"] if line.strip()]) == 5
    shown = "".join(cell["outputs"][-1]["data"]["text/html"])
    assert "exact for http: 3" in shown
    assert "<td>2</td><td>5</td>" in shown
    framework = run(
        python, "-c", "import tornado.ioloop, tornado_loops_client as client; print(client.__file__)"
    )
    assert framework.stdout.startswith(str(tmp_path)), framework.stderr


def test_the_environment_of_notebooks_has_the_web_framework_and_the_client_beside_it(jupyter):
    code = "import tornado.ioloop, tornado_loops_client as client; print(client.__file__)"
    ran = run(jupyter, "-c", code)
    assert ran.returncode == 0, ran.stderr
    assert not Path(ran.stdout.strip()).is_relative_to(ROOT)


def test_notebooks_are_kept_without_outputs():
    assert NAMES == ["learning", "ranks", "roads"]
    for name in NAMES:
        for cell in cells_of(NOTEBOOKS / f"{name}.ipynb"):
            assert (cell["outputs"], cell["execution_count"], cell["metadata"]) == ([], None, {})


def test_the_wheel_has_the_client_alone_under_the_version_of_the_package(wheel):
    assert wheel.name == f"tornado_loops_client-{tornado.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    folders = {name.split("/")[0] for name in names}
    assert folders == {"tornado_loops_client", f"tornado_loops_client-{tornado.__version__}.dist-info"}
    own = {path.name for path in (ROOT / "tornado" / "client").glob("*.py")}
    assert {name.split("/")[1] for name in names if name.startswith("tornado_loops_client/")} == {
        *own,
        "py.typed",
    }

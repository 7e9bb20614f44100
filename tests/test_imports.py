"""Imports go one way, and each outside dependency has one doorway: what ARCHITECTURE.md says, read from the source."""

import ast
import fnmatch
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tornado

ROOT = Path(__file__).resolve().parents[1]

# A room imports only rooms with a smaller number: so rooms of one number never import each other.
LAYERS = {
    "errors": 0,
    "process_memory": 0,
    "symbol_names": 0,
    "arena": 1,
    "client": 0,
    "config": 1,
    "certificate": 1,
    "clock": 1,
    "columns": 1,
    "distinct": 1,
    "checking": 1,
    "inner_functions": 1,
    "value_types": 1,
    "fault_schedule": 1,
    "shrinking": 2,
    "records": 2,
    "kernel_modules": 2,
    "timely": 2,
    "protocol": 2,
    "storage": 2,
    "graph": 3,
    "points": 3,
    "differential": 3,
    "engine": 3,
    "ingest": 3,
    "loops": 4,
    "kinds": 5,
    "learning": 6,
    "loop_views": 5,
    "testing": 4,
    "intake": 6,
    "query": 7,
    "simulation": 6,
    "recovery_simulation": 7,
    "command": 8,
    "networkx": 8,
    "__main__": 9,
}
# The facade hands out names of other rooms, when they are asked for.
FACADE = "__init__"
# Tools of tests, of the demo that checks itself, and of simulations that judge.
USERS_OF_TESTING = {"command", "simulation", "recovery_simulation"}

# Which files may import what is not ours and not in the standard library. What is not named here may be imported anywhere.
DOORWAYS = {
    "lmdb": ["tornado/storage/lmdb.py"],
    "fastapi": ["tornado/query/http*.py"],
    "starlette": ["tornado/query/http*.py"],
    "uvicorn": ["tornado/query/http*.py"],
    "h11": ["tornado/query/http*.py"],
    "prometheus_client": ["tornado/query/metrics.py"],
    "opentelemetry": ["tornado/query/tracing.py"],
    "httpx": ["tornado/client/transport.py"],
    "click": ["tornado/__main__.py", "tornado/command/*.py"],
    "rich": ["tornado/__main__.py", "tornado/command/*.py"],
    "kafka": ["tornado/ingest/kafka/library.py"],
    "psycopg2": ["tornado/storage/postgres*.py"],
    "zmq": ["tornado/engine/*.py"],
    "msgpack": ["tornado/engine/wire.py"],
    "pyspark": ["tornado/ingest/spark/*.py", "tornado/engine/spark*.py", "apps/pipelines/*.py"],
    "tqdm": ["tornado/client/progress.py"],
    "networkx": ["tornado/testing/*.py", "tornado/networkx/*.py"],
    "scipy": ["tornado/testing/*.py"],
}
# Circles of files inside a room. What is named here is still to be taken apart, so this list only gets shorter.
CIRCLES: list[set[str]] = []
# Asked for by callers who have it: results convert to what pandas users expect; Kafka, Spark and what a demo compares with are extras.
OPTIONAL = {
    "kafka",
    "matplotlib",
    "networkx",
    "opentelemetry",
    "pandas",
    "polars",
    "pyspark",
    "sklearn",
    "tqdm",
}


class Import(NamedTuple):
    """One imported name: the module it is asked of, the name (None for the module itself), and the line."""

    module: str
    name: str | None
    line: int
    relative: bool
    for_types_only: bool


def imports_of(source, package):
    """Return all imports of a module that lies in `package`, those inside functions too."""
    found = []

    def visit(node, for_types_only):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for child in node.body:
                visit(child, True)
            for child in node.orelse:
                visit(child, for_types_only)
            return
        if isinstance(node, ast.Import):
            found.extend(Import(alias.name, None, node.lineno, False, for_types_only) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            relative = bool(node.level)
            found.extend(
                Import(module, alias.name, node.lineno, relative, for_types_only) for alias in node.names
            )
        for child in ast.iter_child_nodes(node):
            visit(child, for_types_only)

    visit(ast.parse(source), False)
    return found


def room_of(parts):
    """Return the room of ``("tornado", "storage", "open")``, which is ``"storage"``."""
    return parts[1] if len(parts) > 1 else FACADE


def broken_rules(path, source):
    """Return what a file (its path from the root of the checkout) breaks, a sentence each."""
    parts = Path(path).with_suffix("").parts
    package = ".".join(parts[:-1])
    broken = []
    for found in imports_of(source, package):
        top = found.module.split(".")[0]
        if top in DOORWAYS and not any(fnmatch.fnmatch(path, door) for door in DOORWAYS[top]):
            broken.append(f"{path}:{found.line} imports {top}, which only {DOORWAYS[top] or 'tests'} may")
        if parts[0] == "tornado":
            if top == "apps":
                broken.append(f"{path}:{found.line} imports apps, which are above")
            elif top == "tornado":
                broken.extend(f"{path}:{found.line} {rule}" for rule in _broken_inside(parts, found))
        elif parts[0] == "apps" and top == "tornado":
            broken.extend(f"{path}:{found.line} {rule}" for rule in _broken_by_app(found))
    return broken


def _broken_inside(parts, found):
    if not found.relative:
        yield f"imports {found.module} by its full name; inside the package imports are relative"
    room = room_of(parts)
    # `from .. import errors` names a room, `from .. import __version__` a fact of the facade.
    imported = found.module.split(".")
    if len(imported) == 1 and found.name in LAYERS:
        imported = [*imported, found.name]
    other = room_of(imported)
    if room not in LAYERS and room != FACADE:
        yield f"lies in the room {room}, which has no layer"
    elif other == FACADE:
        if found.name != "__version__":
            yield f"imports {found.name} from the facade; import it from its room"
    elif room not in (FACADE, other):
        if other not in LAYERS:
            yield f"imports the room {other}, which has no layer"
        elif LAYERS[other] >= LAYERS[room]:
            yield f"({room}) imports {other}, which is not below it"
        elif other == "testing" and room not in USERS_OF_TESTING:
            yield f"({room}) imports testing, which is for tests"


def _broken_by_app(found):
    if found.module != "tornado":
        yield f"imports {found.module}; an app imports only the names of tornado itself"
    elif found.name is not None and found.name not in tornado.__all__:
        yield f"imports {found.name}, which is no public name of tornado ({', '.join(tornado.__all__)})"


def imported_files(path, source, tree):
    """Return the files of `tree` that a file imports from its own room, those that only a type checker reads too."""
    parts = Path(path).with_suffix("").parts
    found = set()
    for module, name, *_ in imports_of(source, ".".join(parts[:-1])):
        below = module.replace(".", "/")
        # `from . import gate` names a file, `from .gate import Gate` something in it.
        places = [f"{below}/{name}.py", f"{below}/{name}/__init__.py", f"{below}.py", f"{below}/__init__.py"]
        imported = next((place for place in places if place in tree), None)
        if imported is not None:
            other = Path(imported).with_suffix("").parts
            if parts[0] == other[0] == "apps" or room_of(parts) == room_of(other):
                found.add(imported)
    return found


def circles_in(tree):
    """Return the circles of imports inside rooms, each as the set of its files; `tree` has the text of each file by its path."""
    arrows = {path: imported_files(path, source, tree) for path, source in tree.items()}
    reached = {}
    for path, imported in arrows.items():
        seen, following = set(), list(imported)
        while following:
            file = following.pop()
            if file not in seen:
                seen.add(file)
                following.extend(arrows[file])
        reached[path] = seen
    return {
        frozenset(f for f in reached[path] if path in reached[f]) for path in tree if path in reached[path]
    }


def broken_circles(tree, listed):
    """Return what is wrong with the circles of `tree` beside those that are `listed`, a sentence each."""
    found, known = circles_in(tree), set(map(frozenset, listed))
    for circle in sorted(map(sorted, found - known)):
        yield f"these files import each other in a circle: {', '.join(circle)}"
    for circle in sorted(map(sorted, known - found)):
        yield f"CIRCLES lists a circle that is no more, or has other files by now: {', '.join(circle)}"


def sources():
    for top in ("tornado", "apps"):
        for path in sorted((ROOT / top).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_every_import_goes_down_and_through_its_doorway():
    broken = [rule for path, source in sources() for rule in broken_rules(path, source)]
    assert not broken, "\n".join(dict.fromkeys(broken))


def test_imports_inside_a_room_go_one_way():
    broken = list(broken_circles(dict(sources()), CIRCLES))
    assert not broken, "\n".join(broken)


def test_every_outside_module_is_a_declared_dependency():
    declared, for_tests = set(), set()
    for requirement in map(Requirement, requires("tornado-loops")):
        (for_tests if requirement.marker else declared).add(canonicalize_name(requirement.name))
    distributions = packages_distributions()
    undeclared = []
    for path, source in sources():
        for found in imports_of(source, ".".join(Path(path).parts[:-1])):
            top = found.module.split(".")[0]
            known = top in {"tornado", "apps", *OPTIONAL}
            if known or found.for_types_only or top in sys.stdlib_module_names:
                continue
            allowed = declared | for_tests if path.startswith("tornado/testing/") else declared
            if not allowed & set(map(canonicalize_name, distributions.get(top, ()))):
                undeclared.append(f"{path}:{found.line} imports {top}, which pyproject.toml does not ask for")
    assert not undeclared, "\n".join(dict.fromkeys(undeclared))


@pytest.mark.parametrize(
    ("path", "source", "rule"),
    [
        ("tornado/storage/x.py", "from ..timely import frontier", "imports timely, which is not below"),
        (
            "tornado/timely/x.py",
            "from ..protocol.session import Session",
            "imports protocol, which is not below",
        ),
        (
            "tornado/protocol/x.py",
            "def f():\n    from .. import storage",
            "imports storage, which is not below",
        ),
        ("tornado/protocol/x.py", "from ..loops import graph", "imports loops, which is not below"),
        ("tornado/ingest/x.py", "from ..engine import threads", "imports engine, which is not below"),
        (
            "tornado/loops/x.py",
            "from ..query.service import QueryService",
            "imports query, which is not below",
        ),
        ("tornado/loops/x.py", "from ..testing import rmat", "imports testing"),
        ("tornado/query/x.py", "from ..testing import rmat", "imports testing, which is for tests"),
        ("tornado/query/x.py", "from ..command import run", "imports command, which is not below"),
        ("tornado/errors.py", "from .config import data_dir", "imports config, which is not below"),
        ("tornado/query/x.py", "import tornado.storage", "imports are relative"),
        ("tornado/query/x.py", "from .. import open", "imports open from the facade"),
        ("tornado/query/x.py", "from ..utils import x", "imports the room utils, which has no layer"),
        ("tornado/news/x.py", "from ..errors import x", "lies in the room news, which has no layer"),
        ("tornado/query/x.py", "from apps.sssp import ShortestPaths", "imports apps"),
        ("tornado/storage/lmdb_store.py", "import lmdb", "imports lmdb, which only"),
        ("tornado/storage/x.py", "try:\n    from lmdb import open\nexcept ImportError: pass", "imports lmdb"),
        ("tornado/query/service.py", "import uvicorn.config", "imports uvicorn, which only"),
        ("tornado/ingest/x.py", "import kafka", "imports kafka, which only"),
        ("tornado/ingest/x.py", "import pyspark", "imports pyspark, which only"),
        ("apps/x.py", "from pyspark.sql import SparkSession", "imports pyspark, which only"),
        (
            "apps/x.py",
            "from tornado.kinds.selective.program import SelectiveProgram",
            "only the names of tornado itself",
        ),
        ("apps/x.py", "import tornado.storage", "only the names of tornado itself"),
        ("apps/x.py", "from tornado import _secret", "no public name of tornado"),
    ],
)
def test_the_check_sees_a_broken_rule(path, source, rule):
    broken = broken_rules(path, source)
    assert len(broken) == 1
    assert rule in broken[0]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("tornado/query/x.py", "from ..loops.master import Master\nfrom ..storage import open_store"),
        ("tornado/query/deep/x.py", "from ...errors import StoreFull\nfrom ..service import QueryService"),
        ("tornado/storage/lmdb.py", "import lmdb\nfrom .gate import Gate\nfrom . import versioned_store"),
        ("tornado/query/http_routes.py", "from fastapi import APIRouter"),
        ("tornado/command/x.py", "from .. import __version__, errors\nfrom ..testing import rmat"),
        ("tornado/__init__.py", "from .query.session import open"),
        (
            "apps/x.py",
            "import tornado\nfrom tornado import open\nimport numpy\nfrom apps.sssp import ShortestPaths",
        ),
    ],
)
def test_the_check_lets_a_kept_rule_pass(path, source):
    assert broken_rules(path, source) == []


STORE = {
    "tornado/storage/__init__.py": "from .versioned_store import Store",
    "tornado/storage/versioned_store.py": "from ..errors import StoreFull",
    "tornado/errors.py": "",
}
PAGES = "tornado/storage/pages.py"
CHECKED_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .pages import Page"
LATE = "def pages():\n    from .pages import Page"
CONTRACT = "tornado/storage/versioned_store.py"


@pytest.mark.parametrize(
    ("changes", "circle"),
    [
        (
            {CONTRACT: "from .pages import Page", PAGES: "from .versioned_store import Store"},
            {CONTRACT, PAGES},
        ),
        ({CONTRACT: CHECKED_TYPES, PAGES: "from . import versioned_store"}, {CONTRACT, PAGES}),
        ({CONTRACT: LATE, PAGES: "from ..storage.versioned_store import Store"}, {CONTRACT, PAGES}),
        ({CONTRACT: "from . import Store"}, {CONTRACT, "tornado/storage/__init__.py"}),
        ({PAGES: "from .pages import Page"}, {PAGES}),
        (
            {
                CONTRACT: "from .deep import x",
                "tornado/storage/deep/__init__.py": "from ..versioned_store import Store",
            },
            {CONTRACT, "tornado/storage/deep/__init__.py"},
        ),
        (
            {
                "apps/x.py": "import apps.y",
                "apps/y.py": "from apps.z import Z",
                "apps/z.py": "from apps import x",
            },
            {"apps/x.py", "apps/y.py", "apps/z.py"},
        ),
    ],
)
def test_the_check_sees_a_circle_and_that_a_listed_one_is_gone(changes, circle):
    tree = {**STORE, **changes}
    (broken,) = broken_circles(tree, [])
    assert broken == f"these files import each other in a circle: {', '.join(sorted(circle))}"
    assert not list(broken_circles(tree, [circle]))
    (broken,) = broken_circles(STORE, [circle])
    assert broken.startswith("CIRCLES lists a circle that is no more")
    assert len(list(broken_circles(tree, [circle | {"tornado/storage/another.py"}]))) == 2


def test_files_that_import_each_other_one_way_are_no_circle():
    tree = {
        **STORE,
        CONTRACT: "from .pages import Page\nfrom .gate import Gate",
        PAGES: "from .gate import Gate",
    }
    assert not list(broken_circles({**tree, "tornado/storage/gate.py": "import threading"}, []))


def loaded_by(statement):
    program = f"import sys; {statement}; print(*sorted(name.partition('.')[0] for name in sys.modules))"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(ended.stdout.split())


def test_importing_the_package_loads_nothing_that_could_be_missing_or_slow():
    assert not loaded_by("import tornado") & {"numpy", "numba", "pyarrow", "fastapi", "lmdb", "click"}


def test_a_run_in_memory_does_not_load_lmdb():
    assert "lmdb" not in loaded_by("from tornado.storage import open_store; open_store('memory:')")


def test_every_public_name_has_a_home_and_every_home_a_public_name():
    assert {*tornado._HOMES, "__version__"} == set(tornado.__all__)
    assert set(tornado.__all__) <= set(dir(tornado))
    for name in tornado.__all__:
        assert getattr(tornado, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'ioloop'"):
        tornado.ioloop  # noqa: B018 - asking is the test

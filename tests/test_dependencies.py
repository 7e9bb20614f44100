"""The web framework that shares our import name stays out: not ours, and not brought in by anything we depend on."""

import importlib.util
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tornado

ROOT = Path(__file__).resolve().parents[1]
OURS = "tornado-loops"


def closure(name, extras=()):
    """Return every installed distribution that `name` with these extras needs, itself included, by canonical name."""
    found = {}
    done = set()
    waiting = [(canonicalize_name(name), tuple(extras))]
    while waiting:
        current = waiting.pop()
        if current in done:
            continue
        done.add(current)
        needed, wanted = current
        try:
            installed = found.setdefault(needed, distribution(needed))
        except PackageNotFoundError:
            raise AssertionError(f"{needed} is needed and not installed; run `make setup`") from None
        for line in installed.requires or ():
            requirement = Requirement(line)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *wanted)):
                waiting.append((canonicalize_name(requirement.name), tuple(sorted(requirement.extras))))
    return found


def top_level_modules(installed):
    """Return the names that a distribution lets one import."""
    named = (installed.read_text("top_level.txt") or "").split()
    files = [file.parts for file in installed.files or ()]
    return {*named, *(parts[0].removesuffix(".py") for parts in files if ".dist-info" not in parts[0])}


def all_extras():
    """Every extra, but for those nobody installed here: Spark is not part of the set-up."""
    optional = {"spark": "pyspark"}
    return [
        extra
        for extra in distribution(OURS).metadata.get_all("Provides-Extra")
        if extra not in optional or importlib.util.find_spec(optional[extra]) is not None
    ]


def test_nothing_we_need_is_the_web_framework_or_gives_its_import_name():
    needed = closure(OURS, all_extras())
    # Or the walk would have found nothing, and the rest would hold for that reason.
    assert {"numpy", "fastapi", "starlette", "pytest", "hypothesis", "mypy"} <= set(needed)
    assert "tornado" not in needed
    givers = [name for name, installed in needed.items() if "tornado" in top_level_modules(installed)]
    assert givers == [OURS]


def test_the_walk_follows_extras():
    assert "mypy" not in closure(OURS)
    assert "pytest" not in closure(OURS)
    assert "pytest" in closure(OURS, ["dev"])


def test_our_requirements_never_name_the_web_framework_under_any_condition():
    assert "tornado" not in {
        canonicalize_name(Requirement(line).name) for line in distribution(OURS).requires
    }


def test_the_package_that_is_imported_is_ours():
    assert Path(tornado.__file__).resolve() == ROOT / "tornado" / "__init__.py"
    assert tornado.__version__ == distribution(OURS).version
    assert not hasattr(tornado, "ioloop")


def test_the_folders_of_our_package_are_importable_by_the_names_we_declare():
    assert {"tornado", "apps"} <= top_level_modules(distribution(OURS))

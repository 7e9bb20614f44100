"""A name stands for one thing: no two modules define a public class of one name, and no module name is worn out."""

import ast
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Classes that may share a name, each with why another one would be worse.
SHARED: dict[str, str] = {}
# How many modules may have one name: two rooms may each have their own `parameters.py`, but a third one says nothing any more.
MOST_MODULES = 2


def sources():
    """Return the text of every module of the package, by its path from the root of the checkout."""
    paths = sorted((ROOT / "tornado").rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


def classes_defined_twice(texts):
    """Return the public classes at the top of more than one module, each with these modules."""
    homes = defaultdict(list)
    for path, text in texts.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(path)
    return {name: paths for name, paths in homes.items() if len(paths) > 1}


def worn_out_modules(texts):
    """Return the names of modules that more than `MOST_MODULES` files have."""
    paths = [Path(path) for path in texts if not path.endswith("__init__.py")]
    # The rooms of kinds are built alike: what each of them has counts once.
    places = {(path.name, path.parts[1] if path.parts[1] == "kinds" else path) for path in paths}
    counts = Counter(name for name, _ in places)
    return {name for name, count in counts.items() if count > MOST_MODULES}


def test_no_two_modules_define_a_class_of_one_name():
    found = {name: paths for name, paths in classes_defined_twice(sources()).items() if name not in SHARED}
    assert not found, f"rename one of each, or say in SHARED why not: {found}"


def test_every_exception_is_still_needed():
    assert set(SHARED) <= set(classes_defined_twice(sources()))


def test_no_module_name_is_worn_out():
    assert worn_out_modules(sources()) == set()


def test_the_check_notices_a_class_that_is_defined_twice():
    texts = {
        "tornado/a.py": "class Cut:\n    class Inner: ...",
        "tornado/b/c.py": "class Cut: ...\nclass Inner: ...",
    }
    assert classes_defined_twice(texts) == {"Cut": ["tornado/a.py", "tornado/b/c.py"]}


def test_the_check_passes_over_private_classes_and_imported_ones():
    texts = {
        "tornado/a.py": "class _Cut: ...\nclass Cut: ...",
        "tornado/b.py": "from .a import Cut\nclass _Cut: ...",
    }
    assert classes_defined_twice(texts) == {}


def test_the_check_notices_a_third_module_of_one_name():
    folders = ("a", "b", "c")
    texts = {f"tornado/{folder}/{name}": "" for folder in folders for name in ("contract.py", "__init__.py")}
    assert worn_out_modules(texts) == {"contract.py"}
    del texts["tornado/c/contract.py"]
    assert worn_out_modules(texts) == set()

"""The shape of modules that CONTRIBUTING.md asks for."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SPLIT_AT_LINES = 600
NAMES_WITHOUT_A_NOUN = {"utils", "util", "common", "helpers", "helper", "base", "misc"}


def modules():
    return [
        path
        for top in ("tornado", "apps", "tests", "benchmarks")
        for path in sorted((ROOT / top).rglob("*.py"))
    ]


def test_no_module_is_so_long_that_it_should_be_two():
    long = {
        str(path.relative_to(ROOT)): lines
        for path in modules()
        if (lines := path.read_text(encoding="utf-8").count("\n")) > SPLIT_AT_LINES
    }
    assert long == {}


def test_no_module_is_named_after_nothing():
    assert [path for path in modules() if path.stem in NAMES_WITHOUT_A_NOUN] == []

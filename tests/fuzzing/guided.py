"""One parser under atheris, which changes bytes by what they cover: `python -m tests.fuzzing.guided NAME FOLDER [options of libFuzzer]`.

It begins with what the folder has, or the seeds, and puts what it finds there.

What Numba compiles cannot be followed by atheris, and is left as it is. With NUMBA_BOUNDSCHECK=1 (and a cache of its own) it raises an
error where it would read or write beside an array.

The memory of such a run grows: atheris 3.0.0 keeps a block for each comparison that it follows and whose outcome is no bool, as of an
array with a number. So what a parser itself keeps is measured without it.
"""

import sys
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[2]
COMPILED = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "tornado" / "ingest").rglob("*.py"))
    if "symbol_names import" in path.read_text(encoding="utf-8")
]

with atheris.instrument_imports(
    include=[
        "tornado.ingest",
        "tornado.query",
        "tornado.command.result_file",
        "tornado.records.window_width",
    ],
    exclude=COMPILED,
):
    from tests.fuzzing.parsers import PARSERS, tried

if __name__ == "__main__":
    name, folder, *options = sys.argv[1:]
    for number, seed in enumerate(PARSERS[name][1]):
        # Compiles what is compiled, which must not count as the time that a fuzzer has.
        tried(name, seed)
        Path(folder, f"seed-{number}").write_bytes(seed)
    atheris.Setup([sys.argv[0], folder, *options], lambda data: tried(name, data))
    atheris.Fuzz()

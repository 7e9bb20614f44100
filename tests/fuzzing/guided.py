"""One parser under atheris, which changes bytes by what they cover: `python -m tests.fuzzing.guided NAME [options of libFuzzer]`."""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["tornado.ingest", "tornado.query"]):
    from tests.fuzzing.parsers import PARSERS, tried

if __name__ == "__main__":
    name, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(PARSERS[name][1]):
            Path(corpus, str(number)).write_bytes(seed)
        atheris.Setup([sys.argv[0], corpus, *options], lambda data: tried(name, data))
        atheris.Fuzz()

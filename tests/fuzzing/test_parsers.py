"""Any bytes, and bytes near those that are right, are read or refused; memory stays bounded."""

import importlib.util
import os
import random
import resource
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing.parsers import PARSERS, tried

SHORT_S = 0.7
LONG_S = 600.0
MOST_BYTES = 256 << 20
TOKENS = [
    b"\n",
    b",",
    b"{",
    b"}",
    b"[",
    b'"',
    b"\0",
    b"\xff",
    b"-",
    b"1e",
    b":",
    b" ",
    b"9" * 30,
    b"null",
    b"\\u",
]


def mutated(randomness, seed):
    """Bytes near a seed: some changed, some left out, some twice, some of what parsers look for put in."""
    data = bytearray(seed)
    for _ in range(randomness.randint(1, 8)):
        place = randomness.randrange(len(data) + 1)
        match randomness.randrange(5):
            case 0 if place < len(data):
                data[place] = randomness.randrange(256)
            case 1:
                del data[place : place + randomness.randint(1, 16)]
            case 2:
                data[place:place] = randomness.choice(TOKENS)
            case 3:
                data[place:place] = data[place : place + randomness.randint(1, 64)]
            case _ if place < len(data):
                data[place] ^= 1 << randomness.randrange(8)
    return bytes(data)


def run(name, seconds, seed, found=()):
    """Try for so long, as this process counts it; return how often, and by how much memory has grown since the first hundred."""
    randomness = random.Random(seed)
    corpus = [*PARSERS[name][1], *found]
    tried(name, corpus[0])  # what it needs is there then
    tries, began_s, before = 0, time.process_time(), 0
    while time.process_time() - began_s < seconds:
        data = mutated(randomness, randomness.choice(corpus))
        tried(name, data)
        if len(corpus) < 200 and len(data) < 4096 and randomness.random() < 0.02:
            corpus.append(data)
        tries += 1
        if tries == 100:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return tries, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10


@pytest.mark.parametrize("name", PARSERS)
def test_the_seeds_are_read(name):
    for seed in PARSERS[name][1]:
        PARSERS[name][0](seed)


@pytest.mark.parametrize("name", PARSERS)
def test_bytes_near_right_ones_are_read_or_refused(name):
    seed = 20_260_101
    tries, _ = run(name, SHORT_S, seed)
    print(f"{name}: {tries} tries with seed {seed}")
    assert tries > 20


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(PARSERS)), st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(name, data):
    tried(name, data)


@pytest.mark.soak
@pytest.mark.timeout(2 * LONG_S)
@pytest.mark.parametrize("name", PARSERS)
def test_for_ten_minutes_each_in_bounded_memory(name, tmp_path):
    """By atheris, which changes bytes by what they cover, where it is installed; else by chance alone."""
    seconds, seed = float(os.environ.get("TORNADO_FUZZ_S", LONG_S)), int(time.time())
    found = []
    if importlib.util.find_spec("atheris") is not None:
        found, seconds = guided(name, seconds, tmp_path), seconds / 10
    # The memory of a process that is guided grows by what the guide remembers: what it found is read again without it.
    tries, grown = run(name, seconds, seed, found)
    print(f"{name}: {tries} tries by chance with seed {seed}, {grown >> 20} MiB more memory")
    assert grown < MOST_BYTES


def guided(name, seconds, folder):
    """Let atheris try for so long; return what it found worth keeping."""
    corpus, faults, own = folder / "corpus", folder / "faults", str(folder / "cache")
    corpus.mkdir()
    faults.mkdir()
    command = [sys.executable, "-m", "tests.fuzzing.guided", name, str(corpus)]
    command += [f"-max_total_time={seconds:.0f}", f"-artifact_prefix={faults}/"]
    command += ["-rss_limit_mb=8192", "-print_final_stats=1"]
    # In a cache of its own: code with checks must not be what others load.
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": own, "TORNADO_LOOPS_CACHE_DIR": own}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | checked)
    statistics = dict(line.split(":")[2:] for line in done.stderr.splitlines() if line.startswith("stat::"))
    print(f"{name}: {statistics}")
    found = {path.name: path.read_bytes() for path in faults.iterdir() if not path.name.startswith("slow")}
    assert done.returncode == 0 and not found, (found, done.stderr[-3000:])
    return [path.read_bytes() for path in sorted(corpus.iterdir())]

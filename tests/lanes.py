"""Which tests run one after another in one process of `make test`, and which begin.

A lane is what one process takes at once. A module is one, as its fixtures are for all of its tests; so are modules that want the same
server, which takes longer to start than to wait for. All that starts a Spark is one lane: two of them at a time leave nothing of two
cores, and what is promised within some seconds then takes longer.
"""

from xdist.scheduler import LoadScopeScheduling

# By how ids of tests begin; the longest lanes first, or the last one would run alone.
LANES = {
    # These have one Spark and one broker.
    "tests/spark/test_kafka.py": "a Spark",
    "tests/spark/test_roads.py": "a Spark",
    "tests/spark/test_sink.py": "a Spark",
    "tests/spark/test_changes.py": "a Spark",
    "tests/command/test_demo_kafka.py": "a Spark",
    "tests/compose/test_natively.py": "a Spark",
    # These start their own.
    "tests/engine/test_on_spark.py": "a Spark",
    "tests/spark/test_faults.py": "a Spark",
    "tests/benchmarks/test_smoke.py": "a Spark",
    "tests/kafka/": "a broker",
    # Nothing is shared from here on.
    "tests/end_to_end/test_recovery.py": None,
    "tests/engine/test_faults.py": None,
    "tests/loops/test_fork_under_load.py": None,
    "tests/loops/test_simulation.py": None,
    "tests/query/test_checkpoints.py": None,
    "tests/apps/test_selective_apps.py": None,
    "tests/loops/test_stored_snapshots.py": None,
    "tests/query/test_streams.py": None,
}


def lane_of(test):
    """Return the lane of a test, by its id."""
    module = test.partition("::")[0]
    found = next((lane for start, lane in LANES.items() if module.startswith(start)), None)
    return found or module


def place_of(test):
    """Return where a test stands among others; those of one place stay in the order they have."""
    places = enumerate(LANES)
    return next((place for place, start in places if test.startswith(start)), len(LANES))


class Lanes(LoadScopeScheduling):
    """Gives lanes to processes, in the order of the tests."""

    def __init__(self, config, log):
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid):
        return lane_of(nodeid)

"""Which tests run one after another in one process of `make test`, and which begin.

A lane is what one process takes at once. A module is one, as its fixtures are for all of its tests; so are modules that want the same
server, which takes longer to start than to wait for. Most of the time tests wait, for each other's processes among others, so there
are more processes than cores. Java is what does not wait: two lanes have all that starts a Spark, and no more than these two run
Sparks at a time.
"""

from xdist.scheduler import LoadScopeScheduling

# By how ids of tests begin; the longest lanes first, or the last one would run alone.
LANES = {
    # They have one Spark and one broker.
    "tests/spark/test_kafka.py": "a Spark",
    "tests/spark/test_roads.py": "a Spark",
    "tests/spark/test_sink.py": "a Spark",
    "tests/spark/test_changes.py": "a Spark",
    "tests/command/test_demo_kafka.py": "a Spark",
    "tests/compose/test_natively.py": "a Spark",
    # These start their own.
    "tests/engine/test_on_spark.py": "other Sparks",
    "tests/spark/test_faults.py": "other Sparks",
    "tests/benchmarks/test_smoke.py": "other Sparks",
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

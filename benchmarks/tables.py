"""The tables of `docs/benchmarks.md`, as templates: each cell is a reference that `document.py` fills in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import failure_plots, learning_figure_tables, learning_tables, peers, rank_tables, roads
from .cells import cell as _cell
from .cells import figures as _figures
from .cells import p50_p99 as _p50_p99
from .cells import pair as _pair
from .cells import table as _table
from .recovery import MOVES

_WORKERS = ("1 worker", "2 workers")
_ENGINES = ("threads", "processes", "spark")


def changes() -> str:
    """How long until an exact answer, beside recomputing."""
    rows = []
    for size in ("1 change", "a change that shows", "100 changes", "1,000 changes", "10,000 changes"):
        cells = [_p50_p99("changes-20", f"{size} until exact, {workers}") for workers in _WORKERS]
        for rival in ("heap Dijkstra", "bucket queue"):
            name = f"{rival} over that, {size} until exact, 1 worker"
            cells.append("" if size.startswith("a change") else _cell("changes-20", name))
        rows.append([size, *cells])
    loading = [f"as a multiple of heap Dijkstra, loading 90 %, {workers}" for workers in _WORKERS]
    faster = _cell("changes-20", "loading on 1 worker over that on 2")
    rows.append(["loading 90 %, over heap Dijkstra", *(_cell("changes-20", one) for one in loading), "", ""])
    rows.append(["loading, 1 worker over 2", "", faster, "", ""])
    head = [
        *["scale 20", "1 worker: p50 (p99), ms", "2 workers: p50 (p99), ms"],
        *["heap takes, of 1 worker", "bucket queue takes, of 1 worker"],
    ]
    return _table(head, rows)


def differential() -> str:
    """Changes until exact, beside differential-dataflow."""
    rows = []
    name = peers.DIFFERENTIAL
    for scale in (20, 18):
        result = f"changes-{scale}"
        for size in ("1 change", "100 changes", "1,000 changes", "10,000 changes"):
            what = [f"{size} until exact, {workers}" for workers in _WORKERS]
            rows.append(
                [
                    f"scale {scale}, {size}",
                    _pair(result, [f"{name}, {one}" for one in what]) + " ms",
                    _pair(result, [f"{name} scaled to this machine, {one}" for one in what]) + " ms",
                    _pair(result, [f"{one}, p50" for one in what]) + " ms",
                    _pair(result, [f"{name} scaled, over ours, {one}" for one in what]) + " ×",  # noqa: RUF001
                ]
            )
        loading = [f"loading 90 %, {workers}" for workers in _WORKERS]
        rows.append(
            [
                f"scale {scale}, loading",
                _pair(result, [f"{name}, {one}" for one in loading]) + " s",
                _pair(result, [f"{name} scaled to this machine, {one}" for one in loading]) + " s",
                _pair(result, [f"loading 90 % to the fixed point, {workers}" for workers in _WORKERS]) + " s",
                _pair(result, [f"{name} scaled, over ours, {one}" for one in loading]) + " ×",  # noqa: RUF001
            ]
        )
    head = ["1 worker / 2 workers, p50", "differential, as measured", "scaled to this machine", "ours"]
    return _table([*head, "scaled over ours"], rows)


def programs() -> str:
    """Hops and components, beside differential-dataflow."""
    rows = []
    for program in ("hops", "components"):
        of = [f"{program}, {workers}" for workers in _WORKERS]
        rows += [
            _beside(f"{program}, {size}", [f"{size} until exact, {one}" for one in of], ", p50", "ms")
            for size in ("1 change", "100 changes", "1,000 changes", "10,000 changes")
        ]
        rows.append(_beside(f"{program}, loading", [f"loading, {one}" for one in of], "", "s"))
    return _table(
        [
            "scale 20, 1 worker / 2 workers, p50",
            "differential, as measured",
            "scaled to this machine",
            "ours",
        ],
        rows,
    )


def _beside(text: str, what: Sequence[str], ours: str, unit: str) -> list[str]:
    """Return a row of figures beside those of the peer."""
    own = [one.replace("loading, ", "loading 90 % to the fixed point, ") + ours for one in what]
    there = [f"{peers.DIFFERENTIAL}, {one}" for one in what]
    scaled = [f"{peers.DIFFERENTIAL} scaled to this machine, {one}" for one in what]
    return [text, *(f"{_pair('programs-20', names)} {unit}" for names in (there, scaled, own))]


def loops() -> str:
    """Three loops on one stream."""
    rows = []
    for what in ("settled", "admission", "loading 90 % to the fixed point"):
        for count in ("one loop", "three loops"):
            names = [f"{what}, {count}, {workers}" for workers in _WORKERS]
            rows.append([f"{what}, {count}", *(_cell("loops-20", name) for name in names), ""])
    for what in ("memory", "rate"):
        names = [f"{what} of three loops over one, {workers}" for workers in _WORKERS]
        rows.append(
            [
                f"{what} of three over one",
                *(_cell("loops-20", name) for name in names),
                _cell("loops-20", names[0], "bound"),
            ]
        )
    return _table(["scale 20", *_WORKERS, "bound"], rows)


def queries() -> str:
    """Queries one by one."""
    rows = []
    for scale in (20, 22):
        for workers in _WORKERS:
            for rate in ("half the rate that is asked for", "half of what it admits"):
                of = f"{rate}, {workers}"
                heap = f"heap Dijkstra takes so many times as long, {of}"
                rows.append(
                    [
                        str(scale),
                        workers,
                        f"{_cell(f'queries-{scale}', of)}, {rate}",
                        _p50_p99(f"queries-{scale}", f"exact query for ten vertices over HTTP, {of}"),
                        _cell(f"queries-{scale}", heap),
                        _cell(f"queries-{scale}", heap, "bound"),
                        _cell(f"queries-{scale}", f"bucket queue takes so many times as long, {of}"),
                    ]
                )
    head = [
        "scale",
        "workers",
        "edges arriving",
        "p50 (p99), ms",
        "heap takes",
        "bound",
        "bucket queue takes",
    ]
    return _table(head, rows)


def queries_at_once() -> str:
    """Ten clients at once."""
    rows = []
    for scale in (20, 22):
        for workers in _WORKERS:
            for clients in ("a burst of ten each half second", "ten at all times"):
                of = f"{clients}, {workers}"
                rows.append(
                    [
                        *[str(scale), workers, clients],
                        _cell(f"queries-{scale}", f"admission at full rate slowed by queries, {of}"),
                        _cell(f"queries-{scale}", f"admission at full rate slowed by queries, {of}", "bound"),
                        _p50_p99(f"queries-{scale}", f"exact query meanwhile, {of}"),
                    ]
                )
    return _table(["scale", "workers", "clients", "admission slows by", "bound", "query p50 (p99), ms"], rows)


def admission() -> str:
    """Records a second into a converged loop."""
    rows = [
        [
            f"batches of {size}",
            *(_cell("admission-20", f"admission, batches of {size}, {workers}") for workers in _WORKERS),
        ]
        for size in ("1,000", "10,000", "100,000")
    ]
    for name, text in (
        ("edges/s a worker, batches of 1,000", "a worker, batches of 1,000"),
        (
            "growth of the backlog, share of the rate, batches of 1,000",
            "growth of the backlog, share of the rate",
        ),
        ("idle again after, batches of 1,000", "idle again after the last batch of 1,000"),
        ("held for, batches of 1,000", "held for"),
    ):
        rows.append([text, *(_cell("admission-20", f"{name}, {workers}") for workers in _WORKERS)])
    return _table(["scale 20", *_WORKERS], rows)


def scratch() -> str:
    """Branches from nothing."""
    rows = []
    for scale in (16, 20, 22):
        cells = []
        for bound in ("1", "64", "unbounded"):
            name = f"as a multiple of heap Dijkstra, B={bound}"
            cells.append(
                " / ".join(_cell(f"scratch-{scale}", f"{name}, {workers}", "bare") for workers in _WORKERS)
            )
        rows.append(
            [str(scale), *cells, _cell(f"scratch-{scale}", "plain heap Dijkstra, one thread, built graph")]
        )
    return _table(["scale", "B = 1", "B = 64", "unbounded", "heap Dijkstra takes"], rows)


def recomputing() -> str:
    """What other programs take to recompute."""
    rows = [
        [peer, _cell("scratch-20", f"{peer}, computing"), _cell("scratch-20", f"{peer}, building the graph")]
        for peer in peers.RECOMPUTING_20_S
    ]
    return _table(["scale 20, one thread", "computing", "building its graph"], rows)


def engines() -> str:
    """Workers elsewhere."""
    rows = []
    for engine, shown in zip(_ENGINES, ("threads", "processes", "Spark, `local[2]`"), strict=True):
        scratch = [f"as a multiple of threads, {engine}, B={bound}" for bound in (64, 1)]
        rows.append(
            [
                shown,
                _pair("engines-20", scratch),
                _cell("engines-20", f"edges a second, loading, {engine}"),
                _cell("engines-20", f"admission, batches of 1,000, {engine}"),
                _p50_p99("engines-20", f"asked when converged, {engine}"),
                _p50_p99("engines-20", f"1,000 changes until exact, {engine}"),
                _cell("engines-20", f"sets of workers lost and replaced, {engine}"),
            ]
        )
    head = [
        *["two workers each", "from scratch, B = 64 / 1, of threads", "loading to the fixed point"],
        *[
            "changes admitted",
            "asked when converged, p50 (p99), ms",
            "1,000 changes until exact, p50 (p99), ms",
            "sets of workers lost",
        ],
    ]
    return _table(head, rows)


def checkpoints() -> str:
    """Checkpoints at size."""
    lines = (
        ("loading to the fixed point, {}", ""),
        ("loading with checkpoints over loading without", "bound"),
        ("changes at full admission, {}", ""),
        ("checkpoints stored", ""),
        ("checkpoints failed", ""),
        ("sets of workers lost and replaced, {}", "bound"),
        ("/healthz meanwhile, {}, p50", ""),
        ("/healthz meanwhile, {}, p99", "bound"),
        ("exact query for ten vertices meanwhile, {}, p50", ""),
        ("exact query for ten vertices meanwhile, {}, p99", "bound"),
        ("not as it should be, exact query for ten vertices meanwhile, {}", ""),
    )
    return _by_engine("checkpoints-20", lines)


def bases() -> str:
    """A steady stream with checkpoints, and without."""
    lines = (
        ("changes at full admission, {}", ""),
        ("time with checkpoints over that without", "bound"),
        ("bases written meanwhile, {}", ""),
        ("the longest of them took, with checkpoints", ""),
        ("checkpoints failed", ""),
        ("sets of workers lost and replaced, {}", ""),
        ("base", ""),
        ("disk, at most", ""),
        ("disk over the base, at most", "bound"),
    )
    return _by_engine("bases-20", lines)


def turnover() -> str:
    """A stream that keeps its size."""
    names = list[str]()
    for stream in ("", "replacements: "):
        names += [f"{stream}changes at full admission, until an exact answer", f"{stream}base"]
        for what in ("memory", "store"):
            names += [f"{stream}{what}, at most, {tenth}" for tenth in ("the second tenth", "the last tenth")]
            names += [
                f"{stream}{what}, {how}"
                for how in ("the last tenth over the second", "at most, over the least of a tenth")
            ]
        names.append(f"{stream}disk over the base, at most")
    head = ["", "1 M edges", "", "4 M edges", "", "16 M edges", ""]
    results = ("turnover-16", "turnover-18", "turnover-20")
    rows = [
        [name, *(_cell(result, name, how) for result in results for how in ("", "bound"))] for name in names
    ]
    return _table(head, rows)


def topic() -> str:
    """From a Kafka topic."""
    names = (
        "JSON, the client alone, parsed by json",
        "JSON, the client alone, parsed by orjson",
        "JSON, decoded and staged",
        "times the time of the client alone",
        "JSON, admitted by a loop of shortest paths",
        "JSON with a key, two partitions, fetched by one process",
        "JSON with a key, two partitions, fetched by 2 processes",
        "Arrow, the client alone, not parsed",
        "Arrow, decoded and staged",
        "Arrow, admitted by a loop of shortest paths",
        *(f"produced to answered, at 10,000 edges/s, {share}" for share in ("p50", "p95", "p99")),
    )
    return _figures("topic", names)


def pipeline() -> str:
    """Through Spark."""
    names = []
    for source in ("parquet", "Kafka and JSON"):
        names.append(f"{source}, into Spark's noop sink")
        for kind in ("with a durable log", "in memory"):
            names += [f"{source}, into a loop {kind}", f"share of noop, {source} {kind}"]
    names += [f"produced to answered, at 10,000 edges/s, {share}" for share in ("p50", "p95", "p99")]
    return _figures("pipeline", names)


def memory() -> str:
    """Memory of a loop."""
    names = (
        "edges",
        "vertices",
        "settled",
        "bytes an edge, after 160 a vertex",
        "bytes an edge, all told",
        "share of 48 bytes an edge and 160 a vertex",
        "peak",
        "bytes an edge at the peak",
        "loading",
    )
    rows = [[name, *(_cell(f"memory-{scale}", name) for scale in (20, 22))] for name in names]
    return _table(["two workers", "scale 20", "scale 22"], rows)


def recovery() -> str:
    """A service that comes back, on each engine."""
    ways = ("started on the log alone", "started on a fresh base")
    names = [
        "start on an empty store, until both have answered",
        *(
            name
            for way in ways
            for name in (
                f"{way}, until both have answered",
                f"peak memory over that when it was loaded, {way}",
            )
        ),
        "a worker is killed, until both have answered",
        *(
            name
            for workers in MOVES
            for name in (
                f"put on {workers} workers under load, the loops stand still",
                f"until they go on, put on {workers} workers under load",
                f"longest push, put on {workers} workers under load",
            )
        ),
    ]
    rows = []
    for name in names:
        shown = [
            "" if engine == "threads" and "killed" in name else _cell(f"recovery-20-{engine}", name)
            for engine in _ENGINES
        ]
        rows.append([name, *shown, _cell("recovery-20-processes", name, "bound")])
    return _table(["two workers, scale 20", *_ENGINES, "bound"], rows)


def balance() -> str:
    """A skewed map."""
    names = (
        *(
            "changes a second, even map",
            "changes a second, skewed map",
            "until buckets had moved by themselves",
        ),
        *("changes a second, behind that", "as a share of those by the even map"),
    )
    return _figures("balance-18", names)


def startup() -> str:
    """Starting the command."""
    names = (
        *("first start, nothing compiled, until ready", "second start, until ready"),
        *(
            "from the second start to an exact answer",
            "files it compiled",
            "an interpreter that does nothing",
        ),
    )
    return _figures("startup", names)


def further() -> str:
    """Starting another program where one was started before."""
    names = (
        "first start, CPU time until an exact answer",
        "first start of a further program, CPU time until an exact answer",
        "as a share of that of the first one",
        "files that it compiled again",
    )
    return _figures("further", names)


def roads_load() -> str:
    """Graphs with long ways: loading, and another source."""
    rows = []
    for case in roads.CASES:
        cells = [_cell("roads", f"{case.name}: heap Dijkstra")]
        for what in ("load", "another source"):
            cells += [
                _cell("roads", f"over heap Dijkstra, {case.name}: {what}, {workers}") for workers in _WORKERS
            ]
        rows.append([case.name, *cells])
    head = [
        "",
        "heap Dijkstra takes",
        *(f"{what}, {of}" for what in ("load", "another source") for of in _WORKERS),
    ]
    return _table(head, rows)


def roads_before() -> str:
    """A grid, before and since vertices go by their values."""
    rows = [
        [
            what,
            *(
                _cell("earlier", f"grid of 500, {when}: {what} over heap Dijkstra, {workers}")
                for when in ("before", "since")
                for workers in _WORKERS
            ),
        ]
        for what in ("load", "500 closures, p50", "500 closures, p99", "another source")
    ]
    return _table(
        ["grid of 500", *(f"{when}, {of}" for when in ("before", "since") for of in _WORKERS)], rows
    )


def roads_closures() -> str:
    """Graphs with long ways: closures until exact."""
    rows = []
    for case in roads.CASES:
        for name in ("500 closures", "one closure"):
            plain = _p50_p99("roads", f"{case.name}: {name}, plain repair")
            ours = [_p50_p99("roads", f"{case.name}: {name}, {workers}") for workers in _WORKERS]
            heap = _cell("roads", f"{case.name}: heap Dijkstra", "bare")
            rows.append([f"{case.name}, {name}", heap, plain, *ours])
    return _table(["p50 (p99), ms", "heap Dijkstra", "plain repair", *_WORKERS], rows)


def roads_promises() -> str:
    """What is promised of graphs with long ways, and what was found."""
    rows = []
    for case in roads.CASES:
        names = [f"over heap Dijkstra, {case.name}: load", f"over heap Dijkstra, {case.name}: another source"]
        if case.load is None:
            continue
        rows += [_judged(name, [f"{name}, {of}" for of in _WORKERS]) for name in names]
        if case.closures is not None and case.one_ms is not None:
            for share in ("p50", "p99"):
                many = f"over heap Dijkstra, {case.name}: 500 closures"
                one = f"{case.name}: one closure"
                rows += [
                    _judged(f"{name}, {share}", [f"{name}, {of}, {share}" for of in _WORKERS])
                    for name in (many, one)
                ]
    return _table(["", "1 worker", "bound", "2 workers", "bound"], rows)


def _judged(title: str, names: Sequence[str]) -> list[str]:
    return [
        title,
        *(part for name in names for part in (_cell("roads", name), _cell("roads", name, "bound"))),
    ]


def _by_engine(result: str, lines: Sequence[tuple[str, str]]) -> str:
    """A column for each engine; a line of both kinds of service has both in its cells, and where it says so the bound."""
    rows = []
    for line, bound in lines:
        kinds = ("without", "with checkpoints") if "{}" in line else ("with checkpoints",)
        cells = []
        for engine in _ENGINES:
            names = [line.format(kind) for kind in kinds]
            shown = " / ".join(_cell(f"{result}-{engine}", name) for name in names)
            if bound:
                shown += f" ({_cell(f'{result}-{engine}', names[-1], 'bound')})"
            cells.append(shown)
        text = line.removesuffix(", {}").replace(", {}", "")
        rows.append([text + (", without / with" if len(kinds) > 1 else ""), *cells])
    return _table(["scale 20, two workers", *_ENGINES], rows)


TABLES: dict[str, Callable[[], str]] = {
    table.__name__: table
    for table in (
        *(changes, differential, programs, loops, queries, queries_at_once, admission, scratch),
        *(recomputing, engines),
        *(roads_load, roads_closures, roads_promises, roads_before),
        *(checkpoints, bases, turnover, recovery, balance, topic, pipeline, memory, startup, further),
        *failure_plots.TABLES,
        *rank_tables.TABLES,
        *learning_tables.TABLES,
        *learning_figure_tables.TABLES,
    )
}

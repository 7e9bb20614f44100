"""The slow twin of the text and NDJSON readers: one line at a time, no block, no kernel, written from the documentation alone.

It shares no code with `tornado.ingest`; what both say about a file, rejections and their reasons included, must be identical.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

OPERATIONS = {
    "+": 1, "1": 1, "insert": 1, "-": -1, "-1": -1, "delete": -1, "remove": -1, "=": 2, "replace": 2,
}  # fmt: skip
SOURCE_NAMES = {"src", "source", "from", "src_id", "source_id", "from_id", "fromnodeid"}
DESTINATION_NAMES = {"dst", "dest", "destination", "target", "to", "dst_id", "target_id", "to_id", "tonodeid"}
WEIGHT_NAMES = {"weight", "w", "cost", "distance", "length", "rating"}
OP_NAMES = {"op", "operation", "sign", "change"}
TIME_NAMES = {"time", "timestamp", "t"}
NAMES = ("src", "dst", "weight", "op", "time")


class Bad(Exception):
    """A malformed record."""


@dataclass
class Outcome:
    """What a reader says about a file."""

    edges: list[tuple] = field(default_factory=list)  # (src, dst, weight as text, op, line number, time)
    rejected: list[tuple] = field(default_factory=list)  # (line number, record text, reason)
    records: int = 0


def read_text(
    data: bytes,
    *,
    columns=None,
    separator=None,
    header=None,
    undirected=False,
    strings=False,
    times=False,
    longest=65_536,
) -> Outcome:
    outcome = Outcome()
    names: dict[str, int] = {}
    plan = None
    if data[:3] == b"\xef\xbb\xbf":
        data = data[3:]
    lines = data.split(b"\n")
    for number, whole in enumerate(lines, start=1):
        line = whole.removesuffix(b"\r")
        head = line[:longest].lstrip(b" \t")
        if head[:1] in (b"#", b"%") or (not head and len(line) <= longest):
            continue
        if plan is None:
            plan, is_header = _plan(line[:longest], columns, separator, header, strings)
            if not times:
                plan[1].pop("time", None)
            if is_header:
                continue
        outcome.records += 1
        try:
            src, dst, weight, op, time = _record(line, plan, strings, longest)
        except Bad as bad:
            outcome.rejected.append((number, text(line[:longest]), str(bad)))
            continue
        if strings:
            src = names.setdefault(src, len(names))
            dst = names.setdefault(dst, len(names))
        outcome.edges.append((src, dst, float_text(weight), op, number, time))
        if undirected and src != dst:
            outcome.edges.append((dst, src, float_text(weight), op, number, time))
    return outcome


def text(line: bytes) -> str:
    shown = line.decode("utf-8", "backslashreplace")
    return shown if len(shown) <= 1000 else shown[:1000] + "…"


def times_of(parsed):
    """The times of the fast reader's batch, as they are in an outcome."""
    if parsed.times is None:
        return [None] * len(parsed.batch)
    return [None if time == -(2**63) else time for time in parsed.times.tolist()]


def float_text(weight: float) -> str:
    return "nan" if math.isnan(weight) else weight.hex()


def _plan(line, columns, separator, header, strings):
    if separator is None:
        separator = " "
        for candidate in (";", "\t", ","):
            if candidate.encode() in line:
                separator = candidate
    try:
        names = [name.strip(b" \t").decode("latin-1").lower() for name in _split(line, separator)]
    except Bad:
        names = []
    if b"\r" in line:
        names = []
    known = [
        "src" if name in SOURCE_NAMES
        else "dst" if name in DESTINATION_NAMES
        else "weight" if name in WEIGHT_NAMES
        else "op" if name in OP_NAMES
        else "time" if name in TIME_NAMES
        else "-"
        for name in names
    ]  # fmt: skip
    named = "src" in known and "dst" in known
    letters = len(names) > 1 and all(name and (name[0].isalpha() or name[0] == "_") for name in names)
    is_header = header if header is not None else named or (letters and not strings)
    optional = False
    if columns is None and is_header and named:
        places = {name: known.index(name) for name in NAMES if name in known}
        most = len(known)
    elif columns is None:
        places, optional, most = {"src": 0, "dst": 1, "weight": 2}, True, 3
    else:
        most = None
        places = {name: columns.index(name) for name in NAMES if name in columns}
    return (separator, places, optional or "weight" not in places, most), is_header


def _split(line, separator, count=None):
    if separator == " ":
        return [part for part in re.split(rb"[ \t]+", line) if part][:count]
    blank = b" " if separator == "\t" else b" \t"
    sep = separator.encode()
    fields = []
    rest = line
    while rest is not None and (count is None or len(fields) < count):
        rest = rest.lstrip(blank)
        if rest[:1] == b'"':
            match = re.match(rb'"((?:[^"]|"")*)"(?!")', rest, re.DOTALL)
            if not match:
                raise Bad("a quoted field does not end on its line")
            fields.append(match[1].replace(b'""', b'"'))
            rest = rest[match.end() :].lstrip(blank)
            if rest and rest[:1] != sep:
                raise Bad("a quoted field is followed by text")
            rest = rest[1:] if rest else None
        else:
            one, found, rest = rest.partition(sep)
            fields.append(one.rstrip(blank))
            rest = rest if found else None
    return fields


def _record(line, plan, strings, longest):
    separator, places, optional, most = plan
    if len(line) > longest:
        raise Bad(f"line is longer than {longest} bytes")
    if most is None:
        fields = _split(line, separator, max(places.values()) + 1)
    else:
        fields = _split(line, separator)
        if any(one != b"" for one in fields[most:]):
            raise Bad(f"more than {most} columns: name the ones to use (--columns)")
    got = {name: fields[place] if place < len(fields) else b"" for name, place in places.items()}
    src = _vertex(got["src"], "src", strings)
    dst = _vertex(got["dst"], "dst", strings)
    op = 1
    if "op" in places:
        if not got["op"]:
            raise Bad("op is missing")
        op = OPERATIONS.get(got["op"].decode("latin-1").lower() if got["op"].isascii() else "")
        if op is None:
            raise Bad(f"op is unknown: {_shown(got['op'])}")
    weight = _weight(got.get("weight", b""), op, optional)
    return src, dst, weight, op, _time(got.get("time", b""))


def _time(one):
    """Microseconds since 1970, or None."""
    if not one:
        return None
    shown = one.decode("utf-8", "replace")
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", shown):
        seconds = float(shown)
        if abs(seconds) >= 2**63 // 10**6:
            raise Bad(f"time is beyond 64 bits of microseconds since 1970: {_shown(one)}")
        return math.floor(seconds) * 10**6 + round((seconds - math.floor(seconds)) * 1e6)
    match = re.fullmatch(
        r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
        r"(?:[T ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?)?(?:Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?)?",
        shown,
    )
    instant = _instant(match) if match else None
    if instant is None:
        raise Bad(f"time is neither seconds since 1970 nor ISO 8601: {_shown(one)}")
    return instant


def _instant(match):
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    hours_away, minutes_away = int(match[9] or 0), int(match[10] or 0)
    try:
        # Python's calendar begins with the year 1, and repeats after 400 of them.
        moved = datetime(year % 400 + 2000, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    if hours_away > 23 or minutes_away > 59:
        return None
    away = (hours_away * 3600 + minutes_away * 60) * (-1 if match[8] == "-" else 1)
    days = (moved - datetime(1970, 1, 1, tzinfo=UTC)).days + (year // 400 - 5) * 146_097
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second - away
    return seconds * 10**6 + int(((match[7] or "") + "000000")[:6])


def _vertex(one, name, strings):
    if not one:
        raise Bad(f"{name} is missing")
    if strings:
        try:
            return one.decode()
        except UnicodeDecodeError:
            raise Bad(f"{name} is not UTF-8: {_shown(one)}") from None
    if not re.fullmatch(rb"[+-]?[0-9]+", one):
        raise Bad(f"{name} is not an integer: {_shown(one)}")
    value = int(one) if len(one) < 4000 else 1 << 64
    if not -(1 << 63) <= value < 1 << 63:
        raise Bad(f"{name} is beyond 64 bits: {_shown(one)}")
    return value


def _weight(one, op, optional):
    if not one:
        if op == -1:
            return math.nan
        if not optional:
            raise Bad("weight is missing")
        return 1.0
    strange = not one.isascii() or b"_" in one or one != one.strip()
    try:
        value = float("strange" if strange else one)
    except ValueError:
        raise Bad(f"weight is not a number: {_shown(one)}") from None
    if math.isnan(value):
        raise Bad("weight is NaN")
    if math.isinf(value):
        raise Bad(f"weight is not finite: {_shown(one)}")
    return value


def _shown(one: bytes) -> str:
    readable = one[:200].decode("utf-8", "backslashreplace")
    return repr(readable if len(readable) <= 40 else readable[:40] + "…")


def read_ndjson(data: bytes, *, strings=False, quoted=False, times=False, longest=65_536) -> Outcome:
    outcome = Outcome()
    names: dict[str, int] = {}
    for whole in data.split(b"\n"):
        line = whole.removesuffix(b"\r")
        if not line[:longest].strip(b" \t") and len(line) <= longest:
            continue
        outcome.records += 1
        try:
            src, dst, weight, op, time = _object(line, strings, quoted, times, longest)
        except Bad as bad:
            outcome.rejected.append((outcome.records, text(line[:longest]), str(bad)))
            continue
        if strings:
            src = names.setdefault(src, len(names))
            dst = names.setdefault(dst, len(names))
        outcome.edges.append((src, dst, float_text(weight), op, outcome.records, time))
    return outcome


class _Digits(str):
    """A number as it was written."""

    __slots__ = ()


def _refuse(name):
    raise ValueError(name)


def _object(line, strings, quoted, times, longest):
    if len(line) > longest:
        raise Bad(f"line is longer than {longest} bytes")
    try:
        pairs = json.loads(
            line.decode(), parse_int=_Digits, parse_float=_Digits, parse_constant=_refuse,
            object_pairs_hook=lambda found: ("object", found),
        )  # fmt: skip
    except (ValueError, RecursionError):
        raise Bad("not a JSON object on one line") from None
    if not isinstance(pairs, tuple):
        raise Bad("not a JSON object on one line")
    got = {}
    for key, value in pairs[1]:
        if key not in {"src", "dst", "weight", "op", "time"}:
            raise Bad(f"unknown field: {_shown(key.encode('utf-8', 'backslashreplace'))}")
        if key in got:
            raise Bad(f"{key} is there twice")
        got[key] = value
    src, dst = (_json_vertex(got.get(name), name, strings, quoted) for name in ("src", "dst"))
    op = got.get("op")
    if op is None:
        op = 1
    else:
        if not isinstance(op, str) or OPERATIONS.get(op.lower() if op.isascii() else "") is None:
            raise Bad(f"op is unknown: {_json_shown(op)}")
        op = OPERATIONS[op.lower()]
    weight = got.get("weight")
    if weight is None:
        weight = math.nan if op == -1 else 1.0
    elif not isinstance(weight, _Digits):
        raise Bad(f"weight is not a number: {_json_shown(weight)}")
    elif math.isinf(float(weight)):
        raise Bad(f"weight is not finite: {_shown(weight.encode())}")
    time = got.get("time") if times else None
    if time is not None and not isinstance(time, str):
        raise Bad(f"time is neither seconds since 1970 nor ISO 8601: {_json_shown(time)}")
    return src, dst, float(weight), op, _time((time or "").encode("utf-8", "backslashreplace"))


def _json_vertex(value, name, strings, quoted):
    if value is None:
        raise Bad(f"{name} is missing")
    if strings:
        if not isinstance(value, str) or isinstance(value, _Digits):
            raise Bad(f"{name} is not a string: {_json_shown(value)}")
        if not value:
            raise Bad(f"{name} is missing")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Bad(f"{name} is not UTF-8: {_json_shown(value)}") from None
        return value
    if quoted and isinstance(value, str) and not isinstance(value, _Digits):
        return _vertex(value.encode("utf-8", "backslashreplace"), name, strings=False)
    if not isinstance(value, _Digits) or not re.fullmatch(r"-?[0-9]+", value):
        raise Bad(f"{name} is not an integer: {_json_shown(value)}")
    return _vertex(value.encode(), name, strings=False)


def _json_shown(value) -> str:
    if isinstance(value, str):
        return _shown(value.encode("utf-8", "backslashreplace"))
    return {True: "true", False: "false"}.get(value, "…") if isinstance(value, bool) else "an array or object"

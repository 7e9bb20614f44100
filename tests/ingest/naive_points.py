"""The slow twin of the readers of points: one record at a time, written from the documentation alone.

It shares no code with `tornado.ingest`; what both say about a file, rejections and their reasons included, must be identical.
"""

import hashlib
import json
import math
import re
import struct
from dataclasses import dataclass, field

from tests.ingest.naive import (
    OPERATIONS,
    Bad,
    _Digits,
    _json_shown,
    _json_vertex,
    _refuse,
    _shown,
    _split,
    _vertex,
    float_text,
    text,
)


@dataclass
class PointOutcome:
    """What a reader says about a file."""

    points: list[tuple] = field(default_factory=list)  # (id, label, weight, op, features, line number)
    rejected: list[tuple] = field(default_factory=list)  # (line number, record text, reason)
    records: int = 0


def outcome_of(batches, *, names=None):
    """What a fast reader says, in the same words."""
    outcome = PointOutcome()
    for parsed in batches:
        batch = parsed.settled()
        if hasattr(batch, "features"):
            rows = [[value.hex() for value in row] for row in batch.features.astype(float).tolist()]
        else:
            assert batch.starts[0] == 0
            assert batch.starts[-1] == len(batch.indices) == len(batch.values)
            bounds = zip(batch.starts[:-1].tolist(), batch.starts[1:].tolist(), strict=True)
            indices, values = (
                batch.indices.tolist(),
                [value.hex() for value in batch.values.astype(float).tolist()],
            )
            rows = []
            for low, high in bounds:
                assert indices[low:high] == sorted(set(indices[low:high]))
                rows.append(dict(zip(indices[low:high], values[low:high], strict=True)))
        outcome.records += parsed.records
        ids = batch.id.tolist() if names is None else names.names(batch.id)
        labels, weights = map(float_text, batch.label.tolist()), map(float_text, batch.weight.tolist())
        columns = ids, labels, weights, batch.op.tolist(), rows, parsed.positions.tolist()
        outcome.points += zip(*columns, strict=True)
        outcome.rejected += [(one.position, one.record, one.reason) for one in parsed.rejected]
    return outcome


def id_at(source, position, strings):
    if strings:
        return f"{source}:{position}"
    bits = hashlib.sha256(source.encode()).digest()
    first = int.from_bytes(bits, "big") >> (256 - 27)
    return (first << 36) + position - 2**63


def lines_of(data, longest):
    """The data lines with their numbers."""
    for number, whole in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        line = whole.removesuffix(b"\r")
        head = line[:longest].lstrip(b" \t")
        if head[:1] not in (b"#", b"%") and (head or len(line) > longest):
            yield number, line


def read_csv(data, *, source="test", strings=False, single=False, label="label", key="id", longest=1 << 22):
    """Read a CSV whose header is right."""
    outcome = PointOutcome()
    header = None
    for number, line in lines_of(data, longest):
        if header is None:
            separator = next((one for one in ",\t;" if one.encode() in line), " ")
            header = [name.decode() for name in _split(line, separator)]
            continue
        outcome.records += 1
        try:
            point = _line(line, header, separator, label, key, strings, single, longest)
        except Bad as bad:
            outcome.rejected.append((number, text(line[:longest]), str(bad)))
            continue
        found = id_at(source, number, strings) if point[0] is None else point[0]
        outcome.points.append((found, *point[1:], number))
    return outcome


def _line(line, header, separator, label_name, id_name, strings, single, longest):
    if len(line) > longest:
        raise Bad(f"line is longer than {longest} bytes")
    fields = _split(line, separator)
    if any(fields[len(header) :]):
        raise Bad(f"the line has {len(fields)} columns, but the header has {len(header)}")
    got = dict(zip(header, fields, strict=False))
    identifier = _vertex(got.get(id_name, b""), "id", strings) if id_name in header else None
    op = 1
    if "op" in header:
        word = got.get("op", b"")
        if not word:
            raise Bad("op is missing")
        op = OPERATIONS.get(word.decode("latin-1").lower() if word.isascii() else "")
        if op is None:
            raise Bad(f"op is unknown: {_shown(word)}")
    names = [name for name in header if name not in {label_name, id_name, "op", "weight"}]
    if op == -1:
        if identifier is None:
            raise Bad("id is missing, by which a removal names its point")
        return identifier, "nan", float_text(1.0), op, [(0.0).hex()] * len(names)
    if len(fields) < len(header):
        raise Bad(f"the line has {len(fields)} columns, but the header has {len(header)}")
    label = number_of(got.get(label_name, b"") or None, "label", math.nan)
    weight = number_of(got.get("weight", b"") or None, "weight", 1.0)
    if weight < 0:
        raise Bad(f"weight is negative: {_shown(got['weight'])}")
    wholes = [number_of(got[name], f"feature {name!r}") for name in names]
    values = [
        narrowed(value, f"feature {name!r}", got[name], single)
        for name, value in zip(names, wholes, strict=True)
    ]
    return identifier, float_text(label), float_text(weight), op, values


def number_of(one, name, missing=None):
    if one is None:
        return missing
    if not one:
        raise Bad(f"{name} is missing")
    strange = not one.isascii() or b"_" in one or one != one.strip()
    try:
        value = float("strange" if strange else one)
    except ValueError:
        raise Bad(f"{name} is not a number: {_shown(one)}") from None
    if math.isnan(value):
        raise Bad(f"{name} is NaN")
    if math.isinf(value):
        raise Bad(f"{name} is not finite: {_shown(one)}")
    return value


def narrowed(value, name, one, single):
    if single:
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            raise Bad(f"{name} does not fit into a float32: {_shown(one)}") from None
    return value.hex()


def read_libsvm(data, width, *, source="test", strings=False, single=False, longest=1 << 22):
    outcome = PointOutcome()
    for number, line in lines_of(data, longest):
        outcome.records += 1
        try:
            label, entries = _entries(line, number, width, single, longest)
        except Bad as bad:
            outcome.rejected.append((number, text(line[:longest]), str(bad)))
            continue
        outcome.points.append((id_at(source, number, strings), label, float_text(1.0), 1, entries, number))
    return outcome


def _entries(line, number, width, single, longest):
    if len(line) > longest:
        raise Bad(f"line is longer than {longest} bytes")
    parts = _split(line.split(b"#")[0], " ")
    label = number_of(parts[0] if parts else b"", "label")
    found = []
    for place, part in enumerate(parts[1:]):
        index, colon, value = part.partition(b":")
        digits = index.isdigit()
        if place == 0 and index == b"qid" and value.isdigit():
            continue
        if not colon or not digits:
            raise Bad(f"not an entry index:value: {_shown(part)}")
        number_of_feature = int(index) if len(index) < 20 else 2**31
        if not 1 <= number_of_feature <= width:
            raise Bad(
                f"line {number}: index {number_of_feature} is beyond the declared width: {width} features have indices 1 to {width}"
            )
        found.append((number_of_feature, value))
    entries = {}
    for place, value in found:
        if place in entries:
            raise Bad(f"index {place} is there twice")
        entries[place] = (number_of(value, f"feature {place}"), value)
    return float_text(label), {
        place - 1: narrowed(entries[place][0], f"feature {place}", entries[place][1], single)
        for place in sorted(entries)
    }


def read_objects(
    records,
    width,
    *,
    sparse=False,
    source=None,
    strings=False,
    quoted=False,
    single=False,
    kind=None,
    longest=1 << 22,
):
    """Read records that are objects; `kind` is what they should have been."""
    outcome = PointOutcome()
    for number, record in enumerate(records, start=1):
        outcome.records += 1
        try:
            point = _json_point(record, width, sparse, source, strings, quoted, single, kind, longest)
        except Bad as bad:
            outcome.rejected.append((number, text(record[:longest]), str(bad)))
            continue
        found = id_at(source, number, strings) if point[0] is None else point[0]
        outcome.points.append((found, *point[1:], number))
    return outcome


def _json_point(record, width, sparse, source, strings, quoted, single, kind, longest):
    if len(record) > longest:
        raise Bad(f"line is longer than {longest} bytes")
    try:
        pairs = json.loads(
            record.decode(), parse_int=_Digits, parse_float=_Digits, parse_constant=_refuse,
            object_pairs_hook=lambda found: ("object", found),
        )  # fmt: skip
    except (ValueError, RecursionError):
        raise Bad(kind) from None
    if not isinstance(pairs, tuple):
        raise Bad(kind)
    got = {}
    for key, value in pairs[1]:
        if key not in {"id", "label", "features", "weight", "op", "time"}:
            raise Bad(f"unknown field: {_shown(key.encode('utf-8', 'backslashreplace'))}")
        if key in got:
            raise Bad(f"{key} is there twice")
        got[key] = value
    identifier = None
    if source is None or got.get("id") is not None:
        identifier = _json_vertex(got.get("id"), "id", strings, quoted)
    op = got.get("op")
    if op is not None and (
        not isinstance(op, str) or OPERATIONS.get(op.lower() if op.isascii() else "") is None
    ):
        raise Bad(f"op is unknown: {_json_shown(op)}")
    op = 1 if op is None else OPERATIONS[op.lower()]
    if op == -1:
        if identifier is None:
            raise Bad("id is missing, by which a removal names its point")
        return identifier, "nan", float_text(1.0), op, {} if sparse else [(0.0).hex()] * width
    label = number_of(_json_digits(got.get("label"), "label"), "label", math.nan)
    weight = number_of(_json_digits(got.get("weight"), "weight"), "weight", 1.0)
    if weight < 0:
        raise Bad(f"weight is negative: {_shown(got['weight'].encode())}")
    features = _json_features(got.get("features"), width, sparse, single)
    return identifier, float_text(label), float_text(weight), op, features


def _json_digits(value, name):
    if value is None or isinstance(value, _Digits):
        return None if value is None else value.encode()
    raise Bad(f"{name} is not a number: {_json_shown(value)}")


def _json_features(found, width, sparse, single):
    if found is None:
        raise Bad("features are missing")
    if isinstance(found, tuple):
        if not sparse:
            raise Bad("features are sparse, but the stream declares dense points")
        entries = {}
        for key, value in found[1]:
            if not re.fullmatch("[0-9]+", key):
                raise Bad(f"not the index of a feature: {_shown(key.encode('utf-8', 'backslashreplace'))}")
            index = int(key) if len(key) < 20 else 2**31 - 1
            digits = _json_digits(value, f"feature {index}") or b""
            if index >= width:
                raise Bad(
                    f"index {index} is beyond the declared width: {width} features have indices 0 to {width - 1}"
                )
            if index in entries:
                raise Bad(f"index {index} is there twice")
            entries[index] = (number_of(digits, f"feature {index}"), digits)
        return {
            index: narrowed(entries[index][0], f"feature {index}", entries[index][1], single)
            for index in sorted(entries)
        }
    if not isinstance(found, list):
        raise Bad(f"features are neither a list nor an object: {_json_shown(found)}")
    if sparse:
        raise Bad("features are dense, but the stream declares sparse points")
    if len(found) != width:
        raise Bad(f"features has {len(found)} numbers, but points have {width} features")
    texts = [_json_digits(value, f"feature {place}") for place, value in enumerate(found)]
    values = [number_of(one or b"", f"feature {place}") for place, one in enumerate(texts)]
    return [
        narrowed(value, f"feature {place}", one, single)
        for place, (value, one) in enumerate(zip(values, texts, strict=True))
    ]

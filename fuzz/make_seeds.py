"""Writes the seeds that are not findings: one small input for each path of a target.

    python3 make_seeds.py            needs pyarrow for the Parquet files; run in this folder

Seeds of findings are named after the bug and are not changed.
"""

import base64
import datetime
import decimal
import gzip
import json
import os
import struct
from pathlib import Path

SEEDS = Path(__file__).parent / "seeds"


def main() -> None:
    write("query_body", query_bodies())
    write("cursor", cursors())
    write("request_head", request_heads())
    write("release_head", release_heads())
    write("search_query", questions())
    write("store_file", store_files())
    write("ledger_ops", ledger_histories())
    write("parquet_convert", parquet_files())
    write("text_convert", text_files())


def write(target: str, seeds: dict[str, bytes]) -> None:
    folder = SEEDS / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        (folder / name).write_bytes(content)


def text_files() -> dict[str, bytes]:
    """The first byte is the format: 0 CSV, 1 NDJSON, 2 TSV, 3 JSON, 4 Excel; 128 more joins the file with its second half."""
    return {
        "csv-types": b'\x00id,price,at,day,open,code,name\n1,1.50,2024-01-01T00:00:00.5+01:00,2024-02-29,true,007,"a,""b"""\r\n,,,,,,\n-2,0.25,1970-01-01 00:00,1969-12-31,False,12,x\n',
        "csv-quotes": b'\x00\xef\xbb\xbf"a",b\n"x\ny",""\n"""",z',
        "csv-mixed": b'\x00n\n1\n2\nx\n',
        "csv-ragged": b'\x00a,b\n1,2\n3\n',
        "csv-bytes": b'\x00a\n\xe8\n',
        "csv-joined": b'\x80n,v\n1,a\n2,b\n3,c\n4,d\n',
        "tsv": b'\x02a\tb\n1\t"x\ty"\n',
        "ndjson-types": b'\x01{"a":1,"b":{"c":true,"d":[1, {"e":"\\u00e8"}]},"t":"2024-01-01"}\n{"a":12345678901234567890,"late":null}\n',
        "ndjson-numbers": b'\x01{"a":1.50}\n{"a":1e3}\n{"a":-0.0}\n',
        "ndjson-mixed": b'\x01{"a":1}\n{"a":{"b":1}}\n',
        "ndjson-deep": b'\1{"a":' + b"[" * 70 + b"]" * 70 + b"}\n",
        "csv-semicolons": b'\x00sep=;\na;b\n1,5;31/12/2024\n1.234;007\n',
        "csv-title": b'\x00Title\n\na,b\n+5,1e999\n',
        "json": b'\x03[{"a": 1, "b": {"c": "}"}},\n {"a": 2.5}]\n',
        "csv-gzip": b"\0" + gzip.compress(b"a,b\n1,2\n", mtime=0),
    }


def query_bodies() -> dict[str, bytes]:
    """With an even first byte, the rest is a body; with an odd one, it generates a filter."""
    bodies = {
        "empty": {},
        "page": {"limit": 5, "offset": 3, "columns": ["id", "text"], "sortBy": "n", "sortDirection": "desc"},
        "operators": {"filters": {"n": {"gte": -3, "lt": 20}, "text": {"contains": "t", "startsWith": "t1"}}},
        "lists": {"filters": {"n": [1, 2, 3], "few": {"nin": ["a", ""]}, "price": {"in": ["0.125", 1.5]}}},
        "nulls": {"filters": {"few": None, "ratio": {"isNull": False}}},
        "suffixes": {"filters": {"n_min": 1, "price_max": "1.250", "at_min": "2023-11-14T22:13:20Z"}},
        "tree": {"filters": {"$or": [{"open": True}, {"$and": [{"n": {"between": [0, 9]}}, {"$not": {"few": "a"}}]}]}},
        "escaped": {"filters": {"$$odd": 1}},
        "dates": {"filters": {"day": {"gte": "1969-12-31"}, "at": {"lt": "2023-11-15"}}, "sortBy": "at"},
        "deep": {"filters": {"$not": {"$not": {"$not": {"$not": {"$not": {"$not": {"n": 1}}}}}}}},
        "numbers": {"filters": {"n": {"eq": 9223372036854775807}, "price": 1e30, "ratio": -0.0}},
        "cursor": {"sortBy": "n", "cursor": bare_cursor(3, 7)},
    }
    seeds = {name: b"\0" + json.dumps(body).encode() for name, body in bodies.items()}
    seeds["pairs"] = b"\0limit=5&sortBy=n&columns=id,text&filters={\"n\":1}"
    seeds["broken"] = b'\0{"limit": 1e, "filters": {"n": {"gtt": [}'
    seeds["twice"] = b'\0{"limit": 1, "limit": 2, "filters": {"n": 1, "n": 2}}'
    seeds["surrogates"] = b'\0{"filters": {"text": "\\ud83d\\ude00 \\ud83d"}}'
    for number in range(6):
        seeds[f"decided-{number}"] = b"\1" + bytes((number * 37 + at * 101) % 256 for at in range(64))
    return seeds


def bare_cursor(value, row: int) -> str:
    return base64.b64encode(json.dumps({"lastSortValue": value, "lastId": str(row)}).encode()).decode()


def cursors() -> dict[str, bytes]:
    seeds = {
        "none": b"\0\0",
        "text": b"\0\0" + bare_cursor(None, 3).encode(),
        "foreign": b'\0\1{"lastSortValue":null,"lastId":"3.%s.%s"}' % (b"0" * 32, b"1" * 16),
        "beyond": b'\0\1{"lastSortValue":null,"lastId":4294967295}',
    }
    values = [5, None, '"a"', 3, '"0.125"', 1.5, "true", '"1970-01-01"', '"2023-11-14T22:13:21Z"', 1, 1, None]
    for column, value in enumerate(values):
        value = "null" if value is None else value
        for descending in (0, 1):
            first = bytes([column * 2 + descending])
            text = f'{{"lastSortValue":{value},"lastId":"{column + 2}"}}'
            seeds[f"column-{column}-{descending}"] = first + b"\1" + text.encode()
    return seeds


def request_heads() -> dict[str, bytes]:
    """Two bytes determine how the rest is split."""
    wires = {
        "get": b"GET /a?b=c HTTP/1.1\r\nHost: a\r\n\r\n",
        "two": b"GET /a HTTP/1.1\r\nHost: a\r\n\r\nHEAD /b HTTP/1.1\r\nHost: a\r\nX-Api-Key: mk_1\r\n\r\n",
        "sized": b"POST /q HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}GET / HTTP/1.0\r\n\r\n",
        "chunked": b"POST /q HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a=b\r\n{\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n",
        "expects": b"POST /q HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nabcd",
        "closing": b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close, x\r\n\r\nGET / HTTP/1.1\r\n",
        "absolute": b"GET http://a.b/c%20d?e=%C3%A9 HTTP/1.1\r\nHost: a.b\r\n\r\n",
        "private": b"GET / HTTP/1.1\r\nHost: a\r\nX-Mercato-Client: 1.2.3.4\r\nTE: trailers\r\n\r\n",
        "empty-lines": b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "both": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "folded": b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n",
        "bare": b"GET / HTTP/1.1\nHost: a\n\n",
        "version": b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
    }
    return {name: bytes([number * 7 % 64, number * 29 % 256]) + wire for number, (name, wire) in enumerate(wires.items())}


def release_heads() -> dict[str, bytes]:
    """The first byte selects: 0 a head, 1 an outline without its checksum, 2 changes of a sound outline."""
    def blob(digit: str, length: int) -> dict:
        return {"sha256": digit * 64, "bytes": length}

    version = {"store": blob("a", 4096), "outline": blob("b", 900), "parquet": blob("c", 5000)}
    texts = {"dataset.toml": 'slug = "cities"\n', "changelog.md": "# \u00e8\n", "current": "1.0.0\n", "unpublished": ""}
    head = {"format": 1, "texts": texts, "versions": {"1.0.0": version, "1.1.0-rc.1+b": version}}
    heads = {
        "head": head,
        "head-empty": {"format": 1, "texts": {}, "versions": {}},
        "head-newer": {**head, "format": 2},
        "head-huge": {**head, "versions": {"1.0.0": {**version, "store": blob("a", 2**64 - 1)}}},
    }
    seeds = {name: b"\0" + json.dumps(head).encode() for name, head in heads.items()}

    def outline(length: int, pieces: list[tuple[int, bytes]]) -> bytes:
        places = b"".join(struct.pack("<QQ", at, len(piece)) for at, piece in pieces)
        return b"\1MCOUTL\r\n" + struct.pack("<QI", length, len(pieces)) + places + b"".join(piece for _, piece in pieces)

    seeds["outline"] = outline(5000, [(0, b"abc"), (4990, b"0123456789")])
    seeds["outline-longest"] = outline(2**46, [(2**46 - 4, b"tail")])
    seeds["outline-beyond"] = outline(100, [(2**64 - 2, b"tail")])
    seeds["sound"] = b"\2"
    for at in (8, 16, 20, 28, 60, 100, 116, 124, 140, 180, 300, 600):
        seeds[f"changed-{at}"] = b"\2" + struct.pack("<HBB", at, at % 4, at % 7)
    return seeds


def questions() -> dict[str, bytes]:
    """The first byte selects the language; its three highest bits also turn the text into a dataset."""
    texts = ["air quality", "qualità dell'aria", "scuole in italia con alunni", "ordres", "水質", "t1-x9", "totalPriceEUR",
             "ﬁ İ ß ǅ", "e\u0301 \u202e x", "a" * 190, " orders ", "price of water per day", "\U0001f600\U0001f600"]
    return {f"question-{number}": bytes([number % 3 + (224 if number % 2 else 0)]) + text.encode()
            for number, text in enumerate(texts)}


def store_files() -> dict[str, bytes]:
    """Low half of the first byte: the meaning of the rest; high half: the valid file that it changes."""
    golden = (SEEDS.parent.parent / "storage-format" / "golden" / "v1.mcol").read_bytes()
    seeds = {"golden": b"\0" + golden, "cut": b"\1" + struct.pack("<HBB", 5000, 0, 0)}
    for file in range(5):
        seeds[f"sound-{file}"] = bytes([file << 4 | 2])
        for section in (0, 1, 4, 5, 9, 14, 20, 30):
            change = struct.pack("<BBHI", section, section % 4, section * 3, 0xFFFF_FFFF)
            seeds[f"changed-{file}-{section}"] = bytes([file << 4 | 2]) + change
    return seeds


def ledger_histories() -> dict[str, bytes]:
    seeds = {}
    for number in range(8):
        seeds[f"history-{number}"] = bytes((number * 59 + at * at * 7 + at * 31) % 256 for at in range(400))
    # Counters from 0 upwards, so that every kind of step comes in order.
    seeds["steps"] = bytes(value for step in range(17) for value in (step, 1, 40, 0, 7, 3))
    return seeds


def parquet_files() -> dict[str, bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 6
    plain = pa.table({
        "i": pa.array([1, None, -3, 4, 5, 6], pa.int64()),
        "u": pa.array(range(rows), pa.uint64()),
        "f": pa.array([0.5, float("nan"), None, float("inf"), -0.0, 1e300]),
        "h": pa.array([1.5] * rows, pa.float32()),
        "s": ["a", "", None, "é", '"q"', "a,b\n"],
        "b": [True, False, None, True, True, False],
        "x": pa.array([b"\0\xff", b"", None, b"a", b"bc", b"d"], pa.binary()),
        "d": pa.array([decimal.Decimal("1.25"), None] * 3, pa.decimal128(20, 2)),
        "day": pa.array([datetime.date(1970, 1, 1 + row) for row in range(rows)]),
        "t": pa.array(range(rows), pa.timestamp("us", tz="UTC")),
        "tn": pa.array(range(rows), pa.timestamp("ns")),
        "time": pa.array(range(rows), pa.time64("us")),
        "long": pa.array([2**100 % 10**38, None] * 3, pa.decimal128(38, 0)),
    })
    nested = pa.table({
        "list": pa.array([[1, 2], [], None, [None], [3], [4]], pa.list_(pa.int32())),
        "struct": pa.array([{"a": 1, "b": {"c": "x"}}, None] * 3),
        "map": pa.array([[("k", 1)], [], None] * 2, pa.map_(pa.string(), pa.int64())),
        "deep": pa.array([[[1], []], None] * 3, pa.list_(pa.list_(pa.int8()))),
        "of": pa.array([[{"a": 1}], None] * 3),
    })
    words = pa.table({"w": pa.array(["x", "y", "x"] * 40).dictionary_encode(), "n": pa.array(range(120), pa.int16())})
    encoded = pa.table({"i": pa.array(range(64), pa.int64()), "s": [f"prefix {row}" for row in range(64)]})
    encodings = {"i": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY"}
    versions = [
        ("plain", plain, {"compression": "none"}),
        ("plain-v2", plain, {"compression": "none", "data_page_version": "2.0"}),
        ("int96", plain.select(["t"]), {"compression": "none", "use_deprecated_int96_timestamps": True}),
        ("nested", nested, {"compression": "none"}),
        ("words", words, {"compression": "none", "row_group_size": 50}),
        ("encoded", encoded, {"compression": "none", "use_dictionary": False, "column_encoding": encodings}),
        ("checked", encoded, {"compression": "none", "write_page_checksum": True}),
        ("no-rows", plain.slice(0, 0), {"compression": "none"}),
    ]
    versions += [(codec, words, {"compression": codec}) for codec in ("snappy", "gzip", "zstd", "brotli", "lz4")]
    seeds = {}
    for name, table, options in versions:
        path = SEEDS / "parquet_convert" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, store_schema=False, **options)
        seeds[name] = path.read_bytes()
    return seeds


if __name__ == "__main__":
    os.umask(0o022)
    main()

#!/usr/bin/env python3
"""Writes a data set as MosaicML's streaming library does, from the description of its format.

usage: write_mds.py DIR KIND [zstd]

Sample i of 25 has the tokens (1000 i + 7 j) mod 50021, j from 0. KIND says how:
  fixed     64 of them as ndarray:int32:64, beside a text and a number
  variable  10 i of them as ndarray:uint16, none in the first sample, beside a text
  dynamic   10 + i of them as ndarray, whose type alternates; in all shapes (n), (1, n), (n, 1)
  packed    128 of them as ndarray:uint32, and `indices` of documents: (0, 28 + i), (28 + i, 100), (101, 128)
Shards have at most 2,000 bytes of samples. With zstd only compressed shards are left.
"""

import json
import pathlib
import subprocess
import sys

import numpy as np

LIMIT = 2000
CODES = {"uint8": 8, "int8": 9, "uint16": 16, "int16": 17, "uint32": 32, "int32": 33, "uint64": 64, "int64": 65}


def tokens(i, count, dtype):
    return ((1000 * i + 7 * np.arange(count)) % 50021).astype(dtype)


def encode(encoding, value):
    if encoding == "str":
        return value.encode()
    if encoding == "int":
        return np.int64(value).tobytes()
    parts = encoding.split(":")
    head = b""
    if len(parts) < 2:
        head += np.uint8(CODES[value.dtype.name]).tobytes()
    if len(parts) < 3:
        most = max(value.shape)
        width = next(w for w, dtype in enumerate(("uint8", "uint16", "uint32")) if most <= np.iinfo(dtype).max)
        head += np.uint8(value.ndim << 2 | width).tobytes()
        head += np.array(value.shape, ("uint8", "uint16", "uint32")[width]).tobytes()
    return head + value.tobytes()


def fixed_size(encoding):
    if encoding == "int":
        return 8
    parts = encoding.split(":")
    if len(parts) < 3:
        return None
    return int(np.prod([int(size) for size in parts[2].split(",")])) * np.dtype(parts[1]).itemsize


def fixed(i):
    return {"domain": f"book {i}", "input_ids": tokens(i, 64, "int32"), "length": 64}


def variable(i):
    return {"input_ids": tokens(i, 10 * i, "uint16"), "text": "x" * (i % 5)}


def dynamic(i):
    ids = tokens(i, 10 + i, ("int32", "uint32", "int64", "uint64", "uint16")[i % 5])
    return {"input_ids": ids.reshape([(-1,), (1, -1), (-1, 1)][i % 3])}


def packed(i):
    spans = np.array([(0, 28 + i), (28 + i, 100), (101, 128)], "uint32")
    return {"indices": spans, "input_ids": tokens(i, 128, "uint32")}


KINDS = {"fixed": (fixed, {"domain": "str", "input_ids": "ndarray:int32:64", "length": "int"}),
         "variable": (variable, {"input_ids": "ndarray:uint16", "text": "str"}),
         "dynamic": (dynamic, {"input_ids": "ndarray"}),
         "packed": (packed, {"indices": "ndarray:uint32", "input_ids": "ndarray:uint32"})}


class Writer:
    def __init__(self, directory, columns, compress):
        self.directory, self.columns, self.compress = directory, dict(sorted(columns.items())), compress
        self.samples, self.shards = [], []

    def config(self):
        return {"version": 2, "format": "mds", "compression": "zstd:7" if self.compress else None, "hashes": [],
                "size_limit": LIMIT, "column_names": list(self.columns), "column_encodings": list(self.columns.values()),
                "column_sizes": [fixed_size(encoding) for encoding in self.columns.values()]}

    def add(self, sample):
        values = [encode(encoding, sample[name]) for name, encoding in self.columns.items()]
        sizes = [len(v) for v, encoding in zip(values, self.columns.values()) if fixed_size(encoding) is None]
        data = np.array(sizes, "uint32").tobytes() + b"".join(values)
        if self.samples and sum(map(len, self.samples)) + len(data) > LIMIT:
            self.flush()
        self.samples.append(data)

    def flush(self):
        config = json.dumps(self.config(), sort_keys=True).encode()
        count = len(self.samples)
        first = 4 + 4 * (count + 1) + len(config)
        offsets = first + np.cumsum([0] + [len(sample) for sample in self.samples])
        raw = np.uint32(count).tobytes() + offsets.astype("uint32").tobytes() + config + b"".join(self.samples)
        path = self.directory / f"shard.{len(self.shards):05}.mds"
        path.write_bytes(raw)
        shard = {**self.config(), "samples": count, "zip_data": None,
                 "raw_data": {"basename": path.name, "bytes": len(raw), "hashes": {}}}
        del shard["hashes"]
        if self.compress:
            zipped = path.with_name(path.name + ".zstd")
            subprocess.run(["zstd", "-q", "-7", str(path), "-o", str(zipped)], check=True)
            path.unlink()
            shard["zip_data"] = {"basename": zipped.name, "bytes": zipped.stat().st_size, "hashes": {}}
        self.shards.append(shard)
        self.samples = []

    def finish(self):
        self.flush()
        index = {"version": 2, "shards": self.shards}
        (self.directory / "index.json").write_text(json.dumps(index, sort_keys=True))


def main():
    directory = pathlib.Path(sys.argv[1])
    sample_of, columns = KINDS[sys.argv[2]]
    directory.mkdir(parents=True)
    writer = Writer(directory, columns, "zstd" in sys.argv[3:])
    for i in range(25):
        writer.add(sample_of(i))
    writer.finish()


main()

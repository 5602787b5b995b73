#!/usr/bin/env python3
"""Writes a dump of a control.db of each schema version: what the tests of old databases load.

usage: make_dumps.py ROOT [VERSION...]   writes ROOT/tests/golden/control_db/vN.sql (default: those missing)

Each has one finished job of two ranks on one node, with its events. A version's dump is written once, when the
version is new, and never again: it stands for the files that are out there. Columns that opening adds need no version.
"""

import pathlib
import re
import sqlite3
import sys

# Column -> value; columns a version does not have are left out. The rest have their defaults.
META = {"cluster_id": "c0ffee", "next_epoch": 8, "restored": 0}
JOB = {
    "id": "abc123", "number": 1, "request_id": "request-1", "project": "default", "owner": "ada",
    "state": "failed", "submitted": 1_700_000_000_000_000, "ended": 1_700_000_100_000_000,
    "blocking_reasons": "", "failure": "rank 1: out of cheese", "yaml": "name: old\n", "name": "old",
    "model_preset": "tiny", "data_path": "/data/text", "data_sources": "/data/a@0.25\n/data/b@0.75",
    "data_format": "text", "data_tokenizer": "bytes", "data_holdout": 0.01, "seed": 7, "parallel": "1x2x1x1",
    "memory_tile": 64, "memory_chunk": 128, "precision": "bf16", "optimizer_beta1": 0.9,
    "optimizer_beta2": 0.95, "optimizer_eps": 1e-8, "optimizer_weight_decay": 0.1, "optimizer_clip_norm": 1.0,
    "resources_devices": 2, "resources_kind": "cpu",
    "resources_placement": "n1:1\nn1:0", "checkpoint_dir": "/shared/ckpt",
    "checkpoint_every_steps": 10, "checkpoint_every": 90.0, "checkpoint_keep": 3, "evaluation_every_steps": 5, "evaluation_tokens": 4096,
    "model_from": "", "export_huggingface": "/shared/out", "zero": 2, "data_documents": "separate",
    "data_positions": "running", "optimizer_place": "device", "optimizer_moments": "bf16", "optimizer_max_skipped": 4, "memory_keep": "input",
    "memory_device": "40GiB", "retry_max": 5, "priority": 4, "excluded": "n1:1",
}
STAGE = {"job": "abc123", "position": 0, "context": 8192, "batch": 8192, "tokens": 81920, "rope_theta": 5e5,
         "learning_rate": 3e-4, "warmup_steps": 2, "schedule": "cosine", "final_learning_rate": 1e-5}
ATTEMPT = {"epoch": 7, "job": "abc123", "state": "failed", "mesh": "1x2x1x1", "tile_tokens": 64,
           "chunk_tokens": 128, "collective_timeout": 60.0, "started": 1_700_000_001_000_000,
           "ended": 1_700_000_099_000_000, "stop_reason": "failure", "stop_mode": "graceful",
           "cause": "rank 1: out of cheese", "cause_rank": 1, "checkpoint_step": 10,
           "checkpoint_path": "/shared/ckpt/abc123/e7-s10", "stages_done": 0, "zero": 2, "keep": "input",
           "failure_class": "rank"}
RANK = {"epoch": 7, "node": "n1", "state": "cleared", "exit_signal": 0}
NODE = {"id": "n1", "number": 1, "state": "ready", "hostname": "host-1", "os": "linux", "cpu_model": "cpu",
        "num_cores": 8, "memory": 64 << 30, "data_address": "10.0.0.1", "http_address": "", "boot_id": "boot",
        "build": "b1", "joined": 1_699_999_999_000_000, "last_seen": 1_700_000_099_000_000,
        "drained": "for repair"}
DEVICE = {"node": "n1", "kind": "cpu", "memory": 32 << 30, "peak_flops": 1e12, "peak_name": "avx",
          "fp32_flops": 1e12, "fp32_name": "avx", "num_threads": 4}

PROFILE = {"kind": "L40S", "driver": "570.86.10", "build": "b1", "bf16_flops": 1.8e14, "text": "{}\n", "node": "n1",
           "time": 1_700_000_050_000_000}


SUITE = {"job": "abc123", "position": 0, "suite": "ruler", "name": "tasks", "every_steps": 10, "lengths": "4096\n8192",
         "samples": 3, "depths": 5, "distractors": 0, "digits": 4, "tasks": "vt\ncwe", "seed": 7}
PROMPT = {"job": "abc123", "position": 0, "prompt": "Once", "tokens": 9, "temperature": 0.5, "top_p": 0.9, "seed": 7}


def migrations(root):
    text = (root / "controller/store/schema.cc").read_text()
    return re.findall(r'kControl\d+ = R"sql\((.*?)\)sql"', text, re.S)


def insert(database, table, row):
    columns = [c[1] for c in database.execute(f"PRAGMA table_info({table})") if c[1] in row]
    marks = ", ".join("?" * len(columns))
    database.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", [row[c] for c in columns])


def dump(scripts, version):
    database = sqlite3.connect(":memory:")
    for script in scripts[:version]:
        database.executescript(script)
    job = dict(JOB)
    if version == 1:
        job["data_path"] = "/data/a"
    for table, row in (("meta", META), ("jobs", job), ("stages", STAGE), ("attempts", ATTEMPT), ("nodes", NODE)):
        insert(database, table, row)
    for i in range(2):
        insert(database, "placements", RANK | {"position": i, "device": i, "exit_code": i,
                                               "error": "out of cheese" if i else ""})
        insert(database, "devices", DEVICE | {"position": i, "device": i})
    if version >= 10:
        insert(database, "profiles", PROFILE)
    if version >= 11:
        insert(database, "suites", SUITE)
        insert(database, "prompts", PROMPT)
    insert(database, "events", {"time": 1_700_000_000_000_000, "kind": "job.submitted", "subject": "job/abc123",
                                "fields": '{"id":"abc123","state":"pending"}'})
    lines = [line for line in database.iterdump() if "sqlite_sequence" not in line]
    return "\n".join(lines) + f"\nPRAGMA user_version = {version};\n"


def main():
    root = pathlib.Path(sys.argv[1])
    scripts = migrations(root)
    folder = root / "tests/golden/control_db"
    missing = [v for v in range(1, len(scripts) + 1) if not (folder / f"v{v}.sql").exists()]
    for version in [int(v) for v in sys.argv[2:]] or missing:
        (folder / f"v{version}.sql").write_text(dump(scripts, version))
        print(f"v{version}.sql")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Fails when a source file includes what its layer may not use (docs/architecture.md).

usage: check_layering.py ROOT             checks the tree
       check_layering.py ROOT --self-test  plants one forbidden include per rule and expects each found
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
LAYERS = ("base", "spec", "topology", "options", "kernels", "engine", "planner", "service", "controller", "worker", "cli",
          "bench")
PROTO = ["ringmaster/", "google/protobuf/", "grpc", "grpcpp/"]
SERVICE = PROTO + ["boost/", "openssl/", "spdlog/", "yaml-cpp/", "prometheus/"]
ENGINE = ["nlohmann/", "xxhash.h", "pcre2.h", "zstd.h"]
DAEMON = SERVICE + ["CLI/", "toml++/", "nlohmann/"]

# Folder (the longest match wins): project folders it may include (!: but not these), external headers it may include.
# Standard and system headers are free.
RULES = {
    "base": (["base"], []),
    # Each structure that travels, described once.
    "spec": (["base", "spec"], []),
    "topology": (["base", "spec", "topology"], []),
    # How every program reads its command line.
    "options": (["base", "options"], ["CLI/"]),
    "kernels": (["base", "kernels"], []),
    "kernels/cpu": (["base", "kernels"], ["oneapi/", "dnnl", "omp.h"]),
    "kernels/simt": (["base", "kernels/simt"], ["cuda"]),
    "kernels/device": (["kernels/device", "kernels/simt/simt.h"], []),
    "kernels/cuda": (["base", "kernels"], ["cuda", "cublas"]),
    # A program above both, not a part of the library.
    "bench": (["base", "spec", "topology", "options", "kernels", "engine", "planner", "bench"],
              ["nlohmann/", "oneapi/"]),
    "engine": (["base", "spec", "kernels", "engine"], ENGINE),
    "engine/main": (["base", "spec", "options", "kernels", "engine"], [*ENGINE, "CLI/"]),
    # The one reader of JSON, for all parts above.
    "engine/json": (["base", "spec", "engine/json"], ["nlohmann/"]),
    # Its planner also works in a process that trains nothing.
    "engine/memory": (["base", "kernels", "engine/memory"], ["coin/"]),
    "engine/schedule": (["base", "kernels", "engine/json", "engine/memory", "engine/schedule"], ["nlohmann/"]),
    # The mechanisms of a layer; none of these knows layers.
    "engine/streams": (["base", "spec", "kernels", "engine/comm", "engine/streams"], []),
    "engine/windows": (["base", "spec", "kernels", "engine/comm", "engine/memory", "engine/streams", "engine/windows"], []),
    "engine/attention": (["base", "spec", "kernels", "engine/comm", "engine/memory", "engine/streams", "engine/windows",
                          "engine/attention"], []),
    "engine/comm": (["base", "spec", "kernels", "engine/comm"], ["gloo/"]),
    "engine/tokenizer": (["base", "engine/tokenizer", "engine/data/file/hash.h", "engine/json"], ENGINE),
    "engine/data": (["base", "spec", "kernels", "engine/data", "engine/json", "engine/tokenizer"], ENGINE),
    "engine/checkpoint": (["base", "kernels", "engine/checkpoint", "engine/data", "engine/json"], ENGINE),
    "planner": (["base", "spec", "topology", "planner", "!planner/child"], []),
    # Plans are dry runs of the engine.
    "planner/search": (["base", "spec", "topology", "kernels/meta", "engine/comm", "engine/dry_run", "engine/schedule",
                        "engine/train/rank_config.h", "engine/train/rank_device.h", "kernels/kernels.h",
                        "planner/placement/graph_devices.h", "planner/placement/job_traffic.h",
                        "planner/placement/solver.h", "planner/plan_shape.h",
                        "planner/search", "planner/snapshot.h"], []),
    # The process that plans: its messages are those of the wire.
    "planner/child": (["base", "spec", "topology", "planner", "service"], PROTO),
    # Placement needs measurements alone.
    "planner/placement": (["base", "spec", "topology", "planner/placement"], []),
    "service": (["base", "spec", "topology", "service"], SERVICE),
    # Shared by the daemons: configuration files, and words with systemd.
    "service/daemon": (["base", "service/job_file", "service/daemon"], ["CLI/", "yaml-cpp/"]),
    # The machine's GPUs, for programs with and without gRPC.
    "service/gpu": (["base", "spec", "service/gpu"], []),
    "controller": (["base", "spec", "topology", "options", "service", "controller", "engine", "planner"], DAEMON),
    # Machines that a cloud or a file lists; the command line asks, too.
    "controller/discovery": (["base", "service", "spec", "engine/json", "controller/discovery"],
                             ["openssl/", "nlohmann/", "toml++/"]),
    "controller/core": (["base", "spec", "topology", "planner/memory.h", "planner/snapshot.h", "controller/core"], []),
    "controller/survey": (["base", "spec", "topology", "controller/survey"], []),
    "controller/curves": (["base", "controller/curves"], ["zstd.h"]),
    "controller/store": (["base", "spec", "topology", "controller/core", "controller/curves", "controller/store",
                          "controller/survey"],
                         ["sqlite3.h"]),
    "worker": (["base", "spec", "options", "service", "worker", "engine", "kernels"], DAEMON),
    "worker/core": (["base", "spec", "worker/core"], []),
    "worker/rank": (["base", "spec", "engine", "kernels", "service/gpu", "worker/rank", "worker/dir"], ENGINE),
    "cli": (["base", "spec", "topology", "options", "service", "cli", "controller/discovery", "engine/data", "engine/hf/config.h",
             "engine/evaluate", "engine/generate", "engine/json", "engine/train/save/checkpoint_export.h", "engine/schedule/device_profile_json.h", "engine/tokenizer", "planner"], DAEMON),
}
# Third-party prefixes the rules know; any other <...> is the standard library or the system.
EXTERNAL = sorted({*SERVICE, *ENGINE, *DAEMON, "oneapi/", "dnnl", "omp.h", "gloo/", "coin/", "sqlite3.h", "cuda",
                   "nccl", "cublas"})


def rule_of(path):
    """The rule of the deepest folder that has one."""
    parts = path.parent.parts
    for length in range(len(parts), 0, -1):
        if (key := "/".join(parts[:length])) in RULES:
            return RULES[key]
    return None


def is_in(include, folder):
    return include == folder or include.startswith(folder + "/")


def allowed(include, quoted, rule):
    folders, externals = rule
    if quoted and include.split("/")[0] in LAYERS:
        forbidden = any(f[0] == "!" and is_in(include, f[1:]) for f in folders)
        return not forbidden and any(is_in(include, f) for f in folders)
    if not any(include.startswith(prefix) for prefix in EXTERNAL):
        return True
    return any(include.startswith(prefix) for prefix in externals)


def violations(path, text):
    rule = rule_of(path)
    if rule is None:
        return []
    return [f"{path}: may not include {include}"
            for kind, include in INCLUDE.findall(text) if not allowed(include, kind == '"', rule)]


def check_tree(root):
    found, num_files = [], 0
    for layer in LAYERS:
        for path in sorted((root / layer).rglob("*")):
            if path.suffix in SUFFIXES:
                num_files += 1
                found += violations(path.relative_to(root), path.read_text())
    return found, num_files


PLANTED = [
    ("base/x.h", '"kernels/kernels.h"'), ("spec/x.h", '"service/log.h"'),
    ("options/x.cc", '"service/log.h"'), ("engine/train/x.cc", "<CLI/CLI.hpp>"), ("base/x.cc", "<nlohmann/json.hpp>"),
    ("base/x.cc", '"topology/links.h"'), ("base/x.cc", '"spec/member.h"'), ("kernels/x.cc", '"spec/member.h"'),
    ("spec/x.h", '"topology/links.h"'), ("topology/x.cc", '"planner/plan.h"'),
    ("kernels/x.cc", '"engine/train/trainer.h"'), ("kernels/ref/x.cc", "<dnnl.hpp>"),
    ("kernels/emu/x.cc", "<cuda_runtime.h>"), ("kernels/device/x.cuh", '"kernels/kernels.h"'),
    ("engine/train/x.cc", "<grpcpp/grpcpp.h>"), ("engine/model/x.cc", "<spdlog/spdlog.h>"),
    ("engine/windows/x.cc", '"engine/attention/attention.h"'), ("engine/attention/x.cc", '"engine/model/block.h"'),
    ("engine/memory/x.cc", '"engine/model/model.h"'), ("engine/train/x.cc", "<coin/Cbc_C_Interface.h>"),
    ("engine/comm/x.cc", '"engine/train/trainer.h"'), ("engine/main/x.cc", '"service/log.h"'),
    ("service/x.cc", '"engine/train/trainer.h"'), ("service/gpu/x.cc", '"service/log.h"'),
    ("service/daemon/x.cc", '"service/convert/convert.h"'), ("service/x.cc", "<CLI/CLI.hpp>"), ("service/x.cc", "<sqlite3.h>"),
    ("controller/core/x.cc", '"controller/store/store.h"'), ("controller/core/x.cc", '"service/log.h"'),
    ("controller/discovery/x.cc", '"controller/core/state.h"'), ("cli/x.cc", '"controller/core/state.h"'),
    ("controller/survey/x.cc", '"controller/core/state.h"'), ("controller/store/x.cc", "<grpcpp/grpcpp.h>"), ("controller/store/x.cc", '"service/convert/convert.h"'),
    ("worker/core/x.cc", '"worker/agent/agent.h"'), ("worker/rank/x.cc", "<boost/asio.hpp>"),
    ("engine/tokenizer/x.cc", '"engine/data/split.h"'), ("engine/json/x.cc", '"engine/data/split.h"'),
    ("worker/rank/x.cc", '"service/log.h"'), ("cli/x.cc", '"engine/train/trainer.h"'),
    ("cli/x.cc", "<sqlite3.h>"), ("planner/x.cc", "<grpcpp/grpcpp.h>"), ("planner/x.cc", '"service/log.h"'),
    ("planner/x.cc", '"controller/core/state.h"'), ("planner/child/x.cc", '"controller/core/state.h"'),
    ("controller/core/x.cc", '"planner/plan_jobs.h"'), ("planner/x.cc", '"planner/child/planning_child.h"'),
    ("planner/placement/x.cc", '"engine/train/trainer.h"'),
]


def self_test():
    missed = [f"{path} including {include}" for path, include in PLANTED
              if not violations(pathlib.Path(path), f"#include {include}\n")]
    clean = violations(pathlib.Path("engine/train/x.cc"), '#include "spec/mesh.h"\n#include <vector>\n')
    for case in missed:
        print(f"not found: {case}")
    return 1 if missed or clean else 0


def main():
    root = pathlib.Path(sys.argv[1])
    if "--self-test" in sys.argv:
        return self_test()
    found, num_files = check_tree(root)
    print("\n".join(found) if found else f"{num_files} files, no broken arrow")
    return 1 if found or num_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

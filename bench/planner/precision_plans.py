#!/usr/bin/env python3
"""Plans one model in several precisions and contexts on a described fleet, and prints the best plans as Markdown.

usage: precision_plans.py --ringmaster FILE [--fleet examples/fleets/four_l40s_nodes.yaml] [--devices 32] [--kind L40S]
                          [--preset llama3-8b] [--contexts 64K 256K 1M] [--tokens 100M] [--only NAME...]

Needs no package. Times are predictions: the profile of the kind and the links of the fleet say of what. Waits are for
messages, by the axis of the mesh; MFU counts causal attention and is of the peak in bf16, and in FP8.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

BF16, FP8 = {"precision": "bf16"}, {"precision": "fp8"}
EIGHT_BIT = {"attention": "8bit"}
MESSAGES = {"messages": {"ulysses": "fp8", "tensor": "fp8"}}
VARIANTS = [("bf16", BF16), ("fp8 tensorwise", FP8), ("fp8 blockwise", {**FP8, "fp8": {"recipe": "blockwise"}}),
            ("bf16, messages fp8", {**BF16, **MESSAGES}), ("fp8 tensorwise, messages fp8", {**FP8, **MESSAGES}),
            ("bf16, attention 8bit", {**BF16, **EIGHT_BIT}), ("fp8 tensorwise, attention 8bit", {**FP8, **EIGHT_BIT}),
            ("fp8 tensorwise, attention 8bit, messages fp8", {**FP8, **EIGHT_BIT, **MESSAGES})]
AXES = ["ring", "ulysses", "tensor"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ringmaster", required=True)
    parser.add_argument("--fleet", default="examples/fleets/four_l40s_nodes.yaml")
    parser.add_argument("--devices", type=int, default=32)
    parser.add_argument("--kind", default="L40S")
    parser.add_argument("--preset", default="llama3-8b")
    parser.add_argument("--contexts", nargs="+", default=["64K", "256K", "1M"])
    parser.add_argument("--tokens", default="100M")
    parser.add_argument("--only", nargs="+", default=[name for name, _ in VARIANTS], metavar="NAME")
    return parser.parse_args()


def best_plan(args, context, variant, folder):
    """The first plan of `ringmaster plan`; JSON is YAML."""
    job = {"name": "plan", "model": {"preset": args.preset}, "data": {"path": str(folder)},
           "stages": [{"context": context, "batch": context, "tokens": args.tokens, "learning_rate": 1e-5}],
           "optimizer": {"moments": "bf16"}, "resources": {"devices": args.devices, "kind": args.kind}, **variant}
    file = folder / "job.yaml"
    file.write_text(json.dumps(job))
    done = subprocess.run([args.ringmaster, "plan", str(file), "--fleet", args.fleet, "--plans", "1", "-o", "json"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{context}, {variant}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)["plans"][0]


def mesh_of(plan):
    sizes = plan["parallel"]
    axes = [f"{axis} {sizes[axis]}" for axis in ["data", *AXES] if sizes[axis] > 1]
    return f"{' x '.join(axes)}, ZeRO {sizes['zero']}"


def row(context, name, plan):
    phases = plan["phases_seconds"]
    waits = [phases.get(f"{axis}_exposed", 0) for axis in AXES]
    others = sum(value for phase, value in phases.items() if phase.endswith("_exposed")) - sum(waits)
    seconds = [plan["step_seconds"], phases["attention"], phases["products"], *waits, others]
    of_fp8 = f"{100 * plan['fp8_mfu']:.1f} %" if "fp8_mfu" in plan else ""
    cells = [context, name, mesh_of(plan), f"{plan['device_bytes'] / 2**30:.1f} GiB",
             *[f"{value:.1f} s" for value in seconds], f"{100 * plan['causal_mfu']:.1f} %", of_fp8,
             f"{plan['money']:.2f}"]
    return "| " + " | ".join(cells) + " |"


def main():
    args = parse()
    names = ["context", "precision", "mesh", "device", "step", "attention", "products",
             *[f"waits, {axis}" for axis in AXES], "other waits", "MFU", "of FP8", "price"]
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for context in args.contexts:
            for name, variant in VARIANTS:
                if name in args.only:
                    print(row(context, name, best_plan(args, context, variant, pathlib.Path(folder))), flush=True)


if __name__ == "__main__":
    main()

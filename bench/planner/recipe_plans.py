#!/usr/bin/env python3
"""Plans every recipe on the machines that it was published for, and prints the first plans as Markdown.

usage: recipe_plans.py --ringmaster FILE [--only NAME...]

Needs no package. A plan is for the stage with the longest context; the times are predictions from NVIDIA's figures, and
the whole run counts every stage. Plans on 512 devices take up to a minute each.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

MACHINES = [("gradient-8b-1m", "L40S*32"), ("gradient-8b-1m", "L40S*512"), ("gradient-70b-512k", "L40S*512"),
            ("prolong-8b-512k", "H100*8"), ("easycontext-7b-512k", "A100*8"), ("yarn-7b-128k", "A100*8")]
AXES = ["data", "ring", "ulysses", "tensor"]


def output_of(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def row(name, machines, document):
    plan = document["plans"][0]
    sizes = plan["parallel"]
    mesh = " x ".join(f"{axis} {sizes[axis]}" for axis in AXES if sizes[axis] > 1)
    cells = [f"`{name}`", machines, str(document["context"]), f"{mesh}, ZeRO {sizes['zero']}",
             f"{plan['device_bytes'] / 2**30:.1f} GiB", f"{plan['host_bytes'] / 2**30:.1f} GiB",
             f"{plan['step_seconds']:.0f} s", f"{100 * plan['causal_mfu']:.1f} %", f"{plan['seconds'] / 3600:.1f} h"]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ringmaster", required=True)
    parser.add_argument("--only", nargs="+", default=[name for name, _ in MACHINES], metavar="NAME")
    args = parser.parse_args()
    print("| recipe | machines | context | mesh | device | host | step | MFU | whole run |\n" + "|---" * 9 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for name, machines in MACHINES:
            if name not in args.only:
                continue
            file = pathlib.Path(folder) / f"{name}.yaml"
            file.write_text(output_of([args.ringmaster, "recipe", "show", name]))
            plan = [args.ringmaster, "plan", str(file), "--on", machines, "--plans", "1", "-o", "json"]
            print(row(name, machines, json.loads(output_of(plan))), flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Trains one model in bf16 and in every recipe of FP8, over several seeds, and prints the losses as Markdown.

usage: fp8_learning.py --ring-train FILE --data PATH [--preset micro] [--layers N] [--hidden N] [--steps 2000]
                       [--batch 1024] [--context 1024] [--rate 3e-3] [--seeds 3] [--at-once 2] [--bf16-layers 0]

Needs no package. A recipe is said to miss where the mean of its held-out losses is above that of bf16 by more than
0.5 %. With --hidden and --layers the model has those sizes instead of a preset's.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

RECIPES = [("bf16", {}), ("fp8 tensorwise, e5m2", {"recipe": "tensorwise", "gradients": "e5m2"}),
           ("fp8 tensorwise, e4m3", {"recipe": "tensorwise", "gradients": "e4m3"}),
           ("fp8 delayed, e5m2", {"recipe": "delayed", "gradients": "e5m2"}),
           ("fp8 delayed, e4m3", {"recipe": "delayed", "gradients": "e4m3"})]
SHOWN_STEPS = 4  # columns between the first step and the last
ALLOWED = 0.005


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ring-train", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--preset", default="micro")
    parser.add_argument("--layers", type=int, default=0)
    parser.add_argument("--hidden", type=int, default=0)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--bf16-layers", type=int, default=0)
    return parser.parse_args()


def config_of(args, recipe, seed, run_dir):
    config = {"name": "fp8-learning", "model": {"preset": args.preset},
              "data": {"path": args.data, "format": "auto", "tokenizer": "bytes"}, "seed": seed,
              "precision": "fp8" if recipe else "bf16",
              "stages": [{"context": args.context, "batch": args.batch, "tokens": args.steps * args.batch,
                          "learning_rate": args.rate, "warmup_steps": args.steps // 40, "schedule": "cosine",
                          "final_learning_rate": args.rate / 10}],
              "evaluate": {"tokens": 262144},
              "engine": {"threads_per_rank": 1, "run_dir": str(run_dir)}}
    if recipe:
        config["fp8"] = dict(recipe, bf16_layers=args.bf16_layers)
    if args.hidden:
        config["engine"]["model"] = {"vocabulary": 257, "hidden": args.hidden, "num_layers": args.layers,
                                     "num_query_heads": args.hidden // 32, "num_kv_heads": args.hidden // 64,
                                     "head_dim": 32, "feed_forward": args.hidden * 8 // 3 // 32 * 32}
    return config


def train(args, name, recipe, seed, root):
    run_dir = root / f"{name}-{seed}".replace(" ", "_").replace(",", "")
    run_dir.mkdir()
    path = run_dir / "config.json"
    path.write_text(json.dumps(config_of(args, recipe, seed, run_dir)))
    done = subprocess.run([args.ring_train, str(path)], capture_output=True, text=True, check=False)
    held_out = re.search(r"validation at step \d+: ([0-9.]+) nats", done.stdout + done.stderr)
    if done.returncode != 0 or held_out is None:
        sys.exit(f"{name}, seed {seed}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    records = [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
    losses = [record["loss"] for record in records if "grad_norm" in record]
    print(f"{name}, seed {seed}: held out {held_out[1]}", file=sys.stderr, flush=True)
    return losses, float(held_out[1])


def near(losses, step):
    """The mean of the 20 losses up to a step."""
    return statistics.mean(losses[max(0, step - 20):step])


def print_runs(args, runs):
    steps = [args.steps * i // (SHOWN_STEPS + 1) for i in range(1, SHOWN_STEPS + 2)]
    print("| precision | seed | " + " | ".join(f"to step {step}" for step in steps) + " | held out |")
    print("|---" * (len(steps) + 3) + "|")
    for (name, seed), (losses, held_out) in runs.items():
        course = " | ".join(f"{near(losses, step):.4f}" for step in steps)
        print(f"| {name} | {seed} | {course} | {held_out:.4f} |")


def print_means(runs):
    def held_out(name):
        return [loss for (of, _), (_, loss) in runs.items() if of == name]

    base = statistics.mean(held_out("bf16"))
    print("\n| precision | held out, mean | least to most | against bf16 | within 0.5 % |\n|---|---|---|---|---|")
    for name, _ in RECIPES:
        losses = held_out(name)
        more = statistics.mean(losses) / base - 1
        verdict = "" if name == "bf16" else "yes" if more <= ALLOWED else "**no**"
        print(f"| {name} | {statistics.mean(losses):.4f} | {min(losses):.4f} to {max(losses):.4f} | "
              f"{100 * more:+.2f} % | {verdict} |")


def main():
    args = parse()
    todo = [(name, recipe, seed) for seed in range(1, args.seeds + 1) for name, recipe in RECIPES]
    with tempfile.TemporaryDirectory() as root, concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
        results = list(pool.map(lambda run: train(args, *run, pathlib.Path(root)), todo))
    runs = {(name, seed): result for (name, _, seed), result in zip(todo, results)}
    print_runs(args, dict(sorted(runs.items(), key=lambda run: (run[0][1], [n for n, _ in RECIPES].index(run[0][0])))))
    print_means(runs)


if __name__ == "__main__":
    main()

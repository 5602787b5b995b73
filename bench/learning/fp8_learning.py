#!/usr/bin/env python3
"""Trains one model in bf16, in every recipe of FP8, with attention in 8 bits and with messages in FP8, and prints the
losses as Markdown.

usage: fp8_learning.py --ring-train FILE --data PATH [--preset micro] [--layers N] [--hidden N] [--steps 2000]
                       [--batch 1024] [--context 1024] [--rate 3e-3] [--seeds 3] [--at-once 2] [--bf16-layers 0]
                       [--only NAME...] [--runs DIR]
                       [--curves FILE.svg]

Needs no package. --runs keeps the folder of every run and takes a run that ended there as it is, so that hours of work
can be cut into parts. A recipe is said to miss where the mean of its held-out losses is above that of bf16 by more than
0.5 %. With --hidden and --layers the model has those sizes instead of a preset's. Numbers lost are the largest share of
a tensor that became 0 or was too large for its scale, in any step and layer; the error is the largest relative one.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

# On four ranks, threads of one process.
MESSAGES = {"parallel": {"ulysses": 2, "tensor": 2}, "messages": {"ulysses": "fp8", "tensor": "fp8"}}
WITHOUT_LIMITS = {"fallback_steps": 0, "max_saturated": 1, "max_flushed": 1}


def fp8(recipe, gradients):
    return {"precision": "fp8", "fp8": {"recipe": recipe, "gradients": gradients, **WITHOUT_LIMITS}}


RECIPES = [("bf16", {"precision": "bf16"}),
           ("fp8 tensorwise, e5m2", fp8("tensorwise", "e5m2")), ("fp8 tensorwise, e4m3", fp8("tensorwise", "e4m3")),
           ("fp8 delayed, e5m2", fp8("delayed", "e5m2")), ("fp8 delayed, e4m3", fp8("delayed", "e4m3")),
           ("fp8 blockwise, e4m3", fp8("blockwise", "e4m3")),
           ("bf16, attention 8bit", {"precision": "bf16", "attention": "8bit"}),
           ("fp8 tensorwise, e5m2, attention 8bit", {**fp8("tensorwise", "e5m2"), "attention": "8bit"}),
           ("bf16, messages fp8", {"precision": "bf16", **MESSAGES}),
           ("fp8 tensorwise, e5m2, messages fp8", {**fp8("tensorwise", "e5m2"), **MESSAGES})]
COLORS = ["#000000", "#d55e00", "#e69f00", "#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#999933", "#f0e442", "#666666"]
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
    parser.add_argument("--only", nargs="+", default=[name for name, _ in RECIPES], metavar="NAME")
    parser.add_argument("--runs", type=pathlib.Path)
    parser.add_argument("--curves", type=pathlib.Path)
    args = parser.parse_args()
    if "bf16" not in args.only:
        parser.error("--only has no 'bf16', which the others are compared with")
    return args


def config_of(args, recipe, seed, run_dir):
    config = {"name": "fp8-learning", "model": {"preset": args.preset},
              "data": {"path": args.data, "format": "auto", "tokenizer": "bytes"}, "seed": seed,
              "stages": [{"context": args.context, "batch": args.batch, "tokens": args.steps * args.batch,
                          "learning_rate": args.rate, "warmup_steps": args.steps // 40, "schedule": "cosine",
                          "final_learning_rate": args.rate / 10}],
              "evaluate": {"tokens": 262144},
              "engine": {"threads_per_rank": 1, "run_dir": str(run_dir)}, **recipe}
    if "fp8" in recipe:
        config["fp8"] = dict(recipe["fp8"], bf16_layers=args.bf16_layers)
    if args.hidden:
        config["engine"]["model"] = {"vocabulary": 257, "hidden": args.hidden, "num_layers": args.layers,
                                     "num_query_heads": args.hidden // 32, "num_kv_heads": args.hidden // 64,
                                     "head_dim": 32, "feed_forward": args.hidden * 8 // 3 // 32 * 32}
    return config


def output_of(args, name, recipe, seed, run_dir):
    """What the run of one configuration prints; where its folder has it to the end, nothing runs."""
    config, output = json.dumps(config_of(args, recipe, seed, run_dir)), run_dir / "output.txt"
    if output.exists():
        if (run_dir / "config.json").read_text() != config:
            sys.exit(f"{run_dir} has a run of another configuration; name another folder with --runs")
        return output.read_text()
    shutil.rmtree(run_dir, ignore_errors=True)
    run_dir.mkdir(parents=True)
    (run_dir / "config.json").write_text(config)
    done = subprocess.run([args.ring_train, str(run_dir / "config.json")], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{name}, seed {seed}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    output.write_text(done.stdout + done.stderr)
    return output.read_text()


def train(args, name, recipe, seed, root):
    run_dir = root / f"{name}-{seed}".replace(" ", "_").replace(",", "")
    printed = output_of(args, name, recipe, seed, run_dir)
    held_out = re.search(r"validation at step \d+: ([0-9.]+) nats", printed)
    if held_out is None:
        sys.exit(f"{name}, seed {seed}: no held-out loss\n{printed[-4000:]}")
    records = [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
    steps = [record for record in records if "grad_norm" in record]
    seen = [tensor for step in steps for tensor in step.get("fp8", {}).values()]
    lost = max((max(tensor["flushed"], tensor["saturated"]) for tensor in seen), default=0)
    error = max((tensor["error"] for tensor in seen), default=0)
    print(f"{name}, seed {seed}: held out {held_out[1]}", file=sys.stderr, flush=True)
    return [step["loss"] for step in steps], float(held_out[1]), lost, error


def near(losses, step):
    """The mean of the 20 losses up to a step."""
    return statistics.mean(losses[max(0, step - 20):step])


def print_runs(args, runs):
    steps = [args.steps * i // (SHOWN_STEPS + 1) for i in range(1, SHOWN_STEPS + 2)]
    print("| precision | seed | " + " | ".join(f"to step {step}" for step in steps) + " | held out |")
    print("|---" * (len(steps) + 3) + "|")
    for (name, seed), (losses, held_out, _, _) in runs.items():
        course = " | ".join(f"{near(losses, step):.4f}" for step in steps)
        print(f"| {name} | {seed} | {course} | {held_out:.4f} |")


def print_means(runs, recipes):
    def all_of(name):
        return [run for (of, _), run in runs.items() if of == name]

    base = statistics.mean(held_out for _, held_out, _, _ in all_of("bf16"))
    print("\n| precision | held out, mean | least to most | against bf16 | within 0.5 % | numbers lost | error |")
    print("|---" * 7 + "|")
    for name, _ in recipes:
        losses = [held_out for _, held_out, _, _ in all_of(name)]
        more = statistics.mean(losses) / base - 1
        verdict = "" if name == "bf16" else "yes" if more <= ALLOWED else "**no**"
        lost, error = (100 * max(run[i] for run in all_of(name)) for i in (2, 3))
        print(f"| {name} | {statistics.mean(losses):.4f} | {min(losses):.4f} to {max(losses):.4f} | "
              f"{100 * more:+.2f} % | {verdict} | {lost:.2f} % | {error:.1f} % |")


def curve_of(runs, name):
    """The mean over seeds of the losses, each the mean of the last 5 % of the steps so far."""
    means = [statistics.mean(of_step) for of_step in
             zip(*(losses for (of, _), (losses, *_) in runs.items() if of == name))]
    window = max(1, len(means) // 20)
    return [statistics.mean(means[max(0, i + 1 - window):i + 1]) for i in range(0, len(means), max(1, window // 4))]


def write_curves(path, runs, recipes):
    width, height, left, top = 900, 420, 60, 20
    curves = {name: curve_of(runs, name) for name, _ in recipes}
    low = min(map(min, curves.values()))
    high = max(curve[len(curve) // 20] for curve in curves.values())

    def point(curve, i):
        y = top + height * (high - min(curve[i], high)) / (high - low)
        return f"{left + width * i / (len(curve) - 1):.1f},{y:.1f}"

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 20}" height="{top + height + 180}" '
             'font-family="sans-serif" font-size="13">', '<rect width="100%" height="100%" fill="white"/>']
    for value, y in ((high, top), (low, top + height)):
        parts.append(f'<text x="8" y="{y + 5}">{value:.3f}</text>')
    for i, (name, curve) in enumerate(curves.items()):
        line = " ".join(point(curve, j) for j in range(len(curve)))
        parts.append(f'<polyline fill="none" stroke="{COLORS[i]}" stroke-width="1.3" points="{line}"/>')
        parts.append(f'<text x="{left}" y="{top + height + 28 + 18 * i}" fill="{COLORS[i]}">{name}</text>')
    path.write_text("\n".join(parts + ["</svg>"]) + "\n")


def main():
    args = parse()
    recipes = [(name, recipe) for name, recipe in RECIPES if name in args.only]
    todo = [(name, recipe, seed) for seed in range(1, args.seeds + 1) for name, recipe in recipes]
    with tempfile.TemporaryDirectory() as root, concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
        futures = [pool.submit(train, args, *run, args.runs or pathlib.Path(root)) for run in todo]
        failed = next((done for done in concurrent.futures.as_completed(futures) if done.exception()), None)
        if failed is not None:
            pool.shutdown(wait=False, cancel_futures=True)
        results = [future.result() for future in ([failed] if failed else futures)]
    runs = {(name, seed): result for (name, _, seed), result in zip(todo, results)}
    print_runs(args, dict(sorted(runs.items(), key=lambda run: (run[0][1], [n for n, _ in RECIPES].index(run[0][0])))))
    print_means(runs, recipes)
    if args.curves:
        write_curves(args.curves, runs, recipes)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes what a cluster leaves behind: the state of a controller and of a worker, a checkpoint, an export, job files.

usage: make_state.py BIN_DIR OUT_DIR, then tar -czf VERSION.tar.gz -C OUT_DIR .

BIN_DIR has the programs of the version whose files are wanted. One job has finished; of a second one the worker,
its shim and its ranks were killed in the middle. OUT_DIR/work is the root that jobs name `work:`, so nothing in
OUT_DIR says where it was made.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

JOB = """name: {name}
model: {{from: "work:model"}}
data: {{path: "work:data", format: text, tokenizer: bytes}}
stages:
  - {{context: 128, batch: 256, tokens: {tokens}, learning_rate: 1e-3, warmup: 2 steps}}
parallel: {{ring: 2}}
checkpoint: {{dir: "work:{name}", every: {every} steps, keep: 1}}
evaluate: {{every: 4 steps, tokens: 512}}
{more}"""
CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "vocab_size": 257,
          "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
          "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "max_position_embeddings": 4096, "rope_theta": 10000.0,
          "tie_word_embeddings": True}
LAYER = "model.layers.0."
WEIGHTS = {"model.embed_tokens.weight": [257, 16], "model.norm.weight": [16],
           LAYER + "input_layernorm.weight": [16], LAYER + "post_attention_layernorm.weight": [16],
           LAYER + "self_attn.q_proj.weight": [16, 16], LAYER + "self_attn.k_proj.weight": [16, 16],
           LAYER + "self_attn.v_proj.weight": [16, 16], LAYER + "self_attn.o_proj.weight": [16, 16],
           LAYER + "mlp.gate_proj.weight": [32, 16], LAYER + "mlp.up_proj.weight": [32, 16],
           LAYER + "mlp.down_proj.weight": [16, 32]}


def write_model(directory):
    directory.mkdir(parents=True)
    (directory / "config.json").write_text(json.dumps(CONFIG))
    draw, header, body = random.Random(1), {}, b""
    for name, shape in WEIGHTS.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [1.0] * count if len(shape) == 1 else [draw.gauss(0, 0.1) for _ in range(count)]
        data = struct.pack(f"<{count}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)


def write_data(directory):
    directory.mkdir(parents=True)
    draw = random.Random(2)
    words = ["ring", "token", "step", "tile", "chunk", "rank", "mesh", "link"]
    for number in range(4):
        text = " ".join(draw.choice(words) for _ in range(2000))
        (directory / f"{number:02}.txt").write_text(text + "\n")


class Cluster:
    def __init__(self, programs, out):
        self.programs, self.out = programs, out
        self.address = f"unix:{tempfile.mkdtemp()}/socket"
        self.controller = self.start("ringmaster-controller", "--state", out / "controller", "--listen", self.address,
                                     "--http", "none")
        self.worker = self.start("ringmaster-worker", "--state", out / "worker", "--controller", self.address,
                                 "--http", "none", "--devices", "cpu:2", "--root", f"work={out / 'work'}")

    def start(self, program, *arguments):
        log = open(self.out / f"{program}.log", "wb")
        return subprocess.Popen([self.programs / program, *map(str, arguments)], stdout=log, stderr=log)

    def call(self, *arguments):
        for _ in range(100):
            done = subprocess.run([self.programs / "ringmaster", "--address", self.address, *map(str, arguments)],
                                  text=True, capture_output=True)
            if done.returncode == 0:
                return done.stdout
            time.sleep(0.2)
        sys.exit(f"{arguments}: {done.stderr}")

    def submit(self, path):
        return self.call("submit", path, "-o", "name").split()[0].removeprefix("job/")

    def wait_for(self, job, reached):
        for _ in range(600):
            shown = json.loads(self.call("show", job, "-o", "json"))
            if reached(shown):
                return
            time.sleep(0.2)
        sys.exit(f"{job}: {shown}")


def ranks_of(attempts):
    """Processes whose command line names a file of the attempts, their shim first."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if str(attempts).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return sorted(found)


def main():
    programs, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    out.mkdir(parents=True)
    write_model(out / "work/model")
    write_data(out / "work/data")
    jobs = {"finished": JOB.format(name="finished", tokens=2048, every=4, more='export: {huggingface: "work:export"}\n'),
            "killed": JOB.format(name="killed", tokens=256000000, every=8, more="priority: 3\n")}
    cluster = Cluster(programs, out)
    try:
        print(*run(cluster, out, jobs))
    finally:
        cluster.worker.kill()
        cluster.controller.send_signal(signal.SIGTERM)
        cluster.controller.wait()
        cluster.worker.wait()
        shutil.rmtree(pathlib.Path(cluster.address[5:]).parent)
        leave_out(out)


def run(cluster, out, jobs):
    for name, text in jobs.items():
        (out / f"{name}.yaml").write_text(text)
    finished = cluster.submit(out / "finished.yaml")
    cluster.wait_for(finished, lambda shown: shown["state"] == "JOB_STATE_SUCCEEDED")
    killed = cluster.submit(out / "killed.yaml")
    checkpoints = out / "work/killed"
    for _ in range(600):
        if list(checkpoints.glob("*/manifest.json")) or list(checkpoints.glob("*/*/manifest.json")):
            break
        time.sleep(0.1)
    else:
        sys.exit(f"no checkpoint in {checkpoints}")
    cluster.worker.kill()
    for process in ranks_of(out / "worker"):
        os.kill(process, signal.SIGKILL)
    return finished, killed


def leave_out(out):
    """Copies from before migrations, the reserve, locks, what the daemons wrote about this start."""
    for pattern in ("controller/*.before-*", "controller/reserve", "*/lock", "*/*.json-*", "*.log", "worker/worker.json"):
        for path in out.glob(pattern):
            path.unlink()


if __name__ == "__main__":
    main()

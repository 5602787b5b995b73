// A real cluster of `ringmaster up`, and a run that trains the smallest model.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check } from "./browser.mjs";

const kText = "The ring passes keys and values on, and every rank sees every block exactly once.\n";

/** What the process has said up to the line with `text`. */
function outputUntil(process, text) {
  return new Promise((resolve, reject) => {
    let output = "";
    const take = (chunk) => {
      output += chunk;
      if (output.includes(text) && output.endsWith("\n")) resolve(output);
    };
    process.stdout.on("data", take);
    process.stderr.on("data", take);
    process.on("exit", (code) => reject(new Error(`it ended with ${code}: ${output}`)));
  });
}

export class Cluster {
  /** Starts a controller and four workers below `folder`. */
  static async start(bin, folder) {
    const made = new Cluster();
    made.program = join(bin, "ringmaster");
    made.folder = folder;
    made.state = join(folder, "state");
    made.process = spawn(made.program, ["up", "--workers", "4", "--listen", "127.0.0.1:0", "--state", made.state]);
    const output = await outputUntil(made.process, "http://");
    const found = output.match(/http:\/\/[\d.]+:\d+/);
    check(found, `ringmaster up printed no HTTP address: ${output}`);
    made.address = found[0];
    return made;
  }

  /** `ringmaster web`: the address it prints, and how to end it. */
  async web() {
    const process = spawn(this.program, ["--state", this.state, "web"]);
    const output = await outputUntil(process, "/open?");
    return { address: output.match(/http:\S+/)[0], stop: () => process.kill("SIGINT") };
  }

  run(...parts) {
    return execFileSync(this.program, ["--state", this.state, ...parts], { encoding: "utf8", cwd: this.folder });
  }

  submit(name, steps, ring = 2) {
    const data = join(this.folder, "data");
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, "text.txt"), kText.repeat(4000));
    const file = join(this.folder, `${name}.yaml`);
    writeFileSync(
      file,
      `name: ${name}
model: {preset: micro}
data: {path: ${data}, format: auto, tokenizer: bytes}
seed: 1
stages:
  - {context: 1024, batch: 1024, tokens: ${1024 * steps}, learning_rate: 3e-3}
parallel: {ring: ${ring}}
resources: {kind: cpu}
checkpoint: {every: 20 steps, keep: 2}
evaluate: {suites: [{name: far, lengths: [256, 1K, 2K], depths: 3, samples: 1}]}
`,
    );
    return this.run("submit", file, "--yes").trim().split("\n").pop();
  }

  /** Kills rank 0 of the newest attempt, as a fault does; the job goes on from its last checkpoint. */
  killRank() {
    let newest = { epoch: 0 };
    for (const worker of readdirSync(this.state).filter((name) => name.startsWith("worker-"))) {
      const attempts = join(this.state, worker, "attempts");
      if (!existsSync(attempts)) continue;
      for (const name of readdirSync(attempts)) {
        const shim = join(attempts, name, "shim.json");
        const epoch = Number(name.slice(1));
        if (epoch > newest.epoch && existsSync(shim)) newest = { epoch, shim };
      }
    }
    process.kill(JSON.parse(readFileSync(newest.shim, "utf8")).ranks[0].pid, "SIGKILL");
  }

  async stop() {
    const ended = new Promise((resolve) => this.process.on("exit", resolve));
    this.process.kill("SIGINT");
    this.process.kill("SIGINT");
    const timer = setTimeout(() => this.process.kill("SIGKILL"), 30_000);
    await ended;
    clearTimeout(timer);
  }
}

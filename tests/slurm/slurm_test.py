#!/usr/bin/env python3
"""A job of two nodes in a private Slurm: its time limit ends it, Slurm queues it again, and it ends with the losses of an
undisturbed run.

usage: slurm_test.py BIN_DIR   a directory with the programs
Skipped (exit 77) where Slurm cannot run.
"""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import time

from private_slurm import Missing, PrivateSlurm

# The undisturbed run trains this long, and the job as many steps as it has made. The first allocation's limit of a minute
# lets Slurm warn it after 40 s at the latest (it looks every 30 s), of which some are its start.
SECONDS = 40
WARNING = 20
JOB = """\
name: limits
model: {{preset: micro}}
data: {{path: {data}, format: text, tokenizer: bytes}}
seed: 5
stages: [{{context: 1024, batch: 1024, tokens: {tokens}, learning_rate: 1e-3}}]
parallel: {{ring: 2}}
resources: {{kind: cpu}}
checkpoint: {{every: never, keep: 1}}
"""


class Failed(Exception):
    """The product does not do what it should."""


def expect(condition, words):
    if not condition:
        raise Failed(words)


def run(words, **more):
    return subprocess.run(list(map(str, words)), text=True, capture_output=True, timeout=120, **more)


def losses_in(state):
    """Of each step, from the file that the controller writes while a job trains."""
    (file,) = (state / "controller/curves").glob("*/metrics.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return {line["step"]: line["loss"] for line in lines if "loss" in line}


def wait_until(condition, seconds, words):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(words() if callable(words) else words)
        time.sleep(0.3)


def write_job(folder, name, steps):
    path = folder / f"{name}.yaml"
    path.write_text(JOB.format(data=folder / "data", tokens=steps * 1024))
    return path


def undisturbed(ringmaster, folder):
    """The losses of a run of SECONDS."""
    state = folder / "undisturbed"
    job = write_job(folder, "long", 1_000_000)
    up = subprocess.Popen([ringmaster, "up", "--workers", "2", "--state", state], stdout=subprocess.DEVNULL,
                          stderr=open(folder / "up.log", "w"))
    try:
        wait_until(lambda: run([ringmaster, "--state", state, "ls"]).returncode == 0, 60, "`up` does not come up")
        submitted = run([ringmaster, "--state", state, "submit", job])
        expect(submitted.returncode == 0, submitted.stderr)
        identity = submitted.stdout.strip()
        time.sleep(SECONDS)
        run([ringmaster, "--state", state, "cancel", identity])
        run([ringmaster, "--state", state, "wait", identity])
        wait_until(lambda: losses_in(state), 10, "no metrics.jsonl of the undisturbed run")
    finally:
        up.terminate()
        up.wait(100)
    return losses_in(state)


class Allocation:
    def __init__(self, slurm, ringmaster, folder, job):
        self.slurm, self.ringmaster = slurm, ringmaster
        submitted = run([ringmaster, "slurm", "submit", job, "--", "--nodes=2", "--time=1",
                         f"--signal=B:TERM@{WARNING}", f"--output={folder}/out.txt"],
                        env=slurm.environment, cwd=folder)
        expect(submitted.returncode == 0, submitted.stderr)
        self.id = submitted.stdout.strip()
        self.state, self.out = folder / f"ringmaster-{self.id}", folder / "out.txt"
        for words in (f"allocation {self.id}", "2 nodes", "time limit 1:00", str(self.state)):
            expect(words in submitted.stderr, f"'{words}' is not in: {submitted.stderr}")

    def story(self):
        log = self.out.read_text() if self.out.exists() else "(no output)"
        logs = "".join(f"== {path.name}\n{path.read_text()[-1500:]}" for path in (self.state / "logs").glob("*.log"))
        return f"{log}\n{logs}\n{self.slurm.logs()}"

    def cli(self, *words, secrets=True):
        config = ["--config", self.state / "run/config.yaml"] if secrets else []
        return run([self.ringmaster, *words, *config], env={**self.slurm.environment, "HOME": "/nowhere"})

    def trains(self):
        history = self.cli("history", "-o", "json")
        return history.returncode == 0 and "running" in history.stdout

    def check_secrets(self):
        """All of them for this user alone; without one, no call."""
        expect(stat.S_IMODE(self.state.stat().st_mode) == 0o700, f"{self.state} is open to others")
        for path in (self.state / "run").rglob("*"):
            expect(path.stat().st_mode & 0o077 == 0, f"{path} is open to others")
        expect(not list(self.state.rglob("ca.key")), "the authority's key is still there")
        address = next(word.strip('",') for word in (self.state / "run/config.yaml").read_text().split()
                       if word.startswith('"'))
        ca = self.state / "run/pki/ca.crt"
        refused = self.cli("--address", address, "--ca", ca, "--server-name", "controller", "ls", secrets=False)
        expect(refused.returncode == 7, f"a caller without a credential got {refused.returncode}: {refused.stderr}")
        plain = self.cli("--address", address, "ls", secrets=False)
        expect(plain.returncode != 0, "a caller without TLS was admitted")

    def wait_for_requeue(self):
        wait_until(lambda: self.slurm.facts(self.id)["Restarts"] != "0", 100,
                   lambda: "Slurm did not queue it again:\n" + self.story())
        expect("is queued again" in self.out.read_text(), self.story())
        wait_until(lambda: self.slurm.facts(self.id)["JobState"] == "PENDING", 30, self.story)
        expect(not (self.state / "run").exists(), "secrets of the ended start are left")

    def wait_for_end(self):
        # Slurm would wait for two minutes, and end it again after one.
        self.slurm.call("scontrol", "update", f"jobid={self.id}", "StartTime=now", "TimeLimit=10")
        wait_until(lambda: self.slurm.facts(self.id)["JobState"] not in ("PENDING", "RUNNING", "COMPLETING"), 280,
                   lambda: "it did not end:\n" + self.story())
        facts = self.slurm.facts(self.id)
        expect((facts["JobState"], facts["ExitCode"], facts["Restarts"]) == ("COMPLETED", "0:0", "1"),
               f"{facts}\n{self.story()}")


def check_equal(losses, expected):
    expect(sorted(losses) == sorted(expected), f"steps {min(losses)} to {max(losses)} ({len(losses)} of them) and "
           f"{min(expected)} to {max(expected)} ({len(expected)}) of the undisturbed run")
    other = [step for step in expected if losses[step] != expected[step]]
    expect(not other, f"{len(other)} losses differ, first of step {other[:1]}")


def refusals(ringmaster, folder, slurm, job):
    """Mistakes are found before sbatch."""
    (folder / "wrong.yaml").write_text(job.read_text().replace("seed", "sede"))
    wrong = run([ringmaster, "slurm", "submit", folder / "wrong.yaml"], env=slurm.environment, cwd=folder)
    expect(wrong.returncode == 2 and "did you mean 'seed'" in wrong.stderr, f"{wrong.returncode} {wrong.stderr}")
    alone = run([ringmaster, "slurm", "submit", job], env={**os.environ, "PATH": "/nowhere"}, cwd=folder)
    expect(alone.returncode == 4 and "sbatch is not in PATH" in alone.stderr, f"{alone.returncode} {alone.stderr}")
    nowhere = run([ringmaster, "slurm", "submit", job, "--state", "/no/such/dir"], env=slurm.environment, cwd=folder)
    expect(nowhere.returncode == 4 and "--state" in nowhere.stderr, f"{nowhere.returncode} {nowhere.stderr}")
    refused = run([ringmaster, "slurm", "submit", job, "--", "--partition=other"], env=slurm.environment, cwd=folder)
    expect(refused.returncode == 4 and "invalid partition" in refused.stderr, f"{refused.returncode} {refused.stderr}")


def play(ringmaster, folder):
    shutil.copytree("/usr/share/doc/python3/html/_sources/tutorial", folder / "data")
    (folder / "slurm").mkdir()
    with PrivateSlurm(folder / "slurm", 2) as slurm:
        expected = undisturbed(ringmaster, folder)
        print(f"undisturbed: {len(expected)} steps in {SECONDS} s", flush=True)
        job = write_job(folder, "job", max(expected))
        refusals(ringmaster, folder, slurm, job)
        allocation = Allocation(slurm, ringmaster, folder, job)
        wait_until(allocation.trains, 45, allocation.story)
        allocation.check_secrets()
        allocation.wait_for_requeue()
        before = len(losses_in(allocation.state))
        print(f"queued again after {before} steps", flush=True)
        expect(0 < before < len(expected), f"{before} steps before the limit show nothing")
        allocation.wait_for_end()
        check_equal(losses_in(allocation.state), expected)
        print(f"the losses of all {len(expected)} steps are equal")


def main():
    ringmaster = pathlib.Path(sys.argv[1]).resolve() / "ringmaster"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rm-slurm-"))
    try:
        play(ringmaster, folder)
    except Missing as reason:
        print(f"skipped: {reason}")
        return 77
    except Failed as fault:
        print(fault)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Jobs on the cluster of a lab, by the CLI on its controller."""
import csv
import io
import json
import struct

from node import wait_until

# Shutdowns use no retry.
JOB = """name: {name}
model: {{preset: micro}}
data: {{path: {share}/text}}
stages:
  - {{context: 256, batch: 1024, tokens: {tokens}, learning_rate: 2e-3}}
parallel: {{ring: 2, data: 2}}
memory: {{tile: 64}}
evaluate: {{tokens: 4K}}
checkpoint: {{dir: {share}/checkpoints/{name}, every: 50 steps}}
retry: {{max: 0}}
"""
TOKENS_OF_STEP = 1024


def float32(text):
    return struct.unpack("f", struct.pack("f", float(text)))[0]


class Jobs:
    """Submits jobs of four ranks and reads what came of them."""

    def __init__(self, lab, controller, share):
        self.lab, self.controller, self.share = lab, controller, share

    def cli(self, arguments, check=True):
        return self.lab.on(self.controller, "ringmaster " + arguments, check=check)

    def json_of(self, arguments):
        return json.loads(self.cli(arguments + " -o json").stdout)

    def submit(self, name, steps):
        text = JOB.format(name=name, share=self.share, tokens=steps * TOKENS_OF_STEP)
        self.lab.nodes[self.controller].write(f"/root/{name}.yaml", text)
        return self.cli(f"submit /root/{name}.yaml").stdout.strip()

    def show(self, job):
        """The job as `show` tells it, or nothing while the controller does not answer."""
        told = self.cli(f"show {job} -o json", check=False)
        if told.returncode != 0:
            return {}
        value = json.loads(told.stdout)
        return value[0] if isinstance(value, list) else value

    def last_step(self, job):
        return (self.show(job).get("lastStep") or {}).get("step", 0)

    def wait_for_step(self, job, step, seconds=180):
        def there():
            shown = self.show(job)
            if shown.get("state") in ("failed", "cancelled"):
                raise AssertionError(f"job {job}: {json.dumps(shown, indent=1)[:4000]}")
            return (shown.get("lastStep") or {}).get("step", 0) >= step
        try:
            wait_until(there, seconds, f"job {job}: step {step}")
        except TimeoutError as late:
            raise TimeoutError(f"{late}\n{self.why(job)}") from late

    def wait_for_attempts(self, job, count, seconds=120):
        """Until the newest of `count` attempts trains."""
        def trains():
            attempts = self.show(job).get("attempts", [])
            return len(attempts) == count and attempts[-1].get("state") == "running"
        wait_until(trains, seconds, f"job {job}: attempt {count}")

    def why(self, job):
        return self.cli(f"explain {job}", check=False).stdout + json.dumps(self.show(job), indent=1)[-5000:]

    def wait_for_end(self, job, seconds=300):
        def ended():
            return self.show(job).get("state") in ("succeeded", "failed", "cancelled")
        try:
            wait_until(ended, seconds, f"job {job}: its end")
        except TimeoutError as late:
            raise TimeoutError(f"{late}\n{self.why(job)}") from late
        shown = self.show(job)
        if shown["state"] != "succeeded":
            raise AssertionError(f"job {job}: {json.dumps(shown, indent=1)[:6000]}")
        return shown

    def losses(self, job):
        """Loss by step, as `export-curves` has them, in the float32 that the controller keeps once a step is old."""
        text = self.cli(f"export-curves {job} --format csv --out /tmp/curves >/dev/null && cat /tmp/curves/{job}.csv").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        return {int(row["step"]): float32(row["loss"]) for row in rows if row.get("loss")}

    def last_loss(self, job):
        """With all of its bits."""
        return self.show(job)["lastStep"]["loss"]

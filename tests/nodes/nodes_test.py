#!/usr/bin/env python3
"""From bare machines to a cluster, by the collection: one controller and four workers that boot with systemd.

usage: nodes_test.py BUILD_DIR [site] [reboots] [upgrade] [remove] [monitoring] [rented]
       all by default; each begins with a cluster made by site.yml

Exit code 77: this machine cannot boot nodes, and the output says why. RM_NODES_KEEP=1 keeps the nodes' files.
"""
import json
import os
import sys
import threading
import traceback

import archives
import base_tree
import rented
import sandbox
from jobs import Jobs
from node import expect, step, wait_until
from node_lab import NodeLab
from playbooks import Playbooks

CONTROLLER = "control"
WORKERS = ["worker1", "worker2", "worker3", "worker4"]
SHARE = "/srv/ringmaster"
PARTS = ["site", "reboots", "upgrade", "remove", "monitoring", "rented"]
STEPS = 600


class Cluster:
    """The lab, the playbooks over it, and its jobs."""

    def __init__(self, build, directory):
        self.directory = directory
        self.share = os.path.join(directory, "share")
        self.make_share()
        with step("the archive"):
            self.archive = archives.make(build, os.path.join(directory, "archive"))
        self.lab = NodeLab(directory, base_tree.cache_of(build))
        self.shared = {SHARE: self.share}
        self.lab.boot([CONTROLLER, *WORKERS], self.shared)
        self.jobs = Jobs(self.lab, CONTROLLER, SHARE)
        groups = {"ringmaster_controller": [CONTROLLER], "ringmaster_workers": WORKERS}
        watched = {"ringmaster_exporters": [CONTROLLER, *WORKERS], "ringmaster_monitoring": [CONTROLLER]}
        variables = {"ringmaster_archive": self.archive, "@" + self.write_settings(): None}
        self.playbooks = Playbooks(self.lab, os.path.join(archives.ROOT, "ansible"), variables)
        self.plain = self.playbooks.inventory("plain.ini", {**groups, **{name: [] for name in watched}})
        self.monitored = self.playbooks.inventory("monitored.ini", {**groups, **watched})
        self.targets = []

    def make_share(self):
        """Text and room for checkpoints, as on a shared file system."""
        os.makedirs(os.path.join(self.share, "text"))
        for name in os.listdir(os.path.join(archives.ROOT, "docs")):
            if name.endswith(".md"):
                with open(os.path.join(archives.ROOT, "docs", name), encoding="utf-8") as page:
                    with open(os.path.join(self.share, "text", name + ".txt"), "w", encoding="utf-8") as text:
                        text.write(page.read())
        # Workers run as their own user; a root that it cannot write is read-only to jobs.
        os.makedirs(os.path.join(self.share, "checkpoints"))
        for path in (self.share, os.path.join(self.share, "checkpoints")):
            os.chmod(path, 0o777)

    def write_settings(self):
        path = os.path.join(self.directory, "settings.yml")
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"ringmaster_worker_roots: {{share: {SHARE}}}\n"
                      "ringmaster_worker_config: {devices: 'cpu:1'}\n"
                      "ringmaster_firewall: true\n"
                      "ringmaster_firewall_from: [10.78.0.0/24]\n")
        return path

    def play(self, what, name, *more, inventory=None, **variables):
        with step(what):
            return self.playbooks.play(inventory or self.plain, name, *more, **variables)

    def variant(self, version, **what):
        """An archive of the same programs under another version."""
        return archives.variant(self.archive, version, os.path.join(self.directory, "archive-" + version), **what)

    def journals(self):
        """The last words of every daemon and of the controller's failed units, for a failure."""
        print(self.lab.on(CONTROLLER, "systemctl --failed --plain --no-legend | while read -r unit _; do "
                          "journalctl --no-pager -n 30 -u $unit; done", check=False).stdout, file=sys.stderr)
        for name, node in self.lab.nodes.items():
            print(f"== {name}\n{node.journal('-n', '60', '-o', 'short-unix', '_COMM=ringmaster-work', '_COMM=ringmaster-cont')}", file=sys.stderr)


def make_cluster(cluster):
    """From nothing."""
    cluster.play("site.yml", "site").expect_success()
    nodes = cluster.jobs.json_of("nodes")
    names = sorted(node["inventory"]["hostname"] for node in nodes)
    expect(names == WORKERS, f"nodes: {names}")
    expect(all(node["sessionUp"] for node in nodes), f"sessions: {nodes}")
    for name in WORKERS:
        left = cluster.lab.on(name, "ls -A /etc/ringmaster").stdout.split()
        expect("join-token" not in left, f"{name} keeps its token: {left}")


def check_site(cluster):
    """The second run and --check change nothing."""
    cluster.play("site.yml again", "site").expect_no_change()
    cluster.play("site.yml --check --diff of two machines", "site", "--check", "--diff", "--limit",
                 f"{CONTROLLER},{WORKERS[0]}").expect_no_change()


def undisturbed(cluster, steps):
    """A job of so many steps that nothing disturbs, and its losses."""
    with step(f"an undisturbed job of {steps} steps across four nodes"):
        job = cluster.jobs.submit(f"undisturbed-{steps}", steps)
        shown = cluster.jobs.wait_for_end(job, 900)
    expect(len(shown["attempts"]) == 1, f"attempts: {shown['attempts']}")
    losses = cluster.jobs.losses(job)
    expect(sorted(losses) == list(range(1, steps + 1)), f"steps with a loss: {sorted(losses)[:5]}... of {len(losses)}")
    return job, losses


def expect_same(wanted, found):
    different = [s for s in sorted(wanted) if wanted[s] != found.get(s)]
    expect(not different and len(found) == len(wanted),
           f"{len(different)} steps differ, first {different[:1]}: "
           f"{[(wanted[s], found.get(s)) for s in different[:3]]}")


def print_attempts(shown):
    for number, attempt in enumerate(shown["attempts"], 1):
        print(f"           attempt {number}: {attempt['state']}, checkpoint of step "
              f"{attempt.get('lastCheckpointStep', 0)}; {attempt.get('cause', '')}", flush=True)


def check_reboots(cluster):
    """Reboots of each worker and of the controller leave no trace in the losses."""
    other, losses = undisturbed(cluster, STEPS)
    job = cluster.jobs.submit("rebooted", STEPS)
    cluster.jobs.wait_for_step(job, 40)
    for name in WORKERS:
        with step(f"{name} reboots"):
            cluster.lab.nodes[name].reboot()
        with step("its job goes on"):
            cluster.jobs.wait_for_attempts(job, WORKERS.index(name) + 2)
            cluster.jobs.wait_for_step(job, cluster.jobs.last_step(job) + 20)
    with step("the controller reboots"):
        cluster.lab.nodes[CONTROLLER].reboot()
    with step("the job ends"):
        shown = cluster.jobs.wait_for_end(job)
    print_attempts(shown)
    expect(len(shown["attempts"]) == 1 + len(WORKERS), "each worker's reboot ends an attempt, the controller's none")
    expect_same(losses, cluster.jobs.losses(job))
    expect(cluster.jobs.last_loss(job) == cluster.jobs.last_loss(other), "the last losses differ in some bits")


class Watch(threading.Thread):
    """Counts the nodes that are out of service at the same time, once a second.

    While none is drained it is the controller that restarts: for a moment no worker has a session, and all of them train.
    """

    def __init__(self, jobs):
        super().__init__(daemon=True)
        self.jobs, self.ended, self.most, self.seen = jobs, threading.Event(), 0, set()
        self.start()

    def run(self):
        while not self.ended.wait(1):
            told = self.jobs.cli("nodes -o json", check=False)
            if told.returncode == 0:
                nodes = json.loads(told.stdout)
                out = {n["inventory"]["hostname"] for n in nodes if n["drained"] or not n["sessionUp"]}
                if any(n["drained"] for n in nodes):
                    self.most, self.seen = max(self.most, len(out)), self.seen | out

    def stop(self):
        self.ended.set()
        self.join()


def release_of(cluster, name):
    return os.path.basename(cluster.lab.on(name, "readlink /opt/ringmaster").stdout.strip())


def check_upgrade(cluster):
    """One node after the other, with a job that trains meanwhile; then one version that does not start."""
    job = cluster.jobs.submit("upgraded", 100 * STEPS)
    cluster.jobs.wait_for_step(job, 40)
    watch = Watch(cluster.jobs)
    cluster.play("upgrade.yml", "upgrade", ringmaster_archive=cluster.variant("9.1.0")).expect_success()
    watch.stop()
    expect(watch.seen == set(WORKERS) and watch.most == 1, f"out of service: {watch.seen}, {watch.most} at once")
    for name in [CONTROLLER, *WORKERS]:
        expect(release_of(cluster, name).startswith("9.1.0-"), f"{name} has {release_of(cluster, name)}")
    # A step that a drain had lost, or trained twice with another result, would show in the losses after it.
    drained = [attempt["lastCheckpointStep"] for attempt in cluster.jobs.show(job)["attempts"][:-1]]
    compared = max(drained) + 20
    with step(f"the job has {compared} steps, and is cancelled"):
        cluster.jobs.wait_for_step(job, compared)
        cluster.jobs.cli(f"cancel {job}")
        wait_until(lambda: cluster.jobs.show(job).get("state") == "cancelled", 60, f"job {job}: its end")
    shown = cluster.jobs.show(job)
    print_attempts(shown)
    # Each attempt on a drained node has ended with a checkpoint, and the next one began there.
    expect(len(drained) == len(WORKERS) and drained == sorted(drained) and drained[0] >= 40,
           f"checkpoints of the drained attempts: {drained}")
    _, losses = undisturbed(cluster, compared)
    expect_same(losses, {s: loss for s, loss in cluster.jobs.losses(job).items() if s <= compared})
    check_failing_upgrade(cluster)


def check_failing_upgrade(cluster):
    broken = cluster.variant("9.2.0", broken_worker=True)
    failed = cluster.play("upgrade.yml to a worker that does not start", "upgrade", ringmaster_archive=broken)
    expect(failed.code != 0, "an upgrade to a worker that does not start has succeeded")
    for words in ("No further node was touched", "is back in service with", "ringmaster_archive=FORMER-ARCHIVE"):
        expect(words in failed.output, f"'{words}' is not in\n{failed.output[-4000:]}")
    for name in WORKERS:
        expect(release_of(cluster, name).startswith("9.1.0-"), f"{name} has {release_of(cluster, name)}")
    nodes = cluster.jobs.json_of("nodes")
    expect(all(n["sessionUp"] and not n["drained"] for n in nodes), f"not in service: {nodes}")


def check_remove(cluster):
    """A node leaves, and its machine comes back as another node (docs/runbooks/replace_a_node.md)."""
    before = {n["inventory"]["hostname"]: n["id"] for n in cluster.jobs.json_of("nodes") if not n["removed"]}
    cluster.play("remove.yml", "remove", "--limit", WORKERS[3]).expect_success()
    there = cluster.lab.on(WORKERS[3], "ls -d /opt/ringmaster /etc/systemd/system/ringmaster-*", check=False).stdout
    expect(there == "", f"left on {WORKERS[3]}: {there}")
    cluster.play("site.yml for the new machine", "site", "--limit", f"{CONTROLLER},{WORKERS[3]}",
                 ringmaster_archive=cluster.archive).expect_success()
    after = [n["id"] for n in cluster.jobs.json_of("nodes") if n["inventory"]["hostname"] == WORKERS[3] and n["sessionUp"]]
    expect(len(after) == 1 and after[0] != before[WORKERS[3]], f"nodes of {WORKERS[3]}: {before[WORKERS[3]]}, then {after}")


def check_monitoring(cluster):
    """Prometheus finds the controller, the workers and the node exporters."""
    cluster.play("site.yml with monitoring", "site", inventory=cluster.monitored).expect_success()
    cluster.play("site.yml with monitoring again", "site", inventory=cluster.monitored).expect_no_change()

    def healthy():
        told = cluster.lab.on(CONTROLLER, "python3 -c 'import urllib.request as u; "
                              "print(u.urlopen(\"http://127.0.0.1:9090/api/v1/targets\").read().decode())'").stdout
        targets = json.loads(told)["data"]["activeTargets"]
        cluster.targets = [(t["labels"]["job"], t["scrapeUrl"], t["health"], t["lastError"]) for t in targets]
        up = [job for job, _, health, _ in cluster.targets if health == "up"]
        return up.count("ringmaster") == 5 and up.count("node") == 5
    try:
        wait_until(healthy, 90, "targets")
    except TimeoutError as late:
        raise AssertionError(f"targets: {cluster.targets}") from late


def run_parts(build, directory, parts):
    cluster = Cluster(build, directory)
    checks = {"site": check_site, "reboots": check_reboots, "upgrade": check_upgrade, "remove": check_remove,
              "monitoring": check_monitoring, "rented": lambda cluster: rented.check_rented(cluster, CONTROLLER, WORKERS)}
    try:
        make_cluster(cluster)
        for part in [part for part in checks if part in parts]:
            checks[part](cluster)
    except Exception:
        traceback.print_exc()
        cluster.journals()
        return 1
    finally:
        with step("the nodes stop"):
            cluster.lab.stop()
    return 0


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(PARTS):
        print(__doc__, file=sys.stderr)
        return 2
    build = os.path.abspath(sys.argv[1])
    return sandbox.main(build, lambda directory: run_parts(build, directory, sys.argv[2:] or PARTS))


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""From bare machines to a cluster, by the collection: one controller and four workers that boot with systemd.

usage: nodes_test.py BUILD_DIR [site] [reboots] [upgrade] [remove]    all by default; each begins with site

Exit code 77: this machine cannot boot nodes, and the output says why. RM_NODES_KEEP=1 keeps the nodes' files.
"""
import os
import sys
import traceback

import archives
import base_tree
import sandbox
from jobs import Jobs
from node_lab import NodeLab, step
from playbooks import Playbooks

CONTROLLER = "control"
WORKERS = ["worker1", "worker2", "worker3", "worker4"]
SHARE = "/srv/ringmaster"
PARTS = ["site", "reboots", "upgrade", "remove"]
STEPS = 300


def expect(true, message):
    if not true:
        raise AssertionError(message)


class Cluster:
    """The lab, the playbooks over it, and its jobs."""

    def __init__(self, build, directory):
        self.directory = directory
        self.share = os.path.join(directory, "share")
        self.make_share()
        with step("the archive"):
            self.archive = archives.make(build, os.path.join(directory, "archive"))
        self.lab = NodeLab(directory, cache_of(build))
        self.lab.boot([CONTROLLER, *WORKERS], {SHARE: self.share})
        self.jobs = Jobs(self.lab, CONTROLLER, SHARE)
        groups = {"ringmaster_controller": [CONTROLLER], "ringmaster_workers": WORKERS,
                  "ringmaster_exporters": [], "ringmaster_monitoring": []}
        variables = {"ringmaster_archive": self.archive, "@" + self.write_settings(): None}
        self.playbooks = Playbooks(self.lab, os.path.join(archives.ROOT, "ansible"), groups, variables)

    def make_share(self):
        """Text and room for checkpoints, as on a shared file system."""
        os.makedirs(os.path.join(self.share, "text"))
        for name in os.listdir(os.path.join(archives.ROOT, "docs")):
            if name.endswith(".md"):
                with open(os.path.join(archives.ROOT, "docs", name), encoding="utf-8") as page:
                    with open(os.path.join(self.share, "text", name + ".txt"), "w", encoding="utf-8") as text:
                        text.write(page.read())
        os.makedirs(os.path.join(self.share, "checkpoints"))
        os.chmod(os.path.join(self.share, "checkpoints"), 0o777)

    def write_settings(self):
        path = os.path.join(self.directory, "settings.yml")
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"ringmaster_worker_roots: {{share: {SHARE}}}\n"
                      "ringmaster_worker_config: {devices: 'cpu:1'}\n"
                      "ringmaster_firewall: true\n"
                      "ringmaster_firewall_from: [10.78.0.0/24]\n")
        return path

    def play(self, what, name, *more, **variables):
        with step(what):
            return self.playbooks.play(name, *more, **variables)

    def journals(self):
        """The last words of every daemon, for a failure."""
        for name, node in self.lab.nodes.items():
            print(f"== {name}\n{node.journal('-n', '40', '-u', 'ringmaster-*', '-o', 'cat')}", file=sys.stderr)


def cache_of(build):
    return os.path.join(build, "tests", "cache")


def check_site(cluster):
    cluster.play("site.yml --check on bare machines", "site", "--check").expect_success()
    cluster.play("site.yml", "site").expect_success()
    cluster.play("site.yml again", "site").expect_no_change()
    cluster.play("site.yml --check --diff", "site", "--check", "--diff").expect_no_change()
    nodes = cluster.jobs.json_of("nodes")
    names = sorted(node["inventory"]["hostname"] for node in nodes)
    expect(names == WORKERS, f"nodes: {names}")
    expect(all(node["sessionUp"] for node in nodes), f"sessions: {nodes}")


def undisturbed(cluster):
    """The losses of a job that nothing disturbs."""
    with step(f"a job of {STEPS} steps across four nodes"):
        job = cluster.jobs.submit("undisturbed", STEPS)
        shown = cluster.jobs.wait_for_end(job)
    expect(len(shown["attempts"]) == 1, f"attempts: {shown['attempts']}")
    losses = cluster.jobs.losses(job)
    expect(sorted(losses) == list(range(1, STEPS + 1)), f"steps with a loss: {sorted(losses)[:5]}... of {len(losses)}")
    return losses


def expect_same(wanted, found):
    different = [s for s in sorted(wanted) if wanted[s] != found.get(s)]
    expect(not different and len(found) == len(wanted),
           f"{len(different)} steps differ, first {different[:1]}: "
           f"{[(wanted[s], found.get(s)) for s in different[:3]]}")


def check_reboots(cluster, losses):
    job = cluster.jobs.submit("rebooted", STEPS)
    cluster.jobs.wait_for_step(job, 40)
    with step("a worker reboots"):
        cluster.lab.nodes["worker2"].reboot()
    with step("its job goes on"):
        cluster.jobs.wait_for_step(job, max(cluster.jobs.last_step(job) + 10, 60))
    with step("the controller reboots"):
        cluster.lab.nodes[CONTROLLER].reboot()
    with step("the job ends"):
        shown = cluster.jobs.wait_for_end(job)
    print("          attempts: " + "; ".join(f"{a['state']} {a.get('cause', '')}" for a in shown["attempts"]))
    expect(len(shown["attempts"]) >= 2, "the reboot of a worker ended no attempt")
    expect_same(losses, cluster.jobs.losses(job))


def run_parts(build, parts):
    cluster = Cluster(build, os.environ[sandbox.INSIDE])
    try:
        check_site(cluster)
        losses = undisturbed(cluster)
        if "reboots" in parts:
            check_reboots(cluster, losses)
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
    if sandbox.INSIDE in os.environ:
        return run_parts(build, sys.argv[2:] or PARTS)
    if why := sandbox.why_no_nodes():
        print(f"skipped: {why}")
        return sandbox.SKIPPED
    # Before the nodes' network: this needs the internet once.
    with step("the base tree"):
        base_tree.base_tree(cache_of(build))
    return sandbox.run_inside(os.path.join(build, "tests", "nodes"))


if __name__ == "__main__":
    sys.exit(main())

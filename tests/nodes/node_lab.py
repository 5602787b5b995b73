"""Machines on one network: nodes on a bridge in this test's own network namespace (sandbox.py)."""
import os
import subprocess

import base_tree
from node import Node, run, step

GATEWAY = "10.78.0.1"


class NodeLab:
    """Nodes by name, all booted; `directory` is on a disk and ends with the test."""

    def __init__(self, directory, cache):
        self.directory = directory
        self.key = os.path.join(directory, "key")
        self.nodes = {}
        with step("the base tree"):
            self.base = base_tree.base_tree(cache)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key)
        self.cgroups = self.make_cgroups()
        # `ip netns` keeps its names there; this test has its own.
        os.makedirs("/run/netns", exist_ok=True)
        run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "lab", "type", "bridge")
        run("ip", "addr", "add", f"{GATEWAY}/24", "dev", "lab")
        run("ip", "link", "set", "lab", "up")

    def make_cgroups(self):
        place = os.path.join(self.directory, "cgroup2")
        os.mkdir(place)
        run("mount", "-t", "cgroup2", "none", place)
        group = os.path.join(place, "nodes-" + os.path.basename(self.directory))
        os.mkdir(group)
        return group

    def boot(self, names, shared=None, prepare=lambda node: None):
        """Makes and boots nodes with these names; `shared` maps paths in the nodes to directories of this machine, and
        `prepare` changes a node's tree before it boots."""
        addresses = {name: f"10.78.0.{10 + i}" for i, name in enumerate(names, len(self.nodes))}
        hosts = "127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in addresses.items())
        with open(self.key + ".pub", encoding="utf-8") as key:
            public = key.read()
        with step(f"{len(names)} nodes boot until sshd answers"):
            for name, address in addresses.items():
                node = Node(name, address, os.path.join(self.directory, name), self.cgroups)
                self.nodes[name] = node
                node.make_tree(self.base, public, hosts)
                for path, directory in (shared or {}).items():
                    node.share(directory, path)
                prepare(node)
                node.connect("lab", GATEWAY)
                node.boot()
            for name in names:
                self.nodes[name].wait_for_ssh()

    def ssh_options(self):
        return ["-i", self.key, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
                "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=10", "-o", "BatchMode=yes"]

    def on(self, name, command, check=True, timeout=120):
        """Runs a shell command on a node and returns the finished process."""
        done = subprocess.run(["ssh", *self.ssh_options(), f"root@{self.nodes[name].address}", command],
                              capture_output=True, text=True, timeout=timeout, check=False)
        if check and done.returncode != 0:
            raise RuntimeError(f"{name}: {command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def stop(self):
        for node in self.nodes.values():
            node.cut_power()

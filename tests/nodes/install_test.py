#!/usr/bin/env python3
"""A new operator follows docs/install.md, word for word, on machines that have Debian and ssh and nothing of Ringmaster.

usage: install_test.py BUILD_DIR

The commands and files are those of the page's blocks; only names of files and addresses are the test's own. Exit code
77: this machine cannot boot nodes, and the output says why.
"""
import os
import re
import sys
import textwrap
import traceback

import archives
import base_tree
import sandbox
from node import step
from node_lab import NodeLab

PAGE = os.path.join(archives.ROOT, "docs", "install.md")
OPERATOR, CONTROLLER, WORKERS = "operator", "control", ["worker1", "worker2"]
SHARE = "/srv/ringmaster"


def blocks(heading):
    """The fenced blocks below a heading of the page, up to the next of its level or above: (language, text)."""
    with open(PAGE, encoding="utf-8") as page:
        text = page.read()
    begin = re.search(rf"^(#+) {re.escape(heading)}$", text, re.M)
    rest = text[begin.end():]
    end = re.search(rf"^#{{1,{len(begin[1])}}} ", rest, re.M)
    section = rest[:end.start()] if end else rest
    return [(found[2], textwrap.dedent(found[3]))
            for found in re.finditer(r"^( *)```(\w+)\n(.*?)^\1```", section, re.M | re.S)]


def only(heading, language):
    """All blocks of this language below a heading, as one text."""
    return "\n".join(text for kind, text in blocks(heading) if kind == language)


class Operator:
    """A person at a fresh machine with the files of a release."""

    def __init__(self, build, directory):
        share = os.path.join(directory, "share")
        os.makedirs(os.path.join(share, "text"))
        with open(os.path.join(share, "text", "install.txt"), "w", encoding="utf-8") as text, open(PAGE, encoding="utf-8") as page:
            text.write(page.read() * 20)
        os.chmod(share, 0o777)
        with step("the archive"):
            archive = archives.make(build, os.path.join(directory, "release"))
        self.archive = "/srv/releases/" + os.path.basename(archive)
        self.lab = NodeLab(directory, base_tree.cache_of(build))
        self.lab.boot([OPERATOR, CONTROLLER, *WORKERS], {SHARE: share})
        me = self.lab.nodes[OPERATOR]
        for name in os.listdir(os.path.dirname(archive)):
            if os.path.isfile(path := os.path.join(os.path.dirname(archive), name)):
                me.copy_in(path, "/srv/releases/" + name)
        # The page takes this for granted: the operator may log into the machines, and has done so before.
        me.copy_in(self.lab.key, "/root/.ssh/id_ed25519")
        self.on(OPERATOR, "for host in " + " ".join([CONTROLLER, *WORKERS]) + "; do for name in $host $(getent hosts $host | "
                "cut -d' ' -f1); do ssh-keyscan -t ed25519 $name >>~/.ssh/known_hosts 2>/dev/null; done; done")

    def on(self, machine, command, **more):
        print(self.lab.on(machine, command, **more).stdout, end="", flush=True)

    def types(self, what, command, machine=OPERATOR, where="/srv/releases"):
        with step(what):
            self.on(machine, f"cd {where} && set -e\n{command}", timeout=900)

    def inventory(self):
        """The page's own, with this lab's addresses and archive."""
        text = only("Many machines: Ansible", "ini")
        for name, node in self.lab.nodes.items():
            text = re.sub(rf"^{name} ansible_host=\S+$", f"{name} ansible_host={node.address}", text, flags=re.M)
        return re.sub(r"^ringmaster_archive=.*$", f"ringmaster_archive={self.archive}", text, flags=re.M)


def follow_the_page(me):
    me.types("the checksums", blocks("Packages")[0][1])
    me.types("the archive on the operator's machine", blocks("Archive")[0][1])
    me.lab.nodes[OPERATOR].write("/root/cluster/inventory.ini", me.inventory())
    collection, play = [text for kind, text in blocks("Many machines: Ansible") if kind == "sh"][:2]
    me.types("Ansible and the collection", collection)
    me.types("ansible-playbook ringmaster.cluster.site", play, where="/root/cluster")
    job = only("Many machines: Ansible", "yaml")
    first = [text for kind, text in blocks("Many machines: Ansible") if kind == "sh"][2]
    me.lab.nodes[CONTROLLER].write("/root/first.yaml", job)
    me.types("the first job", first, machine=CONTROLLER, where="/root")


def play(build, directory):
    me = Operator(build, directory)
    try:
        with step("all of it"):
            follow_the_page(me)
    except Exception:
        traceback.print_exc()
        return 1
    finally:
        me.lab.stop()
    return 0


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    build = os.path.abspath(sys.argv[1])
    return sandbox.main(build, lambda directory: play(build, directory))


if __name__ == "__main__":
    sys.exit(main())

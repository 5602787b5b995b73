"""Ansible as an operator runs it: the collection from this tree, an inventory, ssh."""
import os
import re
import subprocess

RECAP = re.compile(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.M)


class Played:
    """The end of one ansible-playbook."""

    def __init__(self, done):
        self.code, self.output = done.returncode, done.stdout + done.stderr
        self.hosts = {m[1]: {"ok": int(m[2]), "changed": int(m[3]), "failed": int(m[4]) + int(m[5])}
                      for m in RECAP.finditer(self.output)}

    def changed(self):
        return {host: counts["changed"] for host, counts in self.hosts.items() if counts["changed"]}

    def changes(self):
        """The lines that say what changed, each with the name of its task."""
        task, lines = "", []
        for line in self.output.splitlines():
            if line.startswith(("TASK [", "RUNNING HANDLER [")):
                task = line.rstrip("* ")
            elif line.startswith(("changed:", "fatal:", "failed:")):
                lines.append(f"{task} {line[:300]}")
        return "\n".join(lines)

    def expect_success(self):
        if self.code != 0:
            raise AssertionError(f"ansible-playbook: exit code {self.code}\n{self.output[-6000:]}")
        return self

    def expect_no_change(self):
        self.expect_success()
        if not self.hosts:
            raise AssertionError(f"the play had no hosts\n{self.output[-2000:]}")
        if self.changed():
            raise AssertionError(f"changed: {self.changed()}\n{self.changes()}")
        return self


class Playbooks:
    """Playbooks of the collection at `collection` over the nodes of a lab."""

    def __init__(self, lab, collection, variables):
        self.lab, self.variables = lab, variables
        self.home = os.path.join(lab.directory, "ansible")
        place = os.path.join(self.home, "collections", "ansible_collections", "ringmaster")
        os.makedirs(place)
        os.symlink(collection, os.path.join(place, "cluster"))

    def inventory(self, name, groups):
        """The path of an inventory of all nodes of the lab with these groups."""
        lines = [f"{name} ansible_host={node.address}" for name, node in self.lab.nodes.items()]
        for group, names in groups.items():
            lines += [f"[{group}]", *names]
        lines += ["[all:vars]", "ansible_user=root", f"ansible_ssh_private_key_file={self.lab.key}",
                  "ansible_python_interpreter=/usr/bin/python3"]
        path = os.path.join(self.home, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
        return path

    def environment(self):
        sockets = os.path.join(self.home, "s")
        return {**os.environ, "LC_ALL": "C.UTF-8", "HOME": self.home, "ANSIBLE_HOME": self.home,
                "ANSIBLE_COLLECTIONS_PATH": os.path.join(self.home, "collections"),
                "ANSIBLE_PIPELINING": "1", "ANSIBLE_NOCOLOR": "1", "ANSIBLE_RETRY_FILES_ENABLED": "0",
                "ANSIBLE_SSH_CONTROL_PATH_DIR": sockets, "ANSIBLE_HOST_KEY_CHECKING": "False",
                "ANSIBLE_SSH_RETRIES": "3", "ANSIBLE_TIMEOUT": "60",
                "ANSIBLE_SSH_ARGS": "-o ControlMaster=auto -o ControlPersist=600s -o UserKnownHostsFile=/dev/null"}

    def play(self, inventory, name, *more, seconds=1200, **variables):
        """Runs ringmaster.cluster.NAME and returns its end, whatever that is."""
        command = ["ansible-playbook", "-i", inventory, f"ringmaster.cluster.{name}", *more]
        for key, value in {**self.variables, **variables}.items():
            command += ["-e", key if value is None else f"{key}={value}"]
        return Played(subprocess.run(command, capture_output=True, text=True, env=self.environment(),
                                     timeout=seconds, check=False, stdin=subprocess.DEVNULL))

"""A machine of the lab: a Debian tree whose process 1 is systemd, reached by ssh."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def run(*argv, **more):
    """Runs a program to its end and returns its output; its failure is an error with all that it said."""
    done = subprocess.run(argv, capture_output=True, text=True, **{"timeout": 60, **more})
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def step(text):
    """Prints how long a step took."""
    begin = time.monotonic()
    yield
    print(f"{time.monotonic() - begin:7.1f} s  {text}", flush=True)


def expect(true, message):
    if not true:
        raise AssertionError(message)


def wait_until(true, seconds, what):
    """Polls until `true()`; a wait of more than `seconds` is an error that says what was awaited."""
    end = time.monotonic() + seconds
    while True:
        value = true()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.2)


class Node:
    """One machine. Its tree and its network outlive a reboot; its processes do not."""

    def __init__(self, name, address, directory, cgroups):
        self.name, self.address = name, address
        self.directory = directory
        self.tree = os.path.join(directory, "tree")
        self.cgroup = os.path.join(cgroups, name)
        self.process = None

    def make_tree(self, base, public_key, hosts):
        """A copy of the base tree: an overlay, or a true copy where the file system can be no overlay's upper layer."""
        upper, work = os.path.join(self.directory, "upper"), os.path.join(self.directory, "work")
        for path in (upper, work, self.tree):
            os.makedirs(path)
        options = f"lowerdir={base},upperdir={upper},workdir={work}"
        if subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, self.tree],
                          capture_output=True, check=False).returncode != 0:
            run("cp", "-a", "--reflink=auto", base + "/.", self.tree, timeout=300)
            run("mount", "--bind", self.tree, self.tree)
        self.write("/etc/hostname", self.name + "\n")
        self.write("/etc/hosts", hosts)
        self.write("/root/.ssh/authorized_keys", public_key)
        # Ansible asks apt for new lists unless these are fresh.
        self.write("/var/lib/apt/periodic/update-success-stamp", "")

    def path(self, path):
        return self.tree + path

    def write(self, path, text):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), "w", encoding="utf-8") as out:
            out.write(text)

    def share(self, directory, path):
        """Shows a directory of this machine to the node, as a shared file system would."""
        os.makedirs(self.path(path), exist_ok=True)
        run("mount", "--bind", directory, self.path(path))

    def connect(self, bridge, gateway):
        """An interface eth0 in a network namespace that stays over reboots."""
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", f"v-{self.name}", "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("ip", "link", "set", f"v-{self.name}", "master", bridge, "up")
        for words in (f"addr add {self.address}/24 dev eth0", "link set eth0 up", "link set lo up",
                      f"route add default via {gateway}"):
            run("ip", "-n", self.name, *words.split())

    def boot(self):
        """Starts process 1 and returns at once."""
        os.makedirs(self.cgroup, exist_ok=True)
        command = ["nsenter", f"--net=/run/netns/{self.name}", "unshare", "--mount", "--ipc", "--uts", "--propagation",
                   "private", os.path.join(HERE, "boot.sh"), self.tree, self.name, self.cgroup]
        with open(os.path.join(self.directory, "console.log"), "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def answers(self):
        """True if sshd greets."""
        try:
            with socket.create_connection((self.address, 22), timeout=1) as tcp:
                return tcp.recv(4) == b"SSH-"
        except OSError:
            return False

    def wait_for_ssh(self, seconds=90):
        def up():
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.name}: process 1 has ended:\n{self.console()}")
            return self.answers()
        wait_until(up, seconds, f"{self.name}: sshd")

    def console(self):
        """The last words of the boot."""
        with open(os.path.join(self.directory, "console.log"), encoding="utf-8", errors="replace") as log:
            return log.read()[-3000:]

    def init_pid(self):
        """Process 1 as this namespace numbers it."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="utf-8") as children:
            return int(children.read().split()[0])

    def shut_down(self, seconds=60):
        """Stops the node in order, as `systemctl poweroff` does."""
        os.kill(self.init_pid(), signal.SIGRTMIN + 4)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired as late:
            raise TimeoutError(f"{self.name} did not stop within {seconds} s:\n{self.console()}") from late

    def reboot(self):
        """`reboot` of the machine; returns when sshd answers again."""
        self.shut_down()
        self.boot()
        self.wait_for_ssh()

    def cut_power(self):
        """Ends all processes of the node at once."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def journal(self, *more):
        """The journal, also of a node that does not run."""
        done = subprocess.run(["journalctl", "--no-pager", "-D", self.path("/var/log/journal"), *more],
                              capture_output=True, text=True, timeout=60, check=False)
        return done.stdout + done.stderr

    def copy_in(self, source, path):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        shutil.copy2(source, self.path(path))

"""Runs a test in namespaces of its own, so that its end, even a SIGKILL, ends its nodes, mounts and network."""
import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import base_tree
from node import step

SKIPPED = 77
INSIDE = "RM_NODES_SANDBOX"
PR_SET_PDEATHSIG = 1
# A private /sys would hide the cgroup hierarchies; the lab mounts its own cgroup2.
UNSHARE = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]


def why_no_nodes():
    """The reason why this machine cannot boot nodes, or nothing."""
    if os.geteuid() != 0:
        return "it needs root: the nodes boot with systemd in namespaces"
    for tool in ("unshare", "nsenter", "ip", "mmdebstrap", "ssh", "ssh-keygen", "ansible-playbook"):
        if shutil.which(tool) is None:
            return f"there is no {tool}; scripts/install_packages test installs it"
    with open("/proc/filesystems", encoding="utf-8") as kinds:
        if "\tcgroup2\n" not in kinds.read():
            return "the kernel has no cgroup2"
    tried = subprocess.run([*UNSHARE, "bash", "-c", "mount -t cgroup2 none /mnt && ip link add lab type bridge"],
                           capture_output=True, text=True, timeout=20)
    return f"no namespaces, cgroup2 or bridge here: {tried.stderr.strip()}" if tried.returncode else ""


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def remove_leftovers(parent):
    """Removes directories of tests that were killed: those whose lock is free."""
    for name in os.listdir(parent):
        path = os.path.join(parent, name)
        if not name.startswith("run-"):
            continue
        with open(os.path.join(path, "lock"), "a", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(path)


def run_inside(parent):
    """Runs this program again within namespaces; returns its exit code. The directory of the run is removed."""
    os.makedirs(parent, exist_ok=True)
    remove_leftovers(parent)
    directory = tempfile.mkdtemp(prefix="run-", dir=parent)
    with open(os.path.join(directory, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [*UNSHARE, sys.executable, *sys.argv]
        child = subprocess.Popen(command, env={**os.environ, INSIDE: directory}, preexec_fn=die_with_parent)
        try:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
            return child.wait()
        finally:
            child.kill()
            child.wait()
            if "RM_NODES_KEEP" in os.environ:
                print(f"kept: {directory}")
            else:
                shutil.rmtree(directory, ignore_errors=True)
            remove_cgroups(directory)


def main(build, test):
    """Runs test(directory) in namespaces of its own, and returns its exit code; `directory` ends with the test."""
    if INSIDE in os.environ:
        return test(os.environ[INSIDE])
    if why := why_no_nodes():
        print(f"skipped: {why}")
        return SKIPPED
    # Before the nodes' network: this needs the internet once.
    with step("the base tree"):
        base_tree.base_tree(base_tree.cache_of(build))
    return run_inside(os.path.join(build, "tests", "nodes"))


def remove_cgroups(directory):
    """Removes the cgroups of a run, children first; its processes have ended."""
    place = tempfile.mkdtemp()
    subprocess.run(["unshare", "--mount", "--propagation", "private", "bash", "-c",
                    'mount -t cgroup2 none "$0" && for i in 1 2 3; do '
                    'find "$0/$1" -depth -type d -exec rmdir {} + 2>/dev/null && break; sleep 0.3; done',
                    place, "nodes-" + os.path.basename(directory)], check=False, stderr=subprocess.DEVNULL)
    os.rmdir(place)

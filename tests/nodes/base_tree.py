"""The tree that every node of the lab starts from: Debian with systemd, sshd and Python, made once and kept."""
import fcntl
import hashlib
import os
import shutil
import subprocess

PACKAGES = "systemd systemd-sysv dbus openssh-server python3 python3-apt iproute2 procps nftables zstd ca-certificates"
# Their packages lie in the tree, not installed: nodes have no way to the internet.
OFFERED = "prometheus prometheus-alertmanager prometheus-node-exporter ansible-core openssh-client"
# A node of the lab neither needs nor can run these; without them it boots in half of the time.
MASKED = ("apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service "
          "fstrim.timer getty.target console-getty.service systemd-logind.service systemd-udevd.service "
          "systemd-modules-load.service systemd-firstboot.service")

HOOK = f"""set -e
rm -f "$1"/var/cache/apt/archives/*.deb
echo 'APT::Install-Recommends "false";' >"$1/etc/apt/apt.conf.d/90lab"
chroot "$1" apt-get -qq --download-only install {OFFERED}
chroot "$1" systemctl mask --quiet {MASKED}
mkdir -p "$1/var/log/journal" "$1/root/.ssh"
chmod 700 "$1/root/.ssh"
"""


def recipe():
    return hashlib.sha256("\n".join([PACKAGES, HOOK]).encode()).hexdigest()[:12]


def make(tree):
    """Makes the tree; on an idle machine it takes about a minute."""
    command = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=" + ",".join(PACKAGES.split()),
               "--skip=cleanup/apt", "--customize-hook=" + HOOK, "bookworm", tree]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        raise RuntimeError("mmdebstrap failed:\n" + done.stderr[-3000:])


def cache_of(build):
    return os.path.join(build, "tests", "cache")


def base_tree(cache):
    """The path of the tree below the directory `cache`, which this makes if it has another recipe or none."""
    os.makedirs(cache, exist_ok=True)
    tree = os.path.join(cache, "node-" + recipe())
    with open(os.path.join(cache, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(tree):
            return tree
        for old in os.listdir(cache):
            if old.startswith("node-"):
                shutil.rmtree(os.path.join(cache, old))
        making = tree.replace("node-", "node-making-")
        make(making)
        os.rename(making, tree)
    return tree

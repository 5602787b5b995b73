"""A root directory with the system's libraries and a shell, and nothing else, in which programs run."""

import os
import pathlib
import shutil
import subprocess

# Debian's names of all that the packages expect of a system.
PACKAGES = ("libc6", "libgcc-s1", "libstdc++6", "dash")
# /usr/lib64 and /usr/sbin, too, are where /lib64 and /sbin point.
MERGED = ("bin", "lib", "lib64", "sbin")
# Runs in namespaces of its own: processes end with it, and its only network is loopback.
INSIDE = """set -e
mount --rbind /dev "$1/dev"
mount -t tmpfs none "$1/dev/shm"
mount -t proc none "$1/proc"
ip link set lo up
root=$1
shift
exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$@"
"""


class BareTree:
    def __init__(self, root, packages=PACKAGES):
        self.root = pathlib.Path(root)
        for name in ("dev", "etc", "proc", "root", "tmp", "usr", "var/lib"):
            (self.root / name).mkdir(parents=True)
        for name in MERGED:
            (self.root / "usr" / name).mkdir()
            (self.root / name).symlink_to(f"usr/{name}")
        (self.root / "etc" / "passwd").write_text("root:x:0:0::/root:/bin/sh\n")
        listing = subprocess.run(["dpkg-query", "-L", *packages], capture_output=True, text=True, check=True).stdout
        for name in sorted(set(listing.splitlines())):
            if name.startswith("/"):  # others tell of diversions
                self.add(pathlib.Path(name))

    def add(self, path):
        if not path.is_dir() and path.exists() and not path.is_relative_to("/usr/share"):
            target = self.root / path.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                shutil.copy2(path, target, follow_symlinks=False)

    def run(self, *command, timeout=120):
        """What the program says on stdout; one that fails fails the test with all it said."""
        user = [] if os.getuid() == 0 else ["--map-root-user", "--user"]
        unshare = ["unshare", *user, "--mount", "--pid", "--net", "--fork", "--kill-child", "--propagation", "private"]
        ended = subprocess.run([*unshare, "sh", "-c", INSIDE, "sh", str(self.root), *command], capture_output=True,
                               text=True, timeout=timeout, check=False)
        if ended.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with {ended.returncode}\n{ended.stdout}{ended.stderr}")
        return ended.stdout

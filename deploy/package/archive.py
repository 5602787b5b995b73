"""The relocatable archive: the same bytes from the same tree."""

import hashlib
import subprocess


def sums(root):
    """The lines of sha256sum for all files below a folder."""
    lines = []
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.name != "SHA256SUMS":
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n")
    return "".join(lines)


def pack(folder, time, file, level):
    """`folder` becomes the only folder at the top of the archive."""
    tar = ["tar", "--create", "--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner",
           f"--mtime=@{time}", "--hard-dereference", "-C", str(folder.parent), folder.name]
    # Its result does not depend on the number of threads, but on there being some.
    zstd = ["zstd", "--quiet", "--force", f"-{level}", "-T0", "-o", str(file)]
    with subprocess.Popen(tar, stdout=subprocess.PIPE) as packing:
        subprocess.run(zstd, stdin=packing.stdout, check=True)
    if packing.returncode != 0:
        raise subprocess.CalledProcessError(packing.returncode, tar)

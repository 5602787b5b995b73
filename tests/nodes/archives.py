"""Archives of a built tree, and variants of one: another version, or one whose worker does not start."""
import os
import re
import shutil
import subprocess

from node import run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BROKEN = "#!/bin/sh\n# Takes the questions that an installation asks, and does not start.\n" \
         "case \"$*\" in *--version*|*--print-config*) exit 0;; esac\nexit 1\n"


def make(build, out):
    """The archive of a built tree."""
    run(os.path.join(ROOT, "scripts", "package"), "--build", build, "--out", out, "--formats", "archive", "--fast", timeout=300)
    return next(os.path.join(out, name) for name in os.listdir(out) if name.endswith(".tar.zst"))


def variant(archive, version, out, broken_worker=False):
    """The same programs under another version."""
    place = os.path.join(out, "making")
    os.makedirs(place)
    run("tar", "--zstd", "-xf", archive, "-C", place, timeout=120)
    (former,) = os.listdir(place)
    name = re.sub(r"^ringmaster-.*-linux-", f"ringmaster-{version}-linux-", former)
    os.rename(os.path.join(place, former), os.path.join(place, name))
    if broken_worker:
        program = os.path.join(place, name, "bin", "ringmaster-worker")
        with open(program, "w", encoding="utf-8") as script:
            script.write(BROKEN)
    path = os.path.join(out, name + ".tar.zst")
    subprocess.run(["tar", "-I", "zstd -3", "-cf", path, "-C", place, name], check=True, timeout=120)
    shutil.rmtree(place)
    return path

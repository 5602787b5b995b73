"""The built tree that is packed: made here, or given."""

import json
import os
import pathlib
import shutil
import subprocess

from failure import Failure

ROOT = pathlib.Path(__file__).resolve().parents[2]


def said(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True,
                          **options).stdout.strip()


def make_package_build():
    version = said(ROOT / "scripts" / "version")
    subprocess.run(["cmake", "--preset", "package", f"-DRM_VERSION={version}"], cwd=ROOT, check=True)
    subprocess.run(["cmake", "--build", "--preset", "package"], cwd=ROOT, check=True)
    return ROOT / "build" / "package"


def version_of(build):
    program = build / "bin" / "ringmaster"
    if not program.exists():
        raise Failure(f"there is no {program}; build the tree first, or leave out --build")
    return json.loads(said(program, "version", "-o", "json"))["version"]


def time_of_commit():
    """Seconds since 1970 for all that is packed; so the same commit gives the same bytes."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    if (ROOT / ".git").exists():
        return int(said("git", "-C", ROOT, "log", "-1", "--format=%ct"))
    return int((ROOT / "CMakeLists.txt").stat().st_mtime)


def check_tools(formats):
    tools = {"cmake": "cmake", "objdump": "binutils", "strip": "binutils", "patchelf": "patchelf", "dpkg-query": "dpkg"}
    if "archive" in formats:
        tools |= {"tar": "tar", "zstd": "zstd"}
    if missing := sorted({package for tool, package in tools.items() if not shutil.which(tool)}):
        raise Failure(f"install {' '.join(missing)}")

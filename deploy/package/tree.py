"""The installed tree of each component, below one folder."""

import gzip
import os
import shutil
import subprocess

import elf
import libraries

COMPONENTS = ("controller", "worker", "cli", "cuda", "doc")


def install(build, stage):
    for component in COMPONENTS:
        folder = stage / component
        folder.mkdir(parents=True)
        subprocess.run(["cmake", "--install", str(build), "--prefix", str(folder), "--component", component],
                       check=True, stdout=subprocess.DEVNULL)


def compress(page):
    # No name and no time, so that the same page gives the same bytes.
    with open(f"{page}.gz", "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(page.read_bytes())
    page.unlink()


def add_libraries(stage):
    """Private libraries, those of CUDA alone in a place of their own; {component: {name: file}}."""
    programs = [path for folder in stage.iterdir() for path in sorted((folder / "bin").glob("*")) if elf.is_elf(path)]
    own = sorted((stage / "cuda").glob("lib/*.so"))
    common = libraries.closure(programs)
    cuda = libraries.closure(own) | (libraries.nccl(libraries.closure(own).values()) if own else {})
    added = {"common": common, "cuda": {name: place for name, place in cuda.items() if name not in common}}
    for path in programs:
        libraries.make_relocatable(path, "$ORIGIN/../lib")
    for path in own:
        libraries.make_relocatable(path, "$ORIGIN")
    for component, found in added.items():
        libraries.copy(found, stage / component / "lib")
    return added


def make_plain(root, time):
    """Modes and times that do not depend on the machine."""
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            runs = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if runs else 0o644)
        os.utime(path, (time, time), follow_symlinks=False)


def link(source, target):
    if not os.path.exists(target):  # both daemons' components have the users
        os.link(source, target)


def merge(stage, target):
    """One tree of all components, of the same files."""
    for folder in sorted(stage.iterdir()):
        shutil.copytree(folder, target, dirs_exist_ok=True, copy_function=link, symlinks=True)


def make(build, stage):
    install(build, stage)
    added = add_libraries(stage)
    libraries.check_symbols(stage)
    for page in sorted(stage.glob("*/share/man/man*/*")):
        compress(page)
    return added

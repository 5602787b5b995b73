"""Private libraries: which ones the programs need, and how a tree finds them wherever it lies."""

import pathlib
import re
import shutil
import subprocess

import elf
from failure import Failure

# They come with every system, and the driver's with the GPU.
SYSTEM = re.compile(r"(ld-linux|linux-vdso|libnvidia|libcuda\.so|libstdc\+\+\.so|libgcc_s\.so"
                    r"|lib(c|m|dl|rt|anl|mvec|util|resolv|pthread)\.so\.\d).*")
# Debian lets an administrator choose these; the reference is the same on each machine that builds.
REFERENCES = {name: pathlib.Path(f"/usr/lib/x86_64-linux-gnu/{name[3:].split('.')[0]}/{name}")
              for name in ("libblas.so.3", "liblapack.so.3")}


def loaded(path):
    """What the loader takes for each library of a program: {"libz.so.1": Path}."""
    said = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=True).stdout
    if missing := re.findall(r"^\s*(\S+) => not found", said, re.M):
        raise Failure(f"{path} needs {', '.join(missing)}, which this machine does not have")
    return {name: pathlib.Path(place) for name, place in re.findall(r"^\s*(\S+) => (/\S+)", said, re.M)}


def closure(paths):
    """All libraries, but for those of the system, that the files need: {"libz.so.1": file}."""
    found = {}
    for path in paths:
        places = loaded(path)
        waiting = [path]
        while waiting:
            for name in elf.needed(waiting.pop()):
                if SYSTEM.fullmatch(name) or name in found:
                    continue
                reference = REFERENCES.get(name)
                place = reference if reference and reference.exists() else places[name]
                found[name] = place.resolve()
                waiting.append(found[name])
    return dict(sorted(found.items()))


def nccl(toolkit):
    """The engine opens it by its name at run time, so no file says that it is needed. `toolkit`: CUDA's libraries."""
    for path in toolkit:
        if (path.parent / "libnccl.so.2").exists():
            return {"libnccl.so.2": (path.parent / "libnccl.so.2").resolve()}
    said = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    place = re.search(r"^\s*libnccl\.so\.2 .*=> (\S+)$", said, re.M)
    return {"libnccl.so.2": pathlib.Path(place[1]).resolve()} if place else {}


def make_relocatable(path, search):
    """Strips; RPATH, not RUNPATH, so that it also holds for the libraries of libraries."""
    option = "--strip-unneeded" if ".so" in path.name else "--strip-all"
    subprocess.run(["strip", option, str(path)], check=True)
    subprocess.run(["patchelf", "--force-rpath", "--set-rpath", search, str(path)], check=True)


def copy(libraries, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, place in libraries.items():
        shutil.copyfile(place, folder / name)
        make_relocatable(folder / name, "$ORIGIN")


def check_symbols(root):
    """Fails where a file of the tree needs what an older system lacks."""
    faults = []
    for path in sorted(root.rglob("*")):
        if elf.is_elf(path):
            faults += [f"{path.relative_to(root)} needs {symbol}" for symbol in elf.too_new(path)]
    if faults:
        limits = ", ".join(f"{family}_{'.'.join(map(str, newest))}" for family, newest in elf.NEWEST.items())
        raise Failure("\n".join(faults) + f"\nThe newest symbols allowed are {limits}.")

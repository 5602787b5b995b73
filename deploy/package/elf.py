"""What a program or a shared library needs, as objdump reads it."""

import re
import subprocess

# The newest that Debian 12 and Ubuntu 22.04 both have.
NEWEST = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}
UNDEFINED = re.compile(r"\*UND\*\s+[0-9a-f]+\s+\(?([A-Z]+)_(\w[\w.]*)\)?\s+(\S+)$", re.M)
VERSION_REFERENCE = re.compile(r"^\s+0x[0-9a-f]+ 0x[0-9a-f]+ \d+ ([A-Z]+)_(\S+)$", re.M)


def objdump(option, path):
    return subprocess.run(["objdump", option, str(path)], capture_output=True, text=True, check=True).stdout


def is_elf(path):
    if path.is_symlink() or not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def needed(path):
    return re.findall(r"^\s+NEEDED\s+(\S+)$", objdump("-p", path), re.M)


def search_paths(path):
    """(RPATH or RUNPATH, its value) of each such entry."""
    return re.findall(r"^\s+(RPATH|RUNPATH)\s+(\S+)$", objdump("-p", path), re.M)


def is_too_new(family, version):
    if family not in NEWEST:
        return False
    if not re.fullmatch(r"[\d.]+", version):  # GLIBC_PRIVATE, GLIBC_ABI_DT_RELR
        return True
    return tuple(map(int, version.split("."))) > NEWEST[family]


def too_new(path):
    """The symbols that older systems lack, with their versions: ["arc4random@GLIBC_2.36"]."""
    found = [f"{symbol}@{family}_{version}" for family, version, symbol in UNDEFINED.findall(objdump("-T", path))
             if is_too_new(family, version)]
    named = {symbol.split("@")[1] for symbol in found}
    found += [f"(no symbol)@{family}_{version}" for family, version in VERSION_REFERENCE.findall(objdump("-p", path))
              if is_too_new(family, version) and f"{family}_{version}" not in named]
    return sorted(set(found))

#!/usr/bin/env python3
"""Fails where product code exceeds the sizes of CONTRIBUTING.md: functions, files and folders.

usage: check_lengths.py ROOT [N]   also prints the N longest functions

Universal Ctags says where functions begin and end. Skipped (exit 77) where it is absent.
"""

import pathlib
import shutil
import subprocess
import sys

PARTS = ("base", "spec", "topology", "options", "kernels", "engine", "planner", "service", "controller", "worker",
         "cli", "bench")
SOURCES = {".h", ".cc", ".cu", ".cuh"}
# Lines of a function: median, 90th percentile, maximum. Lines of a file, sources of a folder.
MEDIAN, P90, LONGEST, FILE, FOLDER = 7, 18, 60, 500, 25
# Folders whose files answer one question each, so that `ls` is their index.
SHELVES = {
    "cli/verbs": "a file for each verb",
}


def sources(root):
    return [path for part in PARTS for path in sorted((root / part).rglob("*")) if path.suffix in SOURCES]


def functions(paths):
    """(lines, name, file and line) of each function, shortest first."""
    listing = subprocess.run(["ctags", "--language-force=C++", "--kinds-C++=f", "--fields=+ne", "-f", "-", "-L", "-"],
                             input="\n".join(map(str, paths)), text=True, capture_output=True, check=True).stdout
    found = []
    for line in listing.splitlines():
        name, path, *rest = line.split("\t")
        fields = dict(field.split(":", 1) for field in rest if ":" in field)
        if "end" in fields:
            found.append((int(fields["end"]) - int(fields["line"]) + 1, name, f"{path}:{fields['line']}"))
    return sorted(found)


def faults(root, paths, lengths):
    median, p90 = lengths[len(lengths) // 2][0], lengths[len(lengths) * 9 // 10][0]
    print(f"{len(lengths)} functions: median {median} lines, p90 {p90}, longest {lengths[-1][0]}")
    if median > MEDIAN:
        yield f"half of the functions have more than {median} lines; {MEDIAN} is the limit"
    if p90 > P90:
        yield f"a tenth of the functions has more than {p90} lines; {P90} is the limit"
    for lines, name, place in lengths:
        if lines > LONGEST:
            yield f"{place}: {name} has {lines} lines; {LONGEST} is the limit"
    for path in paths:
        if (lines := len(path.read_text().splitlines())) > FILE:
            yield f"{path.relative_to(root)} has {lines} lines; {FILE} is the limit"
    counts = {}
    for path in paths:
        folder = str(path.parent.relative_to(root))
        counts[folder] = counts.get(folder, 0) + 1
    for folder, count in counts.items():
        if count > FOLDER and folder not in SHELVES:
            yield f"{folder} has {count} sources; {FOLDER} is the limit: make rooms, or name the reason in SHELVES"


def main():
    if not shutil.which("ctags"):
        print("no ctags")
        return 77
    root = pathlib.Path(sys.argv[1])
    paths = sources(root)
    lengths = functions(paths)
    for lines, name, place in lengths[::-1][:int(sys.argv[2]) if len(sys.argv) > 2 else 0]:
        print(lines, name, place)
    found = list(faults(root, paths, lengths))
    print("\n".join(found))
    return 1 if found or len(paths) < 500 else 0


if __name__ == "__main__":
    sys.exit(main())

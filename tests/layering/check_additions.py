#!/usr/bin/env python3
"""Checks the table of additions in CONTRIBUTING.md against the tree.

usage: check_additions.py ROOT

The words of each example must stand in the files of its row and in no others, and the row must name no more files
than its limit. A row without files bounds their number alone.
"""

import pathlib
import re
import sys

PARTS = ("base", "spec", "topology", "options", "kernels", "engine", "planner", "proto", "service", "controller",
         "worker", "cli", "bench")
SOURCES = {".h", ".cc", ".cu", ".cuh", ".proto", ".txt"}
# Ambiguous words are searched only in the part of the product that the row is about.
SCOPES = {"metric": ("worker/metrics",)}


def rows(text):
    """(addition, words, limit, files, users) of each row."""
    table = text[text.index("| Addition |"):].split("\n\n")[0].splitlines()[2:]
    for line in table:
        addition, words, limit, files, users = (cell.strip() for cell in line.strip("|").split("|"))
        quoted = [re.findall(r"`([^`]+)`", cell) for cell in (words, files, users)]
        yield addition, quoted[0], int(limit), set(quoted[1]), set(quoted[2])


def files_with(root, words, scope):
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, words)) + r")\b")
    return {str(path.relative_to(root)) for part in scope for path in (root / part).rglob("*")
            if path.suffix in SOURCES and pattern.search(path.read_text())}


def faults(root, row):
    addition, words, limit, files, users = row
    found = files_with(root, words, SCOPES.get(addition, PARTS))
    print(f"{addition}: {len(files) or len(found)} of at most {limit} files")
    if len(files or found) > limit:
        yield f"{addition}: {len(files or found)} files are more than {limit}"
    if not files:
        return
    for path in sorted(found - files - users):
        yield f"{addition}: {path} says {' or '.join(words)} and is not in its row of CONTRIBUTING.md"
    for path in sorted((files | users) - found):
        yield f"{addition}: its row of CONTRIBUTING.md names {path}, which does not say {' or '.join(words)}"


def main():
    root = pathlib.Path(sys.argv[1])
    table = list(rows((root / "CONTRIBUTING.md").read_text()))
    found = [fault for row in table for fault in faults(root, row)]
    print("\n".join(found))
    return 1 if found or len(table) != 7 else 0


if __name__ == "__main__":
    sys.exit(main())

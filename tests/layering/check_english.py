#!/usr/bin/env python3
"""Fails where a sentence of a comment begins with Of, Who, Whom, Whose or What, or names no actor (nobody, whoever).

usage: check_english.py ROOT             checks the tree
       check_english.py ROOT --self-test  holds the pattern against sentences

The former puts a genitive or a clause first and its subject last. CONTRIBUTING.md: subject, verb, object; name the actor.
"""

import pathlib
import re
import sys

FOLDERS = ("base", "spec", "topology", "options", "kernels", "engine", "planner", "proto", "service", "controller",
           "worker", "cli", "bench", "cmake", "deploy", "scripts", "tests")
SLASHES = {".h", ".cc", ".cu", ".cuh", ".proto"}
HASHES = {".py", ".sh", ".cmake", ".txt"}
# A comment begins a line or follows code after at least two blanks.
COMMENT = {"//": re.compile(r"(?:^\s*|\s\s+)//+ ?(.*)"), "#": re.compile(r"^\s*#+ (.*)")}
SENTENCE = re.compile(r"(?:^|[.:;!?] )(Of|Who|Whom|Whose|What)\b|\b((?i:nobody|somebody|anybody|everybody|whoever))\b")


def marker_of(path):
    if path.suffix in SLASHES:
        return "//"
    return "#" if path.suffix in HASHES or path.parts[0] == "scripts" else None


def faults(text, marker):
    """Line numbers and comments."""
    for number, line in enumerate(text.splitlines(), 1):
        comment = COMMENT[marker].search(line)
        if comment and SENTENCE.search(comment[1]):
            yield number, comment[1]


def check_tree(root):
    num_files, found = 0, []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            relative = path.relative_to(root)
            if not path.is_file() or (marker := marker_of(relative)) is None or "golden" in relative.parts:
                continue
            num_files += 1
            found += [f"{relative}:{number}: {comment}" for number, comment in faults(path.read_text(), marker)]
    return num_files, found


WRONG = ["// Of a lost attempt only what is left.", "int a;  // Who asks.", "// It waits. What comes is kept.",
         "// A mark that nobody waits for."]
RIGHT = ["// The caller asks what is left.", 'say("// Of a text");', "// A job of one rank, and what it keeps."]


def self_test():
    missed = [line for line in WRONG if not list(faults(line, "//"))]
    wrong = [line for line in RIGHT if list(faults(line, "//"))]
    print("\n".join(missed + wrong) or f"{len(WRONG)} wrong and {len(RIGHT)} right sentences told apart")
    return 1 if missed or wrong else 0


def main():
    if "--self-test" in sys.argv:
        return self_test()
    num_files, found = check_tree(pathlib.Path(sys.argv[1]))
    print("\n".join(found) if found else f"{num_files} files, every sentence with its actor in front")
    return 1 if found or num_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

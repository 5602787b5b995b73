#!/usr/bin/env python3
"""Checks that no two headers define a class of one name in one namespace.

usage: check_names.py ROOT | check_names.py ROOT --self-test

Programs link many parts. Two classes of one name have one destructor, one std::vector of them and so on, as the linker
sees it, and it keeps whichever comes first: the other class is then destroyed by the wrong code, without a word.
"""

import collections
import pathlib
import re
import sys

PARTS = ("base", "spec", "topology", "options", "kernels", "engine", "planner", "service", "controller", "worker", "cli",
         "bench", "tests")
NAMESPACE = re.compile(r"namespace ([\w:]+) \{")
CLASS = re.compile(r"(?:template ?<.*> )?(?:class|struct|enum class|union) (\w+)(?: final)?(?: :.*)? ?\{")


def classes(text):
    """Qualified names of the classes that a header defines at the level of its namespace."""
    namespace = ""
    for line in text.splitlines():
        if opened := NAMESPACE.match(line):
            namespace = opened.group(1)
        elif defined := CLASS.match(line):
            yield f"{namespace}::{defined.group(1)}"


def doubles(headers):
    """(name, paths) of each class that several headers define."""
    places = collections.defaultdict(set)
    for path, text in headers:
        for name in classes(text):
            places[name].add(path)
    return [(name, sorted(paths)) for name, paths in sorted(places.items()) if len(paths) > 1]


def self_test():
    one = "namespace rm {\nstruct Event {\n};\n}  // namespace rm\n"
    other = "namespace rm {\nclass Event final : public Base {\n};\nclass Known;\n}  // namespace rm\n"
    apart = one.replace("rm", "rm::test")
    assert doubles([("a.h", one), ("b.h", other)]) == [("rm::Event", ["a.h", "b.h"])]
    assert not doubles([("a.h", one), ("b.h", apart)])
    print("finds a class that two headers define")


def main():
    root = pathlib.Path(sys.argv[1])
    if "--self-test" in sys.argv:
        return self_test()
    paths = [path for part in PARTS for path in sorted((root / part).rglob("*")) if path.suffix in {".h", ".cuh"}]
    found = doubles((str(path.relative_to(root)), path.read_text()) for path in paths)
    for name, places in found:
        print(f"{name} is defined by {' and by '.join(places)}: give one of them another name")
    print(f"{len(paths)} headers, {len(found)} names with two classes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

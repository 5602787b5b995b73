#!/usr/bin/env python3
"""Writes files that include up to twelve sources each, for builds from nothing (RM_UNITY), and prints them.

usage: batches.py ROOT FOLDER OUTPUT NAME SOURCE...    sources below ROOT/FOLDER, files OUTPUT/NAME_0.cc, ...

A source keeps its own names in an unnamed namespace. Two sources share a file only if neither defines nor uses such a
name of the other, so that a batch has the same meaning as its sources one by one. Nor may a source's own type have the
name of a type in a header that the other includes: a lookup would find two.
"""

import functools
import pathlib
import re
import sys

LARGEST = 12
# A call, a constant or a type, as far as the word alone shows.
WORD = re.compile(r"(?<![\w.>:])(?:(\w+)\s*(?=\()|(k[A-Z]\w*|[A-Z]\w+)\b)")
DEFINED = [re.compile(r"MATCHER(?:_P\d*)?\((\w+)"),
           re.compile(r"(?:struct|class|enum(?: class)?|union) (\w+)"),
           re.compile(r"(?:using|namespace) (\w+) ="),
           re.compile(r"using (?:enum )?(?:\w*::)*(\w+);"),
           re.compile(r"[^=({;]*?\b(\w+)(?:\[\w*\])*(?: = |\{|;|\()")]
INCLUDED = re.compile(r'^#include "([^"]+)"', re.M)
HEADER_TYPE = re.compile(r"^(?:struct|class|enum class|using) (\w+)", re.M)
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "decltype", "requires", "noexcept", "catch",
            "template", "static_assert", "defined", "alignas",
            # Their arguments form the name, which GoogleTest requires to be unique in a program.
            "TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_SUITE", "INSTANTIATE_TEST_SUITE_P"}


@functools.cache
def look(path):
    """The types that a header defines, and what a file includes."""
    text = path.read_text() if path.exists() else ""  # generated sources do not exist yet
    return HEADER_TYPE.findall(text) if path.suffix == ".h" else [], INCLUDED.findall(text)


def header_types(root, path):
    """Names of the types of a file's headers, and of theirs; headers are named from the root."""
    types, seen, open_paths = set(), {path}, [path]
    while open_paths:
        found, included = look(open_paths.pop())
        types.update(found)
        fresh = {root / name for name in included} - seen
        seen |= fresh
        open_paths += fresh
    return types


def read(root, path):
    """What a source defines in unnamed namespaces (name: line), which names it uses without defining them, and
    the types of its headers."""
    text = path.read_text()
    defined = {}
    inside = False
    for line in text.split("\n"):
        if line in ("namespace {", "}  // namespace"):
            inside = line == "namespace {"
        elif inside and line and line[0] not in " }/#)":
            match = next(filter(None, (pattern.match(line) for pattern in DEFINED)), None)
            if match and match[1] not in KEYWORDS:
                defined[match[1]] = line
    used = {a or b for a, b in WORD.findall(text)} - KEYWORDS - defined.keys()
    return defined, used | header_types(root, path)


def collide(a, b):
    """True if one source would see the other's own names; the same alias twice does no harm."""
    shared = a[0].keys() & b[0].keys()
    if any(a[0][name] != b[0][name] or not a[0][name].startswith(("using ", "namespace ")) for name in shared):
        return True
    return not (a[0].keys().isdisjoint(b[1]) and b[0].keys().isdisjoint(a[1]))


def batches_of(sources):
    """Lists of names from {name: result of read()}; each goes into the first list that it fits."""
    batches = []
    for name, names in sources.items():
        fits = (b for b in batches if len(b) < LARGEST and not any(collide(names, sources[o]) for o in b))
        batch = next(fits, None)
        if batch is None:
            batches.append(batch := [])
        batch.append(name)
    return batches


def main(root, folder, output, name, *sources):
    root, output = pathlib.Path(root).resolve(), pathlib.Path(output)
    output.mkdir(parents=True, exist_ok=True)
    paths = [(root / folder / source).resolve().relative_to(root).as_posix() for source in sources]
    written = []
    for number, batch in enumerate(batches_of({path: read(root, root / path) for path in paths})):
        file = output / f"{name}_{number}.cc"
        # Paths from the root, as for headers, so that a second clone finds the object in ccache.
        text = "".join(f'#include "{path}"\n' for path in batch)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        written.append(str(file))
    print(";".join(written), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])

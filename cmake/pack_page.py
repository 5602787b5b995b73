#!/usr/bin/env python3
"""Writes a C++ source that contains the files of a folder, compressed: page_files() of controller/http/static_page.h.

usage: pack_page.py FOLDER OUT.cc     the compressed files land beside OUT.cc
"""

import gzip
import hashlib
import pathlib
import re
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2"}
# Vite puts a hash of the contents before the suffix.
HASHED = re.compile(r"^/assets/.+-[\w-]{8}\.\w+$")

HEAD = """// Made by cmake/pack_page.py.
#include "controller/http/static_page.h"

#include <array>

"""
FILE = """asm(R"(.pushsection .rodata
.globl rm_page_{n}
.hidden rm_page_{n}
rm_page_{n}: .incbin "{path}"
.popsection)");
extern "C" const char rm_page_{n}[];

"""
TABLE = """namespace rm {{
namespace {{

const std::array<PageFile, {count}> kFiles = {{{{
{rows}
}}}};

}}  // namespace

std::span<const PageFile> page_files() {{
    return kFiles;
}}

}}  // namespace rm
"""
ROW = '    {{"{url}", "{type}", "\\"{etag}\\"", {{rm_page_{n}, {size}}}, {hashed}}},'


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    if folder / "index.html" not in paths:
        sys.exit(f"{folder} has no index.html: it is not a built page")
    text, rows = HEAD, []
    for n, path in enumerate(paths):
        if path.suffix not in TYPES:
            sys.exit(f"{path}: the page has files of {', '.join(TYPES)} only; add its type to {sys.argv[0]}")
        packed = gzip.compress(path.read_bytes(), mtime=0)
        kept = out.parent.resolve() / f"{path.name}.gz"
        kept.write_bytes(packed)
        url = "/" + path.relative_to(folder).as_posix()
        text += FILE.format(n=n, path=kept)
        rows.append(ROW.format(url=url, type=TYPES[path.suffix], etag=hashlib.sha256(packed).hexdigest()[:16], n=n,
                               size=len(packed), hashed="true" if HASHED.match(url) else "false"))
    out.write_text(text + TABLE.format(count=len(paths), rows="\n".join(rows)))


if __name__ == "__main__":
    main()

"""scripts/package: packs a built tree."""

import argparse
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

import archive
import bill
import build
import debs
import tree
from failure import Failure

FORMATS = ("archive", "deb")


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/package", description="Packs a built tree of Ringmaster.")
    parser.add_argument("--build", type=pathlib.Path, metavar="DIR", help="a tree that is built (default: build/package, built now)")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", default=build.ROOT / "build" / "packages",
                        help="where the packages go (default: build/packages)")
    parser.add_argument("--formats", default=",".join(FORMATS), metavar="FORMATS", help="archive, deb or both: archive,deb")
    parser.add_argument("--fast", action="store_true", help="compress less, in a tenth of the time")
    chosen = parser.parse_args()
    chosen.formats = chosen.formats.split(",")
    if unknown := set(chosen.formats) - set(FORMATS):
        parser.error(f"--formats: {', '.join(sorted(unknown))} is not one of {', '.join(FORMATS)}")
    return chosen


def pack(chosen, work):
    """The files made."""
    version, time = build.version_of(chosen.build), build.time_of_commit()
    stage = work / "stage"
    added = tree.make(chosen.build, stage)
    sbom = bill.add(chosen.build, stage, added, version, time)
    tree.make_plain(stage, time)
    made = [chosen.out / f"ringmaster-{version}.spdx.json"]
    shutil.copyfile(sbom, made[0])
    if "archive" in chosen.formats:
        name = f"ringmaster-{version}-linux-x86_64"
        tree.merge(stage, work / name)
        (work / name / "SHA256SUMS").write_text(archive.sums(work / name))
        tree.make_plain(work / name, time)
        made.append(chosen.out / f"{name}.tar.zst")
        archive.pack(work / name, time, made[-1], 3 if chosen.fast else 19)
    if "deb" in chosen.formats:
        made += debs.make(stage, work / "debs", chosen.out, version, time, 0 if chosen.fast else 6)
    return made


def main():
    chosen = arguments()
    try:
        build.check_tools(chosen.formats)
        if chosen.build is None:
            chosen.build = build.make_package_build()
        chosen.out.mkdir(parents=True, exist_ok=True)
        # Beside the output: files are linked, not copied.
        with tempfile.TemporaryDirectory(prefix=".package-", dir=chosen.out) as work:
            made = pack(chosen, pathlib.Path(work))
        lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(made)]
        (chosen.out / "SHA256SUMS").write_text("".join(lines))
    except Failure as failure:
        print(f"scripts/package: {failure}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failure:
        print(f"scripts/package: {failure}\n{failure.stderr or ''}", file=sys.stderr)
        return 1
    for path in made:
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

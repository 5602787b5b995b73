#!/usr/bin/env python3
"""Counts single tests in a results folder: GoogleTest's XML where a program wrote one, otherwise CTest's result.

Prints "passed failed skipped". A program that crashed, hung or failed without naming a test is one
failure: CTest reports it and no XML contradicts that.
"""

import pathlib
import sys
import xml.etree.ElementTree as tree


def count_gtest(path):
    """(passed, failed, skipped, names) of one GoogleTest XML file."""
    passed = failed = skipped = 0
    for case in tree.parse(path).getroot().iter("testcase"):
        if case.get("status") == "notrun":
            continue
        if case.find("failure") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("result") == "skipped":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main(folder):
    folder = pathlib.Path(folder)
    programs = {path.stem: count_gtest(path) for path in folder.glob("*.xml")}
    total = [0, 0, 0]
    for case in tree.parse(folder / "ctest.junit").getroot().iter("testcase"):
        counts = programs.get(case.get("name"))
        program_failed = case.get("status") == "fail"
        if counts is None or (program_failed and counts[1] == 0):
            counts = {"fail": (0, 1, 0), "disabled": (0, 0, 1), "notrun": (0, 0, 1)}.get(
                case.get("status"), (1, 0, 0))
        total = [a + b for a, b in zip(total, counts)]
    print(*total)


if __name__ == "__main__":
    main(sys.argv[1])

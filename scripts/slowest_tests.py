#!/usr/bin/env python3
"""Prints where the time of scripts/test went: seconds per preset, and the 20 slowest programs.

usage: slowest_tests.py TIMES     lines "preset build_seconds test_seconds"; results are in build/PRESET/results
"""

import pathlib
import sys
import xml.etree.ElementTree as tree

SHOWN = 20


def cpu_of(results, program):
    """CPU seconds that the program measured for itself (tests/support/test_main.cc), or None."""
    path = results / f"{program}.xml"
    value = tree.parse(path).getroot().get("cpu_seconds") if path.exists() else None
    return float(value) if value else None


def programs(preset):
    """(seconds, CPU seconds or None, preset, name) of every program that ran."""
    results = pathlib.Path("build") / preset / "results"
    junit = results / "ctest.junit"
    if not junit.exists():
        return
    for case in tree.parse(junit).getroot().iter("testcase"):
        yield float(case.get("time") or 0), cpu_of(results, case.get("name")), preset, case.get("name")


def main(times):
    rows = [line.split() for line in pathlib.Path(times).read_text().splitlines()]
    ran = [program for preset, *_ in rows for program in programs(preset)]
    print("== seconds      build    tests    their CPU")
    for preset, build, tests in rows:
        cpu = sum(c or 0 for _, c, p, _ in ran if p == preset)
        print(f"   {preset:10} {build:>7} {tests:>8} {cpu:>12.0f}")
    print(f"== the {SHOWN} slowest programs: seconds, CPU seconds, preset, name")
    for seconds, cpu, preset, name in sorted(ran, key=lambda program: -program[0])[:SHOWN]:
        print(f"   {seconds:7.1f} {'-' if cpu is None else f'{cpu:.1f}':>8}  {preset:5} {name}")


if __name__ == "__main__":
    main(sys.argv[1])

#!/usr/bin/env python3
"""Checks dashboards/prometheus: syntax by promtool and amtool, unit tests of rules, and that each alert is complete.

usage: check_alerts.py ROOT              checks the tree
       check_alerts.py ROOT --self-test  plants one fault of each kind and expects each found

A complete alert has a unit test in which it fires and one in which it stays silent, a severity, a summary, a
description, a page in docs/runbooks that the index names, and a drill that fires it. Skipped (exit 77) without promtool or PyYAML.
"""

import pathlib
import re
import shutil
import subprocess
import sys

SEVERITIES = {"page", "warning", "info"}
# Its whole purpose is to fire always.
NEVER_SILENT = {"RingmasterWatchdog"}
XID_ROW = re.compile(r"XidRow\{(\w+), (true|false)")
OFF_THE_BUS = re.compile(r"kXidOffTheBus = (\d+);")


def yaml_files(folder):
    import yaml
    return [yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yml"))]


def alerts_in(files):
    return {rule["alert"]: rule for file in files for group in file["groups"] for rule in group["rules"]
            if "alert" in rule}


def directions(tests):
    """Pairs of an alert and whether a unit test expects it to fire."""
    return {(check["alertname"], bool(check["exp_alerts"]))
            for file in tests for test in file["tests"] for check in test["alert_rule_test"]}


def faults_of(name, rule, tested, runbooks):
    if not re.fullmatch(r"Ringmaster[A-Z][A-Za-z]+", name):
        yield "its name should be Ringmaster and words with capitals"
    if (severity := rule.get("labels", {}).get("severity")) not in SEVERITIES:
        yield f"severity is {severity}; it should be one of {', '.join(sorted(SEVERITIES))}"
    for key in ("summary", "description"):
        if not rule.get("annotations", {}).get(key):
            yield f"it has no {key}"
    if (name, True) not in tested:
        yield "no unit test expects it to fire"
    if (name, False) not in tested and name not in NEVER_SILENT:
        yield "no unit test expects it to stay silent"
    page = f"docs/runbooks/{name}.md"
    if rule.get("annotations", {}).get("runbook_url") != page:
        yield f"runbook_url is not {page}"
    if name not in runbooks:
        yield f"{page} does not exist"


def hardware_xids(root):
    """The Xids that the worker takes for faults of the hardware."""
    off_the_bus = next(match[1] for path in sorted((root / "service/gpu").glob("*.h"))
                       if (match := OFF_THE_BUS.search(path.read_text())))
    rows = XID_ROW.findall((root / "service/gpu/fitness.cc").read_text())
    return {off_the_bus if xid == "kXidOffTheBus" else xid for xid, hardware in rows if hardware == "true"}


def xid_faults(alerts, hardware):
    for name in ("RingmasterXidHardware", "RingmasterXidApplication"):
        for numbers in re.findall(r'xid!?=~?"([\d|]+)"', alerts[name]["expr"]):
            if set(numbers.split("|")) != hardware:
                yield f"{name} lists {numbers}; service/gpu/fitness.cc has {'|'.join(sorted(hardware, key=int))}"


def documented(root):
    rows = re.findall(r"^\| `(ringmaster_\w+)` \| (\w+)", (root / "docs/metrics.md").read_text(), re.M)
    parts = {"histogram": ("_bucket", "_sum", "_count")}
    return {name + part for name, kind in rows for part in parts.get(kind, ("",))}


def series_faults(name, expr, known):
    used = {word for word in re.findall(r"[\w:]+", re.sub(r'"[^"]*"', "", expr)) if "ringmaster_" in word}
    yield from (f"{name}: there is no series {word}" for word in sorted(used - known))


def runbook_faults(root, alerts):
    index = (root / "docs/runbooks/README.md").read_text()
    pages = {path.stem for path in (root / "docs/runbooks").glob("Ringmaster*.md")}
    for name in sorted(pages - set(alerts)):
        yield f"docs/runbooks/{name}.md: there is no alert of this name"
    for name in sorted(pages):
        if f"({name}.md)" not in index:
            yield f"docs/runbooks/README.md does not name {name}.md"
        text = (root / f"docs/runbooks/{name}.md").read_text()
        missing = [part for part in ("Meaning", "Impact", "Diagnosis", "Mitigation") if f"\n## {part}\n" not in text]
        if missing:
            yield f"docs/runbooks/{name}.md lacks {', '.join(missing)}"
        yield from (f"docs/runbooks/{name}.md: `ringmaster {verb}` is no verb of docs/cli.md"
                    for verb in unknown_verbs(root, text))


def unknown_verbs(root, text):
    known = set(re.findall(r"^\| `([a-z]+)", (root / "docs/cli.md").read_text(), re.M))
    return sorted(set(re.findall(r"(?:^|`)ringmaster ([a-z]+)", text, re.M)) - known)


def drill_faults(root, alerts):
    drills = [*(root / "tests/lab").glob("alerts*_test.cc"), root / "tests/e2e/gpu_alerts_test.cc"]
    text = "".join(path.read_text() for path in drills)
    for name in sorted(set(alerts) - set(re.findall(r'"(Ringmaster\w+)"', text))):
        yield f"{name}: no drill of {', '.join(str(path.relative_to(root)) for path in drills)} fires it"


def all_faults(root, alerts, tests):
    tested = directions(tests)
    recorded = {rule["record"]: rule for file in yaml_files(root / "dashboards/prometheus/rules")
                for group in file["groups"] for rule in group["rules"]}
    known = documented(root) | set(recorded)
    for name, rule in {**recorded, **alerts}.items():
        yield from series_faults(name, rule["expr"], known)
    runbooks = {path.stem for path in (root / "docs/runbooks").glob("*.md")}
    for name, rule in alerts.items():
        yield from (f"{name}: {fault}" for fault in faults_of(name, rule, tested, runbooks))
    yield from xid_faults(alerts, hardware_xids(root))
    yield from runbook_faults(root, alerts)
    yield from drill_faults(root, alerts)


def commands(root):
    product = root / "dashboards/prometheus"
    rules = sorted([*product.glob("rules/*.yml"), *product.glob("alerts/*.yml")])
    yield ["promtool", "check", "rules", "--lint-fatal", *rules]
    yield ["promtool", "check", "config", product / "prometheus.yml"]
    yield ["promtool", "test", "rules", *sorted((root / "tests/dashboards/rules").glob("*.yml"))]
    if shutil.which("amtool"):
        yield ["amtool", "check-config", product / "alertmanager.yml"]


def run_tools(root):
    for command in commands(root):
        words = " ".join(word for word in command if isinstance(word, str))
        done = subprocess.run(list(map(str, command)), text=True, capture_output=True)
        print(f"{words}: exit {done.returncode}")
        if done.returncode:
            yield f"{words}:\n{done.stdout}{done.stderr}"


def self_test(root, alerts, tests):
    import copy
    planted = []
    for key, value in (("labels", {"severity": "critical"}), ("annotations", {})):
        broken = copy.deepcopy(alerts)
        broken["RingmasterNodeLost"][key] = value
        planted.append((broken, tests))
    for fires in (True, False):
        fewer = copy.deepcopy(tests)
        for file in fewer:
            for test in file["tests"]:
                test["alert_rule_test"] = [check for check in test["alert_rule_test"]
                                           if check["alertname"] != "RingmasterNodeLost"
                                           or bool(check["exp_alerts"]) != fires]
        planted.append((alerts, fewer))
    other_xids = copy.deepcopy(alerts)
    other_xids["RingmasterXidHardware"]["expr"] = other_xids["RingmasterXidHardware"]["expr"].replace("79|", "")
    planted.append((other_xids, tests))
    planted.append(({**alerts, "RingmasterNew": {"labels": {"severity": "page"}, "expr": "vector(1)"}}, tests))
    typo = copy.deepcopy(alerts)
    typo["RingmasterNodeLost"]["expr"] = "ringmaster_nodes_up == 0"
    planted.append((typo, tests))
    missed = [number for number, case in enumerate(planted) if not list(all_faults(root, *case))]
    print(f"{len(planted)} planted faults, missed: {missed}")
    return 1 if missed else 0


def main():
    try:
        import yaml  # noqa: F401
    except ImportError:
        print("no PyYAML (python3-yaml)")
        return 77
    if not shutil.which("promtool"):
        print("no promtool (Debian package prometheus)")
        return 77
    root = pathlib.Path(sys.argv[1]).resolve()
    alerts = alerts_in(yaml_files(root / "dashboards/prometheus/alerts"))
    tests = yaml_files(root / "tests/dashboards/rules")
    if "--self-test" in sys.argv:
        return self_test(root, alerts, tests)
    found = [*run_tools(root), *all_faults(root, alerts, tests)]
    print("\n".join(found))
    num_tests = sum(len(test["alert_rule_test"]) for file in tests for test in file["tests"])
    print(f"{len(alerts)} alerts, {num_tests} expectations in unit tests, {len(found)} faults")
    return 1 if found or not alerts else 0


if __name__ == "__main__":
    sys.exit(main())

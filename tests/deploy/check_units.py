#!/usr/bin/env python3
"""Checks the units of deploy/systemd with systemd-analyze and systemd-sysusers, and what must hold of their order.

usage: check_units.py UNITS PROGRAMS    folders of the units and of the built programs
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

UNITS, PROGRAMS = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
INSTALLED = "/opt/ringmaster/bin"
# The most that `systemd-analyze security` may say, in tenths: a worker's jobs use devices and any path.
MOST_EXPOSED = {"ringmaster-controller": 25, "ringmaster-worker": 45, "ringmaster-ranks": 45}


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def settings(name):
    """The values of each key, in order."""
    found = {}
    for line in (UNITS / f"{name}.service").read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found.setdefault(key, []).append(value)
    return found


def words_of(unit, key):
    return " ".join(unit.get(key, [])).split()


def seconds(text):
    number, suffix = re.fullmatch(r"(\d+)(s|min)", text).groups()
    return int(number) * (60 if suffix == "min" else 1)


class Units(unittest.TestCase):
    def setUp(self):
        self.controller, self.worker, self.ranks = map(settings, MOST_EXPOSED)

    def test_systemd_accepts_them(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for name in MOST_EXPOSED:
                files.append(pathlib.Path(folder) / f"{name}.service")
                files[-1].write_text((UNITS / files[-1].name).read_text().replace(INSTALLED, str(PROGRAMS)))
            self.assertEqual(run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *files), (0, ""))
            for file in files:
                code, text = run("systemd-analyze", "security", "--offline=true", "--no-pager",
                                 f"--threshold={MOST_EXPOSED[file.stem]}", file)
                self.assertEqual(code, 0, text[-500:])

    def test_systemd_makes_their_users(self):
        with tempfile.TemporaryDirectory() as root:
            (pathlib.Path(root) / "etc").mkdir()
            code, text = run("systemd-sysusers", f"--root={root}", UNITS / "sysusers.d/ringmaster.conf")
            self.assertEqual(code, 0, text)
            users = {line.split(":")[0]: line.split(":")[5]
                     for line in (pathlib.Path(root) / "etc/passwd").read_text().splitlines()}
            groups = {line.split(":")[0]: line.strip().split(":")[3]
                      for line in (pathlib.Path(root) / "etc/group").read_text().splitlines()}
        for unit in (self.controller, self.worker):
            self.assertEqual(users[unit["User"][0]], "/var/lib/" + unit["StateDirectory"][0])
        self.assertEqual(self.ranks["User"], self.worker["User"])
        for group in ("video", "render"):
            self.assertIn(self.worker["User"][0], groups[group])

    def test_their_commands_exist(self):
        for unit, key in ((self.controller, "ExecStart"), (self.worker, "ExecStart"), (self.ranks, "ExecStop")):
            program, *words = unit[key][0].split()
            self.assertEqual(words[-2], "--config")
            self.assertEqual(unit["ConditionPathExists"], [words[-1]])
            code, text = run(program.replace(INSTALLED, str(PROGRAMS)), *words[:-2], "--help")
            self.assertEqual(code, 0, text)
            self.assertIn("--config FILE", text)

    def test_a_restart_of_the_worker_leaves_ranks_alone(self):
        self.assertEqual(self.worker["KillMode"], ["process"])
        self.assertEqual(self.worker["OOMPolicy"], ["continue"])
        self.assertEqual(self.worker["PrivateTmp"], ["no"])
        self.assertNotIn("ExecStop", self.worker)
        for unit in (self.worker, self.ranks):
            for key in ("Requires", "BindsTo", "PartOf", "Requisite", "Conflicts", "PropagatesStopTo"):
                self.assertNotIn(key, unit)

    def test_at_shutdown_ranks_stop_after_the_worker_and_before_the_network(self):
        self.assertIn("ringmaster-ranks.service", words_of(self.worker, "After"))
        self.assertIn("ringmaster-ranks.service", words_of(self.worker, "Wants"))
        self.assertEqual(words_of(self.ranks, "Before"), [])
        for needed in ("network-online.target", "remote-fs.target"):
            self.assertIn(needed, words_of(self.ranks, "After"))
        self.assertEqual(self.ranks["RemainAfterExit"], ["yes"])
        _, text = run(PROGRAMS / "ringmaster-worker", "stop-ranks", "--help")
        grace = int(re.search(r"--stop-grace S=(\d+)", text)[1])
        self.assertGreaterEqual(seconds(self.ranks["TimeoutStopSec"][0]), 10 * grace)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""The parts of deploy/package, and scripts/version, over small trees made here.

usage: modules_test.py ROOT
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "deploy" / "package"))

import archive  # noqa: E402  (below the path that it needs)
import debs  # noqa: E402
import elf  # noqa: E402
import libraries  # noqa: E402
import tree  # noqa: E402
from failure import Failure  # noqa: E402


def said(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True,
                          **options).stdout.strip()


class InTemporaryFolder(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)

    def compiled(self, name, source, *options):
        (self.folder / f"{name}.c").write_text(source)
        kind = ["-shared", "-fPIC"] if ".so" in name else []
        said("cc", *kind, "-o", self.folder / name, self.folder / f"{name}.c", *options)
        return self.folder / name


class Version(InTemporaryFolder):
    def setUp(self):
        super().setUp()
        (self.folder / "scripts").mkdir()
        shutil.copy(ROOT / "scripts" / "version", self.folder / "scripts")
        (self.folder / "CMakeLists.txt").write_text("project(ringmaster VERSION 0.1.0 LANGUAGES CXX)\n")

    def git(self, *words):
        return said("git", "-c", "user.name=n", "-c", "user.email=n@example.org", *words, cwd=self.folder)

    def commit(self):
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "-m", "change")

    def version(self):
        return said(self.folder / "scripts" / "version")

    def test_grows_with_each_commit_and_tag(self):
        self.git("init", "--quiet")
        versions = []
        for tag in ("", "", "v0.1.0-rc1", "", "v0.1.0", "", "v0.2.0"):
            self.commit()
            if tag:
                self.git("tag", tag)
            versions.append(self.version())
        self.assertRegex(versions[1], r"^0\.1\.0~git2\.[0-9a-f]{8}$")
        self.assertEqual(versions[2], "0.1.0~rc1")
        self.assertRegex(versions[5], r"^0\.1\.0\+1\.g[0-9a-f]+$")
        self.assertEqual(versions[6], "0.2.0")
        for older, newer in zip(versions, versions[1:]):
            said("dpkg", "--compare-versions", older, "lt", newer)

    def test_tells_changes_that_no_commit_has(self):
        self.git("init", "--quiet")
        self.commit()
        (self.folder / "CMakeLists.txt").write_text("project(ringmaster VERSION 0.1.0)\n")
        self.assertTrue(self.version().endswith("+dirty"))

    def test_is_in_a_file_where_there_is_no_git(self):
        self.assertEqual(self.version(), "0.1.0")
        (self.folder / "VERSION").write_text("0.3.0\n")
        self.assertEqual(self.version(), "0.3.0")


class Symbols(InTemporaryFolder):
    def test_of_a_newer_system_are_named_with_their_file(self):
        # The GNU C library 2.36 was the first with this one.
        self.compiled("libnew.so", "unsigned arc4random(void);\nunsigned f(void) { return arc4random(); }\n")
        self.compiled("libold.so", "#include <stdio.h>\nvoid g(void) { puts(\"g\"); }\n")
        with self.assertRaises(Failure) as caught:
            libraries.check_symbols(self.folder)
        self.assertIn("libnew.so needs arc4random@GLIBC_2.36", str(caught.exception))
        self.assertNotIn("libold.so", str(caught.exception))

    def test_are_compared_by_number(self):
        cases = {("GLIBC", "2.35"): False, ("GLIBC", "2.4"): False, ("GLIBC", "2.36"): True, ("GLIBC", "PRIVATE"): True,
                 ("GLIBC", "ABI_DT_RELR"): True, ("GLIBCXX", "3.4.30"): False, ("GLIBCXX", "3.4.31"): True,
                 ("OPENSSL", "3.0.0"): False}
        self.assertEqual({case: elf.is_too_new(*case) for case in cases}, cases)


class Libraries(InTemporaryFolder):
    def program(self):
        """It needs liba.so, which needs libb.so; both lie where only a RUNPATH of this machine says."""
        here = f"-L{self.folder}", f"-Wl,-rpath,{self.folder}"
        self.compiled("libb.so", "int b(void) { return 20; }\n")
        self.compiled("liba.so", "int b(void);\nint a(void) { return b() + 1; }\n", "-lb", *here)
        return self.compiled("program", "int a(void);\nint main(void) { return a() * 2; }\n", "-la", *here)

    def test_are_found_wherever_the_tree_lies(self):
        program = self.program()
        found = libraries.closure([program])
        self.assertEqual(list(found), ["liba.so", "libb.so"])
        (self.folder / "made" / "bin").mkdir(parents=True)
        moved = shutil.copy(program, self.folder / "made" / "bin")
        libraries.make_relocatable(pathlib.Path(moved), "$ORIGIN/../lib")
        libraries.copy(found, self.folder / "made" / "lib")
        for path in self.folder.glob("*.so"):
            path.unlink()
        (self.folder / "made").rename(self.folder / "elsewhere")
        self.assertEqual(subprocess.run([self.folder / "elsewhere" / "bin" / "program"], check=False).returncode, 42)
        for path, search in (("bin/program", "$ORIGIN/../lib"), ("lib/liba.so", "$ORIGIN"), ("lib/libb.so", "$ORIGIN")):
            self.assertEqual(elf.search_paths(self.folder / "elsewhere" / path), [("RPATH", search)])

    def test_that_are_missing_are_named(self):
        program = self.program()
        (self.folder / "libb.so").unlink()
        with self.assertRaisesRegex(Failure, "program needs libb.so, which"):
            libraries.closure([program])

    def test_of_the_system_and_of_the_driver_stay_out(self):
        theirs = ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libgcc_s.so.1", "libcuda.so.1",
                  "libnvidia-ml.so.1")
        ours = ("libcares.so.2", "libcrypto.so.3", "libcudart.so.12", "libcublasLt.so.12", "libmpfr.so.6", "libz.so.1")
        self.assertEqual([name for name in theirs + ours if libraries.SYSTEM.fullmatch(name)], list(theirs))


class Users(InTemporaryFolder):
    def test_belong_to_the_package_of_their_daemon(self):
        users = ROOT / "deploy" / "systemd" / "sysusers.d" / "ringmaster.conf"
        lines = {}
        for component in ("controller", "worker"):
            root = self.folder / component
            (root / "opt/ringmaster/lib/sysusers.d").mkdir(parents=True)
            shutil.copy(users, root / "opt/ringmaster/lib/sysusers.d")
            name = debs.move_users(root, component)
            lines[component] = (root / "usr/lib/sysusers.d" / name).read_text().splitlines()
        self.assertTrue(all(line.split()[1] == "ringmaster" for line in lines["controller"]), lines)
        self.assertTrue(all(line.split()[1] == "ringmaster-worker" for line in lines["worker"]), lines)
        stated = [line for line in users.read_text().splitlines() if line and not line.startswith("#")]
        self.assertEqual(sorted(lines["controller"] + lines["worker"]), sorted(stated))


class Archive(InTemporaryFolder):
    def packed(self, name, order, time):
        root = self.folder / name / "top"
        root.mkdir(parents=True)
        for file in order:
            (root / file).write_text(file)
            os.utime(root / file, (time, time))
        (root / "a").chmod(0o700 if time % 2 else 0o777)
        (root / "SHA256SUMS").write_text(archive.sums(root))
        tree.make_plain(root, 1000)
        archive.pack(root, 1000, self.folder / f"{name}.tar.zst", 3)
        return (self.folder / f"{name}.tar.zst").read_bytes()

    def test_has_the_same_bytes_whenever_it_was_made(self):
        self.assertEqual(self.packed("one", "abc", 5), self.packed("two", "cab", 8))

    def test_says_its_sums(self):
        self.packed("one", "ab", 5)
        said("tar", "--zstd", "-xf", "one.tar.zst", cwd=self.folder)
        self.assertEqual(said("sha256sum", "-c", "SHA256SUMS", cwd=self.folder / "top"), "a: OK\nb: OK")


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""scripts/package over a built tree, and that its packages run where nothing else is installed.

usage: package_test.py ROOT BUILD
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD = (pathlib.Path(word).resolve() for word in (sys.argv.pop(1), sys.argv.pop(1)))
sys.path.insert(0, str(ROOT / "deploy" / "package"))
sys.path.insert(0, str(ROOT / "tests" / "package"))

import elf  # noqa: E402  (below the path that it needs)
from bare_tree import BareTree  # noqa: E402

JOB = """name: bare
model: {preset: micro}
data: {path: /data, format: auto, tokenizer: bytes}
seed: 1
stages: [{context: 256, batch: 512, tokens: 5120, learning_rate: 3e-3}]
parallel: {ring: 2}
resources: {kind: cpu}
"""


def package(out, umask, **environment):
    """Twice the same, by users with other habits."""
    subprocess.run([ROOT / "scripts" / "package", "--build", BUILD, "--out", out, "--fast"], check=True, umask=umask,
                   env=os.environ | environment, stdout=subprocess.DEVNULL)
    return {path.name: path for path in sorted(out.iterdir())}


def blocks(mark):
    """The commands of docs/install.md below <!-- run: MARK -->."""
    page = (ROOT / "docs" / "install.md").read_text()
    return re.findall(rf"<!-- run: {mark} -->\n```sh\n(.*?)```", page, re.S)


def follow(commands):
    """What they say, run beside the packages; /opt is empty and their own."""
    user = [] if os.getuid() == 0 else ["--map-root-user", "--user"]
    script = f"set -e\nmount -t tmpfs none /opt\ncd '{Packages.folder}/one'\n{commands}"
    return subprocess.run(["unshare", *user, "--mount", "--propagation", "private", "bash", "-c", script], capture_output=True,
                          text=True, check=True).stdout


class Packages(unittest.TestCase):
    folder = None  # of all packages, made once

    @classmethod
    def make(cls):
        if Packages.folder is not None:
            return
        held = tempfile.TemporaryDirectory(prefix="ringmaster-package-")
        unittest.addModuleCleanup(held.cleanup)
        Packages.folder = pathlib.Path(held.name)
        Packages.made = package(cls.folder / "one", 0o022)
        Packages.archive = next(path for name, path in cls.made.items() if name.endswith(".tar.zst"))
        Packages.debs = [path for name, path in cls.made.items() if name.endswith(".deb")]

    @classmethod
    def setUpClass(cls):
        cls.make()
        cls.tree = BareTree(cls.folder / "tree")
        cls.prefix = cls.tree.root / "opt" / "ringmaster"
        cls.prefix.mkdir(parents=True)
        subprocess.run(["tar", "--zstd", "-xf", cls.archive, "-C", cls.prefix, "--strip-components=1"], check=True)

    def programs(self):
        return [path for path in sorted(self.prefix.rglob("*")) if elf.is_elf(path)]

    def test_have_the_same_bytes_when_they_are_made_again(self):
        again = package(self.folder / "two", 0o077, TZ="Asia/Tokyo", LC_ALL="C.UTF-8")
        self.assertEqual(list(again), list(self.made))
        for name, path in self.made.items():
            self.assertEqual(hashlib.sha256(path.read_bytes()).digest(), hashlib.sha256(again[name].read_bytes()).digest(), name)
        subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=self.folder / "one", check=True)
        subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=self.prefix, check=True)

    def test_name_no_folder_of_the_machine_that_made_them(self):
        programs = self.programs()
        self.assertGreater(len(programs), 20)
        for path in programs:
            expected = "$ORIGIN" if path.parent.name == "lib" else "$ORIGIN/../lib"
            self.assertEqual(elf.search_paths(path), [("RPATH", expected)], path)

    def test_need_no_symbol_that_older_systems_lack(self):
        self.assertEqual({path.name: elf.too_new(path) for path in self.programs() if elf.too_new(path)}, {})

    def test_train_where_nothing_else_is_installed(self):
        program = "/opt/ringmaster/bin/ringmaster"
        self.assertRegex(self.tree.run(program, "version"), r"^ringmaster \S+ \(protocol \d+\)\n$")
        (self.tree.root / "data").mkdir()
        (self.tree.root / "data" / "text.txt").write_text("A ring of ranks passes keys and values on. " * 500)
        (self.tree.root / "job.yaml").write_text(JOB)
        said = self.tree.run(program, "up", "--workers", "2", "--state", "/state", "--job", "/job.yaml")
        self.assertRegex(said, r"job \w+ \(bare\) succeeded: 10 steps")

    def test_lie_where_the_page_says(self):
        said = follow("".join(blocks("archive")))
        self.assertIn(f"{self.archive.name}: OK", said)
        self.assertRegex(said.splitlines()[-1], r"^ringmaster \S+ \(protocol \d+\)$")

    def test_state_package_version_and_licence_of_each_library(self):
        bill = json.loads((self.prefix / "share/doc/ringmaster/sbom.spdx.json").read_text())
        self.assertEqual(bill["spdxVersion"], "SPDX-2.3")
        files = {file["fileName"]: file for file in bill["files"]}
        libraries = {f"./lib/{path.name}": path for path in (self.prefix / "lib").glob("*.so*")}
        self.assertEqual(files.keys(), libraries.keys())
        packages = {part["SPDXID"]: part for part in bill["packages"]}
        owner = {relation["relatedSpdxElement"]: packages[relation["spdxElementId"]]
                 for relation in bill["relationships"] if relation["relationshipType"] == "CONTAINS"}
        for name, file in files.items():
            sums = {entry["algorithm"]: entry["checksumValue"] for entry in file["checksums"]}
            self.assertEqual(sums["SHA256"], hashlib.sha256(libraries[name].read_bytes()).hexdigest(), name)
            package_of = owner[file["SPDXID"]]
            self.assertTrue(package_of["versionInfo"], name)
            self.assertTrue((self.prefix / package_of["licenseComments"]).stat().st_size, name)

    def test_have_manual_units_completions_and_examples(self):
        for path in ("share/man/man1/ringmaster.1.gz", "share/man/man5/ringmaster-job.5.gz",
                     "share/man/man8/ringmaster-controller.8.gz", "share/man/man8/ringmaster-worker.8.gz",
                     "share/bash-completion/completions/ringmaster", "share/ringmaster/examples/quickstart.yaml",
                     "share/ringmaster/dashboards/prometheus/rules/ringmaster.yml", "share/doc/ringmaster/install.md"):
            self.assertTrue((self.prefix / path).stat().st_size, path)
        shipped = {path.name for path in (self.prefix / "lib/systemd/system").glob("*")}
        self.assertEqual(shipped, {path.name for path in (ROOT / "deploy/systemd").glob("*.service")})


class Debs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        Packages.make()
        cls.tree = BareTree(Packages.folder / "installed")
        for deb in Packages.debs:
            # As dpkg does, and `dpkg-deb --extract` does not: /lib stays a link to /usr/lib.
            files = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE, check=True).stdout
            subprocess.run(["tar", "--extract", "--keep-directory-symlink", "--directory", cls.tree.root],
                           input=files, check=True)

    def test_give_the_same_tree_with_commands_and_units_in_their_places(self):
        root = self.tree.root
        for name in ("ringmaster", "ringmaster-controller", "ringmaster-worker", "ring-train"):
            self.assertRegex(self.tree.run(f"/usr/bin/{name}", "--version"), f"^{name} \\S+")
        shown = {path.name for path in (root / "lib/systemd/system").glob("*")}
        self.assertEqual(shown, {path.name for path in (ROOT / "deploy/systemd").glob("*.service")})
        for page in ("man1/ringmaster.1", "man5/ringmaster-job.5", "man8/ringmaster-controller.8"):
            link = root / f"usr/share/man/{page}.gz"
            self.assertTrue((root / link.readlink().relative_to("/")).exists(), page)

    def test_depend_on_nothing_but_each_other_and_the_system(self):
        for commands in blocks("debs"):
            said = follow(commands.replace("install -y", "install --simulate --no-install-recommends"))
            installed = re.findall(r"^Inst (\S+)", said, re.M)
            self.assertTrue(installed and all(name.startswith("ringmaster-") for name in installed), said)

    def test_share_no_file(self):
        owner = {}
        for deb in Packages.debs:
            listing = subprocess.run(["dpkg-deb", "--contents", deb], capture_output=True, text=True, check=True).stdout
            for line in listing.splitlines():
                mode, name = line[0], re.split(r" \d\d:\d\d ", line)[1].split(" -> ")[0]
                if mode != "d":
                    self.assertNotIn(name, owner, deb.name)
                    owner[name] = deb.name

    def test_please_lintian(self):
        said = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", "--tag-display-limit", "0", *Packages.debs],
                              capture_output=True, text=True, check=False)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

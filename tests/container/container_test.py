#!/usr/bin/env python3
"""Builds the OCI image from a build, without a registry, and trains a job in a container of it.

usage: container_test.py SOURCE_DIR BUILD_DIR
The container runs by podman and crun where they can here, otherwise by chroot into the image's layers.
Skipped (exit 77) without buildah or the rights for either.
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

JOB = """\
name: contained
model: {preset: micro}
data: {path: /data, format: text, tokenizer: bytes}
stages: [{context: 512, batch: 512, tokens: 5120, learning_rate: 1e-3}]
parallel: {ring: 2}
resources: {kind: cpu}
"""
TEXT = pathlib.Path("/usr/share/doc/python3/html/_sources/tutorial")
# crun takes cgroups of both versions for a mistake, which some sandboxes mount; it needs none of them here.
HIDE_CGROUPS = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh"]


class Failed(Exception):
    """The product does not do what it should."""


def expect(condition, words):
    if not condition:
        raise Failed(words)


def run(words, seconds=120, **more):
    return subprocess.run(list(map(str, words)), text=True, capture_output=True, timeout=seconds, **more)


def build(source, build_dir, out):
    done = run([source / "deploy/container/build", "--build", build_dir, "--base", "host", "--fast", "--out", out])
    expect(done.returncode == 0, done.stdout + done.stderr)
    return hashlib.sha256(out.read_bytes()).hexdigest()


class Image:
    """The parts of an oci-archive."""

    def __init__(self, path, folder):
        with tarfile.open(path) as archive:
            archive.extractall(folder)
        self.folder = folder
        index = json.loads((folder / "index.json").read_text())
        self.manifest = self.blob(index["manifests"][0])
        self.config = self.blob(self.manifest["config"])

    def blob(self, descriptor):
        return json.loads(self.path_of(descriptor).read_text())

    def path_of(self, descriptor):
        return self.folder / "blobs" / descriptor["digest"].replace(":", "/")

    def check(self):
        config = self.config["config"]
        expect(config["User"] == "10001:10001", f"it runs as {config.get('User')}")
        expect(config["Labels"]["org.opencontainers.image.title"] == "ringmaster", config["Labels"])
        expect(any(value.startswith("PATH=/opt/ringmaster/bin:") for value in config["Env"]), config["Env"])
        for layer in self.manifest["layers"]:
            with tarfile.open(self.path_of(layer)) as tree:
                members = tree.getmembers()
            expect(len({member.mtime for member in members}) == 1, "times of the build are in the image")
            open_to_all = [member.name for member in members if member.mode & 0o002 and not member.issym()
                           and member.name.strip("./") != "tmp"]
            expect(not open_to_all, f"any user may write {open_to_all[:3]}")

    def unpack(self, root):
        for layer in self.manifest["layers"]:
            run(["tar", "-xf", self.path_of(layer), "-C", root])


class Podman:
    name = "podman"

    def __init__(self, image_file, folder):
        self.image = image_file
        self.words = HIDE_CGROUPS + ["podman", "--root", folder / "store", "--runroot", folder / "run",
                                     "--storage-driver=vfs", "--cgroup-manager=cgroupfs", "--events-backend=none",
                                     "--runtime=crun"]
        loaded = run(self.words + ["load", "--quiet", "--input", image_file])
        self.failure = loaded.stderr if loaded.returncode else None
        self.tag = loaded.stdout.strip().split(": ")[-1]

    def run(self, *command, volumes=()):
        options = ["--rm", "--cgroups=disabled", "--network=host", "--ulimit=nofile=4096:4096",
                   "--ulimit=nproc=4096:4096", "--cap-drop=all", "--shm-size=256m"]
        options += [f"--volume={volume}:ro" for volume in volumes]
        return run(self.words + ["run", *options, self.tag, *command])


class Chroot:
    name = "chroot"

    def __init__(self, image, root):
        root.mkdir()
        image.unpack(root)
        self.root, self.environment = root, dict(value.split("=", 1) for value in image.config["config"]["Env"])
        self.failure = None if os.geteuid() == 0 else "chroot needs root"

    def run(self, *command, volumes=()):
        for volume in volumes:
            place, target = volume.split(":")
            if pathlib.Path(place).is_dir():
                shutil.copytree(place, self.root / target[1:])
            else:
                shutil.copy(place, self.root / target[1:])
        script = f'mount -t proc proc {self.root}/proc && mount --bind /dev {self.root}/dev && exec "$@"'
        return run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", script, "sh", "chroot",
                    "--userspec=10001:10001", self.root, *command], env={**self.environment, "HOME": "/var/lib/ringmaster"})


def runtime_for(image_file, image, folder):
    if shutil.which("podman") and shutil.which("crun") and os.geteuid() == 0:
        podman = Podman(image_file, folder)
        started = None if podman.failure else podman.run("id", "-u")
        if started and started.returncode == 0:
            return podman
        print(f"podman cannot run a container here: {podman.failure or started.stderr}")
    return Chroot(image, folder / "root")


def play(source, build_dir, folder):
    image_file = folder / "image.tar"
    digest = build(source, build_dir, image_file)
    (folder / "oci").mkdir()
    image = Image(image_file, folder / "oci")
    image.check()
    print(f"an image of {image_file.stat().st_size >> 20} MiB")
    expect(build(source, build_dir, folder / "again.tar") == digest, "two builds are not equal")
    runtime = runtime_for(image_file, image, folder)
    if runtime.failure:
        return runtime.failure
    expect(runtime.run("id", "-u").stdout.strip() == "10001", "it runs as another user")
    version = runtime.run("ringmaster", "version")
    expect(version.returncode == 0 and version.stdout.startswith("ringmaster "), version.stdout + version.stderr)
    for daemon in ("ringmaster-controller", "ringmaster-worker"):
        told = runtime.run(daemon, "--version")
        expect(told.returncode == 0, f"{daemon}: {told.stdout}{told.stderr}")
    (folder / "job.yaml").write_text(JOB)
    trained = runtime.run("ringmaster", "up", "--workers", "2", "--state", "/var/lib/ringmaster/state", "--job",
                          "/job.yaml", volumes=[f"{folder}/job.yaml:/job.yaml", f"{TEXT}:/data"])
    expect(trained.returncode == 0 and "succeeded" in trained.stdout + trained.stderr, trained.stdout + trained.stderr)
    print(f"a job of two workers succeeded by {runtime.name}")
    return None


def main():
    source, build_dir = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    if not shutil.which("buildah"):
        print("no buildah: scripts/install_packages test")
        return 77
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rm-container-"))
    folder.chmod(0o755)
    try:
        skipped = play(source, build_dir, folder)
    except Failed as fault:
        print(fault)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if skipped:
        print(f"skipped: {skipped}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())

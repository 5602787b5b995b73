"""Two builds from nothing, in folders of different names, give the same bytes of a program as it is packed.

usage: two_builds_test.py ROOT [TARGET]   default: ring-checkpoint, the smallest with all of its layers
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
TARGET = sys.argv[2] if len(sys.argv) > 2 else "ring-checkpoint"
sys.path.insert(0, str(ROOT / "deploy" / "package"))

import libraries  # noqa: E402  (below the path that it needs)


def built(folder):
    subprocess.run(["cmake", "--preset", "release", "-B", folder, "-DRM_SERVICES=OFF", "-DRM_CUDA=OFF", "-DRM_VERSION=1.2.3"],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--target", TARGET], check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | {"CCACHE_DISABLE": "1"})
    program = folder / "bin" / TARGET
    libraries.make_relocatable(program, "$ORIGIN/../lib")
    return program.read_bytes()


def main():
    with tempfile.TemporaryDirectory(prefix="ringmaster-builds-") as work:
        one, two = (built(pathlib.Path(work) / name) for name in ("one", "another-name"))
    same = one == two
    print(f"{TARGET}: {len(one)} bytes, {'the same' if same else f'not those of the other build ({len(two)})'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())

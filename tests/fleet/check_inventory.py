#!/usr/bin/env python3
"""Runs the inventory plugin for Crusoe against the fake API; exit 77 where there is no ansible-core.

usage: check_inventory.py ROOT
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import fake_crusoe


def collections(root, folder):
    """A folder in which Ansible finds the collection."""
    place = folder / "collections/ansible_collections/ringmaster"
    if not place.exists():
        place.mkdir(parents=True)
        (place / "cluster").symlink_to(root / "ansible")
    return folder / "collections"


def inventory(root, folder, port, **config):
    file = folder / "crusoe.yml"
    lines = {"plugin": "ringmaster.cluster.crusoe", "endpoint": f"http://127.0.0.1:{port}/v1", **config}
    file.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in lines.items()))
    variables = {name: value for name, value in os.environ.items() if not name.startswith("CRUSOE_")}
    variables.update(HOME=str(folder), ANSIBLE_COLLECTIONS_PATH=str(collections(root, folder)),
                     ANSIBLE_INVENTORY_ENABLED="ringmaster.cluster.crusoe", ANSIBLE_INVENTORY_UNPARSED_FAILED="1",
                     ANSIBLE_LOCAL_TEMP=str(folder / "tmp"), PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(["ansible-inventory", "-i", str(file), "--list"], env=variables, cwd=folder, text=True,
                          capture_output=True, timeout=60, check=False)
    for secret in (fake_crusoe.KEY, fake_crusoe.SECRET):
        assert secret not in done.stdout + done.stderr, done.stdout + done.stderr
    return done


def check(root, folder, port):
    home = folder / ".crusoe"
    home.mkdir()
    (home / "config").write_text(f'profile = "lab"\n[lab]\naccess_key_id = "{fake_crusoe.KEY}"\n'
                                 f'secret_key = "{fake_crusoe.SECRET}"\ndefault_project = "default"\n')
    (home / "config").chmod(0o600)
    done = inventory(root, folder, port)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["workers"]["hosts"] == ["m1", "m2", "m3"], done.stdout
    assert found["l40s_48gb_10x"]["hosts"] == ["m1", "m2", "m3"], done.stdout
    assert found["_meta"]["hostvars"]["m3"]["ansible_host"] == "10.0.0.3", done.stdout

    done = inventory(root, folder, port, name_prefix="m2", group="ring", public_addresses=True)
    found = json.loads(done.stdout)
    assert found["ring"]["hosts"] == ["m2"], done.stdout
    assert found["_meta"]["hostvars"]["m2"]["ansible_host"] == "198.51.100.2", done.stdout

    for wrong, words in (({"profile": "none"}, "profile 'none'"), ({"project": "other"}, "0 projects for 'other'"),
                         ({"endpoint": "http://api.example.com/v1"}, "plain text")):
        done = inventory(root, folder, port, **wrong)
        assert done.returncode != 0 and words in " ".join((done.stdout + done.stderr).split()), done.stderr
    (home / "config").chmod(0o644)
    done = inventory(root, folder, port)
    assert done.returncode != 0 and "chmod 600" in " ".join(done.stderr.split()), done.stderr


def main():
    if shutil.which("ansible-inventory") is None:
        print("there is no ansible-core here")
        sys.exit(77)
    here = pathlib.Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        port = folder / "port"
        fake = subprocess.Popen([sys.executable, str(here / "fake_crusoe.py"), str(port), "--machine", "m1=10.0.0.1",
                                 "--machine", "m2=10.0.0.2", "--machine", "m3=10.0.0.3"])
        try:
            for _ in range(200):
                if port.exists():
                    break
                time.sleep(0.05)
            check(pathlib.Path(sys.argv[1]).resolve(), folder, port.read_text())
        finally:
            fake.kill()
            fake.wait()
    print("the inventory lists the machines")


if __name__ == "__main__":
    main()

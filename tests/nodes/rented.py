"""Machines of a cloud that become workers by themselves, some that the cloud does not have, and one that dies.

The cloud is tests/fleet/fake_crusoe.py on the controller's own loopback, and its machines are nodes of the lab.
"""
import json
import os
import re
import subprocess
import sys

import archives
from node import expect, run, step, wait_until

sys.path.insert(0, os.path.join(archives.ROOT, "tests", "fleet"))
import fake_crusoe  # noqa: E402

SHAPE, COUNT = "l40s-48gb.10x", 4
NAMES = [f"rented-{number}" for number in range(1, COUNT + 1)]
# A rank on the first slot of each machine, so that the one that dies is among them.
JOB = """name: rented
model: {{preset: micro}}
data: {{path: {share}/text}}
stages:
  - {{context: 1024, batch: 2048, tokens: 204800000, learning_rate: 2e-3}}
parallel: {{ring: 4, data: 2}}
resources: {{placement: [{machines}]}}
checkpoint: {{dir: {share}/checkpoints/rented, every: 10 steps}}
"""
PRICES = f"{SHAPE}:\n  price: {{per_device_hour: 1.25, currency: USD, date: 2026-11-01}}\n"


class Cloud:
    """The fake of Crusoe's API, as the controller's machine reaches it."""

    def __init__(self, lab, controller, known):
        self.inside = ["nsenter", f"--net=/run/netns/{controller}"]
        port_file = os.path.join(lab.directory, "crusoe-port")
        # The next machine gets the address that the lab gives its next node.
        base = lab.nodes[controller].address
        words = [f"--machine={name}={lab.nodes[name].address}" for name in known]
        self.process = subprocess.Popen([*self.inside, sys.executable, fake_crusoe.__file__, port_file,
                                         f"--addresses-after={base}", *words])
        wait_until(lambda: os.path.exists(port_file), 10, "the fake cloud")
        with open(port_file, encoding="utf-8") as file:
            self.endpoint = f"http://127.0.0.1:{file.read()}"

    def control(self, **order):
        told = run(*self.inside, sys.executable, "-c", "import sys, urllib.request as u; "
                   "print(u.urlopen(sys.argv[1], data=sys.argv[2].encode()).read().decode())",
                   self.endpoint + "/control", json.dumps(order))
        return json.loads(told)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Tenant:
    """Somebody who rents machines, on the controller's machine."""

    def __init__(self, cluster, controller):
        self.cluster, self.lab, self.controller = cluster, cluster.lab, controller
        self.node = self.lab.nodes[controller]

    def on(self, command, check=True):
        return self.lab.on(self.controller, command, check=check)

    def write_files(self, cloud):
        self.node.write("/etc/ringmaster/prices.yaml", PRICES)
        self.node.write("/root/id.pub", "ssh-ed25519 AAAA me@here\n")
        self.node.write("/etc/ringmaster/crusoe.toml", f'[default]\naccess_key_id = "{fake_crusoe.KEY}"\n'
                        f'secret_key = "{fake_crusoe.SECRET}"\ndefault_project = "default"\n'
                        f'api_endpoint = "{cloud.endpoint}/v1"\n')
        self.on("chown ringmaster /etc/ringmaster/crusoe.toml && chmod 0400 /etc/ringmaster/crusoe.toml")
        more = "provider: crusoe\nprovider-every: 2 s\ncrusoe-config: /etc/ringmaster/crusoe.toml\n" \
               "prices: /etc/ringmaster/prices.yaml\n"
        self.on(f"printf '{more}' >>/etc/ringmaster/controller.yaml && systemctl restart ringmaster-controller")

    def create(self, prefix, count, check=True):
        share = next(iter(self.cluster.shared))
        return self.on(f"ringmaster fleet create --shape {SHAPE} --count {count} --name {prefix} --ssh-key /root/id.pub "
                       f"--image ringmaster --join-token /root/token --controller {self.node.address}:7070 "
                       f"--ca-fingerprint $(cat /root/fingerprint) --root share={share} --prices "
                       "/etc/ringmaster/prices.yaml --crusoe-config /etc/ringmaster/crusoe.toml --yes", check)

    def machines(self):
        """Standings by name, of the machines that are not matched."""
        told = self.on("ringmaster nodes -o json", check=False)
        rows = json.loads(told.stdout) if told.returncode == 0 else []
        return {row["name"]: row["state"] for row in rows if "provision" in row}

    def matched(self):
        """Names of the machines on which a node runs."""
        return sorted(re.findall(r"^(\S+) +matched ", self.on("ringmaster nodes -o wide", check=False).stdout, re.M))

    def wait_for(self, machines, seconds=60):
        try:
            wait_until(lambda: self.machines() == machines, seconds, f"machines {machines}")
        except TimeoutError as late:
            raise TimeoutError(f"{late}; they are {self.machines()}\n"
                               + self.on("ringmaster nodes -o wide", check=False).stdout) from late


def image(node, archive):
    """What an image with Ringmaster holds: programs, users and units as docs/install.md installs them."""
    os.makedirs(node.path("/opt/ringmaster"))
    run("tar", "--zstd", "-xf", archive, "-C", node.path("/opt/ringmaster"), "--strip-components=1", timeout=120)
    for directory in ("/etc/sysusers.d", "/etc/ringmaster"):
        os.makedirs(node.path(directory), exist_ok=True)
    os.symlink("/opt/ringmaster/lib/sysusers.d/ringmaster.conf", node.path("/etc/sysusers.d/ringmaster.conf"))
    for unit in os.listdir(node.path("/opt/ringmaster/lib/systemd/system")):
        os.symlink(f"/opt/ringmaster/lib/systemd/system/{unit}", node.path(f"/etc/systemd/system/{unit}"))


def check_rented(cluster, controller, known):
    cloud = Cloud(cluster.lab, controller, known)
    try:
        Rented(cluster, controller, known, cloud).run()
    finally:
        cloud.stop()


class Rented:
    def __init__(self, cluster, controller, known, cloud):
        self.cluster, self.lab, self.cloud = cluster, cluster.lab, cloud
        self.tenant = Tenant(cluster, controller)
        self.known = known

    def run(self):
        self.tenant.write_files(self.cloud)
        with step("the provider's machines are the nodes"):
            wait_until(lambda: self.tenant.matched() == self.known, 30, "the machines of the nodes")
        self.create()
        self.join()
        self.out_of_stock()
        self.one_dies()
        self.no_keys()

    def create(self):
        self.tenant.on(f"umask 077; ringmaster token create --role join --expires 1h --uses {COUNT} >/root/token 2>/dev/null; "
                       "openssl x509 -in /etc/ringmaster/ca.crt -outform der | sha256sum | sed 's/^/sha256:/; s/ .*//' "
                       ">/root/fingerprint")
        with step(f"ringmaster fleet create --count {COUNT}"):
            made = self.tenant.create("rented", COUNT)
        expect(made.stdout.split() == NAMES, f"created: {made.stdout}")
        expect("50.00 USD per hour" in made.stderr, f"the cost is not in: {made.stderr}")
        self.tenant.wait_for({name: "unprovisioned" for name in NAMES})

    def join(self):
        """Each machine boots and runs its script once, as cloud-init does."""
        script = self.cloud.control()["bodies"][-1]["instance_template"]["startup_script"]
        self.lab.boot(NAMES, self.cluster.shared, lambda node: image(node, self.cluster.archive))
        with step("they have joined by themselves"):
            for name in NAMES:
                self.lab.nodes[name].write("/root/startup.sh", script)
                self.lab.on(name, "systemd-sysusers && systemctl daemon-reload && bash /root/startup.sh")
            self.tenant.wait_for({}, 90)
        expect(self.tenant.matched() == sorted(self.known + NAMES), f"machines of nodes: {self.tenant.matched()}")

    def out_of_stock(self):
        self.cloud.control(stock=0)
        none = self.tenant.create("more", 1, check=False)
        expect(none.returncode == 4 and "out_of_stock" in none.stderr, f"{none.returncode} {none.stderr}")

    def one_dies(self):
        """A job on all machines costs what their shape costs; one dies, and `explain` says what frees the job."""
        jobs, share = self.cluster.jobs, next(iter(self.cluster.shared))
        self.tenant.node.write("/root/rented.yaml", JOB.format(share=share, machines=", ".join(self.known + NAMES)))
        with step(f"a job on {len(self.known) + COUNT} machines trains"):
            job = self.tenant.on("ringmaster submit /root/rented.yaml").stdout.strip()
            jobs.wait_for_step(job, 20)
        cost = jobs.show(job)["cost"]
        expect(cost["money"] > 0 and cost["currency"] == "USD", f"its cost: {cost}")
        with step("a machine dies, and its node is gone"):
            self.lab.nodes[NAMES[1]].cut_power()
            self.cloud.control(state=[NAMES[1], "STATE_STOPPED"])
            self.tenant.wait_for({NAMES[1]: "gone"})
        with step("explain says so"):
            wait_until(lambda: "--gone" in self.tenant.on(f"ringmaster explain {job}", check=False).stdout, 120, "advice")
        print(self.tenant.on(f"ringmaster explain {job}").stdout)
        with step("it waits without the machine's devices"):
            self.tenant.on(f"ringmaster drain {NAMES[1]} --gone --yes")
            wait_until(lambda: jobs.show(job).get("state") == "pending", 60, "the job waits")
        self.tenant.on(f"ringmaster cancel {job}")

    def no_keys(self):
        """The file that holds them is found, so the search works; nothing else is."""
        places = "/var/lib/ringmaster /var/log /etc/ringmaster"
        keys = f"-e {fake_crusoe.SECRET} -e {fake_crusoe.KEY}"
        files = self.tenant.on(f"grep -rlaF {keys} {places}", check=False).stdout.split()
        expect(files == ["/etc/ringmaster/crusoe.toml"], f"keys are in: {files}")
        processes = self.tenant.on("cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' '\\n'", check=False).stdout
        expect("/opt/ringmaster/bin/ringmaster-controller" in processes, "the controller's arguments were not read")
        expect(fake_crusoe.SECRET not in processes and fake_crusoe.KEY not in processes, "keys are in arguments or environments")

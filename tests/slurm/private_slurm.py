"""A Slurm of this test alone: munge, slurmctld and slurmds on this host, with directories, ports and a key of their own."""

import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue", "scancel")

CONF = """\
ClusterName=ringmaster
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={top}/munge/socket
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={top}/slurmctld
SlurmdSpoolDir={top}/%n
SlurmctldPidFile={top}/slurmctld.pid
SlurmdPidFile={top}/%n.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
KillWait=10
SchedulerParameters=sched_interval=2,bf_interval=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Missing(Exception):
    """Slurm cannot run here."""


def free_ports(number):
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class PrivateSlurm:
    """A context: nodes n0, n1, ... of one CPU each."""

    def __init__(self, top, num_nodes):
        absent = [name for name in PROGRAMS if not shutil.which(name, path=self.path())]
        if absent:
            raise Missing(f"there is no {', '.join(absent)}: scripts/install_packages test")
        self.top, self.num_nodes, self.daemons = pathlib.Path(top), num_nodes, []
        self.environment = {**os.environ, "PATH": self.path(), "SLURM_CONF": f"{top}/slurm.conf"}

    @staticmethod
    def path():
        return os.environ["PATH"] + ":/usr/sbin:/sbin"

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        for name in ("munge", "slurmctld", "log"):
            (self.top / name).mkdir(mode=0o700)
        (self.top / "munge/key").write_bytes(os.urandom(1024))
        (self.top / "munge/key").chmod(0o400)
        host = socket.gethostname().split(".")[0]
        ports = free_ports(self.num_nodes + 1)
        nodes = "\n".join(f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[i + 1]} CPUs=1"
                          for i in range(self.num_nodes))
        user = pwd.getpwuid(os.geteuid()).pw_name
        (self.top / "slurm.conf").write_text(CONF.format(top=self.top, host=host, ports=ports, user=user, nodes=nodes))
        munge = self.top / "munge"
        self.run_daemon("munged", "--foreground", "--force", f"--key-file={munge}/key", f"--socket={munge}/socket",
                        f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        self.wait(lambda: (munge / "socket").exists(), 10, "munged makes no socket")
        self.run_daemon("slurmctld", "-D")
        for i in range(self.num_nodes):
            self.run_daemon("slurmd", "-D", "-N", f"n{i}")
        self.wait(self.all_idle, 30, "the nodes do not become idle")

    def all_idle(self):
        return self.call("sinfo", "--noheader", "--Node", "--format=%T", check=False).split() == ["idle"] * self.num_nodes

    def run_daemon(self, name, *arguments):
        log = open(self.top / "log" / f"{len(self.daemons)}-{name}", "wb")
        self.daemons.append((name, subprocess.Popen([name, *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                                                    stdout=log, stderr=log, start_new_session=True)))

    def wait(self, condition, seconds, otherwise):
        end = time.monotonic() + seconds
        while not condition():
            dead = [name for name, process in self.daemons if process.poll() is not None]
            if dead or time.monotonic() > end:
                raise Missing(f"{', '.join(dead) + ' ended: ' if dead else ''}{otherwise}\n{self.logs()}")
            time.sleep(0.2)

    def logs(self):
        return "\n".join(f"== {path.name}\n" + path.read_text(errors="replace")[-1500:]
                         for path in sorted((self.top / "log").iterdir()))

    def call(self, *words, check=True, **more):
        done = subprocess.run(words, env=self.environment, text=True, capture_output=True, timeout=60, **more)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def facts(self, allocation):
        """What `scontrol show job` says, as a dictionary."""
        words = self.call("scontrol", "show", "job", allocation, "--oneliner").split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def stop(self):
        if self.daemons:
            self.call("scancel", "--me", check=False)
            time.sleep(1)
        for _, process in reversed(self.daemons):
            process.terminate()
        for _, process in reversed(self.daemons):
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

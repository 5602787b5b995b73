"""The .debs: the same tree, with units, users and commands where Debian looks for them."""

import email.utils
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

import tree

HERE = pathlib.Path(__file__).resolve().parent
PREFIX = pathlib.PurePosixPath("/opt/ringmaster")
MAINTAINER = "The authors of Ringmaster <ringmaster@packages.debian.org>"
SYSTEM = "libc6 (>= 2.35), libgcc-s1 (>= 12), libstdc++6 (>= 12)"
PROJECT = "Ringmaster trains language models on long contexts, on ordinary machines joined by ordinary networks."
SUMMARIES = {
    "common": ("libraries of Ringmaster's programs",
               "The private libraries that Ringmaster's programs share, with their licences and their bill of materials."),
    "controller": ("controller of a Ringmaster cluster",
                   "The daemon that keeps jobs, nodes and history, plans jobs and serves the page."),
    "worker": ("worker of a Ringmaster cluster", "The daemon of each node, which starts the ranks of jobs, and the engine alone."),
    "cli": ("command line of Ringmaster",
            "The command ringmaster, and the dashboards, alerts, examples and the Ansible collection of a cluster."),
    "cuda": ("NVIDIA GPUs for Ringmaster", "The CUDA backend of Ringmaster's engine, with the libraries that it needs."),
    "doc": ("documentation of Ringmaster", "The pages of Ringmaster's documentation."),
}
OVERRIDES = {"common": ("all", "common"), "controller": ("all", "daemons"), "worker": ("all", "daemons"),
             "cuda": ("all", "common")}
RECOMMENDS = {"cli": ("controller", "worker"), "worker": ("cli",), "controller": ("cli",)}
LINKS = {"share/bash-completion/completions": "usr/share/bash-completion/completions",
         "share/zsh/site-functions": "usr/share/zsh/vendor-completions",
         "share/fish/vendor_completions.d": "usr/share/fish/vendor_completions.d",
         "bin": "usr/bin", "share/man/man1": "usr/share/man/man1", "share/man/man5": "usr/share/man/man5",
         "share/man/man8": "usr/share/man/man8"}


def add_links(root):
    for folder, shown in LINKS.items():
        for path in sorted((root / "opt/ringmaster" / folder).glob("*")):
            (root / shown).mkdir(parents=True, exist_ok=True)
            (root / shown / path.name).symlink_to(PREFIX / folder / path.name)


def move_units(root):
    """Their names; systemd reads none below /opt."""
    folder = root / "opt/ringmaster/lib/systemd"
    if not folder.exists():
        return []
    (root / "lib").mkdir()
    folder.rename(root / "lib/systemd")
    return sorted(path.name for path in (root / "lib/systemd/system").glob("*.service"))


def move_users(root, component):
    """Each package makes its own users only: the worker's lines name ringmaster-worker."""
    folder = root / "opt/ringmaster/lib/sysusers.d"
    if not folder.exists():
        return None
    lines = (folder / "ringmaster.conf").read_text().splitlines()
    own = [line for line in lines
           if line and not line.startswith("#") and ("ringmaster-worker" in line) == (component == "worker")]
    shutil.rmtree(folder)
    target = root / f"usr/lib/sysusers.d/ringmaster-{component}.conf"
    target.parent.mkdir(parents=True)
    target.write_text("\n".join(own) + "\n")
    return target.name


def scripts(units, users):
    """postinst, prerm and postrm; an installed daemon waits for its configuration, so none starts it."""
    reload = "if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi"
    make = f'    systemd-sysusers {users}\n' if users else ""
    return {
        "postinst": f'#!/bin/sh\nset -e\nif [ "$1" = configure ]; then\n{make}    {reload}\nfi\n',
        "prerm": '#!/bin/sh\nset -e\nif [ "$1" = remove ] && [ -d /run/systemd/system ]; then\n'
                 f'    systemctl --no-reload disable --now {" ".join(units)}\nfi\n',
        "postrm": f"#!/bin/sh\nset -e\n{reload}\n",
    }


def depends(component, version, users):
    if component == "doc":
        return ""
    needs = [SYSTEM]
    if component == "cuda":
        needs.append(f"ringmaster-worker (= {version})")
    if component != "common":
        needs.append(f"ringmaster-common (= {version})")
    if users:
        needs.append("systemd | systemd-standalone-sysusers")
    return ", ".join(needs)


def control(component, version, root, users):
    size = sum(path.lstat().st_size for path in root.rglob("*") if not path.is_dir())
    summary, text = SUMMARIES[component]
    fields = {"Package": f"ringmaster-{component}", "Version": version, "Source": "ringmaster",
              "Architecture": "all" if component == "doc" else "amd64", "Maintainer": MAINTAINER,
              "Installed-Size": size // 1024 + 1, "Section": "doc" if component == "doc" else "science",
              "Priority": "optional", "Depends": depends(component, version, users),
              "Recommends": ", ".join(f"ringmaster-{name}" for name in RECOMMENDS.get(component, ())),
              "Description": f"{summary}\n{wrapped(PROJECT)}\n .\n{wrapped(text)}"}
    return "".join(f"{name}: {value}\n" for name, value in fields.items() if value != "")


def wrapped(text):
    return re.sub(r"(.{1,72})(?:\s|$)", r" \1\n", text).rstrip("\n")


def add_documents(root, component, version, time, licence):
    folder = root / f"usr/share/doc/ringmaster-{component}"
    folder.mkdir(parents=True)
    shutil.copyfile(licence, folder / "copyright")
    entry = (f"ringmaster ({version}) unstable; urgency=medium\n\n  * Made by scripts/package.\n\n"
             f" -- {MAINTAINER}  {email.utils.formatdate(time)}\n")
    with open(folder / "changelog.gz", "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(entry.encode())
    overrides = root / f"usr/share/lintian/overrides/ringmaster-{component}"
    overrides.parent.mkdir(parents=True)
    overrides.write_text("".join((HERE / "overrides" / name).read_text() for name in OVERRIDES.get(component, ("all",))))


def md5sums(root):
    return "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n"
                   for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink())


def lay_out(component, stage, root, version, time):
    """The tree of a package, with DEBIAN in it."""
    shutil.copytree(stage / component, root / "opt/ringmaster", copy_function=os.link, symlinks=True)
    units, users = move_units(root), move_users(root, component)
    add_links(root)
    add_documents(root, component, version, time, stage / "common/share/doc/ringmaster/copyright")
    files = {"control": control(component, version, root, users), "md5sums": md5sums(root)}
    if units:
        files |= scripts(units, users)
    (root / "DEBIAN").mkdir()
    for name, text in files.items():
        (root / "DEBIAN" / name).write_text(text)
    tree.make_plain(root, time)
    for name in {"postinst", "prerm", "postrm"} & files.keys():
        (root / "DEBIAN" / name).chmod(0o755)


def make(stage, work, out, version, time, level):
    """A package for each component that has files; their paths."""
    made = []
    for component in SUMMARIES:
        if not any(path.is_file() for path in (stage / component).rglob("*")):
            continue
        root = work / component
        lay_out(component, stage, root, version, time)
        kind = "all" if component == "doc" else "amd64"
        made.append(out / f"ringmaster-{component}_{version}_{kind}.deb")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", f"-z{level}", "--build", str(root), str(made[-1])],
                       check=True, stdout=subprocess.DEVNULL, env=os.environ | {"SOURCE_DATE_EPOCH": str(time)})
    return made

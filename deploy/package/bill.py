"""The bill of materials (SPDX 2.3) and the licences of all that is packed and not our own."""

import datetime
import hashlib
import json
import pathlib
import re
import shutil
import subprocess

from build import ROOT, said
from failure import Failure

# Debian packages and npm's whose code is in the programs themselves.
COMPILED_IN = ("libboost1.74-dev", "libcli11-dev", "libstdc++-12-dev", "nlohmann-json3-dev")
WEB = ROOT / "dashboards" / "web"


def debian_owners(paths):
    """The Debian packages of those files that have one; of a merged /usr, dpkg knows either name of a file."""
    names = {str(path): path for path in paths}
    names |= {str(path).replace("/usr/lib/", "/lib/", 1): path for path in paths}
    listing = subprocess.run(["dpkg-query", "-S", *names], capture_output=True, text=True, check=False).stdout
    found = {}
    for line in listing.splitlines():
        package, name = line.rsplit(": ", 1)
        if name in names:
            found[names[name]] = package.split(",")[0].split(":")[0]
    return found


def debian_package(name):
    form = "${Version}\t${source:Package}\t${source:Version}\t${Architecture}\n"
    version, source, source_version, architecture = said("dpkg-query", "-W", "-f", form, name).splitlines()[0].split("\t")
    return {"name": name, "version": version, "from": f"Debian source package {source} {source_version}",
            "purl": f"pkg:deb/debian/{name}@{version}?arch={architecture}",
            "licence": pathlib.Path(f"/usr/share/doc/{name}/copyright")}


def toolkit_package(path):
    """A library of a CUDA toolkit that is no Debian package; its version is in the name of a folder."""
    for folder in path.parents:
        name = path.name.removeprefix("lib").split(".")[0].lower().removesuffix("lt")
        for text in [*folder.glob(f"dist-info/nvidia_{name}[-_]*/licenses/License.txt"), *folder.glob("EULA.txt")]:
            version = ["unknown", *re.findall(r"(?<=-)[0-9][0-9.]*[0-9]", str(text.relative_to(folder.parent)))][-1]
            return {"name": f"nvidia-{name}", "version": version, "from": "NVIDIA's CUDA toolkit",
                    "purl": f"pkg:generic/nvidia-{name}@{version}", "licence": text}
    raise Failure(f"neither a Debian package nor a CUDA toolkit with a licence has {path}; so it may not be passed on")


def owners(paths):
    """The package of each file."""
    debian = debian_owners(paths)
    made = {name: debian_package(name) for name in sorted(set(debian.values()))}
    return {path: made[debian[path]] if path in debian else toolkit_package(path) for path in paths}


def page_packages(build):
    """What npm put into the page that the controller serves."""
    lock = json.loads((WEB / "package-lock.json").read_text())["packages"]
    for name in lock[""]["dependencies"]:
        package = lock[f"node_modules/{name}"]
        text = build / "dashboards" / "web" / "page" / "node_modules" / name / "LICENSE"
        yield {"name": name, "version": package["version"], "from": f"npm; licence {package['license']}",
               "purl": f"pkg:npm/{name}@{package['version']}", "licence": text}


def packages(build, files):
    """The packages of private libraries, and those of code within the programs."""
    installed = {name for name in COMPILED_IN if pathlib.Path(f"/usr/share/doc/{name}/copyright").exists()}
    found = {package["name"]: package for package in files.values()} | {name: debian_package(name) for name in installed}
    return [found[name] for name in sorted(found)] + [package for package in page_packages(build) if package["licence"].exists()]


def spdx_id(*words):
    return "SPDXRef-" + "-".join(re.sub(r"[^A-Za-z0-9.-]", "-", word) for word in words)


def spdx_package(package):
    return {"SPDXID": spdx_id("Package", package["name"]), "name": package["name"], "versionInfo": package["version"],
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", "sourceInfo": package["from"],
            "licenseComments": f"share/doc/ringmaster/licences/{package['name']}",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": package["purl"]}]}


def spdx_file(path):
    content = path.read_bytes()
    return {"SPDXID": spdx_id("File", path.name), "fileName": f"./lib/{path.name}",
            "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
                          {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()}],
            "licenseConcluded": "NOASSERTION", "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION"}


def related(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def document(version, time, parts, files):
    """`parts`: packages; `files`: the packed file of each private library and its package."""
    ours = spdx_id("Package", "ringmaster")
    own = spdx_package({"name": "ringmaster", "version": version, "from": "this project",
                        "purl": f"pkg:generic/ringmaster@{version}"}) | {"licenseComments": "share/doc/ringmaster/copyright"}
    relations = [related("SPDXRef-DOCUMENT", "DESCRIBES", ours)]
    relations += [related(ours, "DEPENDS_ON", spdx_id("Package", part["name"])) for part in parts]
    relations += [related(spdx_id("Package", part["name"]), "CONTAINS", spdx_id("File", path.name))
                  for path, part in files.items()]
    body = {"packages": [own, *map(spdx_package, parts)], "files": list(map(spdx_file, files)), "relationships": relations}
    digest = hashlib.sha256(json.dumps(body).encode()).hexdigest()[:16]
    created = datetime.datetime.fromtimestamp(time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"ringmaster-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/ringmaster-{version}-{digest}",
            "creationInfo": {"created": created, "creators": ["Tool: scripts/package"]}} | body


def copyright_text(version, year, parts):
    licence = ROOT / "LICENSE"
    ours = licence.read_text() if licence.exists() else "The source tree states no licence.\n"
    lines = [f"  {part['name']} {part['version']} ({part['from']}): licences/{part['name']}" for part in parts]
    return (f"Ringmaster {version}\n\nCopyright (C) {year} the authors of Ringmaster\n\n{ours}\n"
            "lib/ has libraries of others, and the programs have code of others. Each keeps its own licence, in\n"
            "/opt/ringmaster/share/doc/ringmaster:\n\n" + "\n".join(lines) + "\n")


def add(build, stage, added, version, time):
    """Writes the bill, the licences and the copyright into the component `common`."""
    files = {}
    for component, libraries in added.items():
        found = owners(list(libraries.values())) if libraries else {}
        files |= {stage / component / "lib" / name: found[place] for name, place in libraries.items()}
    parts = packages(build, files)
    folder = stage / "common" / "share" / "doc" / "ringmaster"
    (folder / "licences").mkdir(parents=True)
    for part in parts:
        if not part["licence"].exists():
            raise Failure(f"there is no {part['licence']}; a package may not be passed on without its licence")
        shutil.copyfile(part["licence"], folder / "licences" / part["name"])
    (folder / "copyright").write_text(copyright_text(version, datetime.datetime.fromtimestamp(time, datetime.timezone.utc).year, parts))
    bill = folder / "sbom.spdx.json"
    bill.write_text(json.dumps(document(version, time, parts, files), indent=1) + "\n")
    return bill

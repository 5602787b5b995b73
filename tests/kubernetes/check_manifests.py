#!/usr/bin/python3
"""Holds the manifests of deploy/kubernetes against the types of Kubernetes' API, and the configuration in them against the
daemons.

usage: check_manifests.py FOLDER [BIN_DIR]
       check_manifests.py FOLDER --self-test   plants mistakes, each of which must be found
Skipped (exit 77) without python3-kubernetes, whose models are generated from the published schema.
"""

import copy
import datetime
import pathlib
import re
import subprocess
import sys

import yaml

try:
    from kubernetes import client
    from kubernetes.client import models
except ImportError:
    print("no python3-kubernetes: scripts/install_packages test")
    sys.exit(77)

WORDS = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object, "datetime": (str, datetime.datetime)}
# Quantities and the like, which the schema calls strings, may be numbers.
QUANTITY = re.compile(r"-?\d+(\.\d+)?(m|[KMGTPE]i?|k)?$")


def model_of(document):
    """V1StatefulSet of {apiVersion: apps/v1, kind: StatefulSet}; None where that API makes no such objects."""
    *group, version = str(document.get("apiVersion", "")).split("/")
    kind = str(document.get("kind", ""))
    service = getattr(client, f"{(group or ['core'])[0].split('.')[0].capitalize()}{version.capitalize()}Api", None)
    noun = re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower()
    makes = any(hasattr(service, name) for name in (f"create_{noun}", f"create_namespaced_{noun}"))
    return getattr(models, version.capitalize() + kind, None) if makes else None


def faults(value, kind, place):
    """Where a value is not of the type."""
    if kind.startswith("list["):
        if not isinstance(value, list):
            return [f"{place}: {value!r} is no list"]
        return [fault for i, item in enumerate(value) for fault in faults(item, kind[5:-1], f"{place}[{i}]")]
    if kind.startswith("dict("):
        if not isinstance(value, dict):
            return [f"{place}: {value!r} is no map"]
        element = kind[5:-1].split(", ", 1)[1]
        quantities = place.endswith(("requests", "limits"))
        return [f"{place}.{key}: {item!r} is no quantity" for key, item in value.items()
                if quantities and not QUANTITY.match(str(item))] + \
            [fault for key, item in value.items() if not quantities for fault in faults(item, element, f"{place}.{key}")]
    if kind in WORDS:
        right = isinstance(value, WORDS[kind]) and (kind == "bool" or not isinstance(value, bool) or kind == "object")
        return [] if right else [f"{place}: {value!r} is no {kind}"]
    return faults_of_model(value, getattr(models, kind), place)


def faults_of_model(value, model, place):
    if not isinstance(value, dict):
        return [f"{place}: {value!r} is no {model.__name__}"]
    names = {wire: name for name, wire in model.attribute_map.items()}
    found = [f"{place}: unknown key {key}" for key in value if key not in names]
    for key, item in value.items():
        if key in names:
            found += faults(item, model.openapi_types[names[key]], f"{place}.{key}")
    try:
        # The constructor refuses what lacks a required field, and words that are not in the schema.
        model(**{names[key]: item for key, item in value.items() if key in names})
    except ValueError as fault:
        found.append(f"{place}: {fault}")
    return found


def references(documents):
    """Labels that select nothing, volumes and configuration that do not exist."""
    found = []
    maps = {doc["metadata"]["name"]: doc for doc in documents if doc["kind"] == "ConfigMap"}
    claims = {doc["metadata"]["name"] for doc in documents if doc["kind"] == "PersistentVolumeClaim"}
    pods = [(doc["metadata"]["name"], doc["spec"]) for doc in documents if doc["kind"] in ("StatefulSet", "DaemonSet")]
    labels = [spec["template"]["metadata"]["labels"] for _, spec in pods]
    for name, spec in pods:
        pod = spec["template"]["spec"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        known = set(volumes) | {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])}
        for container in pod.get("initContainers", []) + pod["containers"]:
            found += [f"{name}: no volume {mount['name']}" for mount in container["volumeMounts"]
                      if mount["name"] not in known]
        for volume in volumes.values():
            if "configMap" in volume and volume["configMap"]["name"] not in maps:
                found.append(f"{name}: no ConfigMap {volume['configMap']['name']}")
            if "persistentVolumeClaim" in volume and volume["persistentVolumeClaim"]["claimName"] not in claims:
                found.append(f"{name}: no claim {volume['persistentVolumeClaim']['claimName']}")
        if spec["selector"]["matchLabels"] != spec["template"]["metadata"]["labels"]:
            found.append(f"{name} selects other pods than its own")
    for doc in documents:
        selector = {"Service": lambda spec: spec["selector"],
                    "NetworkPolicy": lambda spec: spec["podSelector"]["matchLabels"]}.get(doc["kind"])
        if selector and selector(doc["spec"]) not in labels:
            found.append(f"{doc['kind']} {doc['metadata']['name']} selects no pod")
    return found


def check(documents):
    found = []
    for document in documents:
        model = model_of(document)
        name = f"{document.get('kind')} {document.get('metadata', {}).get('name')}"
        found += faults_of_model(document, model, name) if model else [f"{name}: no such kind in {document.get('apiVersion')}"]
    return found or references(documents)


def read(folder):
    return [document for path in sorted(folder.glob("*.yaml")) for document in yaml.safe_load_all(path.read_text())]


def config_files(documents):
    return {name: text for document in documents if document["kind"] == "ConfigMap"
            for name, text in document["data"].items()}


def check_config(documents, programs):
    """Every key is a flag of the daemon that reads it."""
    found = []
    for name, text in config_files(documents).items():
        daemon = f"ringmaster-{name.removesuffix('.yaml')}"
        told = subprocess.run([programs / daemon, "--help"], text=True, capture_output=True, timeout=30).stdout
        flags = set(re.findall(r"--([a-z][a-z-]*)", told))
        found += [f"{name}: {daemon} has no --{key}" for key in yaml.safe_load(text) if key not in flags]
    return found


MISTAKES = {
    "unknown key": lambda docs: container_of(docs, "DaemonSet").update(imagePullPolcy="Always"),
    "is no int": lambda docs: by_kind(docs, "StatefulSet")["spec"].update(replicas="one"),
    "is no list": lambda docs: container_of(docs, "DaemonSet").update(command="ringmaster-worker"),
    "`selector`, must not be `None`": lambda docs: by_kind(docs, "DaemonSet")["spec"].pop("selector"),
    "no such kind": lambda docs: by_kind(docs, "StatefulSet").update(apiVersion="v1"),
    "no volume states": lambda docs: container_of(docs, "DaemonSet")["volumeMounts"][0].update(name="states"),
    "is no quantity": lambda docs: container_of(docs, "DaemonSet")["resources"]["requests"].update(memory="64 gigs"),
    "selects no pod": lambda docs: by_kind(docs, "Service")["spec"]["selector"].update({"app": "other"}),
}


def by_kind(documents, kind):
    return next(document for document in documents if document["kind"] == kind)


def container_of(documents, kind):
    return by_kind(documents, kind)["spec"]["template"]["spec"]["containers"][0]


def self_test(documents):
    missed = []
    for words, plant in MISTAKES.items():
        planted = copy.deepcopy(documents)
        plant(planted)
        found = check(planted)
        if not any(words in fault for fault in found):
            missed.append(f"'{words}' is not in {found}")
    return missed


def main():
    documents = read(pathlib.Path(sys.argv[1]))
    if sys.argv[2:] == ["--self-test"]:
        found = self_test(documents)
        print("\n".join(found) or f"{len(MISTAKES)} planted mistakes found")
    else:
        found = check(documents)
        if sys.argv[2:]:
            found += check_config(documents, pathlib.Path(sys.argv[2]))
        print("\n".join(found) or f"{len(documents)} objects are as the API wants them")
    return 1 if found or len(documents) < 7 else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks job files against `ringmaster schema`; usage: check_job_schema.py RINGMASTER JOB_FILE...

Every file must be valid, and must not stay so when a key is misspelt, a required key is missing or a value has the
wrong form.
"""

import copy
import json
import pathlib
import re
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

INTEGER = re.compile(r"[-+]?[0-9]+")
NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def typed(value):
    """Reads plain scalars by YAML 1.2; PyYAML speaks 1.1."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    if INTEGER.fullmatch(value):
        return int(value)
    return float(value) if NUMBER.fullmatch(value) else value


def spoil(job):
    """Copies of a job with one mistake each, by name."""
    def with_change(change):
        copied = copy.deepcopy(job)
        change(copied)
        return copied

    yield "a misspelt key", with_change(lambda j: j.update(stagse=j["stages"]))
    yield "no stages", with_change(lambda j: j.pop("stages"))
    yield "no context", with_change(lambda j: j["stages"][0].pop("context"))
    yield "tokens in words", with_change(lambda j: j["stages"][0].update(tokens="many"))
    yield "steps without unit", with_change(lambda j: j["stages"][0].update(warmup=10))
    yield "an unknown word", with_change(lambda j: j["stages"][0].update(schedule="sine"))
    yield "a size without unit", with_change(lambda j: j.update(memory={"device": 40}))
    yield "a mesh of words", with_change(lambda j: j.update(parallel={"ring": "all"}))


def main():
    schema = json.loads(subprocess.run([sys.argv[1], "schema"], capture_output=True, check=True).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failed = 0
    for path in sys.argv[2:]:
        job = typed(yaml.load(pathlib.Path(path).read_text(), yaml.BaseLoader))
        for error in validator.iter_errors(job):
            failed += 1
            print(f"{path}: {error.json_path}: {error.message}")
        for mistake, spoiled in spoil(job):
            if validator.is_valid(spoiled):
                failed += 1
                print(f"{path}: {mistake} is valid")
    print(f"{len(sys.argv) - 2} job files, {failed} wrong")
    return 1 if failed or len(sys.argv) == 2 else 0


if __name__ == "__main__":
    sys.exit(main())

"""Machines of Crusoe Cloud as an inventory; uses the standard library alone."""

from __future__ import annotations

DOCUMENTATION = r"""
name: crusoe
short_description: Machines of Crusoe Cloud
description:
  - Lists the virtual machines of one project. Their private addresses become C(ansible_host).
  - Finds credentials as Crusoe's own programs do, in C(~/.crusoe/config) and in the environment. They have no option, so
    that no inventory file holds a key.
  - Its file is named C(crusoe.yml), C(crusoe.yaml), or ends so.
options:
  plugin:
    description: Marks the file as one of this plugin.
    required: true
    choices: [ringmaster.cluster.crusoe, crusoe]
  profile:
    description: Profile of C(~/.crusoe/config).
    type: str
    env: [{name: CRUSOE_PROFILE}]
  project:
    description: Id or name of the project.
    type: str
    env: [{name: CRUSOE_DEFAULT_PROJECT}]
  endpoint:
    description: Address of the API; C(http://) is for this machine alone.
    type: str
    env: [{name: CRUSOE_API_ENDPOINT}]
  config:
    description: The file with the profiles.
    type: path
    default: ~/.crusoe/config
  group:
    description: Group of all machines.
    type: str
    default: workers
  groups_by_shape:
    description: Whether each shape has a group, such as C(l40s_48gb_10x).
    type: bool
    default: true
  name_prefix:
    description: Only machines whose names begin so.
    type: str
    default: ''
  public_addresses:
    description: Whether C(ansible_host) is a machine's public address.
    type: bool
    default: false
"""

EXAMPLES = r"""
plugin: ringmaster.cluster.crusoe
profile: default
name_prefix: ring-
"""

import base64
import datetime
import hashlib
import hmac
import json
import os
import re
import ssl
import stat
import time
import urllib.error
import urllib.parse
import urllib.request

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin

ENDPOINT = "https://api.cloud.crusoe.ai/v1"
LEGACY = "https://api.crusoecloud.com/"
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
TRIES = 4


def signature(secret, path, query, verb, timestamp):
    """HMAC-SHA256 over path, query, verb and time; `query` is a list of pairs."""
    message = "\n".join([path, urllib.parse.urlencode(sorted(query)), verb, timestamp]) + "\n"
    key = base64.urlsafe_b64decode(secret.rstrip("=") + "=" * (-len(secret.rstrip("=")) % 4))
    digest = hmac.new(key, message.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def read_profiles(path):
    if not os.path.exists(path):
        return {}
    if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        raise AnsibleParserError(f"{path} has a secret key and other users may read it; chmod 600 {path}")
    try:
        import tomllib
    except ImportError as missing:
        raise AnsibleParserError("reading ~/.crusoe/config needs Python 3.11; with an older one set "
                                 "CRUSOE_ACCESS_KEY_ID and CRUSOE_SECRET_KEY") from missing
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except tomllib.TOMLDecodeError:
        # The parser's message may quote the key.
        raise AnsibleParserError(f"{path} is no TOML") from None


class Cloud:
    """GETs of the API, each page of each list."""

    def __init__(self, options):
        profiles = {}
        if not os.environ.get("CRUSOE_ACCESS_KEY_ID") or not os.environ.get("CRUSOE_SECRET_KEY"):
            profiles = read_profiles(os.path.expanduser(options["config"]))
        name = options["profile"] or profiles.get("profile") or "default"
        profile = profiles.get(name, {})
        if options["profile"] and profiles and not isinstance(profiles.get(name), dict):
            raise AnsibleParserError(f"Crusoe profile '{name}' is not in {options['config']}")
        self.key = os.environ.get("CRUSOE_ACCESS_KEY_ID") or profile.get("access_key_id", "")
        self.secret = os.environ.get("CRUSOE_SECRET_KEY") or profile.get("secret_key", "")
        self.project = options["project"] or profile.get("default_project", "")
        endpoint = (options["endpoint"] or profile.get("api_endpoint") or ENDPOINT).rstrip("/")
        self.endpoint = ENDPOINT if endpoint.startswith(LEGACY) else endpoint
        if not self.key or not self.secret:
            raise AnsibleParserError(f"no Crusoe key: profile '{name}' of {options['config']} has none, and "
                                     "CRUSOE_ACCESS_KEY_ID and CRUSOE_SECRET_KEY are not both set")
        parts = urllib.parse.urlsplit(self.endpoint)
        if parts.scheme != "https" and (parts.scheme != "http" or parts.hostname not in LOCAL_HOSTS):
            raise AnsibleParserError(f"endpoint '{self.endpoint}' would send keys in plain text; use https://")

    def request(self, path, query):
        url = urllib.parse.urlsplit(self.endpoint)
        whole = url.path + path
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        signed = signature(self.secret, whole, query, "GET", now)
        encoded = urllib.parse.urlencode(sorted(query))
        return urllib.request.Request(
            f"{url.scheme}://{url.netloc}{whole}" + (f"?{encoded}" if encoded else ""),
            headers={"X-Crusoe-Timestamp": now, "Authorization": f"Bearer 1.0:{self.key}:{signed}",
                     "Accept": "application/json"})

    def get(self, path, query=()):
        for tries_left in reversed(range(TRIES)):
            try:
                with urllib.request.urlopen(self.request(path, list(query)), timeout=20,
                                            context=ssl.create_default_context()) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if tries_left and (error.code == 429 or error.code >= 500):
                    time.sleep(0.5 * (TRIES - tries_left))
                    continue
                raise AnsibleParserError(f"Crusoe answered {error.code} {self.reason(error)}") from None
            except (OSError, json.JSONDecodeError) as error:
                if not tries_left:
                    raise AnsibleParserError(f"Crusoe at {self.endpoint}: {error}") from None
                time.sleep(0.5 * (TRIES - tries_left))
        raise AnsibleParserError("unreachable")

    def reason(self, error):
        try:
            said = json.load(error)
            text = f"{said.get('code', '')}: {said.get('message', '')}"
        except (ValueError, AttributeError):
            text = ""
        return text.replace(self.secret, "***").replace(self.key, "***")

    def project_id(self):
        if UUID.fullmatch(self.project):
            return self.project
        items = self.get("/projects", [("project_name", self.project)] if self.project else [])["items"]
        found = [item for item in items if not self.project or item.get("name") == self.project]
        if len(found) != 1:
            raise AnsibleParserError(f"Crusoe has {len(found)} projects for '{self.project}'; name one with `project`")
        return found[0]["id"]

    def machines(self):
        path, query, seen = f"/projects/{self.project_id()}/compute/vms/instances", [("limit", "100")], set()
        while True:
            page = self.get(path, query)
            yield from page["items"]
            token = page.get("next_page_token")
            if not token or token in seen:
                return
            seen.add(token)
            query = [("limit", "100"), ("next_token", token)]


def address_of(machine, kind):
    for card in machine.get("network_interfaces") or []:
        for ip in card.get("ips") or []:
            if (ip.get(kind) or {}).get("address"):
                return ip[kind]["address"]
    return None


class InventoryModule(BaseInventoryPlugin):
    NAME = "ringmaster.cluster.crusoe"

    def verify_file(self, path):
        return super().verify_file(path) and path.endswith(("crusoe.yml", "crusoe.yaml"))

    def parse(self, inventory, loader, path, cache=True):
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        names = ("profile", "project", "endpoint", "config", "group", "groups_by_shape", "name_prefix", "public_addresses")
        options = {name: self.get_option(name) for name in names}
        for machine in Cloud(options).machines():
            state = machine.get("state", "").removeprefix("STATE_")
            if state == "RUNNING" and machine["name"].startswith(options["name_prefix"]):
                self.add(machine, options)

    def add(self, machine, options):
        name, shape = machine["name"], machine.get("type", "")
        group = self.inventory.add_group(options["group"])
        self.inventory.add_host(name, group=group)
        kind = "public_ipv4" if options["public_addresses"] else "private_ipv4"
        variables = {"ansible_host": address_of(machine, kind), "crusoe_id": machine.get("id"), "crusoe_shape": shape,
                     "crusoe_location": machine.get("location")}
        for key, value in variables.items():
            if value:
                self.inventory.set_variable(name, key, value)
        if options["groups_by_shape"] and shape:
            self.inventory.add_host(name, group=self.inventory.add_group(re.sub(r"\W", "_", shape)))

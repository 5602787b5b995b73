"""Inventory of a running cluster: the nodes that its controller lists."""
from __future__ import annotations

import json
import shutil
import subprocess

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable

DOCUMENTATION = r"""
name: nodes
short_description: The nodes of a running Ringmaster cluster
description:
  - Runs C(ringmaster nodes -o json) and makes a host of every worker.
  - The file's name ends in C(ringmaster.yml) or C(ringmaster.yaml).
  - Groups are C(ringmaster_workers); C(ringmaster_ready), C(ringmaster_drained) and C(ringmaster_unreachable) by the
    state of the node; and C(ringmaster_kind_KIND) for each kind of its devices.
extends_documentation_fragment:
  - constructed
options:
  plugin:
    description: Names this plugin.
    required: true
    choices: [ringmaster.cluster.nodes]
    type: str
  program:
    description: The command line of Ringmaster.
    default: ringmaster
    type: str
  context:
    description: A context of its configuration file; the current one by default.
    type: str
  state:
    description: The state directory of a cluster of C(ringmaster up), instead of a context.
    type: str
  controller:
    description:
      - Name of the controller's host, which becomes the only member of C(ringmaster_controller). The controller does not
        list itself.
    type: str
  controller_address:
    description: Its C(ansible_host).
    type: str
"""

EXAMPLES = r"""
# my.ringmaster.yml
plugin: ringmaster.cluster.nodes
context: lab
controller: controller.lab
"""


class InventoryModule(BaseInventoryPlugin, Constructable):
    """Hosts by the name of the node; ansible_host is the address at which its ranks listen."""

    NAME = "ringmaster.cluster.nodes"

    def verify_file(self, path):
        """True for files that this plugin reads."""
        return super().verify_file(path) and path.endswith(("ringmaster.yml", "ringmaster.yaml"))

    def parse(self, inventory, loader, path, cache=True):
        """Adds the hosts."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        self.inventory.add_group("ringmaster_workers")
        if self.get_option("controller"):
            self._add_controller(self.get_option("controller"))
        for node in self._nodes():
            self._add_node(node)

    def _nodes(self):
        program = self.get_option("program")
        if shutil.which(program) is None:
            raise AnsibleParserError(f"program: there is no {program} on this machine; give its path")
        command = [program]
        for option in ("context", "state"):
            if self.get_option(option):
                command += [f"--{option}", self.get_option(option)]
        done = subprocess.run(command + ["nodes", "-o", "json"], capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise AnsibleParserError(f"{' '.join(command)} nodes: exit code {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def _add_controller(self, name):
        group = self.inventory.add_group("ringmaster_controller")
        self.inventory.add_host(name, group)
        if self.get_option("controller_address"):
            self.inventory.set_variable(name, "ansible_host", self.get_option("controller_address"))

    def _add_node(self, node):
        inventory = node.get("inventory", {})
        name = inventory.get("hostname") or node["id"]
        kinds = sorted({device.get("kind", "") for device in inventory.get("devices", [])} - {""})
        state = "drained" if node.get("drained") else node.get("state", "unreachable")
        self.inventory.add_host(name, "ringmaster_workers")
        for group in [f"ringmaster_{state}", *(f"ringmaster_kind_{kind}" for kind in kinds)]:
            self.inventory.add_host(name, self.inventory.add_group(self._sanitize_group_name(group.lower())))
        variables = {"ringmaster_node_id": node["id"], "ringmaster_node_state": state,
                     "ringmaster_node_kinds": kinds, "ringmaster_node_session": node.get("sessionUp", False)}
        if inventory.get("dataAddress"):
            variables["ansible_host"] = inventory["dataAddress"]
        for key, value in variables.items():
            self.inventory.set_variable(name, key, value)
        strict = self.get_option("strict")
        self._set_composite_vars(self.get_option("compose"), variables, name, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), variables, name, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), variables, name, strict=strict)

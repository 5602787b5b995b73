#!/usr/bin/env python3
"""Crusoe Cloud's API on loopback, as far as Ringmaster uses it, written from its published facts.

usage: fake_crusoe.py PORT_FILE [--machine NAME=ADDRESS]... [--page N] [--stock N] [--slow N] [--addresses-after IP]

Every request must have a valid signature and a timestamp within five minutes. Beside the API, POST /control takes a JSON
object from tests: {"faults": [...]} is what happens to the next requests, one each ("500", "429", "drop", "drop-after",
"garbage", or "METHOD fault" for the next of that method alone); {"remove": NAME}, {"state": [NAME, STATE]},
{"stock": N}, {"fail_after": N}; it answers with what has been seen.
"""

import argparse
import base64
import datetime
import hashlib
import hmac
import http.server
import ipaddress
import json
import os
import re
import threading
import urllib.parse

KEY = "AKFAKEKEYID0000001"
SECRET = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
PROJECT = "00000000-0000-0000-0000-000000000000"
VMS = f"/v1/projects/{PROJECT}/compute/vms"
SHAPES = [{"product_name": f"l40s-48gb.{n}x", "cpu_cores": 8 * n, "memory_gb": 144 * n, "gpu_type": "L40S",
           "num_gpu": n, "disk_gb": 0} for n in (1, 2, 4, 5, 8, 10)]
SHAPES.append({"product_name": "c1a.2x", "cpu_cores": 2, "memory_gb": 8, "gpu_type": "", "num_gpu": 0, "disk_gb": 0})


def signature(path, query, verb, timestamp):
    message = "\n".join([path, urllib.parse.urlencode(sorted(query)), verb, timestamp]) + "\n"
    key = base64.urlsafe_b64decode(SECRET + "=" * (-len(SECRET) % 4))
    return base64.urlsafe_b64encode(hmac.new(key, message.encode(), hashlib.sha256).digest()).decode().rstrip("=")


class Refused(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Cloud:
    """What the account has."""

    def __init__(self, options):
        self.lock = threading.RLock()
        self.machines, self.operations, self.faults, self.seen = [], {}, [], []
        self.page, self.stock, self.slow, self.fail_after = options.page, options.stock, options.slow, None
        self.made, self.base = 0, ipaddress.ip_address(options.addresses_after)
        for text in options.machine:
            name, address = text.split("=")
            self.add(name, "l40s-48gb.10x", address)

    def add(self, name, shape, address=None, location="us-east1-a"):
        self.made += 1
        address = address or str(self.base + self.made)
        # Half of the states come with their prefix, as in the service.
        state = "STATE_RUNNING" if self.made % 2 else "RUNNING"
        machine = {"id": f"11111111-0000-0000-0000-{self.made:012}", "name": name, "type": shape, "state": state,
                   "location": location, "project_id": PROJECT, "pod_id": "",
                   "network_interfaces": [{"ips": [{"private_ipv4": {"address": address},
                                                    "public_ipv4": {"address": f"198.51.100.{self.made}"}}]}]}
        self.machines.append(machine)
        return machine

    def named(self, name):
        return next((machine for machine in self.machines if machine["name"] == name), None)

    def begin(self, finish):
        """An operation that ends when it has been asked for `slow` times."""
        operation = {"operation_id": f"op-{len(self.operations) + 1}", "state": "IN_PROGRESS", "metadata": {},
                     "started_at": "2026-01-02T03:04:05Z", "completed_at": ""}
        self.operations[operation["operation_id"]] = [operation, self.slow, finish]
        return {"operation": dict(operation)}

    def look(self, number):
        if number not in self.operations:
            raise Refused(403, "forbidden", "the operation does not exist")
        entry = self.operations[number]
        entry[1] -= 1
        if entry[1] < 0 and entry[0]["state"] == "IN_PROGRESS":
            try:
                entry[0].update(state="SUCCEEDED", result=entry[2]())
            except Refused as refused:
                entry[0].update(state="FAILED", result={"code": refused.code, "message": refused.message})
        return entry[0]

    def create(self, body):
        order = body["instance_template"]
        if order["type"] not in [shape["product_name"] for shape in SHAPES]:
            raise Refused(400, "bad_request", f"no VM type {order['type']}")
        if not order.get("ssh_public_key", "").startswith("ssh-"):
            raise Refused(400, "bad_request", "ssh_public_key is no public key")
        names = [f"{body['name_prefix']}-{number + 1}" for number in range(body["count"])]
        for name in names:
            if self.named(name):
                raise Refused(409, "already_exists", f"instance name {name} is taken")
        location = (body.get("locations") or [{"location": "us-east1-a"}])[0]["location"]

        def finish():
            for made, name in enumerate(names):
                if self.stock is not None and self.stock <= 0:
                    raise Refused(200, "out_of_stock", f"no {order['type']} left in {location}")
                if self.fail_after is not None and made >= self.fail_after:
                    raise Refused(200, "internal_error", f"creation failed after {made} of {len(names)}")
                if self.stock is not None:
                    self.stock -= 1
                self.add(name, order["type"], location=location)
            return [self.named(name) for name in names]
        return self.begin(finish)

    def delete(self, number):
        machine = next((machine for machine in self.machines if machine["id"] == number), None)
        if machine is None:
            raise Refused(404, "not_found", "no such instance")
        machine["state"] = "STATE_DELETING"

        def finish():
            self.machines.remove(machine)
            return machine
        return self.begin(finish)

    def page_of(self, query):
        start = int(query.get("next_token", "0"))
        limit = min(int(query.get("limit", "50")), self.page)
        more = start + limit < len(self.machines)
        return {"items": self.machines[start:start + limit], "next_page_token": str(start + limit) if more else "",
                "prev_page_token": ""}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cloud = None

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def check_signature(self, path, query):
        timestamp = self.headers.get("X-Crusoe-Timestamp", "")
        found = re.fullmatch(r"Bearer 1\.0:([^:]+):([A-Za-z0-9_-]+)", self.headers.get("Authorization", ""))
        if not found or found[1] != KEY:
            raise Refused(401, "unauthenticated", "unknown access key")
        if found[2] != signature(path, query, self.command, timestamp):
            # Hostile on purpose: clients must not repeat it.
            raise Refused(401, "unauthenticated", f"signature of {KEY} does not match {SECRET}")
        age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(
            timestamp.replace("Z", "+00:00"))
        if abs(age.total_seconds()) > 300:
            raise Refused(401, "unauthenticated", "the timestamp is too old")

    def route(self, path, query, body):
        cloud, query = self.cloud, dict(query)
        if self.command == "GET" and path == "/v1/projects":
            name = query.get("project_name")
            return {"items": [{"id": PROJECT, "name": "default"}] if name in (None, "default") else []}
        if self.command == "GET" and path == f"{VMS}/instances":
            return cloud.page_of(query)
        if self.command == "GET" and path == f"{VMS}/types":
            return {"items": SHAPES}
        if self.command == "POST" and path == f"{VMS}/bulk-instances":
            return cloud.create(json.loads(body))
        if self.command == "GET" and path.startswith(f"{VMS}/instances/operations/"):
            return cloud.look(path.rsplit("/", 1)[1])
        if self.command == "DELETE" and path.startswith(f"{VMS}/instances/"):
            return cloud.delete(path.rsplit("/", 1)[1])
        raise Refused(404, "not_found", f"no {self.command} {path}")

    def take_fault(self):
        for fault in self.cloud.faults:
            method, _, kind = fault.rpartition(" ")
            if method in ("", self.command):
                self.cloud.faults.remove(fault)
                return kind
        return None

    def control(self, body):
        cloud, order = self.cloud, json.loads(body) or {}
        cloud.faults += order.get("faults", [])
        for name in ("stock", "fail_after", "slow"):
            if name in order:
                setattr(cloud, name, order[name])
        if "remove" in order:
            cloud.machines.remove(cloud.named(order["remove"]))
        if "state" in order:
            cloud.named(order["state"][0])["state"] = order["state"][1]
        self.answer(200, {"seen": cloud.seen, "machines": cloud.machines, "bodies": getattr(cloud, "bodies", [])})

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        with self.cloud.lock:
            if self.path == "/control":
                return self.control(body)
            parts = urllib.parse.urlsplit(self.path)
            query = urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
            self.cloud.seen.append(f"{self.command} {self.path}")
            fault = self.take_fault()
            if fault == "drop":
                self.close_connection = True
                return None
            if fault in ("500", "503", "429"):
                return self.answer(int(fault), {"code": "internal_error", "message": "try later"},
                                   [("Retry-After", "0")])
            if fault == "garbage":
                return self.answer(200, b"<html>")
            try:
                self.check_signature(parts.path, query)
                if self.command == "POST":
                    self.cloud.bodies = getattr(self.cloud, "bodies", []) + [json.loads(body)]
                reply = self.route(parts.path, query, body)
                if fault == "drop-after":  # carried out, and the answer is lost
                    number = reply["operation"]["operation_id"]
                    self.cloud.operations[number][1] = 0
                    self.cloud.look(number)
                    self.close_connection = True
                    return None
                return self.answer(200, reply)
            except Refused as refused:
                return self.answer(refused.status, {"code": refused.code, "message": refused.message})

    do_GET = do_POST = do_DELETE = handle_request


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port_file")
    parser.add_argument("--machine", action="append", default=[])
    parser.add_argument("--page", type=int, default=2)
    parser.add_argument("--stock", type=int)
    parser.add_argument("--slow", type=int, default=1)
    parser.add_argument("--addresses-after", default="10.9.0.0")
    Handler.cloud = Cloud(parser.parse_args())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    path = parser.parse_args().port_file
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(str(server.server_port))
    os.rename(path + ".new", path)
    server.serve_forever()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Reads a directory of TensorBoard event files as TensorBoard does, written from the formats alone: TFRecord framing
with masked CRC-32C, the wire format of protocol buffers, files in the order of their names, and a session's start
that drops what earlier sessions said from its step on.
  read_events.py DIRECTORY [TAG]   prints "step value" of each kept scalar of the tag (default: loss), in order
"""
import pathlib
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data, name):
    at = 0
    while at < len(data):
        head = data[at:at + 8]
        (length,) = struct.unpack("<Q", head)
        (head_crc,) = struct.unpack("<I", data[at + 8:at + 12])
        if head_crc != masked(head):
            sys.exit(f"{name}: the length at {at} is damaged")
        body = data[at + 12:at + 12 + length]
        (body_crc,) = struct.unpack("<I", data[at + 12 + length:at + 16 + length])
        if body_crc != masked(body):
            sys.exit(f"{name}: the record at {at} is damaged")
        yield body
        at += 16 + length


def varint(data, at):
    number, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        elif kind == 5:
            value, at = data[at:at + 4], at + 4
        else:
            sys.exit(f"wire type {kind}")
        yield key >> 3, value


def scalars(summary):
    for number, value in fields(summary):
        if number != 1:
            continue
        parts = dict(fields(value))
        yield parts[1].decode(), struct.unpack("<f", parts[2])[0]


def main():
    directory, tag = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "loss"
    files = sorted(path for path in directory.iterdir() if ".tfevents." in path.name)
    kept = []
    for path in files:
        for index, record in enumerate(records(path.read_bytes(), path.name)):
            event = dict(fields(record))
            step = event.get(2, 0)
            if index == 0 and event.get(3) != b"brain.Event:2":
                sys.exit(f"{path.name} does not begin with its version")
            if 7 in event and dict(fields(event[7])).get(1) == 1:
                kept = [entry for entry in kept if entry[0] < step]
            if 5 in event:
                kept += [(step, value) for name, value in scalars(event[5]) if name == tag]
    for step, value in kept:
        print(step, repr(value))


main()

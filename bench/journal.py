"""Reads the journal of a run (docs/formats/journal.md): times of events and decisions.

Only what measurements need: hashes are not checked, and reading stops at the torn tail of a killed
run.
"""

import dataclasses
import pathlib
import re
import struct

HEADER_BYTES = 64
MAGIC = b"RRJOURNL"
KINDS = {1: "RunStarted", 2: "AgentJoined", 3: "AgentLost", 4: "PortReserved", 5: "WorkerStarted",
         6: "WorkerStartFailed", 7: "WorkerExited", 8: "WorkersGone", 9: "Progress",
         10: "StepGoalReached", 11: "SignalReceived", 12: "TimerFired", 13: "NodeOffered",
         14: "FaultInjected", 15: "SupervisorResumed", 16: "NodesChecked", 17: "NodeEnding",
         18: "PlacementSolved", 19: "Diagnosed", 20: "NodeHealth", 21: "MetricAlarm",
         22: "UpdateRequested", 24: "NodesReplayed",
         31: "StartStages", 32: "CheckpointNoted", 33: "CheckpointDemoted", 34: "BackupSolved",
         35: "CopiesKept", 36: "HeldCopiesSaved", 37: "SavingOver",
         38: "CheckpointMoved",
         64: "Decision", 65: "Finish", 66: "GroupFormed"}
HEADER = pathlib.Path(__file__).resolve().parents[1] / "supervisor/core/types/rule.h"
# Rules of a Decision, in the order of their numbers.
RULES = re.findall(r"^  k(\w+),", HEADER.read_text().split("enum class Rule")[1].split("};")[0],
                   re.MULTILINE)


@dataclasses.dataclass
class Record:
    """One record; `at` is CLOCK_MONOTONIC in ns, as time.monotonic_ns()."""

    kind: str
    at: int
    node: int
    body: dict      # field number: first value, integer or bytes

    @property
    def rule(self):
        return RULES[self.body.get(1, 0)] if self.kind == "Decision" else ""

    @property
    def text(self):
        return self.body.get(3, b"").decode(errors="replace")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """First value of every field of a protobuf message."""
    values, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        wire_type = tag & 7
        if wire_type == 0:
            value, at = varint(data, at)
        elif wire_type == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = 8 if wire_type == 1 else 4
            value, at = data[at:at + size], at + size
        values.setdefault(tag >> 3, value)
    return values


def parse(data, offset):
    """The whole records from `offset` on, and the offset after the last one."""
    records = []
    while offset + 16 <= len(data):
        size, kind = struct.unpack_from("<II", data, offset)
        end = offset + 16 + size + 8
        if end > len(data):
            break
        record = fields(data[offset + 16:offset + 16 + size])
        body = record.get(4, b"")
        records.append(Record(KINDS.get(kind, str(kind)), record.get(1, 0), record.get(2, 0),
                              fields(body)))
        offset = end
    return records, offset


class Journal:
    """A journal that may still grow: update() reads the new records."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.records = []
        self.offset = HEADER_BYTES
        self.magic_seen = False

    def update(self):
        try:
            with open(self.path, "rb") as file:
                if not self.magic_seen:
                    head = file.read(HEADER_BYTES)
                    if len(head) < HEADER_BYTES:
                        return self.records
                    assert head.startswith(MAGIC), f"{self.path} is not a journal"
                    self.magic_seen = True
                file.seek(self.offset)
                records, read = parse(file.read(), 0)
        except FileNotFoundError:
            return self.records
        self.offset += read
        self.records += records
        return self.records

    def of(self, kind):
        return [record for record in self.records if record.kind == kind]


def read(path):
    journal = Journal(path)
    journal.update()
    return journal

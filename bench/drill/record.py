"""Reads what the plugin wrote into a progress record (docs/formats/collectives-record.md)."""

import struct

COUNTERS, COMMUNICATORS, SIGNATURES = 704, 4096, 430080
COMMUNICATOR_SLOTS, COMMUNICATOR_BYTES = 128, 256
SIGNATURE_SLOTS, SIGNATURE_BYTES = 1024, 32
END = 630784
KINDS = ("unknown", "all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter",
         "all_to_all", "gather", "scatter", "barrier", "send", "recv", "other")
PLUGIN = 2  # a communicator's source


def read(data):
    """Counters, the plugin's communicators, and how many collectives of each kind were entered."""
    if len(data) < END:
        return None
    words = struct.unpack_from("<24Q", data, COUNTERS)
    found = {"version": words[1], "mask": words[2], "without_slot": words[3:7],
             "unknown_objects": words[7], "signatures": words[9], "timings": words[17],
             "communicators": [], "kinds": {}}
    for slot in range(COMMUNICATOR_SLOTS):
        at = COMMUNICATORS + slot * COMMUNICATOR_BYTES
        in_use, key, size, rank, source, nodes = struct.unpack_from("<QQIIII", data, at)
        if in_use != 1 or source != PLUGIN:
            continue
        entered, started, done = struct.unpack_from("<3Q", data, at + 160)
        sends, sends_done = struct.unpack_from("<2Q", data, at + 216)
        (only_called,) = struct.unpack_from("<Q", data, at + 240)
        found["communicators"].append(
            {"key": f"{key:016x}", "size": size, "rank": rank, "nodes": nodes, "entered": entered,
             "started": started, "done": done, "p2p_entered": sends, "p2p_done": sends_done,
             "only_called": only_called})
    for slot in range(SIGNATURE_SLOTS):
        at = SIGNATURES + slot * SIGNATURE_BYTES
        number, what = struct.unpack_from("<2Q", data, at)
        if number:
            kind = KINDS[min(what >> 8 & 0xFF, len(KINDS) - 1)]
            found["kinds"][kind] = found["kinds"].get(kind, 0) + 1
    return found

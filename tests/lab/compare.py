"""Compares what a source in the kernel saw with the wire, message by message.

A key that is absent from a message's JSON is unknown to the source; what it must know is listed here.
"""
import json
import re
import subprocess
from collections import Counter, defaultdict

from machines import Failed, check

CHUNKS = ("read_list", "write_list", "reply_chunk")
# The tracepoint of a Reply has the credits that the client uses: at least 1.
LEAST_CREDIT = 1
# What each source and role must know, apart from XID and kind: "credits" of the peer's messages, chunks of all,
# "bytes" from the first to as many as it copied.
TRACEPOINTS, BPF = "tracepoints", "bpf"


def decode(lab, path):
    """Returns the messages of a capture, recording or trace.dat in order, with the bytes that it has of them."""
    def run(*options):
        done = subprocess.run([lab.rpcrdma, "decode", *options, path], capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"decode {path}: {done.stderr}")
        return done.stdout
    found = [json.loads(line) for line in run("--json").splitlines()]
    found = sorted((message for message in found if message["kind"] != "event"), key=lambda message: message["frame"])
    frames = {message["frame"]: message for message in found}
    message = {}
    for line in run("-x").splitlines():
        if head := re.match(r" *(\d+) \d\d:\d\d:\d\d\.", line):
            message = frames.get(int(head[1]), {})
        elif hex_ := re.match(r"[0-9a-f]{4,}  ((?:[0-9a-f]{2} +)+)", line):
            message["bytes"] = message.get("bytes", b"") + bytes.fromhex(hex_[1])
    return found


def of_guest(messages, guest, role=None):
    """Selects a guest's messages from those of the wire; in only one role, "client" or "server"."""
    chosen = []
    for message in messages:
        from_client = (message["kind"] == "call") == (message["direction"] == "forward")
        addresses = message["source"]["address"], message["destination"]["address"]
        client, server = addresses if from_client else reversed(addresses)
        if guest.address == client and role != "server" or guest.address == server and role != "client":
            chosen.append(dict(message, role="client" if guest.address == client else "server", own=guest.address == addresses[0]))
    return chosen


def is_unknown(message, name):
    """Whether a source does not know a part of a message."""
    said = {"invalidated_handle": "invalidation", **dict.fromkeys(CHUNKS, "chunks")}.get(name, name)
    return name not in message or said in message.get("unknown", ())


def key(message):
    return message["kind"], message["xid"]


def differences(wire, seen):
    """Returns what differs between a message on the wire and the same one as a source saw it, in words."""
    wrong = []
    for name in ("proc", "version", "error", *CHUNKS, "credit", "length", "invalidated_handle"):
        truth = wire.get(name)
        # Which list a segment belongs to shows in the type.
        if name == "proc" and {"bytes", "chunks"} <= set(seen.get("unknown", ())):
            continue
        if name == "credit" and "bytes" not in seen and wire["role"] == "client" and not wire["own"]:
            truth = max(truth, LEAST_CREDIT)
        if not is_unknown(seen, name) and seen[name] != truth:
            wrong.append(f"{name} {seen[name]}, on the wire {wire.get(name)}")
    for name in ("program", "version", "procedure"):
        if (seen["rpc"] or {}).get(name) not in (None, (wire["rpc"] or {}).get(name)):
            wrong.append(f"{name} {seen['rpc'][name]}, on the wire {wire['rpc']}")
    if "bytes" in seen and seen["bytes"] != wire["bytes"][:len(seen["bytes"])]:
        wrong.append(f"bytes {seen['bytes'].hex()}, on the wire {wire['bytes'].hex()}")
    return wrong


def unknown_parts(wire, seen, source):
    """Returns what a source should know about a message of the wire, and does not."""
    must = {"proc", *CHUNKS} if wire["kind"] in ("call", "reply") else {"proc"}
    if source == BPF:
        must |= {"credit", "length", "bytes"}
    elif not wire["own"] and wire["direction"] == "forward":
        must |= {"credit"}
    return sorted(name for name in must if is_unknown(seen, name))


def same(name, wire, seen, source, missing=0, extra=0, partial=0):
    """Fails unless `seen` has the messages of the wire (as of_guest() returns them), each with the same contents.

    `missing`, `extra`: how many of the wire's may be missing, and how many may not be on the wire. `partial`: of how
    many the source may know less than it should. Returns a summary.
    """
    waiting = defaultdict(list)
    for message in wire:
        waiting[key(message)].append(message)
    unknown, wrong, bytes_, counts = [], [], 0, Counter()
    again, parts = [], []
    for message in seen:
        # A Call sent again has the same XID, and other handles.
        candidates = waiting[key(message)]
        match = next((i for i, truth in enumerate(candidates) if not differences(truth, message)), None)
        if match is None:
            again.append(message)
            continue
        if less := unknown_parts(candidates[match], message, source):
            parts.append(f"{short(message)}: {', '.join(less)}")
        candidates.pop(match)
        counts[message["kind"]] += 1
        counts["segments"] += sum(map(segments, (message.get(chunk) for chunk in CHUNKS)))
        bytes_ += len(message.get("bytes", b""))
    for message in again:
        if candidates := waiting[key(message)]:
            found = differences(candidates.pop(0), message)
            wrong.append(f"{short(message)}: {'; '.join(found)}")
        else:
            unknown.append(message)
    check(not wrong, f"{name}: {len(wrong)} messages differ from the wire:", *(f"\n  {one}" for one in wrong[:8]))
    check(len(parts) <= partial, f"{name}: parts of {len(parts)} messages are unknown:", *(f"\n  {one}" for one in parts[:8]))
    left = [message for messages in waiting.values() for message in messages]
    check(len(left) <= missing, f"{name}: {len(left)} messages of the wire are missing:", *map(short, left[:5]))
    check(len(unknown) <= extra, f"{name}: {len(unknown)} messages are not on the wire:", *map(short, unknown[:5]))
    check(counts["call"] and counts["reply"], f"{name}: no Calls or no Replies:", dict(counts))
    return {"name": name, "bytes": bytes_, "missing": len(left), "extra": len(unknown),
            "partial": len(parts), **counts}


def contiguous(name, wire, seen):
    """Fails unless `seen` has, of each kind, a part of the wire without gaps."""
    for kind in ("call", "reply"):
        for role in ("client", "server"):
            order = [key(message) for message in wire if message["kind"] == kind and message["role"] == role]
            got = {key(message) for message in seen} & set(order)
            check(got, f"{name}: no {kind} as {role}")
            places = [place for place, one in enumerate(order) if one in got]
            gaps = [one for one in order[places[0]:places[-1]] if one not in got]
            check(not gaps, f"{name}: {len(gaps)} {kind} messages as {role} are missing in the midst:", gaps[:5])


def segments(chunks):
    """Returns the number of segments in a list of segments or chunks."""
    return sum(segments(chunk) if isinstance(chunk, list) else 1 for chunk in chunks or ())


def short(message):
    return f"{message['kind']} 0x{message['xid']:08x} (frame {message['frame']})"

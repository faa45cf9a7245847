#!/usr/bin/env python3
"""Measures reading trace.dat against `trace-cmd report`, by turns, on a file of more than 100 MB.

The file repeats the pages of recorded traces (tests/captures/kernel) at later times, on two CPUs.
"""
import os
import resource
import statistics
import struct
import subprocess
import sys
import time

TURNS = 5
LEAST_BYTES = 110 << 20
STEP_NS = 20_000_000_000  # longer than a recorded trace


def pages_of(data):
    """Returns the offset of the table of pages of a version 6 file with one CPU, and its pages."""
    table = data.rfind(b"flyrecord\0") + 10
    offset, size = struct.unpack_from("<QQ", data, table)
    return table, [data[at:at + 4096] for at in range(offset, offset + size, 4096)]


def repeat(source, target):
    """Writes `source` with its pages repeated, on two CPUs by turns. Returns the bytes of pages."""
    with open(source, "rb") as file:
        data = file.read()
    table, pages = pages_of(data)
    head = bytearray(data[:table])
    cpus_at = data.rfind(b"options  \0") - 4
    assert struct.unpack_from("<I", head, cpus_at)[0] == 1
    struct.pack_into("<I", head, cpus_at, 2)
    copies = (LEAST_BYTES // (len(pages) * 4096) + 2) // 2 * 2
    each = copies // 2 * len(pages) * 4096
    first = (len(head) + 32 + 4095) // 4096 * 4096
    head += struct.pack("<QQQQ", first, each, first + each, each)
    head += bytes(first - len(head))
    with open(target, "wb") as file:
        file.write(head)
        for cpu in range(2):
            for copy in range(cpu, copies, 2):
                for page in pages:
                    stamp = struct.unpack_from("<Q", page)[0] + copy * STEP_NS
                    file.write(struct.pack("<Q", stamp) + page[8:])
    return 2 * each


def run(command):
    """Returns the seconds that a command takes, and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):  # analyze returns 1 if there are findings
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}")
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    programs, captures, folder = sys.argv[1:4]
    os.makedirs(folder, exist_ok=True)
    kernel = os.path.join(captures, "kernel")
    client = os.path.join(folder, "client.dat")
    subprocess.run(["trace-cmd", "convert", "-i", os.path.join(kernel, "k61-client.dat"), "-o", client,
                    "--file-version", "6", "--compression", "none"], check=True, stdout=subprocess.DEVNULL)
    server = os.path.join(folder, "server.dat")
    with open(server, "wb") as file:
        subprocess.run(["gzip", "-dc", os.path.join(kernel, "k61-server.dat.gz")], stdout=file, check=True)
    for source in (client, server):
        big = source.replace(".dat", "-big.dat")
        size = repeat(source, big)
        commands = {"trace-cmd report": ["trace-cmd", "report", big],
                    "rpcrdma-trace-dat": [os.path.join(programs, "rpcrdma-trace-dat"), big],
                    "rpcrdma analyze": [os.path.join(programs, "rpcrdma"), "analyze", big]}
        walls = {name: [] for name in commands}
        cpus = {name: [] for name in commands}
        for _ in range(TURNS):
            for name, command in commands.items():
                wall, cpu = run(command)
                walls[name].append(wall)
                cpus[name].append(cpu)
        base = statistics.median(walls["trace-cmd report"])
        base_cpu = statistics.median(cpus["trace-cmd report"])
        print(f"{os.path.basename(big)}: {size / 1e6:.0f} MB of pages")
        for name in commands:
            wall, cpu = statistics.median(walls[name]), statistics.median(cpus[name])
            print(f"  {name:<18} {wall:7.3f} s, {base / wall:6.1f} times as fast as trace-cmd report;"
                  f"  {cpu:7.3f} s of processors, {base_cpu / cpu:6.1f} times")
        os.remove(big)


if __name__ == "__main__":
    main()

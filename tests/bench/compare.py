#!/usr/bin/env python3
"""Runs the benchmarks of two builds by turns, and prints what became faster or slower.

  compare.py REF HEAD CAPTURES FOLDER [NAME[=PAIRS]...]

REF and HEAD are build folders with benchmarks. Each pair runs both builds, the one that begins is
chosen at random: what else happens on the machine affects both. Both builds read the same files, which
HEAD's programs make in FOLDER. Figures are the medians of the pairs; the ratio is the median of the
pairs' ratios, oriented so that more than 1 is better. A figure is named faster or slower if all of at
least five pairs agree, and the median differs by at least 3 %.

Programs that print text are compared number by number: two outputs of one benchmark have lines of the
same shape. The peer or floor that a benchmark runs beside ours is a line of its own, which shows how
much of a difference is due to the machine.
"""
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

import trace_dat

LEAST_PAIRS = 5
LEAST_CHANGE = 0.03

# The number of a figure, and its unit. Numbers inside of words, versions and addresses are none.
NUMBER = re.compile(r"(?<![\w.:/-])(\d+(?:\.\d+)?)(?![\w.:]*\d)(?:\s?(?P<unit>"
                    r"[GMk]?B/s|MiB/s|M events/s|Calls/s|messages/s|packets/s|ns|us|ms|s|MiB|KiB|bytes|times|%)"
                    r"(?![\w/]))?")
# A difference of other figures.
SIGNED = re.compile(r"(?<![\w.:/])[+-]\d+(?:\.\d+)?")
DERIVED = {"times", "%"}  # computed from other figures of the same output
SIZES = {"MiB", "KiB", "bytes"}


class Figures:
    """The values that each of both builds printed for each figure, by pair."""

    def __init__(self):
        self.names = {}
        self.units = {}
        self.values = {}

    def add(self, side, pair, figure):
        key, name, value, unit = figure
        self.names.setdefault(key, name)
        self.units.setdefault(key, unit)
        self.values.setdefault(key, {}).setdefault(pair, {})[side] = value

    def rows(self):
        """Yields name, unit, and the pairs' values of REF and HEAD, of each figure."""
        for key, pairs in self.values.items():
            both = [p for p in pairs.values() if len(p) == 2]
            old, new = [p[0] for p in both], [p[1] for p in both]
            # A number that never changes is part of the text.
            if both and len(set(old + new)) > 1 and 0 not in old + new:
                yield self.names[key], self.units[key], old, new

    def alone(self):
        """Yields the names of figures that one build prints, and the index of that build."""
        for key, pairs in self.values.items():
            sides = {side for p in pairs.values() for side in p}
            if len(sides) == 1:
                yield self.names[key], sides.pop()


def text_figures(text):
    """Yields key, name, value and unit of each number in a benchmark's output."""
    seen = {}
    for line in text.splitlines():
        line = SIGNED.sub("#", line)
        shape = " ".join(NUMBER.sub("#", line).split())
        seen[shape] = seen.get(shape, 0) + 1
        label, end = None, 0
        for position, found in enumerate(NUMBER.finditer(line)):
            unit = found["unit"] or ""
            if label is None and not unit:
                continue  # part of the label, as "62 in flight"; or of a table without units
            before = " ".join(line[end:found.start()].split()).strip(" ,:|")
            name = before if label is None else f"{label}, {before}".strip(", ")
            label = label or before
            end = found.end()
            if unit not in DERIVED:
                yield (shape, seen[shape], position), name, float(found[1]), unit


def google_figures(text):
    """Yields the figures of Google Benchmark's JSON."""
    for run in json.loads(text)["benchmarks"]:
        if run.get("run_type", "iteration") == "iteration":
            yield run["name"], run["name"], run["cpu_time"], run["time_unit"]


def run(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"compare: {' '.join(command)}: status {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


class Printed:
    """A benchmark that prints its figures."""

    def __init__(self, pairs, *commands, parse=text_figures):
        self.pairs, self.commands, self.parse = pairs, commands, parse

    def prepare(self, head, captures, folder):
        self.fill = {"captures": captures, "folder": folder}

    def measure(self, build):
        for command in self.commands:
            words = [word.format(bin=f"{build}/bin", build=build, **self.fill) for word in command]
            yield from self.parse(run(words))

    def clean(self):
        pass


class Timed:
    """Commands of rpcrdma on a large file: elapsed time, processor time and memory."""

    def __init__(self, pairs, *commands):
        self.pairs, self.commands = pairs, commands
        self.files = []

    def measure(self, build):
        for file in self.files:
            for command in self.commands:
                words = [f"{build}/bin/rpcrdma", *command, file]
                name = " ".join(["rpcrdma", *command, os.path.basename(file)])
                with open(os.devnull, "w", encoding="utf-8") as null:
                    begin = time.monotonic()
                    child = subprocess.Popen(words, stdout=null, stderr=null)
                    _, status, usage = os.wait4(child.pid, 0)
                    wall = time.monotonic() - begin
                child.returncode = os.waitstatus_to_exitcode(status)
                if child.returncode not in (0, 1):  # analyze returns 1 if there are findings
                    raise SystemExit(f"compare: {' '.join(words)}: status {child.returncode}")
                for what, value, unit in (("time", wall * 1e3, "ms"),
                                          ("CPU", (usage.ru_utime + usage.ru_stime) * 1e3, "ms"),
                                          ("peak RSS", usage.ru_maxrss / 1024, "MiB")):
                    yield (name, what), f"{name}, {what}", value, unit

    def clean(self):
        for file in self.files:
            os.remove(file)
        self.files = []


class Analyze(Timed):
    def prepare(self, head, captures, folder):
        self.files = [f"{folder}/replayed.pcap"]
        run([f"{head}/bin/bench_analyze", "--replay", captures, self.files[0]])


class Kernel(Timed):
    def prepare(self, head, captures, folder):
        source = f"{folder}/client.dat"
        run(["trace-cmd", "convert", "-i", f"{captures}/kernel/k61-client.dat", "-o", source,
             "--file-version", "6", "--compression", "none"])
        self.files = [f"{folder}/client-big.dat"]
        trace_dat.repeat(source, self.files[0])
        os.remove(source)


def wireshark_version(head):
    with open(f"{head}/wireshark/version", encoding="utf-8") as file:
        return file.read().split(":")[1].strip()


def benchmarks(head):
    google = ["--benchmark_min_time=0.1", "--benchmark_format=json"]
    return {
        "wire": lambda: Printed(7, ["{bin}/bench_wire", *google], ["{bin}/bench_roce", *google],
                                parse=google_figures),
        "analyze": lambda: Analyze(7, ["analyze", "--json"], ["analyze", "--json", "-j", "1"], ["decode"]),
        "kernel": lambda: Kernel(5, ["analyze"]),
        "fabric": lambda: Printed(5, ["{bin}/bench_udp_floor"], ["{bin}/bench_fabric"]),
        "engine": lambda: Printed(5, ["{bin}/bench_engine"]),
        "trace": lambda: Printed(5, ["{bin}/bench_trace"]),
        "wireshark": lambda: Printed(5, ["{bin}/bench_wireshark", "{build}/wireshark/epan/rpcrdma_scope.so",
                                         wireshark_version(head), "{captures}"]),
        "fleet": lambda: Printed(5, ["{bin}/bench_fleet"]),
        "gui": lambda: Printed(1, ["{bin}/bench_gui", "{bin}/rpcrdma", "{captures}", "{folder}"]),
    }


def compare(builds, benchmark, pairs):
    figures = Figures()
    for pair in range(pairs):
        order = [0, 1]
        random.shuffle(order)
        for side in order:
            for figure in benchmark.measure(builds[side]):
                figures.add(side, pair, figure)
    return figures


def verdict(unit, ratios):
    """Says in which direction all pairs agree."""
    if len(ratios) < LEAST_PAIRS or abs(statistics.median(ratios) - 1) < LEAST_CHANGE:
        return ""
    size = unit in SIZES
    if min(ratios) > 1:
        return "smaller" if size else "faster"
    if max(ratios) < 1:
        return "LARGER" if size else "SLOWER"
    return ""


def show(figures):
    """Prints a table; returns the number of figures that are slower or larger."""
    worse = 0
    for name, unit, old, new in figures.rows():
        ratios = [(n / o if unit.endswith("/s") else o / n) for o, n in zip(old, new)]
        said = verdict(unit, ratios)
        worse += said.isupper()
        print(f"  {name[:72]:<72} {statistics.median(old):>11.4g} {statistics.median(new):>11.4g} {unit:<10}"
              f" {statistics.median(ratios):6.2f} ({min(ratios):.2f} to {max(ratios):.2f}) {said}".rstrip())
    for name, side in figures.alone():
        print(f"  {name[:72]:<72} only of {('REF', 'HEAD')[side]}")
    return worse


def main():
    if len(sys.argv) < 5:
        raise SystemExit("usage: compare.py REF HEAD CAPTURES FOLDER [NAME[=PAIRS]...]")
    builds, captures, folder = sys.argv[1:3], sys.argv[3], sys.argv[4]
    known = benchmarks(builds[1])
    wanted = {}
    for word in sys.argv[5:] or known:
        name, _, pairs = word.partition("=")
        if name not in known:
            raise SystemExit(f"compare: no benchmark named {name}: {', '.join(known)}")
        if pairs and not (pairs.isdecimal() and 1 <= int(pairs) <= 1000):
            raise SystemExit(f"compare: {word}: the number of pairs is 1 to 1000")
        wanted[name] = int(pairs or 0)
    os.makedirs(folder, exist_ok=True)
    worse = 0
    for name, pairs in wanted.items():
        benchmark = known[name]()
        pairs = pairs or benchmark.pairs
        with tempfile.TemporaryDirectory(dir=folder) as own:
            benchmark.prepare(builds[1], captures, own)
            begin = time.monotonic()
            figures = compare(builds, benchmark, pairs)
            print(f"{name}: {pairs} pairs in {time.monotonic() - begin:.0f} s")
            print(f"  {'':<72} {'REF':>11} {'HEAD':>11} {'':<10}  ratio")
            worse += show(figures)
            benchmark.clean()
        sys.stdout.flush()
    print(f"{worse} figures are slower or larger")


if __name__ == "__main__":
    main()

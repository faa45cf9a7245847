"""Measures what it costs to trace the kernel: the rate of NFS Calls with nothing attached, with sums, with all events.

One guest is client and server at once, so that both roles are traced and nothing waits for another machine. The
program that reads the events, and records them, runs on the guest's only processor, too. By the instructions that
QEMU counts, which are free of the host's noise but know no caches; and by the host's clock.
"""
import statistics
import time

import kernel
from machines import KERNELS, Lab

CALLS = 2500  # READs of 4 KiB
ROUNDS = 5
COUNTED = ("-icount", "shift=2,sleep=off")  # the guest's clock: 4 ns an instruction
MODES = {"nothing attached": None, "sums": ("--sums",), "all events": (), "all events, tracefs": ("--tracefs",)}


def rates(guest, reader="self"):
    """Returns Calls a second, by the guest's clock and by the host's, and the reader's part of the guest's time."""
    here = time.monotonic()
    text = guest.run(f"""read begin idle </proc/uptime
        read before rest </proc/{reader}/schedstat
        dd if=/mnt/large of=/dev/null bs=4096 count={CALLS} iflag=direct 2>/dev/null
        read after rest </proc/{reader}/schedstat
        read end idle </proc/uptime
        echo $begin $end $((after - before))""", 600)
    here = time.monotonic() - here
    begin, end, busy = map(float, text.split())
    return CALLS / (end - begin), CALLS / here, busy / 1e9 / (end - begin)


def traced(guest, options):
    """Returns the rates, the reader's part, and the number of events lost."""
    if options is None:
        return *rates(guest)[:2], 0, 0
    endpoint = kernel.Endpoint(guest, "cost", *options, record="--sums" not in options)
    endpoint.ready("tracepoints" if "--tracefs" in options else "BPF")
    taken = rates(guest, guest.run("cat /tmp/cost.pid").strip())
    _, lost = endpoint.stop()
    return *taken, lost


def measure(lab, number, counted):
    guest, = lab.boot(kernels=[number], options=COUNTED if counted else ())
    kernel.prepare([guest])
    guest.run(f"yes x | head -c {CALLS * 4096} >/export/large")
    kernel.mount(guest, guest.address, "4.1")
    rates(guest)  # warms up
    taken = {mode: [] for mode in MODES}
    lost, parts = dict.fromkeys(MODES, 0), {mode: [] for mode in MODES}
    for _ in range(ROUNDS):
        for mode, options in MODES.items():
            by_guest, by_host, part, gone = traced(guest, options)
            taken[mode].append(by_guest if counted else by_host)
            lost[mode] += gone
            parts[mode].append(100 * part)
    free = taken["nothing attached"]
    for mode, values in taken.items():
        # Each against the round's own, since a busy host slows all of a round.
        costs = [100 * (1 - value / base) for value, base in zip(values, free)]
        print(f"{number:<5} {'instructions' if counted else 'clock':<13} {mode:<20} {statistics.median(values):7.0f} Calls/s  "
              f"{statistics.median(costs):5.1f} % slower ({min(costs):.1f} to {max(costs):.1f}), the reader {statistics.median(parts[mode]):.1f} % of the time"
              + (f"  {lost[mode]} events lost" if lost[mode] else ""), flush=True)


def run(rpcrdma):
    for number in KERNELS:
        for counted in (True, False):
            with Lab("kernel-cost", rpcrdma, kernel.programs(rpcrdma)) as lab:
                measure(lab, number, counted)

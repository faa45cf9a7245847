"""Measures what it costs to trace the kernel: the rate of NFS Calls with nothing attached, with sums, with all events.

One guest is client and server at once, so that both roles are traced and nothing waits for another machine. QEMU
counts instructions, and the guest's clock is this count: the noise of the host is not in the figures, nor are
caches, which an emulator does not have.
"""
import statistics

import kernel
from machines import KERNELS

CALLS = 3000  # READs of 4 KiB
ROUNDS = 5
INSTRUCTIONS = ("-icount", "shift=2,sleep=off")  # 4 ns each


def seconds(guest):
    """Returns the seconds that the Calls took, by the guest's clock."""
    text = guest.run(f"""read begin idle </proc/uptime
        dd if=/mnt/large of=/dev/null bs=4096 count={CALLS} iflag=direct 2>/dev/null
        read end idle </proc/uptime
        echo $begin $end""", 300)
    begin, end = map(float, text.split())
    return end - begin


def traced(guest, options):
    if options is None:
        return seconds(guest)
    endpoint = kernel.Endpoint(guest, "cost", *options, record=False)
    reader = guest.start("rpcrdma attach cost --json >/dev/null") if "--sums" not in options else None
    taken = seconds(guest)
    _, lost = endpoint.stop()
    if reader:
        guest.wait(reader, 60)
    return taken

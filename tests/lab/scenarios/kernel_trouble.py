"""The kernel's NFS client and server with packet loss, lost connections, removed devices, lost events and an unloaded
module, seen by tracepoints and by BPF that attach and detach in the midst of Calls."""
import kernel
from compare import BPF, TRACEPOINTS, contiguous, decode, of_guest, same
from machines import check


def files(rpcrdma):
    return kernel.programs(rpcrdma)


class Overrun:
    """Recorders of a guest with small rings, which stand still until events are lost."""

    def __init__(self, guest):
        self.guest, name = guest, f"overrun-{guest.kernel}"
        self.bpf = kernel.Endpoint(guest, f"{name}-bpf", "--kernel-ring 16Ki")
        self.tracefs = kernel.Endpoint(guest, f"{name}-tracefs", "--tracefs --kernel-ring 16Ki")
        self.trace_cmd = None

    def ready(self):
        self.bpf.ready("BPF")
        self.tracefs.ready("tracepoints")
        self.trace_cmd = kernel.TraceCmd(self.guest, f"overrun-{self.guest.kernel}", kib=16)

    def stall(self, on):
        for recorder in (self.bpf, self.tracefs, self.trace_cmd):
            recorder.stall(on)

    def stop(self):
        """Unloads the module: BPF programs keep it, until they are detached; who reads tracepoints ends and says so.
        Returns kind of source and file of each."""
        guest, found = self.guest, [(TRACEPOINTS, self.trace_cmd.stop(), 1)]
        guest.run("umount /mnt; echo 0 >/proc/fs/nfsd/threads", 60)
        text = guest.run("/bin/busybox rmmod rpcrdma", status=1)
        check("temporarily unavailable" in text, f"{guest.kernel}: rmmod with BPF programs attached:", text)
        found.append((BPF, *self.bpf.stop()))
        guest.run("/bin/busybox rmmod rpcrdma")
        found.append((TRACEPOINTS, *self.tracefs.ended()))
        check("the trace has ended: " in self.tracefs.text, f"{guest.kernel}: after rmmod:", self.tracefs.text)
        for _, path, lost in found:
            check(lost, f"{path.name}: nothing lost")
        return found


def turns(loads, count=1):
    for load in loads:
        load.turns(count)


def trouble(guests, loads):
    """Loses packets; ends the connections of each server; removes each device. In the midst of Calls."""
    for guest in guests:
        guest.run("modprobe sch_netem; tc qdisc add dev eth0 root netem loss 1%")
    turns(loads)
    for guest in guests:
        guest.run("tc qdisc del dev eth0 root")
    # A connection request that comes when there is a port but no thread is never answered.
    for lose in ("echo 0 >/proc/fs/nfsd/threads; echo 2 >/proc/fs/nfsd/threads; echo 'rdma 20049' >/proc/fs/nfsd/portlist",
                 "rdma link del rxe0; rdma link add rxe0 type rxe netdev eth0"):
        for guest in guests:
            guest.run(lose)
            turns(loads)


def run(lab):
    guests = lab.boot(2, kernels=["6.1", "6.12"])
    one, two = guests
    kernel.prepare(guests)
    kernel.mount(one, two.address, "4.1")
    kernel.mount(two, one.address, "3")
    loads = [kernel.Load(guest) for guest in guests]
    turns(loads)
    overruns = [Overrun(guest) for guest in guests]
    watches = [kernel.Watch(lab, guest, "trouble", tracefs=False) for guest in guests]
    for one in (*watches, *overruns):
        one.ready()
    trouble(guests, loads)
    for on in (True, False):
        for overrun in overruns:
            overrun.stall(on)
        turns(loads, 2)  # the first may be over soon
    kernel.stop(watches)
    turns(loads)
    for load in loads:
        load.end()
    cut = {overrun.guest: overrun.stop() for overrun in overruns}

    wire = decode(lab, lab.wire)
    for watch in watches:
        own = of_guest(wire, watch.guest)
        for _, path, _ in watch.recordings:
            contiguous(path.name, own, decode(lab, path))
        # What was posted while its connection ended is not on the wire. Of a Reply whose Call was before, tracepoints
        # know no chunk list.
        watch.equals_wire(wire, missing=len(own), extra=40, partial=6)
        for source, path, _ in cut[watch.guest]:
            same(path.name, own, decode(lab, path), source, missing=len(own), extra=40, partial=len(own))
            check(lab.analyze(path, errors=None)["recording"]["lost"], f"{path.name}: the report names no lost events")

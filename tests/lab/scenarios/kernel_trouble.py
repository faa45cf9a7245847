"""The kernel's NFS client and server with packet loss, lost connections, a removed device, lost events and an unloaded
module, seen by tracepoints and by BPF."""
import kernel
from compare import BPF, TRACEPOINTS, contiguous, decode, of_guest, same
from machines import check


def files(rpcrdma):
    return kernel.programs(rpcrdma)


def lossy(guests):
    """Both use the other's files at the same time, and 1 % of all packets are lost."""
    for guest in guests:
        guest.run("modprobe sch_netem; tc qdisc add dev eth0 root netem loss 1%")
    jobs = [(guest, guest.start(kernel.USE)) for guest in guests]
    for guest, job in jobs:
        kernel.used(guest.wait(job, 120)[1])
    for guest in guests:
        guest.run("tc qdisc del dev eth0 root")


def reconnect(guests, loads):
    """Each server ends its connections in the midst of Calls, and starts again; then each loses its device."""
    for lose in ("echo 0 >/proc/fs/nfsd/threads; echo 'rdma 20049' >/proc/fs/nfsd/portlist; echo 2 >/proc/fs/nfsd/threads",
                 "rdma link del rxe0; rdma link add rxe0 type rxe netdev eth0"):
        for guest in guests:
            guest.run(lose)
            for load in loads:
                load.turns(1, 120)


def attached(lab, guests, loads):
    """Attached and detached in the midst of Calls: nothing is missing in between."""
    watches = kernel.watch(lab, guests, "middle")
    for load in loads:
        load.turns(2)
    kernel.stop(watches)
    return watches


def overrun(lab, guests, loads):
    """Readers that stand still: what the rings could not hold is counted."""
    recorders = []
    for guest in guests:
        recorders += [(TRACEPOINTS, kernel.TraceCmd(guest, f"overrun-{guest.kernel}", "-b 64")),
                      (BPF, kernel.Endpoint(guest, f"overrun-{guest.kernel}-bpf", "--ring 16Ki").ready("BPF")),
                      (TRACEPOINTS, kernel.Endpoint(guest, f"overrun-{guest.kernel}-tracefs", "--tracefs --ring 16Ki").ready("tracepoints"))]
    for stalled in (True, False):
        for _, recorder in recorders:
            recorder.stall(stalled)
        for load in loads:
            load.turns(2)
    found = []
    for source, recorder in recorders:
        stopped = recorder.stop()
        path, lost = stopped if isinstance(stopped, tuple) else (stopped, None)
        check(lost != 0, f"{path.name}: nothing lost")
        found.append((recorder.guest, source, path))
    return found


def run(lab):
    guests = lab.boot(2, kernels=["6.1", "6.12"])
    one, two = guests
    for guest in guests:
        kernel.serve_nfs(guest)
        kernel.prepare_client(guest)
    kernel.mount(one, two.address, "4.1")
    kernel.mount(two, one.address, "3")
    loss = kernel.watch(lab, guests, "loss")
    lossy(guests)
    kernel.stop(loss)
    loads = [kernel.Load(guest) for guest in guests]
    for load in loads:
        load.turns(1)
    middle = attached(lab, guests, loads)
    cut = overrun(lab, guests, loads)
    lost = kernel.watch(lab, guests, "reconnect")
    reconnect(guests, loads)
    kernel.stop(lost)
    for load in loads:
        load.end()

    wire = decode(lab, lab.wire)
    own = {guest: of_guest(wire, guest) for guest in guests}
    for watch in middle:
        for source, path, gone in watch.recordings:
            seen = decode(lab, path)
            check(not gone, f"{path.name}: {gone} events lost")
            contiguous(path.name, own[watch.guest], seen)
            same(path.name, own[watch.guest], seen, source, missing=len(wire))
    for guest, source, path in cut:
        same(path.name, own[guest], decode(lab, path), source, missing=len(wire))
        check(lab.analyze(path)["recording"]["lost"], f"{path.name}: the report names no lost events")

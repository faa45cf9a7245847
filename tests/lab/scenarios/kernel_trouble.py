"""The kernel's NFS client and server with packet loss, lost connections and lost events, seen by tracepoints and BPF."""
import kernel


def run(lab):
    guests = lab.boot(2, kernels=["6.1", "6.12"])
    one, two = guests
    for guest in guests:
        kernel.serve_nfs(guest)
        kernel.prepare_client(guest)
    kernel.mount(one, two.address, "4.1")
    kernel.mount(two, one.address, "3")
    tracers = [kernel.TraceCmd(guest, f"loss-{guest.kernel}") for guest in guests]
    for guest in guests:
        guest.run("modprobe sch_netem; tc qdisc add dev eth0 root netem loss 1%")
    jobs = [(guest, guest.start(kernel.USE)) for guest in guests]
    for guest, job in jobs:
        kernel.used(guest.wait(job, 120)[1])
    for guest in guests:
        guest.run("tc qdisc del dev eth0 root")
    for tracer in tracers:
        tracer.stop()

    tracers = [kernel.TraceCmd(guest, f"reconnect-{guest.kernel}") for guest in guests]
    loads = [kernel.Load(guest) for guest in guests]
    for load in loads:
        load.turns(1)
    for guest in guests:
        guest.run("echo 0 >/proc/fs/nfsd/threads; echo 'rdma 20049' >/proc/fs/nfsd/portlist; echo 2 >/proc/fs/nfsd/threads")
        for load in loads:
            load.turns(1, 120)
    for tracer in tracers:
        tracer.stop()

    tracers = [kernel.TraceCmd(guest, f"middle-{guest.kernel}", "-b 64") for guest in guests]
    for load in loads:
        load.turns(1)
    for tracer in tracers:
        tracer.stall(True)
    for load in loads:
        load.turns(1)
    for tracer in tracers:
        tracer.stall(False)
    for load in loads:
        load.turns(1)
    for tracer in tracers:
        tracer.stop()
    for load in loads:
        load.end()

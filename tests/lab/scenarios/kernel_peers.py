"""The kernel's NFS client and server, of two kernels in both directions, seen by tracepoints and by BPF."""
import kernel


def run(lab):
    guests = lab.boot(2, kernels=["6.1", "6.12"])
    for guest in guests:
        kernel.serve_nfs(guest)
        kernel.prepare_client(guest)
    tracers = [kernel.TraceCmd(guest, f"trace-{guest.kernel}") for guest in guests]
    for client, server in (guests, reversed(guests)):
        for version in kernel.NFS_VERSIONS:
            kernel.mount(client, server.address, version)
            kernel.use(client)
            kernel.unmount(client)
    for tracer in tracers:
        tracer.stop()

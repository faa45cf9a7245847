"""The kernel's NFS client and server, of two kernels in both directions: what tracepoints and BPF saw of each message
equals the wire."""
import kernel


def files(rpcrdma):
    return kernel.programs(rpcrdma)


def run(lab):
    guests = lab.boot(2, kernels=["6.1", "6.12"])
    kernel.prepare(guests)
    watches = kernel.watch(lab, guests, "peers")
    for client, server in (guests, reversed(guests)):
        for version in kernel.NFS_VERSIONS:
            kernel.mount(client, server.address, version)
            kernel.use(client)
            kernel.unmount(client)
    kernel.stop(watches)
    for watch in watches:
        watch.equals_wire()
    lab.analyze()

"""Hand-made invalid messages to the kernel's NFS server and client, seen by tracepoints and by BPF, on two kernels."""
import kernel
from scenarios import bad_client


def run(lab):
    guests = lab.boot(2, kernels=["6.1", "6.12"], wires=True)
    for guest in guests:
        guest.run("knfsd")
        tracer = kernel.TraceCmd(guest, f"trace-{guest.kernel}")
        bad_client.provoke(lab, guest)
        tracer.stop()

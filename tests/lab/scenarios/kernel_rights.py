"""What `rpcrdma-kernel` says and does without rights, without modules and without BTF, on two kernels."""
import kernel
from machines import check

NOBODY = "/bin/setpriv --reuid=65534 --regid=65534 --clear-groups"


def files(rpcrdma):
    return kernel.programs(rpcrdma)


def refused(guest, command, *reasons):
    """Fails unless a command ends soon with an error and one line that has all these words."""
    text = guest.run(f"timeout 20 {command} 2>&1 >/dev/null; [ $? -ne 0 ] && [ $? -ne 124 ]", 30).strip()
    check(len(text.splitlines()) == 1, f"{guest.kernel}: {command}: more or less than one line:", text)
    for reason in reasons:
        check(reason in text, f"{guest.kernel}: {command}: not '{reason}':", text)


def with_capabilities(*names):
    capabilities = ",".join(f"+{name}" for name in names)
    return f"{NOBODY} --inh-caps={capabilities} --ambient-caps={capabilities}"


def run(lab):
    for guest in lab.boot(2, kernels=["6.1", "6.12"]):
        refused(guest, "rpcrdma-kernel", "rpcrdma")  # no module
        guest.run("modprobe rpcrdma")
        refused(guest, f"{NOBODY} rpcrdma-kernel")
        refused(guest, f"{NOBODY} rpcrdma-kernel --tracefs")
        refused(guest, f"{with_capabilities('bpf', 'perfmon')} rpcrdma-kernel")
        enough = with_capabilities("bpf", "perfmon", "sys_admin")
        guest.run(f"(cd /tmp; HOME=/tmp timeout 20 {enough} rpcrdma-kernel --name enough >enough.log 2>&1; true) &")
        guest.until("grep -q 'by BPF' /tmp/enough.log", 20)
        # No BTF: by tracepoints, and it says so.
        guest.run("mount -t tmpfs none /sys/kernel/btf")
        endpoint = kernel.Endpoint(guest, "no-btf").ready("tracepoints")
        check(len(endpoint.text.strip().splitlines()) > 1, f"{guest.kernel}: does not say what is lost:", endpoint.text)
        endpoint.stop()
        guest.run("umount /sys/kernel/btf")

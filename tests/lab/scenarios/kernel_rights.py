"""What `rpcrdma-kernel` says and does without modules, without rights and without BTF, and its sums; on two kernels."""
import json
import re
import subprocess

import kernel
from machines import check

NOBODY = "/bin/setpriv --reuid=65534 --regid=65534 --clear-groups"


def files(rpcrdma):
    return kernel.programs(rpcrdma)


def refused(guest, command, *reasons):
    """Fails unless a command ends soon with an error and one line that has all these words."""
    text = guest.run(f"timeout 100 {command} 2>&1 >/dev/null; [ $? -ne 0 ]", 120).strip()
    check(len(text.splitlines()) == 1, f"{guest.kernel}: {command}: more or less than one line:", text)
    for reason in reasons:
        check(reason in text, f"{guest.kernel}: {command}: not '{reason}':", text)


def with_capabilities(*names):
    capabilities = ",".join(f"+{name}" for name in names)
    return f"{NOBODY} --inh-caps={capabilities} --ambient-caps={capabilities}"


def latest_sums(lab, path):
    """Returns the number of Calls of this machine's client, by procedure, and of those without a latency."""
    decoded = subprocess.run([lab.rpcrdma, "decode", "--json", path], capture_output=True, text=True, check=True)
    calls = {}
    for event in map(json.loads, decoded.stdout.splitlines()):
        fields = event.get("fields", {})
        if event.get("event") == "procedure sums" and fields["rpcrdma.trace.by"] == "endpoint":
            name = fields["rpc.procedure_name"]
            check(fields["rpcrdma.trace.sums.replies"] == fields["rpcrdma.trace.sums.calls"], "unanswered:", fields)
            calls[event["connection"], name] = fields["rpcrdma.trace.sums.calls"]
    return {name: sum(count for (_, one), count in calls.items() if one == name) for _, name in calls}


def sums(lab, guest):
    """Counts of the sums are those of the NFS client itself. The guest mounts from itself: both roles are counted."""
    kernel.prepare([guest])
    endpoint = kernel.Endpoint(guest, f"sums-{guest.kernel}", "--sums").ready("BPF")
    kernel.mount(guest, guest.address, "3")
    guest.run("cat /mnt/big >/dev/null; for i in 1 2 3 4 5; do stat -f /mnt; done", 120)
    text = guest.run("rpcrdma ls")
    check(endpoint.name in text and "client and server of Linux" in text, "rpcrdma ls:", text)
    stats = guest.run(f"grep -A60 '^device {guest.address}:/export' /proc/self/mountstats")
    path, _ = endpoint.stop()
    counted = latest_sums(lab, path)
    own = {name: int(count) for name, count in re.findall(r"^\s+([A-Z]+): (\d+)", stats, re.MULTILINE) if count != "0"}
    check(own.get("FSSTAT") == 5 and own == counted, f"{guest.kernel}: counted {counted}, by the client {own}")


def run(lab):
    for guest in lab.boot(2, kernels=["6.1", "6.12"]):
        refused(guest, "rpcrdma-kernel", "rpcrdma")  # no module
        guest.run("modprobe rpcrdma")
        refused(guest, f"{NOBODY} rpcrdma-kernel")
        refused(guest, f"{NOBODY} rpcrdma-kernel --tracefs")
        refused(guest, f"{with_capabilities('bpf', 'perfmon')} rpcrdma-kernel")
        enough = with_capabilities("bpf", "perfmon", "sys_admin")
        guest.run(f"(cd /tmp; HOME=/tmp timeout 200 {enough} rpcrdma-kernel --name enough >enough.log 2>&1; true) &")
        guest.until("grep -q 'by BPF' /tmp/enough.log", 180)
        # No BTF: by tracepoints, and it says so.
        guest.run("mount -t tmpfs none /sys/kernel/btf")
        endpoint = kernel.Endpoint(guest, "no-btf").ready("tracepoints")
        check(len(endpoint.text.strip().splitlines()) > 1, f"{guest.kernel}: does not say what is lost:", endpoint.text)
        endpoint.stop()
        guest.run("umount /sys/kernel/btf")
        sums(lab, guest)

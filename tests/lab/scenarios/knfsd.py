"""Our client on the host's soft fabric, against the kernel's NFS server on a guest's rxe."""
from machines import check


def ping(lab, name, *arguments, status=0):
    command = [lab.rpcrdma, "ping", "-c", "3", "-i", "50ms", *arguments]
    text = lab.host(name, command).wait(20, status)
    check("3 sent, 3 answered" in text, name, "was not answered:", text)
    return text


def run(lab):
    guest, = lab.boot()
    guest.run("knfsd")
    for version in ("3", "4"):
        text = ping(lab, f"v{version}", "--program", "nfs", "--version", version, guest.address)
        check("4096 bytes inline to it, 4096 from it" in text, "inline thresholds are not Linux's:", text)
    ping(lab, "ipv6", "--program", "nfs", "fd77::1", "--record", "recording.pcapng")
    text = ping(lab, "defaults", "--program", "nfs", "--no-private-data", guest.address)
    check("1024 bytes inline to it" in text, "inline thresholds without private data:", text)
    check("PROG_MISMATCH: versions 3 to 4" in ping(lab, "v7", "--program", "nfs", "--version", "7", guest.address,
                                               status=1), "no PROG_MISMATCH")
    check("PROG_UNAVAIL" in ping(lab, "echo", guest.address, status=1), "no PROG_UNAVAIL")
    # Loss on the way from the server: the kernel's queue pair retransmits, and so does ours.
    guest.run("modprobe sch_netem; tc qdisc add dev eth0 root netem loss 5%")
    text = lab.host("loss", [lab.rpcrdma, "ping", "-c", "40", "-i", "5ms", "--program", "nfs", guest.address,
                             "--fault", "drop rate=0.1 seed=3", "-W", "20s"]).wait(60)
    check("40 answered" in text, "Calls were lost:", text)

    recording = lab.analyze(lab.folder / "recording.pcapng")
    check(recording["messages"]["reply"] == 3, "missing from the recording:", recording["messages"])
    report = lab.analyze(errors={"CALL-REFUSED"})  # for another version, and for ECHO
    calls, replies = report["messages"]["call"], report["messages"]["reply"]
    check((calls, replies) == (58, 58), "Calls and Replies on the wire:", calls, replies)
    for connection in report["connections"]:
        if connection["credits"]["forward"]["granted"] != 64:
            check(False, "Linux grants 64 credits, not", connection["credits"]["forward"])
    check(report["packets"]["retransmitted"] > 0, "no retransmissions despite loss")

"""`rpcrdma nfs-probe` against the kernel's NFS server on a guest's rxe: on the host's soft fabric, and by verbs
on another guest's rxe."""
import json
import signal

from machines import check


def probe(lab, name, *arguments, status=0):
    command = [lab.rpcrdma, "nfs-probe", "--json", "--timeout", "30s", *arguments]
    return json.loads(lab.host(name, command).wait(100, status))


def run(lab):
    guest, other = lab.boot(2)
    guest.run("knfsd")
    export = f"{guest.address}:/export"
    whole = probe(lab, "whole", export)
    steps = {step["step"].split(" ")[0] for step in whole["steps"]}
    wanted = {"MOUNT", "NULL", "GETATTR", "FSINFO", "READDIRPLUS", "CREATE", "WRITE", "READ", "COMMIT", "REMOVE"}
    check(steps == wanted, "steps:", sorted(steps))
    ways = {step["detail"].split(",")[0] for step in whole["steps"] if step["step"].startswith(("READ ", "WRITE "))}
    check(ways == {"inline", "Read chunk", "Write chunk"}, "data went:", ways)
    server = whole["server"]
    check((server["inline_send"], server["inline_receive"], server["granted"]) == (4096, 4096, 64),
          "not what Linux says:", server)
    check(server["invalidated"] > 0, "Linux has invalidated nothing")
    # Thresholds of 1024 bytes, and no Remote Invalidation.
    plain = probe(lab, "defaults", export, "--no-private-data", "--sizes", "1,1000,100000")
    check(plain["server"]["inline_send"] == 1024 and plain["server"]["invalidated"] == 0, plain["server"])
    # The same over verbs.
    said = json.loads(other.run(f"rpcrdma nfs-probe --json --timeout 30s {export}", 100))
    check(said["good"] and said["server"]["granted"] == 64, "by verbs:", said)
    check(len(said["steps"]) == len(whole["steps"]), "steps by verbs:", said)
    for version in ("3", "4"):
        text = other.run(f"rpcrdma ping -c 1 --program nfs --version {version} {guest.address}", 30)
        check("1 sent, 1 answered" in text, "NULL by verbs:", text)
    # Ctrl-C in the middle of a probe.
    program = lab.host("interrupted", [lab.rpcrdma, "nfs-probe", "--timeout", "30s", "--sizes",
                                        ",".join(["60000"] * 1000), export])
    program.until("WRITE 60000")
    program.process.send_signal(signal.SIGINT)
    text = program.wait(30, 1)
    check("REMOVE" in text and "interrupted" in text, "after Ctrl-C:", text)
    check(guest.run("ls -A /export").strip() == "", "left on the server after Ctrl-C:", text)
    # A refusal by the server is reported, and nothing is left behind.
    guest.run("exportfs -o ro,fsid=1,insecure,no_subtree_check -i '*:/export'")
    refused = probe(lab, "read-only", export, status=1)
    failed = [(step["step"].split(" ")[0], step["detail"]) for step in refused["steps"] if not step["good"]]
    check(failed == [("CREATE", "NFS3ERR_ROFS")], "what failed:", failed)
    text = lab.host("nothing", [lab.rpcrdma, "nfs-probe", f"{guest.address}:/nothing"]).wait(20, 2)
    check("MNT3ERR_NOENT" in text or "MNT3ERR_ACCES" in text, "probe of a missing directory:", text)
    check(guest.run("ls -A /export").strip() == "", "left on the server:", guest.run("ls -A /export"))
    lab.analyze()

"""The kernel's NFS client against our server, which serves only NFS's NULL procedure: every mount fails."""
import time

from machines import HOST, HOST_TOO, check

# A version 3 mount asks the MOUNT program over TCP first, where nothing listens: by default it
# retries for two minutes ("retry=").
VERSION_3 = ("vers=3,nolock,retry=0", "vers=3,nolock,retry=0,mountproto=tcp,mountvers=3,mountport=20048")
VERSION_4 = tuple(f"vers={version},sec=sys" for version in ("4.0", "4.1", "4.2"))
SOON = 10  # seconds


def mount_all(guest, refusal):
    """Tries all mounts; `refusal`: the error of a version 4 mount."""
    for options, why in [(options, refusal) for options in VERSION_4] + [(options, "Connection refused")
                                                                         for options in VERSION_3]:
        begin = time.monotonic()
        text = guest.run(f"mount.nfs {HOST}:/ /mnt -o {options},proto=rdma,port=20049", 30, status=32)
        check(time.monotonic() - begin < SOON, options, "took long to fail:", text)
        check(why in text, options, "fails with:", text)


def nulls(report):
    """Returns the numbers of Calls, Replies and error Replies, by procedure name."""
    return {procedure["name"]: (procedure["calls"], procedure["replies"], procedure["errors"])
            for procedure in report["procedures"] if procedure["name"].startswith("NFS")}


def run(lab):
    guest, = lab.boot()
    guest.run("modprobe -a nfsv3 nfsv4 rpcrdma; mkdir /mnt; mount -t rpc_pipefs rpc /var/lib/nfs/rpc_pipefs")
    # Without NULL, and with it: then the client continues, and its next Call is refused.
    for name, options, refusal in (("plain", (), "Protocol family not supported"),
                                   ("null", ("--null-program", "nfs:3,nfs:4"), "mount system call failed")):
        serve = lab.host(f"serve-{name}", [lab.rpcrdma, "serve", "--listen", HOST, "--record", f"{name}.pcapng",
                                           "--pcapng", f"{name}-packets.pcapng", *options])
        serve.until("listening")
        mount_all(guest, refusal)
        # The server keeps serving.
        lab.host("ping", [lab.rpcrdma, "ping", "-c", "1", "--from", HOST_TOO, HOST]).wait()
        said = serve.text()
        for number in (1, 2, 3):
            check(f"connection {number}: {guest.address} connected, 4096 bytes inline from it, 4096 to it" in said,
                  "private data is not Linux's:", said)
            check(f"connection {number}: {guest.address} closed (peer)" in said, "not closed by the peer:", said)
        serve.stop()

        for path in (lab.folder / f"{name}-packets.pcapng", lab.folder / f"{name}.pcapng"):
            report = lab.analyze(path, errors={"CALL-REFUSED"})
            asked = nulls(report)
            if name == "plain":
                check(asked == {"NFS v4 NULL": (3, 3, 3)}, path, "has other Calls of NFS:", asked)
            else:
                check(asked.pop("NFS v4 NULL") == (3, 3, 0), path, "NULL was not served:", asked)
                check(asked and all(calls == replies == errors for calls, replies, errors in asked.values()),
                      path, "something else was served:", asked)
            for connection in report["connections"]:
                if connection["client"]["address"] != guest.address:
                    continue
                credits = connection["credits"]["forward"]
                check(credits["requested"] == 128, path, "Linux asks for 128 credits, not", credits)
                check(credits["granted"] == 32, path, "we grant 32 credits, not", credits)
                private = connection["client"]["private_data"]
                check(private == {"version": 1, "remote_invalidation": True, "send_size": 4096, "receive_size": 4096},
                      path, "private data:", private)
    rules = {finding["rule"] for finding in lab.analyze(errors={"CALL-REFUSED"})["findings"]}
    check(rules <= {"LINUX-NO-READS", "RECONNECT", "CALL-REFUSED"}, "other findings:", rules)

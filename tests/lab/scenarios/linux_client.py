"""The kernel's NFS client against our server, which does not serve NFS: it connects, is told so, the mount fails."""
from machines import HOST, HOST_TOO, check


def run(lab):
    serve = lab.host("serve", [lab.rpcrdma, "serve", "--listen", HOST, "--record", "recording.pcapng",
                               "--pcapng", "packets.pcapng"])
    serve.until("listening")
    guest, = lab.boot()
    guest.run("modprobe -a nfsv4 rpcrdma; mkdir /mnt; mount -t rpc_pipefs rpc /var/lib/nfs/rpc_pipefs")
    for version in ("4.0", "4.1", "4.2"):
        text = guest.run(f"mount.nfs {HOST}:/ /mnt -o vers={version},proto=rdma,port=20049,sec=sys", 30, status=32)
        check("mount.nfs:" in text, "the mount says nothing:", text)
    # The server goes on.
    lab.host("ping", [lab.rpcrdma, "ping", "-c", "1", "--from", HOST_TOO, HOST]).wait()
    said = serve.text()
    for number in (1, 2, 3):
        check(f"connection {number}: {guest.address} connected, 4096 bytes inline from it, 4096 to it" in said,
              "private data is not Linux's:", said)
        check(f"connection {number}: {guest.address} closed (peer)" in said, "not closed by the peer:", said)
    serve.stop()

    for path in (lab.wire, lab.folder / "packets.pcapng", lab.folder / "recording.pcapng"):
        report = lab.analyze(path)
        nfs = [procedure for procedure in report["procedures"] if procedure["name"] == "NFS v4 NULL"]
        check(len(nfs) == 1 and (nfs[0]["calls"], nfs[0]["replies"], nfs[0]["errors"]) == (3, 3, 3),
              path, "has other Calls of NFS:", nfs)
        for connection in report["connections"]:
            if connection["client"]["address"] != guest.address:
                continue
            credits = connection["credits"]["forward"]
            check(credits["requested"] == 128, path, "Linux asks for 128 credits, not", credits)
            check(credits["granted"] == 32, path, "we grant 32 credits, not", credits)
            private = connection["client"]["private_data"]
            check(private == {"version": 1, "remote_invalidation": True, "send_size": 4096, "receive_size": 4096},
                  path, "private data:", private)
    check({finding["rule"] for finding in lab.analyze()["findings"]} == {"LINUX-NO-READS"}, "other findings")

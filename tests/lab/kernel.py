"""Linux's own NFS client and server as what a scenario observes: traffic between them, recorders in the guests,
and the comparison with the wire."""
from machines import check

EVENTS = ("rpcrdma", "sunrpc", "rdma_core")
BIG, ODD = "cbfdd5c784255d4998147db68f1ed158", "bb34fcc1ee84d4a7c5253fb35158c1ed"  # md5
NFS_VERSIONS = ("3", "4.0", "4.1", "4.2")


def serve_nfs(guest):
    """Starts the kernel's NFS server with some files."""
    guest.run("""knfsd
        yes rpcrdma | head -c 262144 >/export/big
        yes odd | head -c 5003 >/export/odd
        mkdir /export/dir
        for i in $(seq 1 100); do : >/export/dir/a_rather_long_file_name_number_$i; done""", 60)


def prepare_client(guest):
    guest.run("modprobe -a rpcrdma nfsv3 nfsv4; mkdir -p /mnt; mount -t rpc_pipefs rpc /var/lib/nfs/rpc_pipefs")


def mount(guest, server, version, *options):
    """Mounts the server's /export at /mnt over RPC-over-RDMA."""
    options = ",".join([f"vers={version}", "proto=rdma", "port=20049", "rsize=65536", "wsize=65536", *options]
                       + (["nolock"] if version == "3" else []))
    guest.run(f"mount.nfs {server}:/export /mnt -o {options}", 60)


def use(guest):
    """Uses /mnt with small and large arguments and results: all kinds of chunks."""
    text = guest.run("""cd /mnt
        ls dir | wc -l
        md5sum <big
        md5sum <odd
        yes w | dd of=w bs=32768 count=3 iflag=fullblock conv=fsync 2>/dev/null
        echo small >s; cat s; rm s
        wc -c <w; rm w""", 120)
    check(text.split() == ["100", BIG, "-", ODD, "-", "small", "98304"], "files:", text)


def unmount(guest):
    guest.run("umount /mnt", 60)


class TraceCmd:
    """`trace-cmd record` in a guest, as the kernel's maintainers ask for it."""

    def __init__(self, guest, name, *options, events=EVENTS):
        self.guest, self.name = guest, name
        wanted = " ".join(f"-e {event}" for event in events)
        guest.run(f"cd /tmp; trace-cmd record -q -C mono {wanted} {' '.join(options)} -o {name}.dat "
                  f">{name}.log 2>&1 & echo $! >/tmp/{name}.pid")
        # Its events are enabled before its reader starts; nothing is lost in between.
        guest.until(f"[ $(cat /sys/kernel/tracing/tracing_on) = 1 ] && "
                    f"[ $(cat /sys/kernel/tracing/events/{events[-1]}/enable) = 1 ] && p=$(cat /tmp/{name}.pid) && grep -q . /proc/$p/task/$p/children")

    def stop(self):
        """Ends it, and returns its file on the host."""
        self.guest.run(f"kill -INT $(cat /tmp/{self.name}.pid)")
        self.guest.until(f"! kill -0 $(cat /tmp/{self.name}.pid)", 60)
        self.guest.run(f"cp /tmp/{self.name}.dat /host/ && rm /tmp/{self.name}.dat", 60)
        return self.guest.files / f"{self.name}.dat"

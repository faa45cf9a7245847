"""Mirrors that the kernel makes, as switches and hypervisors do: a guest's packets in VXLAN, GENEVE, GRE, ERSPAN, and IP in
IP, sent to the host, which captures them with --tunnels."""
from endpoints import LOAD, GuestServer, need_verbs
from machines import HOST, HOST_TOO, check

CALLS = 60
# The name in reports; `ip link add mirror TYPE...`; what else reports show.
MIRRORS = [
    ("VXLAN", "type vxlan id 72 local {own} remote {host} dstport 4789", {"key": 72}),
    ("VXLAN", "type vxlan id 73 local {own6} remote {host6} dstport 8472", {"key": 73}),
    ("GENEVE", "type geneve id 72 remote {host}", {"key": 72}),
    ("GRE", "type gretap local {own} remote {host} key 7 csum seq", {"key": 7}),
    ("GRE", "type gre local {own} remote {host}", {}),
    ("GRE", "type ip6gretap local {own6} remote {host6}", {}),
    ("ERSPAN I", "type erspan local {own} remote {host} erspan_ver 0", {}),
    ("ERSPAN II", "type erspan local {own} remote {host} seq key 100 erspan_ver 1 erspan 123", {"session": 100}),
    ("ERSPAN III", "type erspan local {own} remote {host} seq key 101 erspan_ver 2 erspan_dir ingress erspan_hwid 7",
     {"session": 101}),
    ("ERSPAN II", "type ip6erspan local {own6} remote {host6} seq key 102 erspan_ver 1 erspan 123", {"session": 102}),
    ("IP in IP", "type ipip local {own} remote {host}", {}),
    ("4in6", "type ip6tnl local {own6} remote {host6} mode any", {}),
]
MODULES = "sch_ingress cls_u32 act_mirred vxlan geneve ip_gre ip6_gre ipip ip6_tunnel"


def mirror(guest, how):
    """Mirrors what RoCE sends and receives on eth0. Only RoCE: the mirror itself leaves through eth0."""
    guest.run(f"ip link add mirror {how} || exit 1\n"
              + "ip link set mirror mtu 9000 2>/dev/null\n"
              "ip link set mirror up && tc qdisc add dev eth0 clsact && for way in ingress egress; do\n"
              "  tc filter add dev eth0 $way protocol ip u32 match ip protocol 17 0xff match ip dport 4791 0xffff"
              " action mirred egress mirror dev mirror || exit 1\n"
              "done")


def run(lab):
    need_verbs(lab)
    guest, = lab.boot()
    guest.run(f"modprobe -a {MODULES}")
    addresses = {"own": guest.address, "host": HOST, "own6": f"fd77::{guest.number}", "host6": "fd77::100"}
    server = GuestServer(guest, guest.address)
    for number, (name, how, more) in enumerate(MIRRORS):
        mirror(guest, how.format(**addresses))
        path = lab.folder / f"mirror{number}.pcapng"
        # The bridge sees the packets themselves too; this filter leaves only their mirror.
        seen = lab.host(f"capture{number}", [lab.rpcrdma, "capture", "-i", "tap1", "-B", "64", "--tunnels", "-w", path])
        seen.until("listening")
        load = [lab.rpcrdma, *LOAD.split(), "--from", HOST_TOO, guest.address, "-c", str(CALLS)]
        lab.host(f"load{number}", load).wait(60)
        guest.run("tc qdisc del dev eth0 clsact; ip link del mirror")
        seen.stop()
        report = lab.analyze(path)
        check(report["messages"]["call"] == CALLS, f"{how}: Calls seen:", report["messages"])
        connection, = report["connections"]
        tunnels = connection.get("tunnels", [])
        check({tunnel["sender"] for tunnel in tunnels} == {"client", "server"}, f"{how}: tunnels:", tunnels)
        for tunnel in tunnels:
            layer, = tunnel["layers"]
            check(layer["type"] == name and layer["key"] == more.get("key"), f"{how}: layer:", layer)
            check(tunnel["erspan_session"] == more.get("session"), f"{how}: session:", tunnel)
        # Each packet was captured bare and mirrored, those of the connection manager too.
        packets = report["packets"]["roce"]
        mirrored = sum(tunnel["packets"] for tunnel in tunnels)
        check(2 * mirrored == packets, f"{how}: {mirrored} of {packets} packets in the tunnel")
    server.end()

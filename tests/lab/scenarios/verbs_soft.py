"""Our endpoints on a guest's RDMA device and on the host's soft fabric, in both roles, also with loss."""
from endpoints import LOAD, GuestServer, counted, need_verbs
from machines import HOST, HOST_TOO


def run(lab):
    need_verbs(lab)
    serve = lab.host("serve", [lab.rpcrdma, "serve", "--listen", HOST])
    serve.until("listening")
    guest, = lab.boot()
    server = GuestServer(guest, guest.address)
    load = [lab.rpcrdma, *LOAD.split(), "--from", HOST_TOO, guest.address]
    lab.host("load", [*load, "-c", "500"]).wait(60)
    lab.host("lossy", [*load, "-c", "300", "--fault", "drop rate=0.01 seed=7"]).wait(60)
    server.end()
    guest.run(f"rpcrdma {LOAD} -c 500 --provider verbs {HOST}", 60)
    counted(lab, 1300)

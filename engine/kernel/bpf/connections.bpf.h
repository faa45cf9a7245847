/* Connections: found by the kernel's objects, and reported at their first event. */
#ifndef RPCRDMA_KERNEL_BPF_CONNECTIONS_BPF_H
#define RPCRDMA_KERNEL_BPF_CONNECTIONS_BPF_H

#include "common.bpf.h"

/* The client's rpcrdma_xprt starts with its rpc_xprt. */
static __always_inline struct rpcrdma_xprt* client_of(const struct rpc_xprt* xprt) {
  return container_of(xprt, struct rpcrdma_xprt, rx_xprt);
}
static __always_inline struct svcxprt_rdma* server_of(const struct svc_xprt* xprt) {
  return container_of(xprt, struct svcxprt_rdma, sc_xprt);
}

/* Returns the peer's QP number, as far as the connection manager of InfiniBand and RoCE knows it.
 */
static __always_inline u32 peer_qpn(const struct rdma_cm_id* id, u32 qpn) {
  if (!bpf_core_field_exists(((struct rdma_id_private*)0)->cm_id.ib) ||
      !bpf_core_field_exists(((struct cm_id_private*)0)->remote_qpn))
    return 0;
  const struct rdma_id_private* private = container_of(id, struct rdma_id_private, id);
  const struct ib_cm_id* ib = BPF_CORE_READ(private, cm_id.ib);
  if (!ib) return 0;
  const struct cm_id_private* cm = container_of(ib, struct cm_id_private, id);
  /* With iWARP this is another object. */
  if (BPF_CORE_READ(cm, local_qpn) != bpf_htonl(qpn)) return 0;
  return bpf_ntohl(BPF_CORE_READ(cm, remote_qpn));
}

static __always_inline bool connection_wanted(const struct scope_connection_state* state, u32 qpn) {
  if (settings.has_qpn && qpn != settings.qpn) return false;
  if (!settings.has_peer) return true;
  for (u32 i = 0; i < 16; ++i) {
    u32 bits = settings.peer_prefix > 8 * i ? settings.peer_prefix - 8 * i : 0;
    u8 mask = bits >= 8 ? 0xff : (u8)(0xff00 >> bits);
    if ((state->peer.ip[i] ^ settings.peer[i]) & mask) return false;
  }
  return true;
}

static __always_inline bool report_connection(const struct scope_key* key,
                                              const struct scope_connection_state* state,
                                              u32 established, u64 now) {
  struct scope_connection* record = RESERVE(scope_connection, SCOPE_CONNECTION, key, now);
  if (!record) return false;
  record->local = state->local;
  record->peer = state->peer;
  record->peer_qpn = state->peer_qpn;
  record->inline_send = state->inline_send;
  record->inline_receive = state->inline_receive;
  record->granted = state->granted;
  record->established = established;
  record->reserved = 0;
  bpf_ringbuf_submit(record, 0);
  return true;
}

/* Stores a connection, and reports it. A connection whose record does not fit into the ring is not
 * stored, so that its next event reports it.
 */
static __always_inline struct scope_connection_state* store_connection(
    const struct scope_key* key, struct scope_connection_state* state, u32 established) {
  u64 now = bpf_ktime_get_ns();
  state->wanted = connection_wanted(state, key->qpn);
  state->first_seen = now;
  state->established = established;
  if (settings.events && state->wanted && !report_connection(key, state, established, now))
    return 0;
  bpf_map_update_elem(&connections, key, state, BPF_ANY);
  return bpf_map_lookup_elem(&connections, key);
}

static __always_inline struct scope_connection_state* empty_state(void) {
  u32 zero = 0;
  struct scope_connection_state* state = bpf_map_lookup_elem(&new_connection, &zero);
  if (state) __builtin_memset(state, 0, sizeof *state);
  return state;
}

static __noinline struct scope_connection_state* add_client(const struct rpcrdma_xprt* xprt,
                                                            const struct scope_key* key,
                                                            u32 established) {
  struct scope_connection_state* state = empty_state();
  if (!state) return 0;
  const struct rpcrdma_ep* ep = (const struct rpcrdma_ep*)key->object;
  const struct rdma_cm_id* id = BPF_CORE_READ(ep, re_id);
  copy_address(&state->local, &id->route.addr.src_addr);
  copy_address(&state->peer, &xprt->rx_xprt.addr);
  state->peer_qpn = peer_qpn(id, key->qpn);
  state->inline_send = BPF_CORE_READ(ep, re_inline_send);
  state->inline_receive = BPF_CORE_READ(ep, re_inline_recv);
  state->requested = bpf_ntohl(BPF_CORE_READ(xprt, rx_buf.rb_max_requests));
  state->granted = established ? 1 : BPF_CORE_READ(xprt, rx_buf.rb_credits);
  return store_connection(key, state, established);
}

/* Until 6.6 a Send of the server does not point to its connection. Its completion queue identifies
 * it: each connection has its own. Queues of two devices can have the same number.
 */
struct queue_owner {
  struct scope_key connection;
  u32 ambiguous;
  u32 reserved;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, u32);
  __type(value, struct queue_owner);
} send_queues SEC(".maps");

static __always_inline bool sends_know_connection(void) {
  return bpf_core_field_exists(((struct svc_rdma_send_ctxt*)0)->sc_rdma);
}

static __always_inline void own_send_queue(const struct svcxprt_rdma* xprt,
                                           const struct scope_key* key) {
  u32 queue = BPF_CORE_READ(xprt, sc_sq_cq, res.id);
  struct queue_owner owner = {.connection = *key};
  const struct queue_owner* before = bpf_map_lookup_elem(&send_queues, &queue);
  if (before && (before->connection.object != key->object || before->connection.qpn != key->qpn)) {
    const struct scope_connection_state* other =
        bpf_map_lookup_elem(&connections, &before->connection);
    owner.ambiguous = before->ambiguous || (other && !other->ended);
  }
  bpf_map_update_elem(&send_queues, &queue, &owner, BPF_ANY);
}

static __noinline struct scope_connection_state* add_server(const struct svcxprt_rdma* xprt,
                                                            const struct scope_key* key,
                                                            u32 established) {
  struct scope_connection_state* state = empty_state();
  if (!state) return 0;
  const struct rdma_cm_id* id = BPF_CORE_READ(xprt, sc_cm_id);
  copy_address(&state->local, &id->route.addr.src_addr);
  copy_address(&state->peer, &id->route.addr.dst_addr);
  state->peer_qpn = peer_qpn(id, key->qpn);
  state->inline_send = state->inline_receive = (u32)BPF_CORE_READ(xprt, sc_max_req_size);
  state->granted = established ? 1 : bpf_ntohl(BPF_CORE_READ(xprt, sc_fc_credits));
  if (!sends_know_connection()) own_send_queue(xprt, key);
  return store_connection(key, state, established);
}

static __always_inline bool client_key(const struct rpcrdma_xprt* xprt, struct scope_key* key) {
  const struct rpcrdma_ep* ep = BPF_CORE_READ(xprt, rx_ep);
  key->object = (u64)ep;
  key->qpn = 0;
  key->role = SCOPE_CLIENT;
  if (!ep) return false;
  key->qpn = BPF_CORE_READ(ep, re_id, qp, qp_num);
  return key->qpn != 0;
}

static __always_inline bool server_key(const struct svcxprt_rdma* xprt, struct scope_key* key) {
  key->object = (u64)xprt;
  key->role = SCOPE_SERVER;
  key->qpn = BPF_CORE_READ(xprt, sc_qp, qp_num);
  return key->qpn != 0; /* a listener has none */
}

/* Both return 0 for connections that the filter excludes. */
static __always_inline struct scope_connection_state* client_connection(
    const struct rpcrdma_xprt* xprt, struct scope_key* key) {
  if (!xprt || !client_key(xprt, key)) return 0;
  struct scope_connection_state* state = bpf_map_lookup_elem(&connections, key);
  if (!state) state = add_client(xprt, key, 0);
  return state && state->wanted ? state : 0;
}

static __always_inline struct scope_connection_state* server_connection(
    const struct svcxprt_rdma* xprt, struct scope_key* key) {
  if (!xprt || !server_key(xprt, key)) return 0;
  struct scope_connection_state* state = bpf_map_lookup_elem(&connections, key);
  if (!state) state = add_server(xprt, key, 0);
  return state && state->wanted ? state : 0;
}

/* Returns what the current thread of the NFS server serves. The thread's data are its svc_rqst,
 * which points back to the thread; for other threads this is not so.
 */
static __always_inline const struct svc_rqst* current_request(void) {
  const struct task_struct* task = (const struct task_struct*)bpf_get_current_task();
  const struct kthread* thread = BPF_CORE_READ(task, worker_private);
  if (!thread) return 0;
  const struct svc_rqst* request = BPF_CORE_READ(thread, data);
  if (!request || BPF_CORE_READ(request, rq_task) != task) return 0;
  return request;
}

/* Returns the connection that the thread serves, if it is an RDMA connection. */
static __always_inline const struct svcxprt_rdma* current_server(const struct svc_rqst* request) {
  if (!request) return 0;
  const struct svc_xprt* xprt = BPF_CORE_READ(request, rq_xprt);
  if (!xprt || BPF_CORE_READ(xprt, xpt_class, xcl_ident) != XPRT_TRANSPORT_RDMA) return 0;
  return server_of(xprt);
}

#endif

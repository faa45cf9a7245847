/* Begin and end of connections, for events and for sums, whether records are wanted or not. */
#ifndef RPCRDMA_KERNEL_BPF_LIFECYCLE_BPF_H
#define RPCRDMA_KERNEL_BPF_LIFECYCLE_BPF_H

#include "connections.bpf.h"

static __noinline int report_end(const struct scope_key* key,
                                 const struct scope_connection_state* state, int status,
                                 u32 established) {
  struct scope_connection_end* record =
      RESERVE(scope_connection_end, SCOPE_CONNECTION_END, key, bpf_ktime_get_ns());
  if (!record) return 0;
  record->local = state->local;
  record->peer = state->peer;
  record->status = status;
  record->established = established;
  record->flushed = (u32)state->flushed;
  record->reserved = 0;
  bpf_ringbuf_submit(record, 0);
  return 0;
}

static __always_inline void end_connection(const struct scope_key* key,
                                           struct scope_connection_state* state, int status) {
  if (!state || state->ended) return;
  state->ended = 1;
  state->end_status = status;
  if (settings.events && state->wanted) report_end(key, state, status, 1);
}

/* A connection that was never established: its only record. */
static __always_inline void report_attempt(const struct scope_key* key, const void* local,
                                           const void* peer, int status) {
  struct scope_connection_state* state = empty_state();
  if (!state || !settings.events) return;
  if (local) copy_address(&state->local, local);
  copy_address(&state->peer, peer);
  if (connection_wanted(state, key->qpn)) report_end(key, state, status, 0);
}

static __always_inline struct scope_connection_state* established_client(
    const struct rpcrdma_xprt* xprt) {
  struct scope_key key;
  if (!client_key(xprt, &key)) return 0;
  struct scope_connection_state* state = bpf_map_lookup_elem(&connections, &key);
  if (state && !state->ended) return state;
  return add_client(xprt, &key, 1);
}

/* The end of an attempt to connect. */
SEC("tp_btf/xprtrdma_connect")
int BPF_PROG(both_connect, const struct rpcrdma_xprt* xprt, int status) {
  if (!xprt) return 0;
  if (!status) {
    established_client(xprt);
    return 0;
  }
  struct scope_key key;
  struct scope_connection_state* state = 0;
  if (client_key(xprt, &key)) state = bpf_map_lookup_elem(&connections, &key);
  if (state && !state->ended)
    end_connection(&key, state, status);
  else
    report_attempt(&key, 0, &xprt->rx_xprt.addr, status);
  return 0;
}

/* Also the end of each failed attempt, which is known by its status. */
SEC("tp_btf/xprtrdma_disconnect")
int BPF_PROG(both_disconnect, const struct rpcrdma_xprt* xprt) {
  struct scope_key key;
  if (!xprt || !client_key(xprt, &key)) return 0;
  int status = BPF_CORE_READ(xprt, rx_ep, re_connect_status);
  struct scope_connection_state* state = bpf_map_lookup_elem(&connections, &key);
  if (!state && (status == 1 || status == -ECONNABORTED)) state = add_client(xprt, &key, 0);
  end_connection(&key, state, status);
  return 0;
}

static __always_inline bool is_rdma_server(const struct svc_xprt* xprt) {
  return xprt && BPF_CORE_READ(xprt, xpt_class, xcl_ident) == XPRT_TRANSPORT_RDMA;
}

SEC("tp_btf/svc_xprt_accept")
int BPF_PROG(both_accept, const struct svc_xprt* xprt) {
  struct scope_key key;
  if (is_rdma_server(xprt) && server_key(server_of(xprt), &key))
    add_server(server_of(xprt), &key, 1);
  return 0;
}

SEC("tp_btf/svc_xprt_detach")
int BPF_PROG(both_detach, const struct svc_xprt* xprt) {
  struct scope_key key;
  if (!is_rdma_server(xprt) || !server_key(server_of(xprt), &key)) return 0;
  struct scope_connection_state* state = bpf_map_lookup_elem(&connections, &key);
  if (!state) state = add_server(server_of(xprt), &key, 0);
  end_connection(&key, state, 0);
  return 0;
}

static __always_inline void accept_failed(const struct svcxprt_rdma* xprt, long status) {
  if (!xprt) return;
  struct scope_key key;
  server_key(xprt, &key);
  const struct rdma_cm_id* id = BPF_CORE_READ(xprt, sc_cm_id);
  report_attempt(&key, &id->route.addr.src_addr, &id->route.addr.dst_addr, (int)status);
}

#define ACCEPT_FAILED(name, tracepoint)                              \
  SEC("tp_btf/" #tracepoint)                                         \
  int BPF_PROG(name, const struct svcxprt_rdma* xprt, long status) { \
    accept_failed(xprt, status);                                     \
    return 0;                                                        \
  }
ACCEPT_FAILED(both_pd_err, svcrdma_pd_err)
ACCEPT_FAILED(both_qp_err, svcrdma_qp_err)
ACCEPT_FAILED(both_fabric_err, svcrdma_fabric_err)
ACCEPT_FAILED(both_depth_err, svcrdma_initdepth_err)
ACCEPT_FAILED(both_accept_err, svcrdma_accept_err)

#endif

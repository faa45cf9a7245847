/* Begin and end of connections, for events and for sums, whether records are wanted or not. */
#ifndef RPCRDMA_KERNEL_BPF_LIFECYCLE_BPF_H
#define RPCRDMA_KERNEL_BPF_LIFECYCLE_BPF_H

#include "connections.bpf.h"

static __always_inline void end_client(const struct rpcrdma_xprt* xprt, int status,
                                       u32 established) {
  struct scope_key key;
  u64 now = bpf_ktime_get_ns();
  struct scope_connection_state* state = 0;
  if (client_key(xprt, &key)) state = bpf_map_lookup_elem(&connections, &key);
  if (state) {
    if (state->ended || !state->wanted) return;
    state->ended = 1;
    state->end_status = status;
  }
  if (!settings.events) return;
  struct scope_connection_end* record =
      RESERVE(scope_connection_end, SCOPE_CONNECTION_END, &key, now);
  if (!record) return;
  __builtin_memset(&record->local, 0, sizeof record->local);
  copy_address(&record->peer, &xprt->rx_xprt.addr);
  record->status = status;
  record->established = established;
  record->flushed = state ? (u32)state->flushed : 0;
  record->reserved = 0;
  bpf_ringbuf_submit(record, 0);
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
  if (status)
    end_client(xprt, status, 0);
  else
    established_client(xprt);
  return 0;
}

SEC("tp_btf/xprtrdma_disconnect")
int BPF_PROG(both_disconnect, const struct rpcrdma_xprt* xprt, int status) {
  if (xprt) end_client(xprt, BPF_CORE_READ(xprt, rx_ep, re_connect_status), 1);
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
  if (!state || state->ended || !state->wanted) return 0;
  state->ended = 1;
  if (!settings.events) return 0;
  struct scope_connection_end* record =
      RESERVE(scope_connection_end, SCOPE_CONNECTION_END, &key, bpf_ktime_get_ns());
  if (!record) return 0;
  record->local = state->local;
  record->peer = state->peer;
  record->status = 0;
  record->established = 1;
  record->flushed = (u32)state->flushed;
  record->reserved = 0;
  bpf_ringbuf_submit(record, 0);
  return 0;
}

#endif

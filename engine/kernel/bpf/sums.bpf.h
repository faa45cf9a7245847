/* Programs that only count: per connection and per procedure, in maps that the library reads. */
#ifndef RPCRDMA_KERNEL_BPF_SUMS_BPF_H
#define RPCRDMA_KERNEL_BPF_SUMS_BPF_H

#include "server.bpf.h"

/* Entries are large, and few are used. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 4096);
  __type(key, struct scope_procedure_key);
  __type(value, struct scope_procedure);
} procedures SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct scope_procedure);
} no_procedure SEC(".maps");

/* When Calls of the client began to wait for a credit, by the address of their rpc_rqst. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, u64);
  __type(value, u64);
} waits SEC(".maps");

#define ADD(field, value) __sync_fetch_and_add(&(field), value)

static __noinline struct scope_procedure* procedure_of(const struct scope_key* connection,
                                                       const struct call_id* call, u32 reverse) {
  struct scope_procedure_key key = {.connection = *connection,
                                    .program = call->program,
                                    .version = call->version,
                                    .procedure = call->procedure,
                                    .reverse = reverse};
  struct scope_procedure* sums = bpf_map_lookup_elem(&procedures, &key);
  if (sums) return sums;
  u32 zero = 0;
  const struct scope_procedure* none = bpf_map_lookup_elem(&no_procedure, &zero);
  if (!none) return 0;
  bpf_map_update_elem(&procedures, &key, none, BPF_NOEXIST);
  return bpf_map_lookup_elem(&procedures, &key);
}

static __always_inline void add_latency(struct scope_procedure* sums, u64 ns) {
  ADD(sums->latency_ns, ns);
  if (ns > sums->max_latency_ns) sums->max_latency_ns = ns; /* a concurrent maximum may win */
  u32 bucket = scope_sum_bucket(ns);
  if (bucket < SCOPE_SUM_BUCKETS) ADD(sums->bucket[bucket], 1);
}

/* Whether a received Reply says that its Call failed, as far as the message is inline. */
static __always_inline bool reply_failed(const __be32* buffer, u32 bytes) {
  __be32 word[13] = {};
  if (bytes < 16) return true;
  if (bpf_probe_read_kernel(word, bytes < sizeof word ? 16 : sizeof word, buffer)) return false;
  if (word[3] == bpf_htonl(4)) return true; /* RDMA_ERROR */
  if (word[3] || word[4] || word[5] || word[6] || bytes < sizeof word) return false;
  if (word[9]) return true;     /* MSG_DENIED */
  return !word[11] && word[12]; /* accept_stat, behind an empty verifier */
}

/* Client */

/* A Call waits for the transport, which admits none without a credit. */
SEC("tp_btf/rpc_task_sleep")
int BPF_PROG(sum_sleep, const struct rpc_task* task, const struct rpc_wait_queue* queue) {
  if (!task || !queue) return 0;
  const struct rpc_xprt* transport = BPF_CORE_READ(task, tk_xprt);
  if (!transport || (const void*)queue != (const void*)&transport->sending) return 0;
  const struct rpc_rqst* request = BPF_CORE_READ(task, tk_rqstp);
  if (!request || !is_rdma(transport)) return 0;
  if (BPF_CORE_READ(request, rq_cong) || !out_of_credits(transport)) return 0;
  u64 id = (u64)request;
  u64 now = bpf_ktime_get_ns();
  bpf_map_update_elem(&waits, &id, &now, BPF_NOEXIST);
  return 0;
}

struct chunk_bytes {
  const struct list_head *next, *end;
  u64 read, written;
};
static long add_memory(u32 index, struct chunk_bytes* sum) {
  const struct list_head* here = sum->next;
  if (here == sum->end || !here) return 1;
  const struct rpcrdma_mr* mr = container_of(here, struct rpcrdma_mr, mr_list);
  u32 length = BPF_CORE_READ(mr, mr_length);
  if (BPF_CORE_READ(mr, mr_dir) == DMA_TO_DEVICE)
    sum->read += length;
  else
    sum->written += length;
  sum->next = BPF_CORE_READ(here, next);
  return 0;
}

SEC("tp_btf/xprtrdma_post_send")
int BPF_PROG(sum_client_send, const struct rpcrdma_req* request) {
  if (!request) return 0;
  const struct rpcrdma_xprt* xprt = client_of(BPF_CORE_READ(request, rl_slot.rq_xprt));
  struct scope_key key;
  struct scope_connection_state* state = client_connection(xprt, &key);
  if (!state) return 0;
  int sges = BPF_CORE_READ(request, rl_wr.num_sge);
  u32 bytes = bytes_of_sges(BPF_CORE_READ(request, rl_wr.sg_list), sges);
  ADD(state->sends, 1);
  ADD(state->send_bytes, bytes);
  update_credits(xprt, state);

  u64 id = (u64)&request->rl_slot;
  const u64* begun = bpf_map_lookup_elem(&waits, &id);
  if (begun) {
    ADD(state->credit_waits, 1);
    ADD(state->credit_wait_ns, bpf_ktime_get_ns() - *begun);
    bpf_map_delete_elem(&waits, &id);
  }

  struct call_id call = {};
  call_of_task(BPF_CORE_READ(request, rl_slot.rq_task), &call);
  if (!call.known || !call_wanted(&call)) return 0; /* a Reply to a reverse-direction Call */
  struct scope_procedure* sums = procedure_of(&key, &call, 0);
  if (!sums) return 0;
  ADD(sums->calls, 1);
  ADD(sums->call_bytes, bytes);
  const struct list_head* head =
      (const void*)request + bpf_core_field_offset(struct rpcrdma_req, rl_registered);
  struct chunk_bytes chunks = {.next = BPF_CORE_READ(head, next), .end = head};
  if (chunks.next == head) return 0;
  bpf_loop(64, add_memory, &chunks, 0);
  ADD(sums->read_chunk_bytes, chunks.read);
  ADD(sums->write_chunk_bytes, chunks.written);
  return 0;
}

SEC("tp_btf/xprtrdma_reply")
int BPF_PROG(sum_client_reply, const struct rpc_task* task, const struct rpcrdma_rep* rep) {
  if (!rep) return 0;
  const struct rpcrdma_xprt* xprt = BPF_CORE_READ(rep, rr_rxprt);
  struct scope_key key;
  struct scope_connection_state* state = client_connection(xprt, &key);
  if (!state) return 0;
  u32 bytes = BPF_CORE_READ(rep, rr_hdrbuf.len);
  const __be32* buffer = BPF_CORE_READ(rep, rr_rdmabuf, rg_data);
  ADD(state->receives, 1);
  ADD(state->receive_bytes, bytes);
  __be32 granted = 0;
  if (!bpf_probe_read_kernel(&granted, sizeof granted, buffer + 2))
    state->granted = bpf_ntohl(granted);
  update_credits(xprt, state);
  struct call_id call = {};
  call_of_task(task, &call);
  if (!call.known || !call_wanted(&call)) return 0;
  struct scope_procedure* sums = procedure_of(&key, &call, 0);
  if (!sums) return 0;
  ADD(sums->replies, 1);
  ADD(sums->reply_bytes, bytes);
  if (reply_failed(buffer, bytes)) ADD(sums->errors, 1);
  u64 posted = (u64)BPF_CORE_READ(rep, rr_rqst, rq_xtime);
  u64 now = bpf_ktime_get_ns();
  if (posted && now > posted) add_latency(sums, now - posted);
  return 0;
}

static __always_inline void count_received(const struct rpcrdma_xprt* xprt,
                                           const struct rpcrdma_rep* rep, u32 invalid) {
  struct scope_key key;
  struct scope_connection_state* state = client_connection(xprt, &key);
  if (!state) return;
  ADD(state->receives, 1);
  ADD(state->receive_bytes, BPF_CORE_READ(rep, rr_hdrbuf.len));
  ADD(state->invalid_headers, invalid);
}

SEC("tp_btf/xprtrdma_cb_call")
int BPF_PROG(sum_client_reverse, const struct rpcrdma_xprt* xprt, const struct rpc_rqst* request) {
  if (!xprt || !request) return 0;
  const struct rpcrdma_req* req = container_of(request, struct rpcrdma_req, rl_slot);
  count_received(xprt, BPF_CORE_READ(req, rl_reply), 0);
  return 0;
}

#define COUNT_REP(name, tracepoint, invalid)                             \
  SEC("tp_btf/" #tracepoint)                                             \
  int BPF_PROG(name, const struct rpcrdma_rep* rep) {                    \
    if (rep) count_received(BPF_CORE_READ(rep, rr_rxprt), rep, invalid); \
    return 0;                                                            \
  }
COUNT_REP(sum_client_short, xprtrdma_reply_short_err, 1)
COUNT_REP(sum_client_version, xprtrdma_reply_vers_err, 1)
COUNT_REP(sum_client_unknown, xprtrdma_reply_rqst_err, 0)

SEC("tp_btf/xprtrdma_reply_hdr_err")
int BPF_PROG(sum_client_header, const struct rpcrdma_rep* rep) {
  struct scope_key key;
  if (!rep) return 0;
  __be32 type = 0;
  bpf_probe_read_kernel(&type, sizeof type,
                        (const __be32*)BPF_CORE_READ(rep, rr_rdmabuf, rg_data) + 3);
  if (type == bpf_htonl(4)) return 0; /* an RDMA_ERROR */
  struct scope_connection_state* state = client_connection(BPF_CORE_READ(rep, rr_rxprt), &key);
  if (state) ADD(state->invalid_headers, 1);
  return 0;
}

SEC("tp_btf/xprt_retransmit")
int BPF_PROG(sum_resent, const struct rpc_rqst* request) {
  if (!request) return 0;
  const struct rpc_xprt* transport = BPF_CORE_READ(request, rq_xprt);
  struct scope_key key;
  if (!is_rdma(transport)) return 0;
  struct scope_connection_state* state = client_connection(client_of(transport), &key);
  if (state) ADD(state->resent_calls, 1);
  return 0;
}

static __always_inline void count_flushed(const struct rpcrdma_xprt* xprt) {
  struct scope_key key;
  struct scope_connection_state* state = client_connection(xprt, &key);
  if (state) ADD(state->flushed, 1);
}

SEC("tp_btf/xprtrdma_wc_send")
int BPF_PROG(sum_client_sent, const struct ib_wc* wc, const struct rpc_rdma_cid* cid) {
  if (!wc || !cid || !BPF_CORE_READ(wc, status)) return 0;
  const struct rpcrdma_sendctx* context = container_of(cid, struct rpcrdma_sendctx, sc_cid);
  const struct rpcrdma_req* request = BPF_CORE_READ(context, sc_req);
  if (request) count_flushed(client_of(BPF_CORE_READ(request, rl_slot.rq_xprt)));
  return 0;
}

SEC("tp_btf/xprtrdma_wc_receive")
int BPF_PROG(sum_client_receive, const struct ib_wc* wc, const struct rpc_rdma_cid* cid) {
  if (!wc || !cid) return 0;
  /* The end of a connection flushes its Receives. */
  int status = BPF_CORE_READ(wc, status);
  if (!status || status == IB_WC_WR_FLUSH_ERR) return 0;
  const struct rpcrdma_rep* rep = container_of(cid, struct rpcrdma_rep, rr_cid);
  count_flushed(BPF_CORE_READ(rep, rr_rxprt));
  return 0;
}

#define COUNT_MEMORY_FLUSH(name, tracepoint)                                             \
  SEC("tp_btf/" #tracepoint)                                                             \
  int BPF_PROG(name, const struct ib_wc* wc, const struct rpc_rdma_cid* cid) {           \
    if (!wc || !cid || !BPF_CORE_READ(wc, status)) return 0;                             \
    count_flushed(BPF_CORE_READ(container_of(cid, struct rpcrdma_mr, mr_cid), mr_xprt)); \
    return 0;                                                                            \
  }
COUNT_MEMORY_FLUSH(sum_registered, xprtrdma_wc_fastreg)
COUNT_MEMORY_FLUSH(sum_li, xprtrdma_wc_li)
COUNT_MEMORY_FLUSH(sum_li_wake, xprtrdma_wc_li_wake)
COUNT_MEMORY_FLUSH(sum_li_done, xprtrdma_wc_li_done)

/* Server */

SEC("tp_btf/svcrdma_wc_recv")
int BPF_PROG(sum_server_receive, const struct ib_wc* wc, const struct rpc_rdma_cid* cid) {
  if (!cid) return 0;
  u64 id = (u64)cid;
  u64 now = bpf_ktime_get_ns();
  bpf_map_update_elem(&received, &id, &now, BPF_ANY);
  return 0;
}

static __always_inline void count_server_received(const struct svc_rdma_recv_ctxt* context,
                                                  u32 header, u32 invalid) {
  if (!context) return;
  struct scope_key key;
  struct scope_connection_state* state = server_connection(current_server(current_request()), &key);
  if (!state) return;
  u32 bytes = BPF_CORE_READ(context, rc_byte_len);
  ADD(state->receives, 1);
  ADD(state->receive_bytes, bytes);
  ADD(state->invalid_headers, invalid);
  if (!header) return;
  const __be32* buffer = BPF_CORE_READ(context, rc_recv_buf);
  struct call_id call;
  if (bytes >= header + 24 && read_rpc_header((const void*)buffer + header, &call) == RPC_REPLY)
    return;
  __be32 requested = 0;
  if (!bpf_probe_read_kernel(&requested, sizeof requested, buffer + 2))
    state->requested = bpf_ntohl(requested);
  ADD(state->in_use, 1);
}

SEC("tp_btf/svcrdma_decode_rqst")
int BPF_PROG(sum_server_call, const struct svc_rdma_recv_ctxt* context, const __be32* words,
             u32 header) {
  count_server_received(context, header, 0);
  return 0;
}

#define COUNT_BAD_CALL(name, tracepoint)                         \
  SEC("tp_btf/" #tracepoint)                                     \
  int BPF_PROG(name, const struct svc_rdma_recv_ctxt* context) { \
    count_server_received(context, 0, 1);                        \
    return 0;                                                    \
  }
COUNT_BAD_CALL(sum_server_short, svcrdma_decode_short_err)
COUNT_BAD_CALL(sum_server_vers, svcrdma_decode_badvers_err)
COUNT_BAD_CALL(sum_server_drop, svcrdma_decode_drop_err)
COUNT_BAD_CALL(sum_server_proc, svcrdma_decode_badproc_err)
COUNT_BAD_CALL(sum_server_parse, svcrdma_decode_parse_err)

struct chunk_walk {
  const struct list_head *next, *end;
  u64 bytes;
  u32 payload;
};
static long add_chunk(u32 index, struct chunk_walk* walk) {
  const struct list_head* here = walk->next;
  if (here == walk->end || !here) return 1;
  const struct svc_rdma_chunk* chunk = container_of(here, struct svc_rdma_chunk, ch_list);
  walk->bytes +=
      walk->payload ? BPF_CORE_READ(chunk, ch_payload_length) : BPF_CORE_READ(chunk, ch_length);
  walk->next = BPF_CORE_READ(here, next);
  return 0;
}
static __always_inline u64 bytes_of_chunks(const struct svc_rdma_pcl* list, u32 payload) {
  if (!BPF_CORE_READ(list, cl_count)) return 0;
  const struct list_head* head =
      (const void*)list + bpf_core_field_offset(struct svc_rdma_pcl, cl_chunks);
  struct chunk_walk walk = {.next = BPF_CORE_READ(head, next), .end = head, .payload = payload};
  bpf_loop(16, add_chunk, &walk, 0);
  return walk.bytes;
}

SEC("tp_btf/svcrdma_post_send")
int BPF_PROG(sum_server_send, const struct svc_rdma_send_ctxt* context) {
  if (!context) return 0;
  const struct svc_rqst* request = current_request();
  const struct svcxprt_rdma* xprt = server_of_send(context, request);
  struct scope_key key;
  struct scope_connection_state* state = server_connection(xprt, &key);
  if (!state) return 0;
  int sges = BPF_CORE_READ(context, sc_send_wr.num_sge);
  u32 bytes = bytes_of_sges(BPF_CORE_READ(context, sc_send_wr.sg_list), sges);
  ADD(state->sends, 1);
  ADD(state->send_bytes, bytes);

  __be32 word[4] = {};
  const void* buffer = BPF_CORE_READ(context, sc_xprt_buf);
  bpf_probe_read_kernel(word, sizeof word, buffer);
  struct call_id call = {};
  if (!request || BPF_CORE_READ(request, rq_xid) != word[0] || word[3] == bpf_htonl(4)) {
    u32 header = BPF_CORE_READ(context, sc_hdrbuf.len);
    if (!request && read_rpc_header(buffer + header, &call) == RPC_CALL && call.known &&
        call_wanted(&call)) {
      struct scope_procedure* reverse = procedure_of(&key, &call, 1);
      if (!reverse) return 0;
      ADD(reverse->calls, 1);
      ADD(reverse->call_bytes, bytes);
    }
    /* An RDMA_ERROR that answers a Call with a good header: its chunks did not suffice. */
    if (!request || BPF_CORE_READ(request, rq_xid) != word[0]) return 0;
  }
  if (state->in_use > 0) ADD(state->in_use, (u32)-1);
  state->granted = bpf_ntohl(word[2]);
  call_of_request(request, &call);
  const struct svc_rdma_recv_ctxt* from = BPF_CORE_READ(request, rq_xprt_ctxt);
  if (!from) return 0;
  const u64 written =
      bytes_of_chunks(&from->rc_write_pcl, 1) + bytes_of_chunks(&from->rc_reply_pcl, 1);
  ADD(state->written_bytes, written);
  if (!call_wanted(&call)) return 0;
  struct scope_procedure* sums = procedure_of(&key, &call, 0);
  if (!sums) return 0;
  ADD(sums->calls, 1);
  ADD(sums->replies, 1);
  ADD(sums->call_bytes, BPF_CORE_READ(from, rc_byte_len));
  ADD(sums->reply_bytes, bytes);
  ADD(sums->read_chunk_bytes,
      bytes_of_chunks(&from->rc_read_pcl, 0) + bytes_of_chunks(&from->rc_call_pcl, 0));
  ADD(sums->write_chunk_bytes, written);
  if (word[3] == bpf_htonl(4)) ADD(sums->errors, 1);
  u64 time = received_at(from);
  u64 now = bpf_ktime_get_ns();
  if (time && now > time) add_latency(sums, now - time);
  return 0;
}

SEC("tp_btf/svcrdma_wc_read")
int BPF_PROG(sum_read_end, const struct ib_wc* wc, const struct rpc_rdma_cid* cid, u32 bytes) {
  struct scope_key key;
  struct scope_connection_state* state = wc ? completed(wc, &key) : 0;
  if (state) ADD(state->read_bytes, bytes);
  return 0;
}

#define COUNT_FLUSH(name, tracepoint)                                    \
  SEC("tp_btf/" #tracepoint)                                             \
  int BPF_PROG(name, const struct ib_wc* wc) {                           \
    struct scope_key key;                                                \
    struct scope_connection_state* state = wc ? completed(wc, &key) : 0; \
    if (state) ADD(state->flushed, 1);                                   \
    return 0;                                                            \
  }
COUNT_FLUSH(sum_read_flush, svcrdma_wc_read_flush)
COUNT_FLUSH(sum_read_err, svcrdma_wc_read_err)
COUNT_FLUSH(sum_write_flush, svcrdma_wc_write_flush)
COUNT_FLUSH(sum_write_err, svcrdma_wc_write_err)
COUNT_FLUSH(sum_reply_flush, svcrdma_wc_reply_flush)
COUNT_FLUSH(sum_reply_err, svcrdma_wc_reply_err)
COUNT_FLUSH(sum_send_flush, svcrdma_wc_send_flush)
COUNT_FLUSH(sum_send_err, svcrdma_wc_send_err)
COUNT_FLUSH(sum_recv_err, svcrdma_wc_recv_err)

SEC("tp_btf/svcrdma_sq_full")
int BPF_PROG(sum_sq_full, const struct svcxprt_rdma* xprt) {
  struct scope_key key;
  struct scope_connection_state* state = server_connection(xprt, &key);
  if (state) ADD(state->send_queue_full, 1);
  return 0;
}

#endif

/* Linux's client, xprtrdma: programs for events. */
#ifndef RPCRDMA_KERNEL_BPF_CLIENT_BPF_H
#define RPCRDMA_KERNEL_BPF_CLIENT_BPF_H

#include "lifecycle.bpf.h"
#include "messages.bpf.h"

#define DMA_TO_DEVICE 1

static __always_inline bool quiet(void) {
  return !shared.listening;
}

/* Filters that only messages and ends of Calls can pass. */
static __always_inline bool only_messages(void) {
  return settings.only_errors || settings.slower_than_ns;
}

static __always_inline bool request_wanted(const struct rpc_rqst* request) {
  if (!settings.has_program && !settings.has_procedure) return true;
  struct call_id call = {};
  if (request) call_of_task(BPF_CORE_READ(request, rq_task), &call);
  return call_wanted(&call);
}

/* A Call got a request slot and its XID. */
SEC("tp_btf/xprt_reserve")
int BPF_PROG(event_reserve, const struct rpc_rqst* request) {
  if (quiet() || !request) return 0;
  const struct rpc_xprt* transport = BPF_CORE_READ(request, rq_xprt);
  if (!is_rdma(transport)) return 0;
  u64 id = (u64)request;
  u64 now = bpf_ktime_get_ns();
  struct call_times times = {.reserved = now};
  bpf_map_update_elem(&calls, &id, &times, BPF_ANY);
  struct scope_key key;
  if (only_messages() || !client_connection(client_of(transport), &key)) return 0;
  struct call_id call = {};
  call_of_task(BPF_CORE_READ(request, rq_task), &call);
  if (!call_wanted(&call)) return 0;
  struct scope_call* record = RESERVE(scope_call, SCOPE_CALL, &key, now);
  if (!record) return 0;
  record->xid = xid_of(BPF_CORE_READ(request, rq_xid));
  record->program = call.program;
  record->version = call.version;
  record->procedure = call.procedure;
  bpf_ringbuf_submit(record, 0);
  return 0;
}

static __always_inline void credit_wait(const struct rpc_rqst* request,
                                        const struct rpc_xprt* transport, u32 begun, u64 now) {
  struct scope_key key;
  if (only_messages() || !request_wanted(request)) return;
  if (!client_connection(client_of(transport), &key)) return;
  struct scope_credit_wait* record = RESERVE(scope_credit_wait, SCOPE_CREDIT_WAIT, &key, now);
  if (!record) return;
  record->xid = xid_of(BPF_CORE_READ(request, rq_xid));
  record->begun = begun;
  bpf_ringbuf_submit(record, 0);
}

static __always_inline bool out_of_credits(const struct rpc_xprt* transport) {
  return BPF_CORE_READ(transport, cong) >= BPF_CORE_READ(transport, cwnd);
}

static __always_inline void begin_wait(const struct rpc_rqst* request,
                                       const struct rpc_xprt* transport) {
  u64 id = (u64)request;
  struct call_times* times = bpf_map_lookup_elem(&calls, &id);
  if (!times || times->wait_begun) return;
  u64 now = bpf_ktime_get_ns();
  times->wait_begun = now;
  credit_wait(request, transport, 1, now);
}

/* A Call that has no credit yet is about to take one, if there is one. */
SEC("tp_btf/xprt_get_cong")
int BPF_PROG(event_get_credit, const struct rpc_xprt* transport, const struct rpc_task* task) {
  if (quiet() || !transport || !task || !is_rdma(transport)) return 0;
  const struct rpc_rqst* request = BPF_CORE_READ(task, tk_rqstp);
  if (!request) return 0;
  if (out_of_credits(transport)) {
    begin_wait(request, transport);
    return 0;
  }
  u64 id = (u64)request;
  struct call_times* times = bpf_map_lookup_elem(&calls, &id);
  if (!times) return 0;
  u64 now = bpf_ktime_get_ns();
  times->allowed = now;
  if (!times->wait_begun) return 0;
  times->waited += now - times->wait_begun;
  times->wait_begun = 0;
  credit_wait(request, transport, 0, now);
  return 0;
}

/* Further Calls wait for the transport, which admits none without a credit. */
SEC("tp_btf/rpc_task_sleep")
int BPF_PROG(event_sleep, const struct rpc_task* task, const struct rpc_wait_queue* queue) {
  if (quiet() || !task || !queue) return 0;
  const struct rpc_rqst* request = BPF_CORE_READ(task, tk_rqstp);
  const struct rpc_xprt* transport = BPF_CORE_READ(task, tk_xprt);
  if (!request || !transport || (const void*)queue != (const void*)&transport->sending) return 0;
  if (is_rdma(transport) && !BPF_CORE_READ(request, rq_cong) && out_of_credits(transport))
    begin_wait(request, transport);
  return 0;
}

SEC("tp_btf/xprtrdma_marshal")
int BPF_PROG(event_marshal, const struct rpcrdma_req* request) {
  if (quiet() || !request) return 0;
  u64 id = (u64)&request->rl_slot;
  struct call_times* times = bpf_map_lookup_elem(&calls, &id);
  if (times) times->encoded = bpf_ktime_get_ns();
  return 0;
}

/* The Send of a Call, or of the Reply to a reverse-direction Call, is posted. */
SEC("tp_btf/xprtrdma_post_send")
int BPF_PROG(event_client_send, const struct rpcrdma_req* request) {
  if (quiet() || !request) return 0;
  const struct rpcrdma_xprt* xprt = client_of(BPF_CORE_READ(request, rl_slot.rq_xprt));
  struct scope_key key;
  struct scope_connection_state* state = client_connection(xprt, &key);
  if (!state) return 0;

  struct outgoing out;
  begin_message(&out, &key, 0);
  u64 id = (u64)&request->rl_slot;
  struct call_times* times = bpf_map_lookup_elem(&calls, &id);
  if (times) times->sent = out.message.record.time;

  /* The first SGE is the header, the second the head of the message. A third one is the tail if
   * the data between are in a Read chunk, or if there are none; otherwise it is a page of them.
   */
  const struct ib_sge* sge = BPF_CORE_READ(request, rl_wr.sg_list);
  int sges = BPF_CORE_READ(request, rl_wr.num_sge);
  out.message.length = bytes_of_sges(sge, sges);
  out.parts.header = BPF_CORE_READ(request, rl_hdrbuf.head[0].iov_base);
  out.parts.header_bytes = sges > 0 ? BPF_CORE_READ(&sge[0], length) : 0;
  out.parts.body = BPF_CORE_READ(request, rl_slot.rq_snd_buf.head[0].iov_base);
  out.parts.body_bytes = sges > 1 ? BPF_CORE_READ(&sge[1], length) : 0;
  u32 data = BPF_CORE_READ(request, rl_slot.rq_snd_buf.page_len);
  u32 tail = (u32)BPF_CORE_READ(request, rl_slot.rq_snd_buf.tail[0].iov_len);
  if (sges == 3 && tail > 3) {
    u32 padding = data ? tail & 3 : 0;
    out.parts.tail = BPF_CORE_READ(request, rl_slot.rq_snd_buf.tail[0].iov_base) + padding;
    out.parts.tail_bytes = BPF_CORE_READ(&sge[2], length);
  }

  out.xid = xid_of(BPF_CORE_READ(request, rl_slot.rq_xid));
  out.call = 1;
  struct call_id call = {};
  if (out.parts.body_bytes >= 24) out.call = read_rpc_header(out.parts.body, &call) != RPC_REPLY;
  if (!call.known && out.call) call_of_task(BPF_CORE_READ(request, rl_slot.rq_task), &call);
  if (!call_wanted(&call)) return 0;
  set_call(&out, &call);
  set_client_credits(&out, xprt, state);
  emit_message(&out);
  return 0;
}

/* A message in the client's Receive buffer. */
static __always_inline void client_received(const struct rpcrdma_xprt* xprt,
                                            const struct rpcrdma_rep* rep,
                                            const struct rpc_task* task, u32 problem, u32 is_call) {
  struct scope_key key;
  struct scope_connection_state* state = client_connection(xprt, &key);
  if (!state) return;
  struct outgoing out;
  begin_message(&out, &key, SCOPE_RECEIVED);
  out.message.problem = problem;
  out.call = is_call;
  const __be32* buffer = BPF_CORE_READ(rep, rr_rdmabuf, rg_data);
  u32 bytes = BPF_CORE_READ(rep, rr_hdrbuf.len);
  __be32 word[4] = {};
  if (bytes >= sizeof word) bpf_probe_read_kernel(word, sizeof word, buffer);
  out.xid = xid_of(word[0]);
  if (problem || word[3] == bpf_htonl(4)) out.message.flags |= SCOPE_BAD; /* RDMA_ERROR */
  if (BPF_CORE_READ(rep, rr_wc_flags) & IB_WC_WITH_INVALIDATE) {
    out.message.flags |= SCOPE_INVALIDATES;
    out.message.invalidate = BPF_CORE_READ(rep, rr_inv_rkey);
  }
  struct call_id call = {};
  if (is_call)
    read_rpc_header(buffer + 7, &call);
  else
    call_of_task(task, &call);
  if (!call_wanted(&call)) return;
  set_call(&out, &call);
  /* How long the header is has not been found out yet: two parts of any header and message. */
  set_buffer(&out, buffer, bytes, bytes > SMALL_HEADER + SMALL_BODY ? MEDIUM_HEADER : SMALL_HEADER);
  set_client_credits(&out, xprt, state);
  emit_message(&out);
}

SEC("tp_btf/xprtrdma_reply")
int BPF_PROG(event_client_reply, const struct rpc_task* task, const struct rpcrdma_rep* rep) {
  if (quiet() || !rep) return 0;
  client_received(BPF_CORE_READ(rep, rr_rxprt), rep, task, SCOPE_NO_PROBLEM, 0);
  return 0;
}

/* A reverse-direction Call. Its request has the Receive buffer. */
SEC("tp_btf/xprtrdma_cb_call")
int BPF_PROG(event_client_reverse, const struct rpcrdma_xprt* xprt,
             const struct rpc_rqst* request) {
  if (quiet() || !xprt || !request) return 0;
  const struct rpcrdma_req* req = container_of(request, struct rpcrdma_req, rl_slot);
  client_received(xprt, BPF_CORE_READ(req, rl_reply), 0, SCOPE_NO_PROBLEM, 1);
  return 0;
}

SEC("tp_btf/xprtrdma_reply_short_err")
int BPF_PROG(event_client_short, const struct rpcrdma_rep* rep) {
  if (quiet() || !rep) return 0;
  client_received(BPF_CORE_READ(rep, rr_rxprt), rep, 0, SCOPE_SHORT, 0);
  return 0;
}

SEC("tp_btf/xprtrdma_reply_vers_err")
int BPF_PROG(event_client_version, const struct rpcrdma_rep* rep) {
  if (quiet() || !rep) return 0;
  client_received(BPF_CORE_READ(rep, rr_rxprt), rep, 0, SCOPE_BAD_VERSION, 0);
  return 0;
}

SEC("tp_btf/xprtrdma_reply_rqst_err")
int BPF_PROG(event_client_unknown, const struct rpcrdma_rep* rep) {
  if (quiet() || !rep) return 0;
  client_received(BPF_CORE_READ(rep, rr_rxprt), rep, 0, SCOPE_UNKNOWN_XID, 0);
  return 0;
}

static __always_inline void client_error(const struct rpcrdma_xprt* xprt, u32 kind, u32 xid,
                                         int status, u32 vendor_error) {
  struct scope_key key;
  struct scope_connection_state* state = client_connection(xprt, &key);
  if (!state) return;
  struct scope_error* record = RESERVE(scope_error, SCOPE_ERROR, &key, bpf_ktime_get_ns());
  if (!record) return;
  record->kind = kind;
  record->xid = xid;
  record->status = status;
  record->vendor_error = vendor_error;
  bpf_ringbuf_submit(record, 0);
}

/* A matched Reply, of which a Message was emitted, cannot be used. */
SEC("tp_btf/xprtrdma_reply_hdr_err")
int BPF_PROG(event_client_header, const struct rpcrdma_rep* rep) {
  if (quiet() || !rep) return 0;
  client_error(BPF_CORE_READ(rep, rr_rxprt), SCOPE_BAD_REPLY_HEADER,
               xid_of(BPF_CORE_READ(rep, rr_xid)), 0, 0);
  return 0;
}

SEC("tp_btf/xprtrdma_marshal_failed")
int BPF_PROG(event_marshal_failed, const struct rpc_rqst* request, int status) {
  if (quiet() || !request) return 0;
  const struct rpc_xprt* transport = BPF_CORE_READ(request, rq_xprt);
  if (is_rdma(transport))
    client_error(client_of(transport), SCOPE_MARSHAL_FAILED, xid_of(BPF_CORE_READ(request, rq_xid)),
                 status, 0);
  return 0;
}

SEC("tp_btf/xprtrdma_post_send_err")
int BPF_PROG(event_post_failed, const struct rpcrdma_xprt* xprt, const struct rpcrdma_req* request,
             int status) {
  if (quiet() || !xprt || !request) return 0;
  client_error(xprt, SCOPE_POST_FAILED, xid_of(BPF_CORE_READ(request, rl_slot.rq_xid)), status, 0);
  return 0;
}

/* A Call has ended. The times of its steps up to the Send are in `calls`. */
SEC("tp_btf/rpc_stats_latency")
int BPF_PROG(event_call_end, const struct rpc_task* task, s64 backlog, s64 rtt, s64 execute) {
  if (quiet() || !task) return 0;
  const struct rpc_rqst* request = BPF_CORE_READ(task, tk_rqstp);
  if (!request) return 0;
  const struct rpc_xprt* transport = BPF_CORE_READ(request, rq_xprt);
  if (!is_rdma(transport)) return 0;
  u64 id = (u64)request;
  u64 now = bpf_ktime_get_ns();
  struct call_times times = {};
  const struct call_times* known = bpf_map_lookup_elem(&calls, &id);
  if (known) times = *known;
  bpf_map_delete_elem(&calls, &id);
  if (settings.only_errors || (settings.slower_than_ns && rtt <= (s64)settings.slower_than_ns))
    return 0;
  struct call_id call = {};
  call_of_task(task, &call);
  if (!call_wanted(&call)) return 0;
  struct scope_key key;
  if (!client_connection(client_of(transport), &key)) return 0;
  struct scope_call_end* record = RESERVE(scope_call_end, SCOPE_CALL_END, &key, now);
  if (!record) return 0;
  u64 start = (u64)BPF_CORE_READ(task, tk_start);
  u64 posted = (u64)BPF_CORE_READ(request, rq_xtime);
  record->xid = xid_of(BPF_CORE_READ(request, rq_xid));
  record->status = BPF_CORE_READ(task, tk_status);
  record->attempts = (u32)BPF_CORE_READ(request, rq_ntrans);
  record->replied = BPF_CORE_READ(request, rq_reply_bytes_recvd) != 0;
  record->called = start;
  record->sent = times.sent ? times.sent : posted;
  record->reply = posted && rtt > 0 ? posted + (u64)rtt : 0;
  record->slot_wait = times.reserved > start ? (s64)(times.reserved - start) : -1;
  record->credit_wait = known ? (s64)times.waited : -1;
  record->marshal =
      times.allowed && times.encoded > times.allowed ? (s64)(times.encoded - times.allowed) : -1;
  record->post =
      times.encoded && times.sent > times.encoded ? (s64)(times.sent - times.encoded) : -1;
  bpf_ringbuf_submit(record, 0);
  return 0;
}

/* Memory that the client advertises. */
static __always_inline void client_memory(const struct rpcrdma_mr* mr, u32 action) {
  struct scope_key key;
  const struct rpcrdma_xprt* xprt = BPF_CORE_READ(mr, mr_xprt);
  const struct rpcrdma_req* request = BPF_CORE_READ(mr, mr_req);
  if (only_messages() || !xprt) return;
  if (!request_wanted(request ? &request->rl_slot : 0)) return;
  /* Memory for padding belongs to no request. A new connection registers it before all else. */
  if (!request) established_client(xprt);
  if (!client_connection(xprt, &key)) return;
  struct scope_memory* record = RESERVE(scope_memory, SCOPE_MEMORY, &key, bpf_ktime_get_ns());
  if (!record) return;
  record->action = action;
  record->handle = BPF_CORE_READ(mr, mr_handle);
  record->offset = BPF_CORE_READ(mr, mr_offset);
  record->length = BPF_CORE_READ(mr, mr_length);
  record->xid = request ? xid_of(BPF_CORE_READ(request, rl_slot.rq_xid)) : 0;
  record->writable = BPF_CORE_READ(mr, mr_dir) != DMA_TO_DEVICE;
  record->reserved = 0;
  bpf_ringbuf_submit(record, 0);
}

SEC("tp_btf/xprtrdma_mr_fastreg")
int BPF_PROG(event_register, const struct rpcrdma_mr* mr) {
  if (!quiet() && mr) client_memory(mr, SCOPE_ADVERTISED);
  return 0;
}

SEC("tp_btf/xprtrdma_mr_localinv")
int BPF_PROG(event_invalidate, const struct rpcrdma_mr* mr) {
  if (!quiet() && mr) client_memory(mr, SCOPE_INVALIDATED);
  return 0;
}

SEC("tp_btf/xprtrdma_mr_reminv")
int BPF_PROG(event_invalidated, const struct rpcrdma_mr* mr) {
  if (!quiet() && mr) client_memory(mr, SCOPE_INVALIDATED_BY_PEER);
  return 0;
}

/* Completions with an error. The kernel posts most work requests without asking for one. */
static __always_inline void client_completion(const struct rpcrdma_xprt* xprt,
                                              const struct ib_wc* wc, u32 kind, u32 xid) {
  struct scope_key key;
  struct scope_connection_state* state = client_connection(xprt, &key);
  if (!state) return;
  __sync_fetch_and_add(&state->flushed, 1);
  if (quiet()) return;
  client_error(xprt, kind, xid, BPF_CORE_READ(wc, status), BPF_CORE_READ(wc, vendor_err));
}

SEC("tp_btf/xprtrdma_wc_send")
int BPF_PROG(event_client_sent, const struct ib_wc* wc, const struct rpc_rdma_cid* cid) {
  if (!wc || !cid || !BPF_CORE_READ(wc, status)) return 0;
  const struct rpcrdma_sendctx* context = container_of(cid, struct rpcrdma_sendctx, sc_cid);
  const struct rpcrdma_req* request = BPF_CORE_READ(context, sc_req);
  if (!request) return 0;
  client_completion(client_of(BPF_CORE_READ(request, rl_slot.rq_xprt)), wc, SCOPE_COMPLETION_SEND,
                    xid_of(BPF_CORE_READ(request, rl_slot.rq_xid)));
  return 0;
}

SEC("tp_btf/xprtrdma_wc_receive")
int BPF_PROG(event_client_receive, const struct ib_wc* wc, const struct rpc_rdma_cid* cid) {
  if (!wc || !cid) return 0;
  /* The end of a connection flushes its Receives. */
  int status = BPF_CORE_READ(wc, status);
  if (!status || status == IB_WC_WR_FLUSH_ERR) return 0;
  const struct rpcrdma_rep* rep = container_of(cid, struct rpcrdma_rep, rr_cid);
  client_completion(BPF_CORE_READ(rep, rr_rxprt), wc, SCOPE_COMPLETION_RECEIVE, 0);
  return 0;
}

static __always_inline void client_memory_completion(const struct ib_wc* wc,
                                                     const struct rpc_rdma_cid* cid, u32 kind) {
  if (!wc || !cid || !BPF_CORE_READ(wc, status)) return;
  const struct rpcrdma_mr* mr = container_of(cid, struct rpcrdma_mr, mr_cid);
  const struct rpcrdma_req* request = BPF_CORE_READ(mr, mr_req);
  client_completion(BPF_CORE_READ(mr, mr_xprt), wc, kind,
                    request ? xid_of(BPF_CORE_READ(request, rl_slot.rq_xid)) : 0);
}

SEC("tp_btf/xprtrdma_wc_fastreg")
int BPF_PROG(event_registered, const struct ib_wc* wc, const struct rpc_rdma_cid* cid) {
  client_memory_completion(wc, cid, SCOPE_COMPLETION_REGISTER);
  return 0;
}

SEC("tp_btf/xprtrdma_wc_li")
int BPF_PROG(event_li, const struct ib_wc* wc, const struct rpc_rdma_cid* cid) {
  client_memory_completion(wc, cid, SCOPE_COMPLETION_INVALIDATE);
  return 0;
}

SEC("tp_btf/xprtrdma_wc_li_wake")
int BPF_PROG(event_li_wake, const struct ib_wc* wc, const struct rpc_rdma_cid* cid) {
  client_memory_completion(wc, cid, SCOPE_COMPLETION_INVALIDATE);
  return 0;
}

SEC("tp_btf/xprtrdma_wc_li_done")
int BPF_PROG(event_li_done, const struct ib_wc* wc, const struct rpc_rdma_cid* cid) {
  client_memory_completion(wc, cid, SCOPE_COMPLETION_INVALIDATE);
  return 0;
}

#endif

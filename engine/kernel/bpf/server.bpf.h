/* Linux's server, svcrdma: programs for events. */
#ifndef RPCRDMA_KERNEL_BPF_SERVER_BPF_H
#define RPCRDMA_KERNEL_BPF_SERVER_BPF_H

#include "client.bpf.h"

/* A Receive of the server was polled. */
SEC("tp_btf/svcrdma_wc_recv")
int BPF_PROG(event_server_receive, const struct ib_wc* wc, const struct rpc_rdma_cid* cid) {
  if (quiet() || !cid) return 0;
  u64 id = (u64)cid;
  u64 now = bpf_ktime_get_ns();
  bpf_map_update_elem(&received, &id, &now, BPF_ANY);
  return 0;
}

static __always_inline u64 received_at(const struct svc_rdma_recv_ctxt* context) {
  u64 id = (u64)context + bpf_core_field_offset(struct svc_rdma_recv_ctxt, rc_cid);
  const u64* time = context ? bpf_map_lookup_elem(&received, &id) : 0;
  return time ? *time : 0;
}

static __always_inline void unattributed(void) {
  __sync_fetch_and_add(&lost_here()->unattributed, 1);
}

/* The thread takes a received message out of its buffer. */
static __always_inline void server_received(const struct svc_rdma_recv_ctxt* context, u32 header,
                                            u32 problem) {
  if (quiet() || !context) return;
  const struct svcxprt_rdma* xprt = current_server(current_request());
  if (!xprt) {
    unattributed();
    return;
  }
  struct scope_key key;
  struct scope_connection_state* state = server_connection(xprt, &key);
  if (!state) return;
  struct outgoing out;
  begin_message(&out, &key, SCOPE_RECEIVED);
  u64 polled = received_at(context);
  if (polled) out.message.record.time = polled;
  out.message.problem = problem;
  if (problem) out.message.flags |= SCOPE_BAD;
  const __be32* buffer = BPF_CORE_READ(context, rc_recv_buf);
  u32 bytes = BPF_CORE_READ(context, rc_byte_len);
  __be32 word[4] = {};
  if (bytes >= sizeof word) bpf_probe_read_kernel(word, sizeof word, buffer);
  out.xid = xid_of(word[0]);
  out.call = 1;
  struct call_id call = {};
  if (!problem && bytes >= header + 24)
    out.call = read_rpc_header((const void*)buffer + header, &call) != RPC_REPLY;
  if (!call_wanted(&call)) return;
  set_call(&out, &call);
  set_buffer(&out, buffer, bytes, header);
  emit_message(&out);
}

SEC("tp_btf/svcrdma_decode_rqst")
int BPF_PROG(event_server_call, const struct svc_rdma_recv_ctxt* context, const __be32* words,
             u32 header) {
  server_received(context, header, SCOPE_NO_PROBLEM);
  return 0;
}

SEC("tp_btf/svcrdma_decode_short_err")
int BPF_PROG(event_server_short, const struct svc_rdma_recv_ctxt* context) {
  server_received(context, LARGE_HEADER, SCOPE_SHORT);
  return 0;
}

SEC("tp_btf/svcrdma_decode_badvers_err")
int BPF_PROG(event_server_vers, const struct svc_rdma_recv_ctxt* context) {
  server_received(context, LARGE_HEADER, SCOPE_BAD_VERSION);
  return 0;
}

SEC("tp_btf/svcrdma_decode_drop_err")
int BPF_PROG(event_server_drop, const struct svc_rdma_recv_ctxt* context) {
  server_received(context, LARGE_HEADER, SCOPE_DROPPED);
  return 0;
}

SEC("tp_btf/svcrdma_decode_badproc_err")
int BPF_PROG(event_server_proc, const struct svc_rdma_recv_ctxt* context) {
  server_received(context, LARGE_HEADER, SCOPE_BAD_PROCEDURE);
  return 0;
}

SEC("tp_btf/svcrdma_decode_parse_err")
int BPF_PROG(event_server_parse, const struct svc_rdma_recv_ctxt* context) {
  server_received(context, LARGE_HEADER, SCOPE_BAD_CHUNKS);
  return 0;
}

static __always_inline void call_of_request(const struct svc_rqst* request, struct call_id* id) {
  id->known = 1;
  id->program = BPF_CORE_READ(request, rq_prog);
  id->version = BPF_CORE_READ(request, rq_vers);
  id->procedure = BPF_CORE_READ(request, rq_proc);
}

/* The server's program gets a Call. */
SEC("tp_btf/svc_process")
int BPF_PROG(event_process, const struct svc_rqst* request) {
  if (quiet() || !request || only_messages()) return 0;
  const struct svcxprt_rdma* xprt = current_server(request);
  struct scope_key key;
  if (!xprt || !server_connection(xprt, &key)) return 0;
  struct call_id call;
  call_of_request(request, &call);
  if (!call_wanted(&call)) return 0;
  struct scope_call* record = RESERVE(scope_call, SCOPE_CALL, &key, bpf_ktime_get_ns());
  if (!record) return 0;
  record->xid = xid_of(BPF_CORE_READ(request, rq_xid));
  record->program = call.program;
  record->version = call.version;
  record->procedure = call.procedure;
  bpf_ringbuf_submit(record, 0);
  return 0;
}

/* Finds the connection of a Send: the thread of the NFS server that posts it serves the connection.
 * Other threads send reverse-direction Calls.
 */
static __always_inline const struct svcxprt_rdma* server_of_send(
    const struct svc_rdma_send_ctxt* context, const struct svc_rqst* request) {
  if (sends_know_connection()) return BPF_CORE_READ(context, sc_rdma);
  const struct svcxprt_rdma* xprt = current_server(request);
  if (xprt) return xprt;
  u32 queue = BPF_CORE_READ(context, sc_cid.ci_queue_id);
  const struct queue_owner* owner = bpf_map_lookup_elem(&send_queues, &queue);
  if (!owner || owner->ambiguous) return 0;
  return (const struct svcxprt_rdma*)owner->connection.object;
}

SEC("tp_btf/svcrdma_post_send")
int BPF_PROG(event_server_send, const struct svc_rdma_send_ctxt* context) {
  if (quiet() || !context) return 0;
  const struct svc_rqst* request = current_request();
  const struct svcxprt_rdma* xprt = server_of_send(context, request);
  if (!xprt) {
    unattributed();
    return 0;
  }
  struct scope_key key;
  struct scope_connection_state* state = server_connection(xprt, &key);
  if (!state) return 0;

  struct outgoing out;
  begin_message(&out, &key, 0);
  const struct ib_sge* sge = BPF_CORE_READ(context, sc_send_wr.sg_list);
  int sges = BPF_CORE_READ(context, sc_send_wr.num_sge);
  out.message.length = bytes_of_sges(sge, sges);
  if (BPF_CORE_READ(context, sc_send_wr.opcode) == IB_WR_SEND_WITH_INV) {
    out.message.flags |= SCOPE_INVALIDATES;
    out.message.invalidate = BPF_CORE_READ(context, sc_send_wr.ex.invalidate_rkey);
  }
  /* A short message was copied behind the header. The rest of a longer one starts in the Reply. */
  const __be32* buffer = BPF_CORE_READ(context, sc_xprt_buf);
  u32 header = BPF_CORE_READ(context, sc_hdrbuf.len);
  u32 first = sges > 0 ? BPF_CORE_READ(&sge[0], length) : 0;
  if (header > first) header = first;
  out.parts.header = buffer;
  out.parts.header_bytes = header;
  if (sges == 1) {
    out.parts.body = (const void*)buffer + header;
    out.parts.body_bytes = first - header;
  } else if (request && sges > 1) {
    out.parts.body = BPF_CORE_READ(request, rq_res.head[0].iov_base);
    out.parts.body_bytes = BPF_CORE_READ(&sge[1], length);
  }

  __be32 word[4] = {};
  bpf_probe_read_kernel(word, sizeof word, buffer);
  out.xid = xid_of(word[0]);
  bool is_error = word[3] == bpf_htonl(4); /* RDMA_ERROR */
  if (is_error) out.message.flags |= SCOPE_BAD;
  struct call_id call = {};
  if (!is_error && out.parts.body_bytes >= 24)
    out.call = read_rpc_header(out.parts.body, &call) == RPC_CALL;
  const bool replies = request && !out.call && BPF_CORE_READ(request, rq_xid) == word[0];
  if (replies) {
    call_of_request(request, &call);
    u64 now = out.message.record.time;
    u64 started = (u64)BPF_CORE_READ(request, rq_stime);
    out.message.called = received_at(BPF_CORE_READ(request, rq_xprt_ctxt));
    if (started >= out.message.called && started <= now) out.message.started = started;
  }
  if (!call_wanted(&call)) return 0;
  set_call(&out, &call);
  emit_message(&out);
  return 0;
}

/* RDMA Reads and Writes */

/* How rdma_rw_ctx holds its work requests. */
enum { RW_SINGLE, RW_SEVERAL, RW_REGISTERED };

struct sge_sum {
  const struct ib_sge* sge;
  u32 bytes;
};
static long add_sge(u32 index, struct sge_sum* sum) {
  const struct ib_sge* sge = sum->sge + index;
  sum->bytes += BPF_CORE_READ(sge, length);
  return 0;
}

struct walk {
  const struct list_head *next, *end;
  const void* requests; /* of the segment: an array, or the only one */
  u32 operations;
  u32 type;
  struct scope_operations* record;
};

static __always_inline void add_operation(struct scope_operations* record, u64 offset, u32 handle,
                                          u32 length) {
  u32 index = record->segments;
  if (index >= SCOPE_SEGMENTS) {
    record->more++;
    return;
  }
  record->segment[index].offset = offset;
  record->segment[index].handle = handle;
  record->segment[index].length = length;
  record->segments = index + 1;
}

static long add_request(u32 index, struct walk* walk) {
  u32 number = walk->operations - 1 - index; /* the last one first */
  const void* requests = walk->requests;
  if (walk->type == RW_REGISTERED) {
    const struct rdma_rw_reg_ctx* wr =
        requests + number * bpf_core_type_size(struct rdma_rw_reg_ctx);
    add_operation(walk->record, BPF_CORE_READ(wr, wr.remote_addr), BPF_CORE_READ(wr, wr.rkey),
                  BPF_CORE_READ(wr, sge.length));
    return 0;
  }
  const struct ib_rdma_wr* wr = requests + number * bpf_core_type_size(struct ib_rdma_wr);
  u32 sges = (u32)BPF_CORE_READ(wr, wr.num_sge);
  struct sge_sum sum = {.sge = BPF_CORE_READ(wr, wr.sg_list)};
  bpf_loop(sges < 64 ? sges : 64, add_sge, &sum, 0);
  add_operation(walk->record, BPF_CORE_READ(wr, remote_addr), BPF_CORE_READ(wr, rkey), sum.bytes);
  return 0;
}

/* The work requests of one segment of the chunk. */
static long add_segment(u32 index, struct walk* walk) {
  const struct list_head* here = walk->next;
  if (here == walk->end || !here) return 1;
  walk->next = BPF_CORE_READ(here, next);
  const struct svc_rdma_rw_ctxt* context = container_of(here, struct svc_rdma_rw_ctxt, rw_list);
  u8 type = BPF_CORE_READ(context, rw_ctx.type);
  walk->type = type;
  walk->operations = BPF_CORE_READ(context, rw_ctx.nr_ops);
  if (type == RW_SINGLE) {
    walk->operations = 1;
    walk->requests =
        (const void*)context + bpf_core_field_offset(struct svc_rdma_rw_ctxt, rw_ctx.single.wr);
  } else if (type == RW_SEVERAL) {
    walk->requests = BPF_CORE_READ(context, rw_ctx.map.wrs);
  } else if (type == RW_REGISTERED) {
    walk->requests = BPF_CORE_READ(context, rw_ctx.reg);
  } else {
    walk->record->more++;
    return 0;
  }
  bpf_loop(walk->operations < 512 ? walk->operations : 512, add_request, walk, 0);
  return 0;
}

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct scope_operations);
} new_operations SEC(".maps");

static __always_inline void operations(const struct rpc_rdma_cid* cid, u32 write) {
  if (quiet() || !cid || only_messages()) return;
  const struct svc_rqst* request = current_request();
  const struct svcxprt_rdma* xprt = current_server(request);
  const struct svc_rdma_chunk_ctxt* chunk = container_of(cid, struct svc_rdma_chunk_ctxt, cc_cid);
  if (bpf_core_field_exists(chunk->cc_rdma)) xprt = BPF_CORE_READ(chunk, cc_rdma);
  struct scope_key key;
  if (!xprt || !server_connection(xprt, &key)) return;
  __be32 xid = 0;
  if (write) {
    if (request) xid = BPF_CORE_READ(request, rq_xid);
  } else if (bpf_core_type_exists(struct svc_rdma_read_info)) {
    const struct svc_rdma_read_info* info = container_of(chunk, struct svc_rdma_read_info, ri_cc);
    bpf_probe_read_kernel(&xid, sizeof xid, BPF_CORE_READ(info, ri_readctxt, rc_recv_buf));
  } else if (bpf_core_field_exists(((struct svc_rdma_recv_ctxt*)0)->rc_cc)) {
    const struct svc_rdma_recv_ctxt* context =
        container_of(chunk, struct svc_rdma_recv_ctxt, rc_cc);
    bpf_probe_read_kernel(&xid, sizeof xid, BPF_CORE_READ(context, rc_recv_buf));
  }

  if (settings.has_program || settings.has_procedure) {
    /* While Read chunks are read, the thread has the message but no procedure yet. */
    struct call_id call = {};
    if (request && write)
      call_of_request(request, &call);
    else if (request)
      read_rpc_header(BPF_CORE_READ(request, rq_arg.head[0].iov_base), &call);
    if (!call_wanted(&call)) return;
  }

  u32 zero = 0;
  struct scope_operations* record = bpf_map_lookup_elem(&new_operations, &zero);
  if (!record) return;
  record->record.type = SCOPE_OPERATIONS;
  record->record.sequence = 0;
  record->record.time = bpf_ktime_get_ns();
  record->record.connection = key;
  record->write = write;
  record->xid = xid_of(xid);
  record->queue = BPF_CORE_READ(cid, ci_queue_id);
  record->completion = BPF_CORE_READ(cid, ci_completion_id);
  record->segments = 0;
  record->more = 0;
  const struct list_head* head =
      (const void*)chunk + bpf_core_field_offset(struct svc_rdma_chunk_ctxt, cc_rwctxts);
  struct walk walk = {.next = BPF_CORE_READ(head, next), .end = head, .record = record};
  bpf_loop(1024, add_segment, &walk, 0);
  u32 segments = record->segments;
  if (segments > SCOPE_SEGMENTS) segments = SCOPE_SEGMENTS;
  u64 bytes = offsetof(struct scope_operations, segment) + segments * sizeof(struct scope_segment);
  if (bpf_ringbuf_output(&ring, record, bytes, 0)) __sync_fetch_and_add(&lost_here()->records, 1);
}

SEC("tp_btf/svcrdma_post_read_chunk")
int BPF_PROG(event_reads, const struct rpc_rdma_cid* cid) {
  operations(cid, 0);
  return 0;
}

SEC("tp_btf/svcrdma_post_write_chunk")
int BPF_PROG(event_writes, const struct rpc_rdma_cid* cid) {
  operations(cid, 1);
  return 0;
}

SEC("tp_btf/svcrdma_post_reply_chunk")
int BPF_PROG(event_reply_writes, const struct rpc_rdma_cid* cid) {
  operations(cid, 1);
  return 0;
}

/* Completions name the connection's QP, whose context is the connection. */
static __always_inline struct scope_connection_state* completed(const struct ib_wc* wc,
                                                                struct scope_key* key) {
  if (!wc) return 0;
  const struct svc_xprt* xprt = BPF_CORE_READ(wc, qp, qp_context);
  return is_rdma_server(xprt) ? server_connection(server_of(xprt), key) : 0;
}

static __always_inline void operation_end(const struct ib_wc* wc, const struct rpc_rdma_cid* cid,
                                          u32 write) {
  struct scope_key key;
  if (!cid || (quiet() && !BPF_CORE_READ(wc, status))) return;
  struct scope_connection_state* state = completed(wc, &key);
  if (!state) return;
  int status = BPF_CORE_READ(wc, status);
  if (status) __sync_fetch_and_add(&state->flushed, 1);
  if (quiet() || (!status && only_messages())) return;
  struct scope_operation_end* record =
      RESERVE(scope_operation_end, SCOPE_OPERATION_END, &key, bpf_ktime_get_ns());
  if (!record) return;
  record->write = write;
  record->status = (u32)status;
  record->queue = BPF_CORE_READ(cid, ci_queue_id);
  record->completion = BPF_CORE_READ(cid, ci_completion_id);
  record->vendor_error = BPF_CORE_READ(wc, vendor_err);
  record->reserved = 0;
  bpf_ringbuf_submit(record, 0);
}

SEC("tp_btf/svcrdma_wc_read")
int BPF_PROG(event_read_end, const struct ib_wc* wc, const struct rpc_rdma_cid* cid) {
  if (wc) operation_end(wc, cid, 0);
  return 0;
}

#define OPERATION_ERROR(name, tracepoint, write)                               \
  SEC("tp_btf/" #tracepoint)                                                   \
  int BPF_PROG(name, const struct ib_wc* wc, const struct rpc_rdma_cid* cid) { \
    if (wc) operation_end(wc, cid, write);                                     \
    return 0;                                                                  \
  }
OPERATION_ERROR(event_read_flush, svcrdma_wc_read_flush, 0)
OPERATION_ERROR(event_read_err, svcrdma_wc_read_err, 0)
OPERATION_ERROR(event_write_flush, svcrdma_wc_write_flush, 1)
OPERATION_ERROR(event_write_err, svcrdma_wc_write_err, 1)
OPERATION_ERROR(event_reply_flush, svcrdma_wc_reply_flush, 1)
OPERATION_ERROR(event_reply_err, svcrdma_wc_reply_err, 1)

static __always_inline void server_error(const struct scope_key* key, u32 kind, int status,
                                         u32 vendor_error) {
  struct scope_error* record = RESERVE(scope_error, SCOPE_ERROR, key, bpf_ktime_get_ns());
  if (!record) return;
  record->kind = kind;
  record->xid = 0;
  record->status = status;
  record->vendor_error = vendor_error;
  bpf_ringbuf_submit(record, 0);
}

static __always_inline void server_completion(const struct ib_wc* wc, u32 kind) {
  struct scope_key key;
  struct scope_connection_state* state = completed(wc, &key);
  if (!state) return;
  __sync_fetch_and_add(&state->flushed, 1);
  if (!quiet()) server_error(&key, kind, BPF_CORE_READ(wc, status), BPF_CORE_READ(wc, vendor_err));
}

#define COMPLETION_ERROR(name, tracepoint, kind) \
  SEC("tp_btf/" #tracepoint)                     \
  int BPF_PROG(name, const struct ib_wc* wc) {   \
    if (wc) server_completion(wc, kind);         \
    return 0;                                    \
  }
COMPLETION_ERROR(event_send_flush, svcrdma_wc_send_flush, SCOPE_COMPLETION_SEND)
COMPLETION_ERROR(event_send_err, svcrdma_wc_send_err, SCOPE_COMPLETION_SEND)
COMPLETION_ERROR(event_recv_err, svcrdma_wc_recv_err, SCOPE_COMPLETION_RECEIVE)

SEC("tp_btf/svcrdma_sq_full")
int BPF_PROG(event_sq_full, const struct svcxprt_rdma* xprt) {
  struct scope_key key;
  if (quiet() || !xprt) return 0;
  struct scope_connection_state* state = server_connection(xprt, &key);
  if (!state) return 0;
  __sync_fetch_and_add(&state->send_queue_full, 1);
  server_error(&key, SCOPE_SEND_QUEUE_FULL, 0, 0);
  return 0;
}

#endif

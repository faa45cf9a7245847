/* Records of messages: their first bytes, and what the kernel knows about them. */
#ifndef RPCRDMA_KERNEL_BPF_MESSAGES_BPF_H
#define RPCRDMA_KERNEL_BPF_MESSAGES_BPF_H

#include "connections.bpf.h"

/* A record has one of three sizes, because the ring reserves only constant sizes. The header is
 * copied whole up to the largest, then the first bytes of the message.
 */
#define SMALL_HEADER 127
#define SMALL_BODY 255
#define SMALL_TAIL 127
#define SMALL_BYTES 512
#define MEDIUM_HEADER 511
#define MEDIUM_BODY 511
#define MEDIUM_TAIL 255
#define MEDIUM_BYTES 1280
#define LARGE_HEADER 4095
#define LARGE_BODY 511
#define LARGE_TAIL 255
#define LARGE_BYTES 4864

struct small_message {
  struct scope_message message;
  u8 bytes[SMALL_BYTES];
};
struct medium_message {
  struct scope_message message;
  u8 bytes[MEDIUM_BYTES];
};
struct large_message {
  struct scope_message message;
  u8 bytes[LARGE_BYTES];
};

/* The parts of a message in memory. */
struct parts {
  const void *header, *body, *tail;
  u32 header_bytes, body_bytes, tail_bytes;
};

static __always_inline u32 at_most(u32 value, u32 most) {
  barrier_var(value);
  if (value > most) value = most;
  barrier_var(value);
  return value > most ? most : value; /* for the verifier, which lost it at the barrier */
}

/* Returns the number of bytes copied. */
static __always_inline u32 copy_parts(u8* to, const struct parts* parts, u32 header_most,
                                      u32 body_most, u32 tail_most) {
  u32 header = at_most(parts->header_bytes, header_most);
  if (bpf_probe_read_kernel(to, header, parts->header)) return 0;
  if (parts->header_bytes > header_most) return header;
  u32 body = at_most(parts->body_bytes, body_most);
  if (bpf_probe_read_kernel(to + header, body, parts->body)) return header;
  if (parts->body_bytes > body_most) return header + body;
  u32 tail = at_most(parts->tail_bytes, tail_most);
  if (bpf_probe_read_kernel(to + header + body, tail, parts->tail)) return header + body;
  return header + body + tail;
}

/* The first record of a Call whose latency is not known yet (settings.slower_than_ns). */
struct held_key {
  struct scope_key connection;
  u32 xid;
  u32 received;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, struct held_key);
  __type(value, struct medium_message);
} held SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct medium_message);
} holding SEC(".maps");

/* A message on its way into the ring: all fields of its record, and where its bytes are. */
struct outgoing {
  struct scope_message message;
  struct parts parts;
  u32 xid;
  u32 call; /* 1: a Call, 0: a Reply or an RDMA_ERROR */
};

static __always_inline void hold(const struct outgoing* out) {
  u32 zero = 0;
  struct medium_message* copy = bpf_map_lookup_elem(&holding, &zero);
  if (!copy) return;
  copy->message = out->message;
  copy->message.captured =
      copy_parts(copy->bytes, &out->parts, MEDIUM_HEADER, MEDIUM_BODY, MEDIUM_TAIL);
  struct held_key key = {.connection = out->message.record.connection,
                         .xid = out->xid,
                         .received = out->message.flags & SCOPE_RECEIVED};
  bpf_map_update_elem(&held, &key, copy, BPF_ANY);
}

/* Emits the Call of a slow Reply. Returns whether it was slow. */
static __always_inline bool release_call(const struct outgoing* out) {
  struct held_key key = {.connection = out->message.record.connection,
                         .xid = out->xid,
                         .received = ~out->message.flags & SCOPE_RECEIVED};
  struct medium_message* call = bpf_map_lookup_elem(&held, &key);
  if (!call) return false;
  bool slow = out->message.record.time - call->message.record.time > settings.slower_than_ns;
  if (slow && bpf_ringbuf_output(&ring, call, sizeof *call, 0))
    __sync_fetch_and_add(&lost_here()->records, 1);
  bpf_map_delete_elem(&held, &key);
  return slow;
}

#define SUBMIT(kind, header_most, body_most, tail_most)                            \
  do {                                                                             \
    struct kind* record = bpf_ringbuf_reserve(&ring, sizeof *record, 0);           \
    if (!record) break;                                                            \
    record->message = out->message;                                                \
    record->message.captured =                                                     \
        copy_parts(record->bytes, &out->parts, header_most, body_most, tail_most); \
    bpf_ringbuf_submit(record, 0);                                                 \
    return 0;                                                                      \
  } while (0)

static __noinline int emit_message(const struct outgoing* out) {
  if (settings.only_errors && !(out->message.flags & SCOPE_BAD)) return 0;
  if (settings.slower_than_ns && !settings.only_errors) {
    if (out->call) {
      hold(out);
      return 0;
    }
    if (!release_call(out)) return 0;
  }
  const struct parts* parts = &out->parts;
  if (parts->header_bytes <= SMALL_HEADER && parts->body_bytes <= SMALL_BODY &&
      parts->tail_bytes <= SMALL_TAIL)
    SUBMIT(small_message, SMALL_HEADER, SMALL_BODY, SMALL_TAIL);
  else if (parts->header_bytes <= MEDIUM_HEADER)
    SUBMIT(medium_message, MEDIUM_HEADER, MEDIUM_BODY, MEDIUM_TAIL);
  else
    SUBMIT(large_message, LARGE_HEADER, LARGE_BODY, LARGE_TAIL);
  __sync_fetch_and_add(&lost_here()->records, 1);
  return 0;
}

static __always_inline void begin_message(struct outgoing* out, const struct scope_key* key,
                                          u32 flags) {
  __builtin_memset(out, 0, sizeof *out);
  out->message.record.type = SCOPE_MESSAGE;
  out->message.record.time = bpf_ktime_get_ns();
  out->message.record.connection = *key;
  out->message.flags = flags;
}

static __always_inline void set_call(struct outgoing* out, const struct call_id* id) {
  if (!id->known) return;
  out->message.flags |= SCOPE_HAS_CALL;
  out->message.program = id->program;
  out->message.version = id->version;
  out->message.procedure = id->procedure;
}

/* A received message lies in one buffer, whose header is `header` bytes long. */
static __always_inline void set_buffer(struct outgoing* out, const void* buffer, u32 bytes,
                                       u32 header) {
  if (header > bytes) header = bytes;
  out->message.length = bytes;
  out->parts.header = buffer;
  out->parts.header_bytes = header;
  out->parts.body = buffer + header;
  out->parts.body_bytes = bytes - header;
}

/* Bytes of a Send. */
static __always_inline u32 bytes_of_sges(const struct ib_sge* sge, int sges) {
  u32 bytes = 0;
  for (int i = 0; i < 32; ++i) {
    if (i >= sges) break;
    bytes += BPF_CORE_READ(&sge[i], length);
  }
  return bytes;
}

/* Credits of the client's Calls. */
static __always_inline void update_credits(const struct rpcrdma_xprt* xprt,
                                           struct scope_connection_state* state) {
  unsigned long used = BPF_CORE_READ(xprt, rx_xprt.cong);
  unsigned long window = BPF_CORE_READ(xprt, rx_xprt.cwnd);
  state->requested = bpf_ntohl(BPF_CORE_READ(xprt, rx_buf.rb_max_requests));
  state->in_use = (u32)(used >> RPC_CWNDSHIFT);
  state->window = (u32)(window >> RPC_CWNDSHIFT);
  /* Otherwise they wait for their turn to send. */
  state->waiting = used >= window ? BPF_CORE_READ(xprt, rx_xprt.sending.qlen) : 0;
}

static __always_inline void set_client_credits(struct outgoing* out,
                                               const struct rpcrdma_xprt* xprt,
                                               struct scope_connection_state* state) {
  update_credits(xprt, state);
  out->message.requested = state->requested;
  out->message.in_use = state->in_use;
  out->message.window = state->window;
  out->message.waiting = state->waiting;
}

#endif

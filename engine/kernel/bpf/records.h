/* What the BPF programs and the library share: the records in the ring, the values of the maps, and
 * the settings that the library writes. Plain C, the same layout for both compilers.
 */
#ifndef RPCRDMA_KERNEL_BPF_RECORDS_H
#define RPCRDMA_KERNEL_BPF_RECORDS_H

#include <linux/types.h>

enum scope_role { SCOPE_CLIENT = 1, SCOPE_SERVER = 2 };

enum scope_type {
  SCOPE_CONNECTION = 1,
  SCOPE_CONNECTION_END,
  SCOPE_MESSAGE,
  SCOPE_OPERATIONS,
  SCOPE_OPERATION_END,
  SCOPE_MEMORY,
  SCOPE_CREDIT_WAIT,
  SCOPE_CALL,
  SCOPE_CALL_END,
  SCOPE_ERROR,
};

/* A connection is a queue pair. The kernel may reuse the address of its object for a later one, but
 * not at once with the same QP number.
 */
struct scope_key {
  __u64 object; /* address of the kernel's rpcrdma_ep or svcxprt_rdma */
  __u32 qpn;
  __u32 role;
};

struct scope_record {
  __u32 type;
  __u32 sequence; /* unused, zero */
  __u64 time;     /* CLOCK_MONOTONIC, ns */
  struct scope_key connection;
};

struct scope_address {
  __u8 ip[16]; /* IPv4 mapped */
  __u16 port;
  __u16 family; /* AF_INET, AF_INET6, or 0: unknown */
};

struct scope_connection {
  struct scope_record record;
  struct scope_address local, peer;
  __u32 peer_qpn; /* 0: unknown */
  __u32 inline_send, inline_receive;
  __u32 granted;     /* the latest grant; 1 before the first */
  __u32 established; /* 1: just now; 0: earlier, and this is its first event */
  __u32 reserved;
};

/* Why a connection ended, or was never established. */
struct scope_connection_end {
  struct scope_record record;
  struct scope_address local, peer;
  __s32 status; /* client: re_connect_status, or the error of the attempt; server: 0 */
  __u32 established;
  __u32 flushed; /* server, client: completions flushed before */
  __u32 reserved;
};

enum scope_message_flags {
  SCOPE_RECEIVED = 1,
  SCOPE_INVALIDATES = 2, /* `invalidate` is valid */
  SCOPE_BAD = 4,         /* the kernel could not use it: see `problem` */
  SCOPE_HAS_CALL = 8,    /* program, version, procedure are valid */
  SCOPE_LENGTH_UNKNOWN = 16,
};

enum scope_problem {
  SCOPE_NO_PROBLEM,
  SCOPE_SHORT,
  SCOPE_BAD_VERSION,
  SCOPE_BAD_PROCEDURE,
  SCOPE_BAD_CHUNKS,
  SCOPE_DROPPED,     /* RDMA_DONE or RDMA_ERROR received by the server */
  SCOPE_UNKNOWN_XID, /* no Call waits for this Reply */
};

/* A Send. Its first bytes follow: the transport header, then the message. Parts that the programs
 * could not reach are at the end, and missing.
 */
struct scope_message {
  struct scope_record record;
  __u32 flags;
  __u32 problem;
  __u32 length;   /* of the whole message */
  __u32 captured; /* bytes that follow */
  __u32 invalidate;
  __u32 program, version, procedure;
  /* Client: credits of its own Calls at this time. */
  __u32 requested, in_use, window, waiting;
  /* Server, a sent Reply: its Call. */
  __u64 called;  /* its Receive was polled; 0: unknown */
  __u64 started; /* its Read chunks were complete; 0: unknown */
};

#define SCOPE_SEGMENTS 128
struct scope_segment {
  __u64 offset;
  __u32 handle;
  __u32 length;
};
/* RDMA Reads or Writes that the server posts for one chunk, the last one first. The record ends
 * with the last one that is used.
 */
struct scope_operations {
  struct scope_record record;
  __u32 write; /* 1: Writes, 0: Reads */
  __u32 xid;
  __u32 queue; /* with `completion`, identifies the chunk */
  __s32 completion;
  __u32 segments;
  __u32 more; /* segments that did not fit */
  struct scope_segment segment[SCOPE_SEGMENTS];
};

struct scope_operation_end {
  struct scope_record record;
  __u32 write;
  __u32 status; /* ib_wc_status */
  __u32 queue;
  __s32 completion;
  __u32 vendor_error;
  __u32 reserved;
};

enum scope_memory_action { SCOPE_ADVERTISED, SCOPE_INVALIDATED, SCOPE_INVALIDATED_BY_PEER };
struct scope_memory {
  struct scope_record record;
  __u32 action;
  __u32 handle;
  __u64 offset;
  __u32 length;
  __u32 xid;
  __u32 writable; /* by the peer; else readable */
  __u32 reserved;
};

struct scope_credit_wait {
  struct scope_record record;
  __u32 xid;
  __u32 begun;
};

struct scope_call {
  struct scope_record record;
  __u32 xid;
  __u32 program, version, procedure;
};

struct scope_call_end {
  struct scope_record record;
  __u32 xid;
  __s32 status; /* tk_status */
  __u32 attempts;
  __u32 replied;                               /* a Reply arrived */
  __u64 called, sent, reply;                   /* 0: did not happen */
  __s64 slot_wait, credit_wait, marshal, post; /* -1: unknown */
};

enum scope_error_kind {
  SCOPE_COMPLETION_SEND = 1,
  SCOPE_COMPLETION_RECEIVE,
  SCOPE_COMPLETION_REGISTER,
  SCOPE_COMPLETION_INVALIDATE,
  SCOPE_SEND_QUEUE_FULL,
  SCOPE_BAD_REPLY_HEADER, /* a Reply that the client could not use */
  SCOPE_MARSHAL_FAILED,
  SCOPE_POST_FAILED,
};
struct scope_error {
  struct scope_record record;
  __u32 kind;
  __u32 xid;    /* 0: unknown */
  __s32 status; /* ib_wc_status or errno, by kind */
  __u32 vendor_error;
};

/* State of a connection in the map `connections`: identity, credits, counters. */
struct scope_connection_state {
  struct scope_address local, peer;
  __u32 peer_qpn;
  __u32 inline_send, inline_receive;
  __u32 wanted; /* by the filter of peers and QP numbers */
  __u32 ended;
  __s32 end_status;  /* as in scope_connection_end */
  __u32 established; /* 0: before its first event */
  __u32 send_queue;  /* server: number of its completion queue for Sends */
  __u32 requested, granted, in_use, window, waiting; /* credits of the client's Calls */
  __u64 first_seen;
  __u64 sends, receives, send_bytes, receive_bytes;
  __u64 read_bytes, written_bytes;
  __u64 credit_waits, credit_wait_ns;
  __u64 send_queue_full, resent_calls, flushed, invalid_headers;
};

/* Map `procedures`. */
struct scope_procedure_key {
  struct scope_key connection;
  __u32 program, version, procedure;
  __u32 reverse; /* 1: Calls of the NFS server */
};
#define SCOPE_SUM_SUB_BITS 2
#define SCOPE_SUM_BUCKETS ((48 - SCOPE_SUM_SUB_BITS + 1) << SCOPE_SUM_SUB_BITS)
struct scope_procedure {
  __u64 calls, replies, errors;
  __u64 call_bytes, reply_bytes;
  __u64 read_chunk_bytes, write_chunk_bytes;
  __u64 latency_ns, max_latency_ns;
  __u64 bucket[SCOPE_SUM_BUCKETS];
};

/* As trace::sum_bucket(). The verifier knows no instruction that counts bits. */
static inline __u32 scope_sum_bucket(__u64 ns) {
  const __u64 most = ((__u64)1 << 48) - 1;
  __u32 width = 1; /* the number of its bits */
  __u32 step, shift;
  __u64 rest;
  if (ns > most) ns = most;
  if (ns < (1U << SCOPE_SUM_SUB_BITS)) return (__u32)ns;
  rest = ns;
  for (step = 32; step > 0; step >>= 1) {
    if (rest >> step) {
      rest >>= step;
      width += step;
    }
  }
  shift = width - SCOPE_SUM_SUB_BITS - 1;
  return ((shift + 1) << SCOPE_SUM_SUB_BITS) + (__u32)((ns >> shift) - (1U << SCOPE_SUM_SUB_BITS));
}

/* Set before the programs are loaded. */
struct scope_settings {
  __u8 peer[16];
  __u32 peer_prefix; /* significant bits; only if has_peer */
  __u32 qpn;
  __u32 program, procedure;
  __u8 has_peer, has_qpn, has_program, has_procedure;
  __u8 only_errors;
  __u8 events; /* records are wanted; else only sums */
  __u8 reserved[2];
  __u64 slower_than_ns; /* 0: no condition */
};

/* Records that are missing, by CPU; a line of cache each. */
#define SCOPE_LOST_SLOTS 64
struct scope_lost {
  __u64 records;      /* the ring was full */
  __u64 unattributed; /* messages whose connection could not be found */
  __u64 reserved[6];
};

/* Memory that programs and library share. */
struct scope_shared {
  __u32 listening; /* written by the library: records are wanted now */
  __u32 reserved[15];
  struct scope_lost lost[SCOPE_LOST_SLOTS];
};

#endif

/* Maps, settings and small helpers of all programs. */
#ifndef RPCRDMA_KERNEL_BPF_COMMON_BPF_H
#define RPCRDMA_KERNEL_BPF_COMMON_BPF_H

#include "kernel_types.h"
#include "records.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <linux/bpf.h>

/* The places in the running kernel's types; a compiler's offsetof() would be that of ours. */
#undef offsetof
#undef container_of
#define offsetof(type, member) ((unsigned long)&((type*)0)->member)
#define container_of(pointer, type, member) ((type*)((void*)(pointer)-offsetof(type, member)))

#define AF_INET 2
#define AF_INET6 10
#define ECONNABORTED 103
#define XPRT_TRANSPORT_RDMA 256
#define IB_WR_SEND_WITH_INV 9
#define IB_WC_WITH_INVALIDATE 4
#define RPC_CWNDSHIFT 8
#define IB_WC_WR_FLUSH_ERR 5
#define RPC_CALL 0
#define RPC_REPLY 1

/* Times of a Call of the client until it is sent, by the address of its rpc_rqst. */
struct call_times {
  u64 reserved, wait_begun, waited, allowed, encoded, sent;
};

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 23);
} ring SEC(".maps");

/* Open connections, and the last ended ones. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, struct scope_key);
  __type(value, struct scope_connection_state);
} connections SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct scope_connection_state);
} new_connection SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, u64);
  __type(value, struct call_times);
} calls SEC(".maps");

/* When the server's Receives were polled, by the address of their svc_rdma_recv_ctxt. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, u64);
  __type(value, u64);
} received SEC(".maps");

const volatile struct scope_settings settings = {};

struct scope_shared shared = {};

static __always_inline struct scope_lost* lost_here(void) {
  return &shared.lost[bpf_get_smp_processor_id() & (SCOPE_LOST_SLOTS - 1)];
}

static __always_inline void* reserve(u64 bytes, u32 type, const struct scope_key* key, u64 now) {
  struct scope_record* record = bpf_ringbuf_reserve(&ring, bytes, 0);
  if (!record) {
    __sync_fetch_and_add(&lost_here()->records, 1);
    return 0;
  }
  record->type = type;
  record->sequence = 0;
  record->time = now;
  record->connection = *key;
  return record;
}

#define RESERVE(kind, type, key, now) ((struct kind*)reserve(sizeof(struct kind), type, key, now))

/* Copies an address and port from a kernel socket address. */
static __always_inline void copy_address(struct scope_address* to, const void* from) {
  struct {
    u16 family;
    __be16 port;
    u8 rest[24]; /* IPv4: 4 bytes; IPv6: flow label, 16 bytes */
  } raw = {};
  __builtin_memset(to, 0, sizeof *to);
  if (bpf_probe_read_kernel(&raw, sizeof raw, from)) return;
  to->family = raw.family;
  to->port = bpf_ntohs(raw.port);
  if (raw.family == AF_INET) {
    to->ip[10] = to->ip[11] = 0xff;
    __builtin_memcpy(to->ip + 12, raw.rest, 4);
  } else if (raw.family == AF_INET6) {
    __builtin_memcpy(to->ip, raw.rest + 4, 16);
  } else {
    to->family = 0;
    to->port = 0;
  }
}

static __always_inline bool is_rdma(const struct rpc_xprt* xprt) {
  return xprt && BPF_CORE_READ(xprt, xprt_class, ident) == XPRT_TRANSPORT_RDMA;
}

static __always_inline u32 xid_of(__be32 xid) {
  return bpf_ntohl(xid);
}

/* Identifies a Call by its RPC header. */
struct call_id {
  u32 known;
  u32 program, version, procedure;
};

/* Reads the RPC header at `rpc`. Returns RPC_CALL, RPC_REPLY, or -1. */
static __always_inline int read_rpc_header(const void* rpc, struct call_id* id) {
  __be32 word[6] = {};
  if (bpf_probe_read_kernel(word, sizeof word, rpc)) return -1;
  if (word[1] == bpf_htonl(RPC_REPLY)) return RPC_REPLY;
  if (word[1] != bpf_htonl(RPC_CALL)) return -1;
  if (word[2] == bpf_htonl(2)) {
    id->known = 1;
    id->program = bpf_ntohl(word[3]);
    id->version = bpf_ntohl(word[4]);
    id->procedure = bpf_ntohl(word[5]);
  }
  return RPC_CALL;
}

static __always_inline void call_of_task(const struct rpc_task* task, struct call_id* id) {
  if (!task) return;
  const struct rpc_procinfo* procedure = BPF_CORE_READ(task, tk_msg.rpc_proc);
  const struct rpc_clnt* client = BPF_CORE_READ(task, tk_client);
  if (!procedure || !client) return;
  id->known = 1;
  id->program = BPF_CORE_READ(client, cl_prog);
  id->version = BPF_CORE_READ(client, cl_vers);
  id->procedure = BPF_CORE_READ(procedure, p_proc);
}

static __always_inline bool call_wanted(const struct call_id* id) {
  if (settings.has_program && (!id->known || id->program != settings.program)) return false;
  return !settings.has_procedure || (id->known && id->procedure == settings.procedure);
}

#endif

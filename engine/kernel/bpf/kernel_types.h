/* The parts of the kernel's types that the BPF programs read. Only names and types of fields count:
 * libbpf looks up their places in the running kernel's BTF when it loads the programs. The sizes of
 * these types are not the kernel's: an array of them needs bpf_core_type_size(). A field that
 * only some kernels have is tested with bpf_core_field_exists().
 */
#ifndef RPCRDMA_KERNEL_BPF_KERNEL_TYPES_H
#define RPCRDMA_KERNEL_BPF_KERNEL_TYPES_H

#include <linux/types.h>
#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

/* One enumerator each: an enum of the same name is compatible, an int is not. */
enum ib_wr_opcode { IB_WR_RDMA_WRITE };
enum ib_wc_status { IB_WC_SUCCESS };
enum dma_data_direction { DMA_BIDIRECTIONAL };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
  struct list_head *next, *prev;
};

struct kvec {
  void* iov_base;
  unsigned long iov_len;
};

struct xdr_buf {
  struct kvec head[1];
  struct kvec tail[1];
  unsigned int page_len;
  unsigned int len;
};

/* RDMA core */

struct ib_pd {
  u32 local_dma_lkey;
};

struct rdma_restrack_entry {
  u32 id;
};

struct ib_cq {
  struct rdma_restrack_entry res;
};

struct ib_qp {
  void* qp_context;
  u32 qp_num;
};

struct ib_sge {
  u64 addr;
  u32 length;
  u32 lkey;
};

struct ib_send_wr {
  struct ib_sge* sg_list;
  int num_sge;
  enum ib_wr_opcode opcode;
  union {
    __be32 imm_data;
    u32 invalidate_rkey;
  } ex;
};

struct ib_rdma_wr {
  struct ib_send_wr wr;
  u64 remote_addr;
  u32 rkey;
};

struct ib_wc {
  enum ib_wc_status status;
  u32 vendor_err;
  u32 byte_len;
  struct ib_qp* qp;
};

struct __kernel_sockaddr_storage {
  unsigned short ss_family;
};

struct rdma_addr {
  struct __kernel_sockaddr_storage src_addr;
  struct __kernel_sockaddr_storage dst_addr;
};

struct rdma_route {
  struct rdma_addr addr;
};

struct rdma_cm_id {
  struct ib_qp* qp;
  struct rdma_route route;
};

struct ib_cm_id {
  void* context;
};

struct cm_id_private {
  struct ib_cm_id id;
  __be32 local_qpn;
  __be32 remote_qpn;
};

struct rdma_id_private {
  struct rdma_cm_id id;
  union {
    struct ib_cm_id* ib;
  } cm_id;
};

/* struct rdma_rw_reg_ctx is declared within this one, in the kernel too. */
struct rdma_rw_reg_ctx {
  struct ib_sge sge;
  struct ib_rdma_wr wr;
};

struct rdma_rw_ctx {
  u32 nr_ops;
  u8 type;
  union {
    struct {
      struct ib_sge sge;
      struct ib_rdma_wr wr;
    } single;
    struct {
      struct ib_sge* sges;
      struct ib_rdma_wr* wrs;
    } map;
    struct rdma_rw_reg_ctx* reg;
  };
};

/* SunRPC */

struct rpc_procinfo {
  u32 p_proc;
};

struct rpc_message {
  const struct rpc_procinfo* rpc_proc;
};

struct rpc_clnt {
  u32 cl_prog;
  u32 cl_vers;
};

struct rpc_wait_queue {
  unsigned int qlen;
};

struct xprt_class {
  int ident;
};

struct svc_xprt;

struct rpc_xprt {
  struct __kernel_sockaddr_storage addr;
  unsigned long cong;
  unsigned long cwnd;
  struct rpc_wait_queue sending;
  struct svc_xprt* bc_xprt;
  const struct xprt_class* xprt_class;
};

struct rpc_task;

struct rpc_rqst {
  struct rpc_xprt* rq_xprt;
  struct xdr_buf rq_snd_buf;
  struct rpc_task* rq_task;
  __be32 rq_xid;
  int rq_cong;
  unsigned long rq_reply_bytes_recvd;
  s64 rq_rtt;
  s64 rq_xtime;
  int rq_ntrans;
};

struct rpc_task {
  int tk_status;
  struct rpc_message tk_msg;
  struct rpc_clnt* tk_client;
  struct rpc_rqst* tk_rqstp;
  struct rpc_xprt* tk_xprt;
  s64 tk_start;
};

struct svc_xprt_class {
  int xcl_ident;
};

struct svc_xprt {
  struct svc_xprt_class* xpt_class;
};

struct task_struct {
  void* worker_private;
};

struct kthread {
  void* data;
};

struct svc_rqst {
  struct svc_xprt* rq_xprt;
  void* rq_xprt_ctxt;
  struct xdr_buf rq_arg;
  struct xdr_buf rq_res;
  __be32 rq_xid;
  u32 rq_prog;
  u32 rq_vers;
  u32 rq_proc;
  s64 rq_stime;
  struct task_struct* rq_task;
};

/* xprtrdma */

struct rpc_rdma_cid {
  u32 ci_queue_id;
  int ci_completion_id;
};

struct rpcrdma_ep {
  struct rdma_cm_id* re_id;
  int re_connect_status;
  unsigned int re_inline_send;
  unsigned int re_inline_recv;
};

struct rpcrdma_buffer {
  __be32 rb_max_requests;
  u32 rb_credits;
};

struct rpcrdma_xprt {
  struct rpc_xprt rx_xprt;
  struct rpcrdma_ep* rx_ep;
  struct rpcrdma_buffer rx_buf;
};

struct rpcrdma_regbuf {
  void* rg_data;
};

struct rpcrdma_rep {
  struct rpc_rdma_cid rr_cid;
  int rr_wc_flags;
  u32 rr_inv_rkey;
  __be32 rr_xid;
  struct rpcrdma_regbuf* rr_rdmabuf;
  struct rpcrdma_xprt* rr_rxprt;
  struct rpc_rqst* rr_rqst;
  struct xdr_buf rr_hdrbuf;
};

struct rpcrdma_req;

struct rpcrdma_sendctx {
  struct rpc_rdma_cid sc_cid;
  struct rpcrdma_req* sc_req;
};

struct rpcrdma_req {
  struct rpc_rqst rl_slot;
  struct list_head rl_registered;
  struct rpcrdma_rep* rl_reply;
  struct xdr_buf rl_hdrbuf;
  struct ib_send_wr rl_wr;
};

struct rpcrdma_mr {
  struct list_head mr_list;
  struct rpcrdma_req* mr_req;
  enum dma_data_direction mr_dir;
  struct rpcrdma_xprt* mr_xprt;
  u32 mr_handle;
  u32 mr_length;
  u64 mr_offset;
  struct rpc_rdma_cid mr_cid;
};

/* svcrdma */

struct svcxprt_rdma {
  struct svc_xprt sc_xprt;
  struct rdma_cm_id* sc_cm_id;
  int sc_max_req_size;
  __be32 sc_fc_credits;
  struct ib_qp* sc_qp;
  struct ib_cq* sc_sq_cq;
};

struct svc_rdma_pcl {
  unsigned int cl_count;
  struct list_head cl_chunks;
};

struct svc_rdma_chunk {
  struct list_head ch_list;
  u32 ch_length;
  u32 ch_payload_length;
};

struct svc_rdma_chunk_ctxt {
  struct rpc_rdma_cid cc_cid;
  struct list_head cc_rwctxts;
  struct svcxprt_rdma* cc_rdma; /* until 6.6 */
};

struct svc_rdma_recv_ctxt {
  struct rpc_rdma_cid rc_cid;
  void* rc_recv_buf;
  u32 rc_byte_len;
  struct svc_rdma_pcl rc_call_pcl;
  struct svc_rdma_pcl rc_read_pcl;
  struct svc_rdma_pcl rc_write_pcl;
  struct svc_rdma_pcl rc_reply_pcl;
  struct svc_rdma_chunk_ctxt rc_cc; /* since 6.7 */
};

struct svc_rdma_send_ctxt {
  struct rpc_rdma_cid sc_cid;
  struct ib_send_wr sc_send_wr;
  struct xdr_buf sc_hdrbuf;
  void* sc_xprt_buf;
  struct svcxprt_rdma* sc_rdma; /* since 6.6 */
};

struct svc_rdma_read_info {
  struct svc_rdma_recv_ctxt* ri_readctxt;
  struct svc_rdma_chunk_ctxt ri_cc;
};

struct svc_rdma_rw_ctxt {
  struct list_head rw_list;
  struct rdma_rw_ctx rw_ctx;
};

#pragma clang attribute pop

#endif

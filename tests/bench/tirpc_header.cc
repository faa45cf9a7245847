#include "tirpc_header.h"

namespace rpcrdma::bench {
namespace {

// xdr_pointer() and xdr_array() accept routines of the type that rpcgen casts to. libtirpc declares
// that type with only a first argument, hence the casts through void*.
template <typename T>
xdrproc_t proc(bool_t (*routine)(XDR*, T*)) {
  return reinterpret_cast<xdrproc_t>(reinterpret_cast<void*>(routine));
}

bool_t xdr_segment(XDR* xdrs, TirpcSegment* s) {
  if (!xdr_uint32_t(xdrs, &s->handle)) return FALSE;
  if (!xdr_uint32_t(xdrs, &s->length)) return FALSE;
  return xdr_uint64_t(xdrs, &s->offset);
}

bool_t xdr_read_list(XDR* xdrs, TirpcReadList* l) {
  if (!xdr_uint32_t(xdrs, &l->position)) return FALSE;
  if (!xdr_segment(xdrs, &l->target)) return FALSE;
  return xdr_pointer(xdrs, reinterpret_cast<char**>(&l->next), sizeof(TirpcReadList),
                     proc(xdr_read_list));
}

bool_t xdr_write_chunk(XDR* xdrs, TirpcWriteChunk* c) {
  return xdr_array(xdrs, reinterpret_cast<char**>(&c->target_val), &c->target_len, ~0U,
                   sizeof(TirpcSegment), proc(xdr_segment));
}

bool_t xdr_write_list(XDR* xdrs, TirpcWriteList* l) {
  if (!xdr_write_chunk(xdrs, &l->entry)) return FALSE;
  return xdr_pointer(xdrs, reinterpret_cast<char**>(&l->next), sizeof(TirpcWriteList),
                     proc(xdr_write_list));
}

bool_t xdr_lists(XDR* xdrs, TirpcLists* l) {
  if (!xdr_pointer(xdrs, reinterpret_cast<char**>(&l->reads), sizeof(TirpcReadList),
                   proc(xdr_read_list))) {
    return FALSE;
  }
  if (!xdr_pointer(xdrs, reinterpret_cast<char**>(&l->writes), sizeof(TirpcWriteList),
                   proc(xdr_write_list))) {
    return FALSE;
  }
  return xdr_pointer(xdrs, reinterpret_cast<char**>(&l->reply), sizeof(TirpcWriteChunk),
                     proc(xdr_write_chunk));
}

}  // namespace

bool_t xdr_tirpc_header(XDR* xdrs, TirpcHeader* h) {
  if (!xdr_uint32_t(xdrs, &h->xid)) return FALSE;
  if (!xdr_uint32_t(xdrs, &h->vers)) return FALSE;
  if (!xdr_uint32_t(xdrs, &h->credit)) return FALSE;
  if (!xdr_uint32_t(xdrs, &h->proc)) return FALSE;
  return h->proc <= 1 ? xdr_lists(xdrs, &h->lists) : FALSE;
}

}  // namespace rpcrdma::bench

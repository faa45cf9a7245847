#include "message.h"

#include "bodies.h"

namespace rpcrdma::scenes {

Bytes encode(const Message& m) {
  wire::Header h;
  h.xid = m.xid;
  h.vers = m.vers;
  h.credit = m.credit;
  h.proc = m.proc;
  h.direction = m.direction;
  h.inv_handle = m.inv_handle;
  h.align = m.align;
  h.thresh = m.thresh;
  h.reads = m.reads;
  const std::vector<wire::WriteChunk> writes(m.writes.begin(), m.writes.end());
  h.writes = writes;
  if (m.reply_chunk) h.reply = wire::WriteChunk(*m.reply_chunk);
  h.error = m.error;
  h.vers_low = m.vers_low;
  h.vers_high = m.vers_high;
  h.processed = m.processed;
  h.segment_index = m.segment_index;
  h.length_needed = m.length_needed;
  h.opttype = m.opttype;
  h.optinfo = m.optinfo;
  Bytes bytes(wire::encoded_size(h));
  (void)wire::encode_header(h, bytes);
  bytes.insert(bytes.end(), m.rpc.begin(), m.rpc.end());
  return bytes;
}

Message call(std::uint32_t xid) {
  return call(xid, rpc_call(xid, kPlainProgram, 1, 1, Bytes(16, 0x11)));
}

Message reply(std::uint32_t xid) {
  return reply(xid, rpc_reply(xid, Bytes(16, 0x22)));
}

Message call(std::uint32_t xid, Bytes rpc) {
  Message m;
  m.xid = xid;
  m.rpc = std::move(rpc);
  return m;
}

Message reply(std::uint32_t xid, Bytes rpc) {
  Message m = call(xid, std::move(rpc));
  m.direction = wire::MsgType::kReply;
  return m;
}

Message err_vers(std::uint32_t xid, std::uint32_t low, std::uint32_t high) {
  Message m;
  m.xid = xid;
  m.proc = wire::Proc::kError;
  m.direction = wire::MsgType::kReply;
  m.error = wire::RdmaErr::kVers;
  m.vers_low = low;
  m.vers_high = high;
  return m;
}

Message err_chunk(std::uint32_t xid) {
  Message m = err_vers(xid);
  m.error = wire::RdmaErr::kChunk;
  return m;
}

Message version2(Message m) {
  m.vers = 2;
  return m;
}

}  // namespace rpcrdma::scenes

#include "words.h"

#include <fmt/format.h>

#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::hostile {

scenes::Message read_message(const scenes::Bytes& message) {
  scenes::Message m;
  const auto h = wire::decode_header(message);
  if (!h) return m;
  m.xid = h->xid;
  m.vers = h->vers;
  m.credit = h->credit;
  m.proc = h->proc;
  m.direction = h->direction;
  m.inv_handle = h->inv_handle;
  for (const wire::ReadSegment r : h->reads) m.reads.push_back(r);
  for (const wire::WriteChunkView w : h->writes) m.writes.emplace_back(w.begin(), w.end());
  if (h->reply) m.reply_chunk.emplace(h->reply->begin(), h->reply->end());
  m.error = h->error;
  m.vers_low = h->vers_low;
  m.vers_high = h->vers_high;
  m.processed = h->processed;
  m.segment_index = h->segment_index;
  m.length_needed = h->length_needed;
  m.opttype = h->opttype;
  m.rpc.assign(message.begin() + h->length, message.end());
  return m;
}

namespace {

std::string error_in_words(const scenes::Message& m) {
  const std::string name = wire::rdma_err_name(m.vers, static_cast<std::uint32_t>(m.error));
  switch (m.error) {
    case wire::RdmaErr::kVers:
      return fmt::format("{}, versions {} to {}", name, m.vers_low, m.vers_high);
    case wire::RdmaErr::kCantReply:
      return fmt::format("{}, segment {} should have {} bytes", name, m.segment_index,
                         m.length_needed);
    case wire::RdmaErr::kChunk:
    case wire::RdmaErr::kInvalProc:
    case wire::RdmaErr::kInvalOption:
      break;
  }
  return name;
}

}  // namespace

std::string in_words(const scenes::Bytes& message) {
  const scenes::Message m = read_message(message);
  if (m.proc == wire::Proc::kError) return error_in_words(m);
  if (m.proc == wire::Proc::kNomsg) {
    return m.reads.empty() ? "Reply by the Reply chunk" : "Call by a Read chunk";
  }
  const auto rpc = wire::decode_rpc(m.rpc);
  if (!rpc) return "a message without RPC header";
  if (rpc->type == wire::MsgType::kCall) return "a Call";
  if (rpc->reply.stat == wire::ReplyStat::kDenied) return "Reply, denied";
  return fmt::format("Reply, {}",
                     wire::accept_stat_name(static_cast<std::uint32_t>(rpc->reply.accept)));
}

}  // namespace rpcrdma::hostile

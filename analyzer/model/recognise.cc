#include <rpcrdma/model/recognise.h>
#include <rpcrdma/wire/dialect.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::model {

namespace {

// Larger than any credit value that a real peer sends; random words are nearly always larger.
constexpr std::uint32_t kMaxCredibleCredit = 1U << 16;

// Long enough to hold an RPC message, with a handle.
bool credible_segment(const wire::Segment& s) {
  return s.handle != 0 && s.length >= 24;
}

bool credible_rpc(wire::Bytes payload, std::uint32_t xid) {
  const auto rpc = wire::decode_rpc(payload);
  if (!rpc) return false;
  if (rpc->type == wire::MsgType::kReply) return rpc->reply.xid == xid;
  return rpc->call.xid == xid && rpc->call.rpcvers == 2;
}

// For version 2's later dialects: only if an RPC message follows.
bool recognise_later(wire::Bytes send) {
  const auto detected = wire::detect_dialect(send);
  if (!detected) return false;
  const auto header = wire::decode_later_header(detected->dialect, send);
  return header && header->credit <= kMaxCredibleCredit &&
         header->use == wire::HeaderUse::kInline &&
         credible_rpc(send.subspan(header->length), header->xid);
}

}  // namespace

bool recognise(wire::Bytes send) {
  const auto header = wire::decode_header(send);
  if (!header) return recognise_later(send);
  if (header->credit > kMaxCredibleCredit) return false;
  const wire::Bytes rest = send.subspan(header->length);
  switch (header->proc) {
    case wire::Proc::kMsg:
    case wire::Proc::kMsgp:
      return credible_rpc(rest, header->xid);
    case wire::Proc::kNomsg:
      // A long Call has a Position Zero chunk, a long Reply a Reply chunk.
      return rest.empty() &&
             ((!header->reads.empty() && header->reads[0].position == 0 &&
               credible_segment(header->reads[0].target)) ||
              (header->reply && !header->reply->empty() && credible_segment((*header->reply)[0])));
    case wire::Proc::kError:
    case wire::Proc::kDone:
    case wire::Proc::kOptional:
      // A few small words: too little evidence.
      return false;
  }
  return false;
}

bool recognise_front(wire::Bytes send) {
  const auto header = wire::decode_header(send);
  if (!header || header->proc != wire::Proc::kMsg || header->credit > kMaxCredibleCredit) {
    return false;
  }
  const wire::Bytes rest = send.subspan(header->length);
  if (rest.size() < 8 || wire::load_be32(rest.data()) != header->xid) return false;
  const std::uint32_t type = wire::load_be32(rest.data() + 4);
  const bool call = type == static_cast<std::uint32_t>(wire::MsgType::kCall);
  if (call && rest.size() >= 12) return wire::load_be32(rest.data() + 8) == 2;
  return call || type == static_cast<std::uint32_t>(wire::MsgType::kReply);
}

bool resembles(wire::Bytes send) {
  constexpr std::uint32_t kMaxCredibleVersion = 16;
  constexpr std::uint32_t kMaxCredibleProc = 16;
  const auto prefix = wire::decode_prefix(send);
  return prefix && prefix->vers >= 1 && prefix->vers <= kMaxCredibleVersion &&
         prefix->credit <= kMaxCredibleCredit && prefix->proc <= kMaxCredibleProc;
}

}  // namespace rpcrdma::model

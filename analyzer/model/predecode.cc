#include <cstring>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/model/predecode.h>

namespace rpcrdma::model {

// Two words at a time, because it runs for every Call.
std::uint64_t digest_of(wire::Bytes rpc_message) {
  if (rpc_message.size() <= 4) return 0;
  wire::Bytes rest = rpc_message.subspan(4);
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15ULL;
  std::uint64_t a = rest.size() * kMix;
  std::uint64_t b = ~a;
  const auto word = [&](std::size_t at) {
    std::uint64_t w;
    std::memcpy(&w, rest.data() + at, 8);
    return w;
  };
  for (; rest.size() >= 16; rest = rest.subspan(16)) {
    a = (a ^ word(0)) * kMix;
    a ^= a >> 32;
    b = (b ^ word(8)) * kMix;
    b ^= b >> 29;
  }
  if (rest.size() >= 8) {
    a = (a ^ word(0)) * kMix;
    a ^= a >> 32;
    rest = rest.subspan(8);
  }
  for (const std::uint8_t byte : rest) a = (a ^ byte) * kMix;
  const std::uint64_t d = a ^ (b * kMix);
  return d == 0 ? 1 : d;
}

void KeptItems::item(const decode::NfsItem& item) {
  complete_ &= count_ != items_.size() && item.offset <= UINT32_MAX && item.length <= UINT32_MAX;
  if (!complete_) return;
  items_[count_++] = {item.value, static_cast<std::uint32_t>(item.offset),
                      static_cast<std::uint32_t>(item.length), item.operation, item.kind};
}

CallArguments decode_arguments(const wire::RpcCall& call, wire::Bytes body,
                               std::span<const decode::Removed> removed, std::uint32_t padded_from,
                               KeptItems& items) {
  CallArguments out;
  items.clear();
  const bool padded = padded_from != decode::kNotPadded;
  const auto arguments = decode::unwrap(decode::wrapping_of(call.cred), body);
  // The wrapping is an opaque too, and padding may precede it.
  if (!arguments || (padded && arguments->offset != 0)) return out;
  const decode::ProcedureId id{call.prog, call.vers, call.proc};
  out = decode::read_compound_call(id, arguments->bytes, removed, padded_from, &items);
  if (id.program != decode::kProgNfs || id.version != 4) {
    decode::find_nfs_items(id, arguments->bytes, removed, padded_from, items);
    if (!padded) out.results_asked = decode::results_asked(id, arguments->bytes, removed);
  } else if (padded) {
    out.results_asked.reset();
  }
  return out;
}

void predecode(wire::Bytes send, PredecodedSend& out) {
  out.header = wire::decode_header(send);
  out.digest = 0;
  out.ops.reset();
  if (!out.header) return;
  const wire::Bytes payload = send.subspan(out.header->length);
  out.rpc = wire::decode_rpc(payload);
  if (out.rpc && out.rpc->type == wire::MsgType::kReply) return;
  out.digest = digest_of(payload);
  // The model decodes incomplete messages, and those with more than the RPC message.
  const bool plain = out.header->reads.empty() && out.header->proc != wire::Proc::kMsgp;
  if (!out.rpc || !plain) return;
  const CallArguments arguments = decode_arguments(out.rpc->call, payload.subspan(out.rpc->length),
                                                   {}, decode::kNotPadded, out.items);
  out.ops = arguments.ops;
  out.results_asked = arguments.results_asked;
}

}  // namespace rpcrdma::model

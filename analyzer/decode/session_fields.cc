#include "session_fields.h"

#include <string>

#include <rpcrdma/decode/nfs_sessions.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::decode {
namespace {

std::string flag_names(std::uint32_t flags) {
  std::string names;
  for (std::uint32_t rest = flags; rest != 0; rest &= rest - 1) {
    const char* const name = sequence_flag_name(rest);
    if (name == nullptr) continue;
    if (!names.empty()) names += " | ";
    names += name;
  }
  return names;
}

}  // namespace

SessionFields SessionFields::of_call(const ProcedureId& id, wire::Bytes stream) {
  SessionFields found(stream, false, is_transient_program(id.program));
  visit_operations(id, stream, found);
  return found;
}

SessionFields SessionFields::of_reply(const ProcedureId& id, wire::Bytes stream,
                                      std::span<const std::uint64_t> chunk_lengths) {
  SessionFields found(stream, true, is_transient_program(id.program));
  visit_result_operations(id, stream, chunk_lengths, found);
  return found;
}

void SessionFields::add(const NfsOperation& o, std::span<const Part> parts) {
  const auto begin = static_cast<std::size_t>(o.bytes.data() - stream_.data());
  for (const Part& part : parts) {
    if (part.offset + part.length > o.bytes.size()) return;
    list_.push_back({o.index, part.field, begin + part.offset, part.length});
  }
}

bool SessionFields::operation(const NfsOperation& o) {
  using F = FieldId;
  static constexpr Part kSession[] = {{F::kNfsSessionId, 0, 16}};
  static constexpr Part kCall[] = {{F::kNfsSessionId, 0, 16},
                                   {F::kNfsSequenceId, 16, 4},
                                   {F::kNfsSlotId, 20, 4},
                                   {F::kNfsHighestSlotId, 24, 4}};
  static constexpr Part kReply[] = {{F::kNfsTargetSlotId, 28, 4}, {F::kNfsSequenceFlags, 32, 4}};
  static constexpr Part kClient[] = {{F::kNfsClientId, 0, 8}};
  if (o.status != 0) return true;
  if (callback_) {
    if (o.op == kOpCbSequence) add(o, kCall);
    return true;
  }
  switch (o.op) {
    case kOpSequence:
      add(o, kCall);
      if (results_) add(o, kReply);
      break;
    case kOpBindConnToSession:
      add(o, kSession);
      break;
    case kOpDestroySession:
      if (!results_) add(o, kSession);
      break;
    case kOpCreateSession:
      results_ ? add(o, kSession) : add(o, kClient);
      break;
    case kOpExchangeId:
    case kOpSetClientId:
      if (results_) add(o, kClient);
      break;
    default:
      break;
  }
  return true;
}

void SessionFields::report(const FieldWriter& out, std::uint32_t end) {
  for (; next_ < list_.size() && list_[next_].operation < end; ++next_) {
    const Item& item = list_[next_];
    const wire::Bytes bytes = stream_.subspan(item.offset, item.length);
    if (item.field == FieldId::kNfsSessionId) {
      out.bytes(item.field, item.offset, bytes);
    } else if (item.length == 8) {
      out.number(item.field, item.offset, item.length, wire::load_be64(bytes.data()));
    } else {
      const std::uint32_t value = wire::load_be32(bytes.data());
      const std::string names = item.field == FieldId::kNfsSequenceFlags ? flag_names(value) : "";
      out.number(item.field, item.offset, item.length, value,
                 names.empty() ? nullptr : names.c_str());
    }
  }
}

}  // namespace rpcrdma::decode

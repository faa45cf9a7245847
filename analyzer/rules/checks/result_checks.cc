// Checks which DDP-eligible result is in which Write chunk, for programs whose binding is known.
// The n-th eligible result belongs to the n-th chunk (RFC 8267 section 6.4.1), and is inline if
// that chunk is returned empty.
#include "checks.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::rules {

namespace {

struct Results {
  const model::Message& m;
  const model::Call& call;
  const CheckContext& context;
  Scratch& s;
  std::span<const decode::DdpItem> items;
};

template <typename Text>
void accuse(RuleId id, const Results& r, const Text& text) {
  r.context.findings.add(id, pair_evidence(r.m, r.call, r.context), text);
}

void check_roundup(const Results& r, const decode::DdpItem& item, std::uint64_t returned) {
  const bool includes = returned != item.length;
  const bool should = r.context.findings.profile() == Profile::k5666;
  if (includes == should || item.length % 4 == 0) return;
  accuse(RuleId::kWr07, r, [&] {
    return fmt::format("the responder returned length {} for a result of {} bytes, {} roundup",
                       returned, item.length, includes ? "including" : "without");
  });
}

void accuse_length(const Results& r, std::size_t chunk, std::uint64_t returned,
                   std::uint32_t count) {
  accuse(RuleId::kWr08, r, [&] {
    return fmt::format(
        "Write chunk {} is returned with {} bytes, but the count of its result is {}", chunk + 1,
        returned, count);
  });
}

// Returns false if later results cannot be checked.
bool check_moved(const Results& r, const decode::DdpItem& item) {
  const std::uint64_t returned = r.s.returned[static_cast<std::size_t>(item.chunk)];
  if (returned == item.length || returned == wire::xdr_padded(item.length)) {
    check_roundup(r, item, returned);
    return true;
  }
  accuse_length(r, static_cast<std::size_t>(item.chunk), returned, item.length);
  return false;
}

// Checks the `n`-th eligible result, which is in no chunk: it is inline, or missing.
bool check_inline(const Results& r, const decode::DdpItem& item, std::size_t n) {
  if (item.absent && n >= r.s.offered.size()) return false;
  if (item.length == 0 || n >= r.s.offered.size()) return true;
  if (!item.absent && r.s.offered[n] < item.length) return true;
  const auto later = std::find_if(r.s.returned.begin() + static_cast<std::ptrdiff_t>(n + 1),
                                  r.s.returned.end(), [](std::uint64_t l) { return l != 0; });
  if (later != r.s.returned.end()) {
    accuse(RuleId::kWr06, r, [&] {
      return fmt::format(
          "Write chunk {} is empty although a result of {} bytes belongs in it, and chunk {} is "
          "used",
          n + 1, item.length, later - r.s.returned.begin() + 1);
    });
  } else if (item.absent) {
    accuse_length(r, n, 0, item.length);
  } else {
    accuse(RuleId::kWr10, r, [&] {
      return fmt::format(
          "the responder sent a result of {} bytes inline and left Write chunk {} for {} bytes "
          "unused",
          item.length, n + 1, r.s.offered[n]);
    });
  }
  return false;
}

// Checks the chunks for which no result is left.
void check_rest(const Results& r) {
  for (std::size_t n = r.items.size(); n < r.s.returned.size(); ++n) {
    if (r.s.returned[n] == 0) continue;
    if (r.items.empty()) {
      return accuse(RuleId::kWr05, r, [&] {
        return fmt::format(
            "Write chunk {} is returned with {} bytes, but no result is DDP-eligible", n + 1,
            r.s.returned[n]);
      });
    }
    return accuse(RuleId::kWr06, r, [&] {
      return fmt::format("Write chunk {} is returned with {} bytes, but the results have only {}",
                         n + 1, r.s.returned[n], counted(r.items.size(), "DDP-eligible item"));
    });
  }
}

// Returns the length of the RPC message in bytes; only its beginning may be captured.
std::uint64_t whole_length(const model::Message& m) {
  return m.proc == static_cast<std::uint32_t>(wire::Proc::kNomsg) ? total_length(m.reply_segments)
                                                                  : m.wire_length - m.header_length;
}

// Returns whether the results were parsed to their end: there are no more eligible ones.
bool all_found(const Results& r, const decode::CompoundOps& ops) {
  const model::RpcInfo& id = r.call.message.rpc;
  if (!r.m.complete || r.items.size() == Scratch::kItems) return false;
  if (id.version == 4 || decode::is_transient_program(id.program)) {
    return id.procedure == 0 || ops.complete;
  }
  // At most one result; if it is missing, the procedure has none or failed.
  const bool has_data = id.procedure == 5 || id.procedure == 6;
  return !r.items.empty() || !has_data || (r.m.rpc.has_status && r.m.rpc.status != 0);
}

}  // namespace

void check_results(const model::Message& m, const model::Call& call, const CheckContext& context,
                   Scratch& s) {
  const model::RpcInfo& id = call.message.rpc;
  if (call.message.write_counts.empty() ||
      m.write_counts.size() != call.message.write_counts.size())
    return;
  if (!has_binding(id, context)) return;
  // The places of the results in such messages are not known.
  if (model::may_be_padded(m) || !m.reads.empty()) return;
  if (!m.rpc.header_seen || m.rpc.reply_stat != wire::ReplyStat::kAccepted ||
      m.rpc.accept_stat != wire::AcceptStat::kSuccess) {
    return;
  }
  const wire::Bytes rpc = rpc_message(m, &call);
  const auto header = wire::decode_rpc(rpc);
  if (!header) return;
  total_lengths(call.message, s.offered);
  total_lengths(m, s.returned);
  const std::uint64_t whole = std::max<std::uint64_t>(whole_length(m), rpc.size());
  decode::CompoundOps ops;
  const std::size_t found =
      decode::find_result_items(procedure_of(id), rpc.subspan(header->length), s.returned, s.items,
                                &ops, whole - header->length);
  const Results r{m, call, context, s, std::span(s.items).first(found)};
  for (std::size_t n = 0; n < found; ++n) {
    const decode::DdpItem& item = r.items[n];
    if (!(item.chunk >= 0 ? check_moved(r, item) : check_inline(r, item, n))) return;
  }
  if (all_found(r, ops)) check_rest(r);
}

}  // namespace rpcrdma::rules

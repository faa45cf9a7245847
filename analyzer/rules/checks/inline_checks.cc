// Checks that no Send is longer than the Receive at its peer. The limit of a side is the same in
// both directions of RPC (RFC 8167 section 4.2).
#include "checks.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/wire/rdmaconfig.h>

namespace rpcrdma::rules {

namespace {

constexpr std::uint32_t kDefaultV1 = 1024;
constexpr std::uint32_t kDefaultV2 = 4096;
// The largest threshold that peers can agree on (RFC 8797 section 4.2).
constexpr std::uint32_t kLargest = 256 * 1024;

bool has_private_data(const CheckContext& context) {
  return context.model.has_private_data[0] || context.model.has_private_data[1];
}

void accuse(RuleId rule, const model::Message& m, const CheckContext& context, std::uint32_t limit,
            const char* of, std::uint8_t needs = kNothing, Level at_most = Level::kError) {
  context.history.note_cause(m.sender, m.id);
  Evidence e = evidence(m, context.connection, m.sender);
  e.topic = needs == kNothing ? 0 : 1;
  e.needs = needs;
  e.at_most = at_most;
  context.findings.add(rule, e, [&] {
    return fmt::format("a Send has {} bytes, but {} is {}", m.wire_length, of, limit);
  });
}

// After a CONF_RDMA other thresholds may apply, unless it is refused.
void note_configured(const model::Message& m, const model::Call& call,
                     const CheckContext& context) {
  const model::RpcInfo& asked = call.message.rpc;
  if (!asked.known || asked.program != wire::kRdmaConfigProgram ||
      asked.procedure != wire::kRdmaConfigProcConf) {
    return;
  }
  const bool refused = m.kind == model::Kind::kError || m.kind == model::Kind::kMalformed ||
                       (m.kind == model::Kind::kReply && m.rpc.header_seen &&
                        (m.rpc.reply_stat != wire::ReplyStat::kAccepted ||
                         m.rpc.accept_stat != wire::AcceptStat::kSuccess));
  context.history.configured = !refused;
}

// Reports a version 1 Send over its limit, by the rule that defines where the limit comes from.
void accuse_v1(const model::Message& m, const CheckContext& context, std::uint32_t limit) {
  const wire::PrivateData& own = context.model.private_data[m.sender];
  const wire::PrivateData& peer = context.model.private_data[1 - m.sender];
  const Past* past = context.all.past(context.connection, context.history);
  const std::uint32_t before = past == nullptr || !past->precedes(context.connection)
                                   ? 0
                                   : past->limit[History::place(context.connection, m.sender)];
  if (before > limit && m.wire_length <= before) {
    accuse(RuleId::kInl04, m, context, limit,
           "the limit of this connection, unlike that of the previous one,");
  } else if (context.reverse) {
    accuse(RuleId::kInl03, m, context, limit, "the inline threshold of both directions");
  } else if (context.model.has_private_data[m.sender] && m.wire_length > own.send_size() &&
             m.wire_length <= peer.recv_size()) {
    accuse(RuleId::kCmp04, m, context, own.send_size(),
           "the send size that the sender announced in its private data");
  } else if (has_private_data(context)) {
    accuse(RuleId::kInl02, m, context, limit,
           "the inline threshold by the private data of both sides");
  } else {
    accuse(RuleId::kInl01, m, context, limit, "the inline threshold of version 1");
  }
}

void check_v1(const model::Message& m, const CheckContext& context) {
  if (context.history.configured) return;
  const std::uint32_t limit = send_limit(m.sender, context);
  if (limit != 0) {
    if (m.wire_length > limit) accuse_v1(m, context, limit);
  } else if (m.wire_length > kLargest) {
    accuse(RuleId::kInl01, m, context, kLargest, "the largest threshold that peers can agree on");
  }
}

void check_v2(const model::Message& m, const CheckContext& context) {
  // Until the peer has shown that it supports version 2, its Receives may fit version 1 only.
  const bool first = !context.history.spoke_v2[1 - m.sender] && m.kind == model::Kind::kCall &&
                     setup_seen(context.connection);
  const std::uint32_t agreed = send_limit(m.sender, context);
  // A set-up before the capture may have announced larger sizes.
  if (agreed == 0 && m.wire_length <= kLargest) return;
  if (m.wire_length > std::max(kDefaultV2, agreed)) {
    accuse(RuleId::kV205, m, context, kDefaultV2, "the inline threshold of version 2");
  } else if (first) {
    // With private data, the Receives of a version 1 peer are long enough, too.
    accuse(RuleId::kV205, m, context, kDefaultV1,
           "the limit for a peer that has not yet shown support for version 2",
           kLossFree | kBothDirections, agreed >= m.wire_length ? Level::kWarning : Level::kError);
  } else if (m.wire_length > kDefaultV2) {
    accuse(RuleId::kCmp05, m, context, kDefaultV2,
           "the inline threshold of version 2, which version 1 private data does not change,");
  }
}

}  // namespace

std::uint32_t send_limit(std::size_t side, const CheckContext& context) {
  if (!setup_seen(context.connection)) return 0;
  return side == 0 ? context.model.thresholds.call : context.model.thresholds.reply;
}

void check_send_length(const model::Message& m, const model::Call* call,
                       const CheckContext& context) {
  if (call != nullptr) note_configured(m, *call, context);
  const bool known = !model::is_absent(m, roce::kAbsentLengths) &&
                     (context.model.absent & roce::kAbsentSetup) == 0;
  if (known && m.wire_length > kDefaultV1) {
    if (m.version == 2) {
      check_v2(m, context);
    } else {
      check_v1(m, context);
    }
  }
  if (m.version == 2 && m.kind != model::Kind::kError && m.kind != model::Kind::kMalformed) {
    context.history.spoke_v2[m.sender] = true;
  }
}

}  // namespace rpcrdma::rules

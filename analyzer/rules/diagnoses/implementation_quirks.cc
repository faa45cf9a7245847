#include "implementation_quirks.h"

#include "checks/lists.h"

#include <numeric>

#include <fmt/core.h>

namespace rpcrdma::rules {

namespace {

constexpr std::uint64_t kEnoughTimes = 4;
constexpr std::uint32_t kLinuxGrant = 64;

// Returns whether the last segment pads the others to a multiple of four bytes.
bool has_pad_segment(std::span<const wire::Segment> chunk) {
  if (chunk.size() < 2 || chunk.back().length == 0 || chunk.back().length > 3) return false;
  const std::uint64_t all =
      std::accumulate(chunk.begin(), chunk.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const wire::Segment& s) { return sum + s.length; });
  return all % 4 == 0;
}

}  // namespace

void ImplementationQuirks::call(const model::Message& m) {
  asked_ = m.credit;
  bool any = false;
  bool all = true;
  const auto look = [&](const wire::Segment& s) {
    any = true;
    all &= s.offset >> 32 == m.xid;
  };
  for (const wire::ReadSegment& s : m.reads) look(s.target);
  for (const wire::Segment& s : m.write_segments) look(s);
  for (const wire::Segment& s : m.reply_segments) look(s);
  if (any) {
    ++offsets_;
    if (all && xid_offsets_++ == 0) xid_frame_ = m.frame;
  }
  model::for_each_write_chunk(m, [&](std::uint32_t, std::span<const wire::Segment> chunk) {
    if (has_pad_segment(chunk) && pads_++ == 0) pad_frame_ = m.frame;
  });
}

void ImplementationQuirks::answered(const model::Call& call, const model::Message& reply,
                                    const model::InlineThresholds& thresholds) {
  if (grants_++ == 0) {
    grant_ = reply.credit;
    grant_frame_ = reply.frame;
  }
  grant_changed_ |= reply.credit != grant_;
  if (!call.message.has_reply_chunk) return;
  if (reply.proc != static_cast<std::uint32_t>(wire::Proc::kNomsg)) {
    ++short_inline_;
    return;
  }
  std::uint64_t bytes = reply.header_length;
  for (const wire::Segment& s : reply.reply_segments) bytes += s.length;
  if (bytes <= thresholds.reply && short_by_chunk_++ == 0) short_frame_ = reply.frame;
}

void ImplementationQuirks::report(Findings& findings, const roce::Connection& connection,
                                  int client) const {
  Evidence e;
  e.connection = &connection;
  const auto add = [&](RuleId rule, int side, std::uint64_t frame, const Findings::Text& text) {
    e.side = side;
    e.frames = {frame, 0};
    findings.add(rule, e, text);
  };
  if (short_by_chunk_ >= kEnoughTimes && short_inline_ == 0) {
    add(RuleId::kLinuxReplyChunk, 1 - client, short_frame_, [&] {
      return fmt::format(
          "the responder sent {} Replies that fit inline through the Reply chunk of the Call",
          short_by_chunk_);
    });
  }
  if (pads_ != 0) {
    add(RuleId::kLinuxPadSegment, client, pad_frame_, [&] {
      return fmt::format("the requester provided {} with a last segment that contains only roundup",
                         counted(pads_, "Write chunk"));
    });
  }
  if (xid_offsets_ >= kEnoughTimes && xid_offsets_ == offsets_) {
    add(RuleId::kLinuxXidOffset, client, xid_frame_, [&] {
      return fmt::format(
          "the upper 32 bits of every offset in {} Calls are the Call's XID, not an address",
          xid_offsets_);
    });
  }
  if (grants_ >= kEnoughTimes && !grant_changed_ && grant_ == kLinuxGrant && asked_ > grant_) {
    add(RuleId::kLinuxGrant, 1 - client, grant_frame_, [&] {
      return fmt::format(
          "the responder granted {1} credits in all {0} Replies, whatever was "
          "requested ({2})",
          grants_, grant_, asked_);
    });
  }
  const roce::CmSide& req = connection.side[0].cm;
  if (connection.setup == roce::Setup::kCm && req.seen && req.depths_known &&
      connection.transport == roce::Transport::kRoce && req.initiator_depth == 0 &&
      req.responder_resources != 0) {
    add(RuleId::kLinuxNoReads, 0, req.frame, [&] {
      return fmt::format("the REQ has initiator depth 0 and responder resources {}",
                         req.responder_resources);
    });
  }
}

}  // namespace rpcrdma::rules

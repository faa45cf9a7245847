#include "gss_cost.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

namespace rpcrdma::rules {

namespace {

std::uint64_t bytes_of(std::span<const wire::Segment> segments) {
  return std::accumulate(segments.begin(), segments.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const wire::Segment& s) { return sum + s.length; });
}

// Bytes of the RPC message that are in the Send itself.
std::uint64_t inline_bytes(const model::Message& m) {
  return m.wire_length - std::min<std::uint64_t>(m.wire_length, m.header_length);
}

}  // namespace

void GssCost::note(const model::Call& call, const model::Message& reply) {
  ++calls_;
  const model::Message& m = call.message;
  const bool integrity = m.rpc.wrapping == decode::Wrapping::kIntegrity;
  if (!m.rpc.header_seen || (!integrity && m.rpc.wrapping != decode::Wrapping::kPrivacy)) return;
  ++(integrity ? integrity_ : privacy_);
  if (first_frame_ == 0) first_frame_ = m.frame;
  last_frame_ = m.frame;
  inline_ += inline_bytes(m) + inline_bytes(reply);
  note_chunks(call, reply);
}

void GssCost::note_chunks(const model::Call& call, const model::Message& reply) {
  const model::Message& m = call.message;
  bool reduced = false;
  for (const wire::ReadSegment& s : m.reads) {
    if (s.position == 0) {
      read_ += s.target.length;
    } else {
      reduced = true;
    }
  }
  if (reply.proc == static_cast<std::uint32_t>(wire::Proc::kNomsg)) {
    written_ += bytes_of(reply.reply_segments);
  }
  if (reduced && reduced_calls_++ == 0) reduced_call_ = m.frame;
  // A responder ignores Write chunks that it cannot use.
  if (bytes_of(reply.write_segments) != 0 && reduced_replies_++ == 0) reduced_reply_ = reply.frame;
}

void GssCost::report(Findings& findings, const roce::Connection& connection, int client) const {
  if (client < 0) return;
  Evidence e;
  e.connection = &connection;
  const char* const service = privacy_ == 0     ? "krb5i"
                              : integrity_ == 0 ? "krb5p"
                                                : "krb5i and krb5p";
  if (integrity_ + privacy_ != 0) {
    e.side = client;
    e.frames = {first_frame_, last_frame_ == first_frame_ ? 0 : last_frame_};
    findings.add(RuleId::kGssNoDdp, e, [&] {
      return fmt::format(
          "{} of {} Calls use {}, so no data can be placed directly: {} bytes went inline, {} "
          "bytes "
          "through Position Zero chunks, {} bytes through Reply chunks",
          integrity_ + privacy_, calls_, service, inline_, read_, written_);
    });
  }
  const auto reduced = [&](int side, std::uint64_t count, std::uint64_t frame, const char* what) {
    if (count == 0) return;
    e.side = side;
    e.frames = {frame, 0};
    findings.add(RuleId::kGssChunk, e, [&] {
      return fmt::format("{} of {} {} with {} have data in {}", count, integrity_ + privacy_,
                         side == client ? "Calls" : "Replies", service, what);
    });
  };
  reduced(client, reduced_calls_, reduced_call_, "Read chunks of their own");
  reduced(1 - client, reduced_replies_, reduced_reply_, "Write chunks");
}

}  // namespace rpcrdma::rules

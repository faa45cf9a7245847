#include "chunk_use.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include <rpcrdma/wire/chunks.h>

namespace rpcrdma::rules {

namespace {

constexpr std::uint64_t kEnoughMessages = 8;  // messages
constexpr std::uint64_t kShare = 10;          // at least a tenth of the Calls
constexpr std::uint64_t kSmallest = 2048;

std::uint64_t total(std::span<const wire::Segment> segments) {
  return std::accumulate(segments.begin(), segments.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const wire::Segment& s) { return sum + s.length; });
}

std::uint64_t rounded_up(std::uint64_t n) {
  return (n + 3) / 4 * 4;
}

}  // namespace

void ChunkUse::long_message(std::uint64_t inline_bytes, std::uint64_t operations) {
  if (long_.messages++ == 0) first_long_ = latest_frame_;
  long_.operations += operations;
  for (std::size_t i = 0; i < kSizes; ++i) {
    if (inline_bytes > kSmallest << i) continue;
    ++fits_[i].messages;
    fits_[i].operations += operations;
    break;
  }
}

void ChunkUse::note(const model::Call& call, const model::Message& reply,
                    const model::InlineThresholds& thresholds) {
  const model::Message& m = call.message;
  ++calls_;
  if (call.segments.empty() || !m.complete || !reply.complete) return;
  latest_frame_ = m.frame;
  std::array<std::uint64_t, 3> operations{};  // by model::ChunkList
  for (const model::ChunkOperation& op : call.operations) {
    ++operations[static_cast<std::size_t>(model::counted_list(op.list))];
  }
  const auto needless = [&](std::uint64_t& kind, std::uint64_t bytes, std::uint64_t ops) {
    ++kind;
    if (needless_.messages++ == 0) first_frame_ = m.frame;
    last_frame_ = m.frame;
    needless_.operations += ops;
    needless_bytes_ += bytes;
  };
  if (!m.reads.empty()) {
    std::uint64_t bytes = 0;
    for (const wire::ReadSegment& s : m.reads) bytes += s.target.length;
    const std::uint64_t without =
        m.wire_length -
        std::min<std::uint64_t>(m.wire_length, m.reads.size() * wire::kReadEntryBytes) +
        rounded_up(bytes);
    const bool long_call = m.reads.front().position == 0;
    if (without <= thresholds.call) {
      needless(long_call ? needless_long_ : needless_reads_, bytes, operations[0]);
    } else if (long_call) {
      long_message(without, operations[0]);
    }
  }
  const std::uint64_t written = total(reply.write_segments);
  if (written != 0 && reply.wire_length + rounded_up(written) <= thresholds.reply) {
    needless(needless_writes_, written, operations[1]);
  }
  if (reply.proc == static_cast<std::uint32_t>(wire::Proc::kNomsg)) {
    const std::uint64_t inline_bytes = reply.header_length + total(reply.reply_segments);
    // A short Reply in the Reply chunk is a quirk of the responder, not a lack of space.
    if (inline_bytes > thresholds.reply) long_message(inline_bytes, operations[2]);
  }
}

void ChunkUse::report(Findings& findings, const roce::Connection& connection, int client) const {
  Evidence e;
  e.connection = &connection;
  // The client's own recording may not contain the operations.
  const bool unseen = connection.side[static_cast<std::size_t>(1 - client)].operations_unseen;
  const auto operations = [unseen](const char* before, std::uint64_t n) {
    return unseen ? std::string() : fmt::format(" {} {} RDMA operations", before, n);
  };
  if (needless_.messages >= kEnoughMessages && needless_.messages * kShare >= calls_) {
    e.side = client;
    e.frames = {first_frame_, last_frame_};
    findings.add(RuleId::kNeedlessChunk, e, [&] {
      return fmt::format(
          "{} chunks in {} Calls carry data that fits inline: {} bytes{} ({} Read chunks, {} Write "
          "chunks, {} Position Zero chunks)",
          needless_.messages, calls_, needless_bytes_, operations("in", needless_.operations),
          needless_reads_, needless_writes_, needless_long_);
    });
  }
  if (long_.messages < kEnoughMessages || long_.messages * kShare < calls_) return;
  Tally held;
  std::size_t size = 0;
  // Nine tenths are enough: one huge message must not lead to the largest threshold.
  for (; size < kSizes; ++size) {
    held.messages += fits_[size].messages;
    held.operations += fits_[size].operations;
    if (held.messages * 10 >= long_.messages * 9) break;
  }
  if (size == kSizes) return;
  e.side = -1;
  e.frames = {first_long_, 0};
  findings.add(RuleId::kLargerThreshold, e, [&] {
    return fmt::format(
        "{0} long messages of {1} Calls used Position Zero or Reply chunks; {3} of them would fit "
        "an inline threshold of {2} bytes{4}",
        long_.messages, calls_, kSmallest << size, held.messages,
        operations("and save", held.operations));
  });
}

}  // namespace rpcrdma::rules

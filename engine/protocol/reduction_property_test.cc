// Properties of the plan of any message: its numbers are those of the header that is really built,
// it fits, and no part uses a chunk that it does not need.
#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/protocol/reduction.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::protocol {
namespace {

using fabric::Errc;
using wire::xdr_padded;

constexpr int kMessages = 20'000;

// Segments as they would be advertised: each as long as allowed.
std::vector<wire::Segment> split(std::uint64_t bytes, std::uint32_t max_segment) {
  std::vector<wire::Segment> out;
  for (; bytes > max_segment; bytes -= max_segment) out.push_back({7, max_segment, 0x1000});
  if (bytes != 0) out.push_back({7, static_cast<std::uint32_t>(bytes), 0x1000});
  return out;
}

// A header with the memory that it points to.
struct Built {
  wire::Header header;
  std::vector<wire::ReadSegment> reads;
  std::vector<std::vector<wire::Segment>> writes;
  std::vector<wire::WriteChunk> write_list;
  std::vector<wire::Segment> reply;

  std::size_t size() {
    header.reads = reads;
    write_list.assign(writes.begin(), writes.end());
    header.writes = write_list;
    if (!reply.empty()) header.reply = reply;
    return wire::encoded_size(header);
  }
  std::size_t segments() const {
    std::size_t sum = reads.size() + reply.size();
    for (const auto& chunk : writes) sum += chunk.size();
    return sum;
  }
};

struct Scene {
  Limits limits;
  std::vector<Piece> message;
  std::vector<ResultSpace> results;
  std::uint32_t max_reply = 0;
};

class SceneGenerator {
 public:
  explicit SceneGenerator(unsigned seed) : random_(seed) {}

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  // Short, about as long as a threshold, or long.
  std::uint32_t length() {
    constexpr std::uint32_t kMost[] = {1, 40, 300, 1100, 5000, 70'000};
    return below(kMost[below(6)]);
  }

  Limits limits() {
    constexpr std::uint32_t kThresholds[] = {256, 1024, 4096, 8192};
    constexpr std::uint32_t kSegments[] = {500, 4096, 65'536, 1U << 30};
    return {kThresholds[below(4)], kThresholds[below(4)], kSegments[below(4)]};
  }

  std::vector<Piece> message() {
    std::vector<Piece> out(1 + below(kMaxPieces));
    for (Piece& piece : out) {
      piece.ddp = below(2) == 0;
      const std::size_t bytes = length();
      piece.bytes = wire::Bytes(memory_).first(piece.ddp ? bytes : bytes & ~std::size_t{3});
    }
    return out;
  }

  Scene scene() {
    Scene scene{limits(), message(), {}, 4 + (length() & ~3U)};
    scene.results.resize(below(kMaxResults + 1));
    for (ResultSpace& result : scene.results) result.length = length();
    return scene;
  }

 private:
  std::mt19937 random_;
  const std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(70'000);
};

// The header of the Call, by the plan's decisions alone.
Built build_call(const Scene& scene, const CallPlan& plan) {
  Built built;
  const std::uint32_t max = scene.limits.max_segment;
  built.header.proc = plan.long_call ? wire::Proc::kNomsg : wire::Proc::kMsg;
  if (plan.long_call) {
    for (const auto& s : split(stream_bytes(scene.message), max)) built.reads.push_back({0, s});
  }
  for (std::size_t i = 0; i < scene.message.size(); ++i) {
    if (!plan.by_read[i]) continue;
    for (const auto& s : split(scene.message[i].bytes.size(), max)) built.reads.push_back({4, s});
  }
  if (plan.write_list) {
    for (const ResultSpace& result : scene.results) {
      built.writes.push_back(split(result.length, max));
    }
  }
  built.reply = split(plan.reply_chunk, max);
  return built;
}

std::uint64_t inline_bytes(const Scene& scene, const CallPlan& plan) {
  if (plan.long_call) return 0;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < scene.message.size(); ++i) {
    const std::uint64_t bytes = scene.message[i].bytes.size();
    if (!plan.by_read[i]) sum += scene.message[i].ddp ? xdr_padded(bytes) : bytes;
  }
  return sum;
}

std::uint64_t result_bytes(const Scene& scene) {
  std::uint64_t sum = 0;
  for (const ResultSpace& result : scene.results) sum += xdr_padded(result.length);
  return sum;
}

bool all_eligible(const Scene& scene, unsigned reads) {
  for (std::size_t i = 0; i < scene.message.size(); ++i) {
    if ((reads >> i & 1) != 0 && !scene.message[i].ddp) return false;
  }
  return true;
}

// Returns whether a Call's Send with this set of Read chunks fits, if they are not too many.
bool would_fit(const Scene& scene, CallPlan plan, unsigned reads) {
  plan.long_call = false;
  for (std::size_t i = 0; i < scene.message.size(); ++i) plan.by_read[i] = (reads >> i & 1) != 0;
  Built built = build_call(scene, plan);
  return built.segments() <= kMaxSegments &&
         built.size() + inline_bytes(scene, plan) <= scene.limits.call_threshold;
}

void expect_right(const Scene& scene, const CallPlan& plan) {
  Built built = build_call(scene, plan);
  EXPECT_EQ(plan.header_bytes, built.size());
  EXPECT_EQ(plan.segments, built.segments());
  EXPECT_EQ(plan.inline_bytes, inline_bytes(scene, plan));
  EXPECT_LE(plan.header_bytes + plan.inline_bytes, scene.limits.call_threshold);
  EXPECT_LE(plan.segments, kMaxSegments);

  // The Reply's chunks: each is offered only if the longest Reply does not fit without it, and then
  // it is.
  const std::uint64_t all_inline = 28 + scene.max_reply + result_bytes(scene);
  Built reply;
  reply.writes = built.writes;
  const std::uint64_t by_write = reply.size() + scene.max_reply;
  const std::uint32_t threshold = scene.limits.reply_threshold;
  EXPECT_EQ(plan.write_list, all_inline > threshold && result_bytes(scene) != 0);
  EXPECT_EQ(plan.reply_chunk != 0, (plan.write_list ? by_write : all_inline) > threshold);
  EXPECT_TRUE(plan.reply_chunk == 0 || plan.reply_chunk == scene.max_reply);

  // The Call's chunks: none if it fits without them; the last one chosen, the shortest, is needed.
  unsigned taken = 0;
  std::size_t shortest = scene.message.size();
  std::size_t longest_left = 0;
  for (std::size_t i = 0; i < scene.message.size(); ++i) {
    const std::size_t bytes = scene.message[i].bytes.size();
    if (plan.by_read[i]) {
      EXPECT_TRUE(scene.message[i].ddp);
      taken |= 1U << i;
      if (shortest == scene.message.size() || bytes < scene.message[shortest].bytes.size()) {
        shortest = i;
      }
    } else if (scene.message[i].ddp) {
      longest_left = std::max(longest_left, bytes);
    }
  }
  EXPECT_FALSE((plan.long_call || taken != 0) && would_fit(scene, plan, 0));
  if (taken != 0) {
    EXPECT_FALSE(would_fit(scene, plan, taken & ~(1U << shortest)));
    EXPECT_GE(scene.message[shortest].bytes.size(), longest_left);
  }
}

TEST(PlanCallPropertyTest, ThePlanIsThatOfTheHeaderThatIsBuilt) {
  SceneGenerator generator(1);
  int sent = 0, inlined = 0, reduced = 0, long_calls = 0, offers = 0;
  for (int i = 0; i < kMessages; ++i) {
    const Scene scene = generator.scene();
    const auto plan = plan_call(scene.limits, scene.message, scene.results, scene.max_reply);
    if (!plan) {
      ASSERT_EQ(plan.error().code, Errc::kBadArgument);
      continue;
    }
    expect_right(scene, *plan);
    ASSERT_FALSE(HasFailure()) << "message " << i;
    ++sent;
    const bool reads =
        std::find(plan->by_read.begin(), plan->by_read.end(), true) != plan->by_read.end();
    ++(plan->long_call ? long_calls : reads ? reduced : inlined);
    offers += plan->write_list && plan->reply_chunk != 0 ? 1 : 0;
  }
  for (const int count : {sent, inlined, reduced, long_calls, offers}) EXPECT_GT(count, 500);
}

// A refusal is right: even the shortest header that the message can have does not fit.
TEST(PlanCallPropertyTest, WhatIsRefusedCannotBeSent) {
  SceneGenerator generator(2);
  int refused = 0;
  for (int i = 0; i < kMessages; ++i) {
    const Scene scene = generator.scene();
    if (plan_call(scene.limits, scene.message, scene.results, scene.max_reply)) continue;
    ++refused;
    CallPlan plan;
    plan.write_list = result_bytes(scene) != 0 &&
                      28 + scene.max_reply + result_bytes(scene) > scene.limits.reply_threshold;
    Built reply = build_call(scene, plan);
    reply.reads.clear();
    const std::uint64_t threshold = scene.limits.reply_threshold;
    const std::uint64_t left = plan.write_list ? 0 : result_bytes(scene);
    if (reply.size() + scene.max_reply + left > threshold) plan.reply_chunk = scene.max_reply;
    if (plan.reply_chunk != 0) {
      reply.reply = split(plan.reply_chunk, scene.limits.max_segment);
      if (reply.size() > threshold) continue;
    }
    for (unsigned reads = 0; reads < 1U << scene.message.size(); ++reads) {
      if (!all_eligible(scene, reads)) continue;
      ASSERT_FALSE(would_fit(scene, plan, reads)) << "message " << i;
    }
    plan.long_call = true;
    Built built = build_call(scene, plan);
    ASSERT_TRUE(built.segments() > kMaxSegments || built.size() > scene.limits.call_threshold)
        << "message " << i;
  }
  EXPECT_GT(refused, 500);
}

struct ReplyScene {
  Limits limits;
  std::vector<Piece> message;
  std::vector<std::vector<wire::Segment>> writes;
  std::vector<wire::Segment> reply;
  Offer offer;
};

ReplyScene reply_scene(SceneGenerator& generator) {
  ReplyScene scene{generator.limits(), generator.message(), {}, {}, {}};
  Offer& offer = scene.offer;
  // Sometimes more than a Reply can have results.
  const bool many = generator.below(8) == 0;
  const std::uint32_t chunks = generator.below(many ? kMaxPieces + 3 : kMaxResults + 1);
  for (std::uint32_t n = 0; n < chunks; ++n) {
    scene.writes.push_back(split(generator.length() * 2, scene.limits.max_segment));
    std::uint64_t bytes = 0;
    for (const wire::Segment& s : scene.writes.back()) bytes += s.length;
    offer.add_write_chunk(bytes, static_cast<std::uint32_t>(scene.writes.back().size()));
  }
  if (generator.below(2) == 0) {
    scene.reply = split(1 + generator.length() * 2, scene.limits.max_segment);
    offer.has_reply_chunk = true;
    offer.reply_segments = static_cast<std::uint32_t>(scene.reply.size());
    for (const wire::Segment& s : scene.reply) offer.reply_chunk += s.length;
  }
  return scene;
}

TEST(PlanReplyPropertyTest, ThePlanIsThatOfTheHeaderThatIsBuilt) {
  SceneGenerator generator(3);
  int inlined = 0, long_replies = 0, written = 0, refused = 0;
  for (int i = 0; i < kMessages; ++i) {
    const ReplyScene scene = reply_scene(generator);
    // Computed from the rules: each eligible piece goes into the chunk with its number.
    std::uint64_t stream = stream_bytes(scene.message);
    std::array<bool, kMaxPieces> by_write{};
    bool too_small = false;
    std::uint32_t n = 0;
    for (std::size_t p = 0; p < scene.message.size(); ++p) {
      if (!scene.message[p].ddp) continue;
      const std::uint64_t bytes = scene.message[p].bytes.size();
      const std::uint64_t room = n < scene.offer.write_chunks ? scene.offer.write_chunk[n] : 0;
      ++n;
      if (bytes == 0 || room == 0) continue;
      too_small = too_small || bytes > room;
      by_write[p] = true;
      stream -= xdr_padded(bytes);
    }
    Built built;
    built.writes = scene.writes;
    const std::size_t short_header = built.size();
    const std::uint32_t threshold = scene.limits.reply_threshold;
    const bool fits = short_header + stream <= threshold;
    built.reply = scene.reply;
    const std::size_t header = fits ? short_header : built.size();
    const bool possible =
        !too_small && (fits || (!scene.reply.empty() && stream <= scene.offer.reply_chunk &&
                                header <= threshold));

    const auto plan = plan_reply(scene.limits, scene.message, scene.offer);
    ASSERT_EQ(plan.has_value(), possible) << "message " << i;
    if (!plan) {
      ASSERT_EQ(plan.error().code, Errc::kNoRoom);
      ++refused;
      continue;
    }
    ASSERT_EQ(plan->by_write, by_write) << "message " << i;
    ASSERT_EQ(plan->long_reply, !fits) << "message " << i;
    ASSERT_EQ(plan->stream_bytes, stream) << "message " << i;
    ASSERT_EQ(plan->header_bytes, header) << "message " << i;
    ++(fits ? inlined : long_replies);
    written += std::find(by_write.begin(), by_write.end(), true) != by_write.end() ? 1 : 0;
  }
  for (const int count : {inlined, long_replies, written, refused}) EXPECT_GT(count, 500);
}

}  // namespace
}  // namespace rpcrdma::protocol

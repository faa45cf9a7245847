// Excerpts of captures with missing packets, with damaged packets, and with a mid-stream start.
#include "index_for_tests.h"

#include <atomic>

#include <gtest/gtest.h>

#include <rpcrdma/capture/frame_file.h>
#include <rpcrdma/index/excerpt.h>

namespace rpcrdma::index {
namespace {

enum class Damage { kNone, kMissing, kFlipped };

// Copies `name` from frame 100 on, with damage to every 11th frame.
std::string damaged(const std::string& name, Damage damage) {
  const std::string path = ::testing::TempDir() + "/damaged-" +
                           std::to_string(static_cast<int>(damage)) + "-" + name + "ng";
  const auto source = capture::open_file(testing::capture(name));
  const auto file = capture::FrameFile::create(path);
  if (!source || !file) {
    ADD_FAILURE() << name;
    return {};
  }
  capture::Frame frame;
  std::vector<std::uint8_t> bytes;
  for (;;) {
    const auto more = (*source)->next(frame);
    if (!more || !*more) break;
    if (frame.number < 100) continue;
    const bool hit = frame.number % 11 == 3;
    if (hit && damage == Damage::kMissing) continue;
    bytes.assign(frame.data.begin(), frame.data.end());
    if (hit && damage == Damage::kFlipped) bytes[bytes.size() - 5] ^= 0x10U;
    frame.data = bytes;
    EXPECT_TRUE((*file)->write(frame));
  }
  EXPECT_TRUE((*file)->finish());
  return path;
}

class Damaged : public ::testing::TestWithParam<std::tuple<std::string, Damage>> {};

TEST_P(Damaged, EveryMessageIsFoundAgain) {
  const auto& [name, damage] = GetParam();
  const testing::Loaded loaded(damaged(name, damage));
  const std::uint64_t count = loaded.store.read([](const Content& c) { return c.rows.size(); });
  ASSERT_GT(count, 20U);
  const std::atomic<bool> never{false};
  for (std::uint64_t id = 1; id <= count; ++id) {
    const Stretch stretch = loaded.store.read([&](const Content& c) { return stretch_of(c, id); });
    const auto excerpt = read_excerpt(loaded.store, loaded.loading->frames(), stretch, never);
    ASSERT_TRUE(excerpt) << excerpt.error().message;
    const MessageRow row = loaded.store.read([&](const Content& c) { return c.rows[id - 1]; });
    EXPECT_NE(excerpt->find(id), nullptr) << "message " << id << " of frame " << row.frame;
    for (const Excerpt::Event& e : excerpt->events) {
      EXPECT_GE(e.frame, stretch.first_frame);
      EXPECT_LE(e.frame, stretch.last_frame);
    }
  }
}

std::string title(const ::testing::TestParamInfo<std::tuple<std::string, Damage>>& info) {
  const char* const damages[] = {"whole", "frames_missing", "bytes_flipped"};
  const auto& [name, damage] = info.param;
  return name.substr(6, name.find('.') - 6) + "_" + damages[static_cast<int>(damage)];
}

INSTANTIATE_TEST_SUITE_P(
    Captures, Damaged,
    ::testing::Combine(::testing::Values<std::string>("linux-nfs41.pcap", "linux-nfs3.pcap",
                                                      "linux-deleg.pcap"),
                       ::testing::Values(Damage::kNone, Damage::kMissing, Damage::kFlipped)),
    title);

TEST(Excerpt, SaysWhyAMessageIsNotWhole) {
  const testing::Loaded loaded(testing::capture("cases/msgp-threshold-0.pcap"));
  const std::uint64_t count = loaded.store.read([](const Content& c) { return c.rows.size(); });
  const std::atomic<bool> never{false};
  std::vector<std::string> reasons;
  for (std::uint64_t id = 1; id <= count; ++id) {
    const Stretch stretch = loaded.store.read([&](const Content& c) { return stretch_of(c, id); });
    const auto excerpt = read_excerpt(loaded.store, loaded.loading->frames(), stretch, never);
    ASSERT_TRUE(excerpt) << excerpt.error().message;
    const Excerpt::Message* const m = excerpt->find(id);
    ASSERT_NE(m, nullptr);
    if (m->incomplete == nullptr) continue;
    reasons.emplace_back(m->incomplete);
    EXPECT_TRUE(m->rebuilt.empty());
  }
  EXPECT_EQ(reasons, std::vector<std::string>{"padded by RDMA_MSGP, not rebuilt"});
}

}  // namespace
}  // namespace rpcrdma::index

#include "slot_index.h"

#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace rpcrdma::model {
namespace {

// Compares it with a map. Keys share their lowest bits, so that places collide.
TEST(SlotIndexTest, FindsWhatWasInsertedAndNotErased) {
  std::mt19937 random(1);
  SlotIndex index;
  std::map<std::uint64_t, std::uint32_t> expected;
  std::vector<std::uint64_t> key_of(1024);
  const auto find = [&](std::uint64_t key) {
    return index.find(key, [&](std::uint32_t slot) { return key_of[slot] == key; });
  };
  EXPECT_EQ(find(1), SlotIndex::kNone);
  index.erase(1, 0);
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t key = (random() % 128) << 20 | (std::uint64_t{random() % 4} << 40) | 63;
    const auto it = expected.find(key);
    if (it != expected.end()) {
      ASSERT_EQ(find(key), it->second);
      index.erase(key, it->second);
      expected.erase(it);
    } else {
      const auto slot = static_cast<std::uint32_t>(random() % key_of.size());
      bool used = false;
      for (const auto& [other, of] : expected) used |= of == slot;
      if (used) continue;
      key_of[slot] = key;
      index.insert(key, slot);
      expected.emplace(key, slot);
    }
    ASSERT_EQ(find(key) != SlotIndex::kNone, expected.contains(key));
    ASSERT_EQ(index.size(), expected.size());
  }
  for (const auto& [key, slot] : expected) EXPECT_EQ(find(key), slot);
}

}  // namespace
}  // namespace rpcrdma::model

// Tests registration, advertised handles and their bounds, and invalidation.
#include "memory_table.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>

namespace rpcrdma::soft {
namespace {

using fabric::Access;
using fabric::Errc;

class MemoryTableTest : public ::testing::Test {
 protected:
  std::array<std::uint8_t, 1000> bytes_{};
  MemoryTable table_;
  fabric::Memory memory_ = table_.register_memory(bytes_).value();
  HandleOwner owner_{1, 0, 0};
  HandleOwner other_{2, 0, 0};
};

TEST_F(MemoryTableTest, SlicesLieWithinTheirMemory) {
  const auto local = [&](std::ptrdiff_t offset, std::uint32_t length) {
    return table_.is_local({bytes_.data() + offset, length, memory_.local_key});
  };
  EXPECT_TRUE(local(0, 1000));
  EXPECT_TRUE(local(999, 1));
  EXPECT_FALSE(local(0, 1001));
  EXPECT_FALSE(local(1, 1000));
  EXPECT_FALSE(local(1000, 1));
  EXPECT_FALSE(local(0, std::numeric_limits<std::uint32_t>::max()));
  EXPECT_TRUE(table_.is_local({nullptr, 0, 0}));
  EXPECT_FALSE(table_.is_local({nullptr, 1, memory_.local_key}));
  EXPECT_FALSE(table_.is_local({bytes_.data(), 1, 0}));
  EXPECT_FALSE(table_.is_local({bytes_.data(), 1, memory_.local_key + 0x100}));
}

TEST_F(MemoryTableTest, WhatIsForgottenIsNotLocalAndItsKeyIsNotItsSuccessors) {
  table_.deregister_memory(memory_.local_key);
  EXPECT_FALSE(table_.is_local({bytes_.data(), 1, memory_.local_key}));
  table_.deregister_memory(memory_.local_key);  // a second time is harmless
  table_.deregister_memory(0);
  table_.deregister_memory(0xffffff00);
  const auto again = table_.register_memory(bytes_);
  ASSERT_TRUE(again);
  EXPECT_NE(again->local_key, memory_.local_key);
  EXPECT_FALSE(table_.is_local({bytes_.data(), 1, memory_.local_key}));
  EXPECT_TRUE(table_.is_local({bytes_.data(), 1, again->local_key}));
  EXPECT_EQ(table_.register_memory({}).error().code, Errc::kBadArgument);
}

TEST_F(MemoryTableTest, BoundsAreThoseOfTheExposure) {
  const auto e = table_.advertise(owner_, memory_, &bytes_[100], 200, Access::kRemoteRead).value();
  const auto find = [&](std::uint64_t offset, std::uint64_t length) {
    return table_.find(1, e.handle, offset, length, Access::kRemoteRead);
  };
  EXPECT_EQ(find(e.offset, 200), &bytes_[100]);
  EXPECT_EQ(find(e.offset + 199, 1), &bytes_[299]);
  EXPECT_EQ(find(e.offset, 201), nullptr);
  EXPECT_EQ(find(e.offset + 1, 200), nullptr);
  EXPECT_EQ(find(e.offset - 1, 1), nullptr);
  EXPECT_EQ(find(e.offset - 1, 200), nullptr);
  EXPECT_EQ(find(e.offset + 200, 1), nullptr);
  EXPECT_EQ(find(e.offset + 199, 2), nullptr);
  // offset + length is beyond 2^64.
  EXPECT_EQ(find(e.offset + 1, ~std::uint64_t{0}), nullptr);
  EXPECT_EQ(find(~std::uint64_t{0}, 2), nullptr);
  EXPECT_EQ(find(e.offset, std::uint64_t{0} - e.offset + 1), nullptr);
  EXPECT_EQ(find(0, 1), nullptr);
}

TEST_F(MemoryTableTest, RightsAndOwnerAreChecked) {
  const auto r = table_.advertise(owner_, memory_, bytes_.data(), 10, Access::kRemoteRead).value();
  const auto w = table_.advertise(owner_, memory_, bytes_.data(), 10, Access::kRemoteWrite).value();
  EXPECT_NE(table_.find(1, r.handle, r.offset, 1, Access::kRemoteRead), nullptr);
  EXPECT_EQ(table_.find(1, r.handle, r.offset, 1, Access::kRemoteWrite), nullptr);
  EXPECT_EQ(table_.find(1, w.handle, w.offset, 1, Access::kRemoteRead), nullptr);
  EXPECT_NE(table_.find(1, w.handle, w.offset, 1, Access::kRemoteWrite), nullptr);
  EXPECT_EQ(table_.find(2, r.handle, r.offset, 1, Access::kRemoteRead), nullptr);
  EXPECT_EQ(table_.find(0, r.handle, r.offset, 1, Access::kRemoteRead), nullptr);
  // The other owner's handle with this owner's offset.
  EXPECT_EQ(table_.find(1, w.handle, r.offset, 1, Access::kRemoteWrite), nullptr);
  EXPECT_FALSE(table_.invalidate(other_, r.handle));
  EXPECT_NE(table_.find(1, r.handle, r.offset, 1, Access::kRemoteRead), nullptr);
}

TEST_F(MemoryTableTest, AStaleHandleIsNotItsSuccessor) {
  const auto old =
      table_.advertise(owner_, memory_, bytes_.data(), 10, Access::kRemoteRead).value();
  EXPECT_TRUE(table_.invalidate(owner_, old.handle));
  EXPECT_FALSE(table_.invalidate(owner_, old.handle));
  EXPECT_EQ(table_.find(1, old.handle, old.offset, 1, Access::kRemoteRead), nullptr);
  const auto next =
      table_.advertise(owner_, memory_, bytes_.data(), 10, Access::kRemoteRead).value();
  EXPECT_FALSE(table_.invalidate(owner_, old.handle));
  EXPECT_TRUE(table_.invalidate(owner_, next.handle));
  // Even when the handle's byte has wrapped around: the offset differs.
  for (int i = 0; i < 600; ++i) {
    const auto e =
        table_.advertise(owner_, memory_, bytes_.data(), 10, Access::kRemoteRead).value();
    EXPECT_EQ(table_.find(1, old.handle, old.offset, 1, Access::kRemoteRead), nullptr);
    EXPECT_NE(table_.find(1, e.handle, e.offset, 1, Access::kRemoteRead), nullptr);
    EXPECT_EQ(table_.advertised(), 1U);
    EXPECT_TRUE(table_.invalidate(owner_, e.handle));
  }
}

TEST_F(MemoryTableTest, InvalidateAllTakesThoseOfOneOwner) {
  std::array<fabric::MemoryRegion, 5> mine;
  std::array<fabric::MemoryRegion, 5> others;
  for (std::size_t i = 0; i < 5; ++i) {
    mine[i] = table_.advertise(owner_, memory_, bytes_.data(), 10, Access::kRemoteRead).value();
    others[i] = table_.advertise(other_, memory_, bytes_.data(), 10, Access::kRemoteRead).value();
  }
  // From the middle, the newest, the oldest.
  for (const std::size_t i : {2U, 4U, 0U}) EXPECT_TRUE(table_.invalidate(owner_, mine[i].handle));
  EXPECT_EQ(owner_.count, 2U);
  EXPECT_NE(table_.find(1, mine[1].handle, mine[1].offset, 1, Access::kRemoteRead), nullptr);
  table_.invalidate_all(owner_);
  EXPECT_EQ(owner_.count, 0U);
  EXPECT_EQ(owner_.first, 0U);
  EXPECT_EQ(table_.advertised(), 5U);
  for (const auto& e : mine) {
    EXPECT_EQ(table_.find(1, e.handle, e.offset, 1, Access::kRemoteRead), nullptr);
  }
  for (const auto& e : others) {
    EXPECT_NE(table_.find(2, e.handle, e.offset, 1, Access::kRemoteRead), nullptr);
  }
  table_.invalidate_all(owner_);
  EXPECT_EQ(table_.advertised(), 5U);
}

TEST_F(MemoryTableTest, WhatCannotBeExposed) {
  const auto code = [&](std::uint8_t* data, std::uint32_t length, Access access) {
    const auto e = table_.advertise(owner_, memory_, data, length, access);
    return e ? -1 : static_cast<int>(e.error().code);
  };
  constexpr int kBad = static_cast<int>(Errc::kBadArgument);
  EXPECT_EQ(code(bytes_.data(), 0, Access::kRemoteRead), kBad);
  EXPECT_EQ(code(bytes_.data(), 1001, Access::kRemoteRead), kBad);
  EXPECT_EQ(code(&bytes_[999], 2, Access::kRemoteRead), kBad);
  EXPECT_EQ(code(bytes_.data(), 1, Access{}), kBad);
  EXPECT_EQ(code(bytes_.data(), 1, static_cast<Access>(4)), kBad);
  EXPECT_EQ(table_.advertised(), 0U);
  EXPECT_EQ(code(bytes_.data(), 1000, Access::kRemoteRead | Access::kRemoteWrite), -1);
}

}  // namespace
}  // namespace rpcrdma::soft

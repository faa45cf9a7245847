#include "parameters.h"

#include <gtest/gtest.h>

namespace rpcrdma::verbs {
namespace {

ibv_device_attr device() {
  ibv_device_attr d{};
  d.max_qp_wr = 1000;
  d.max_cqe = 100'000;
  d.max_sge = 30;
  d.max_sge_rd = 20;
  d.max_qp_rd_atom = 16;
  d.max_qp_init_rd_atom = 12;
  d.max_mw = 100;
  d.device_cap_flags = IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS;
  return d;
}

ibv_port_attr port(std::uint32_t message = 1U << 30) {
  ibv_port_attr p{};
  p.max_msg_sz = message;
  return p;
}

TEST(VerbsParameters, LimitsAreTheDevicesAsFarAsTheFabricHasThem) {
  const fabric::Limits l = limits_of(abilities_of(device(), port(), false));
  EXPECT_EQ(l.message, 1U << 30);
  EXPECT_EQ(l.read_slices, fabric::kMaxSlices);
  EXPECT_TRUE(l.sends_invalidate);
  EXPECT_TRUE(l.accepts_invalidate);
  EXPECT_FALSE(l.sees_peer_operations);
  // No message is longer than 2 GiB, whatever a device reports; some report nothing.
  EXPECT_EQ(limits_of(abilities_of(device(), port(UINT32_MAX), false)).message, 1U << 31);
  EXPECT_EQ(limits_of(abilities_of(device(), port(0), false)).message, 1U << 31);
}

TEST(VerbsParameters, ReadsHaveAsManySlicesAsTheDeviceTakes) {
  ibv_device_attr d = device();
  d.max_sge_rd = 1;
  EXPECT_EQ(limits_of(abilities_of(d, port(), true)).read_slices, 1);
  d.max_sge_rd = 0;  // unknown
  EXPECT_EQ(limits_of(abilities_of(d, port(), false)).read_slices, fabric::kMaxSlices);
  EXPECT_EQ(limits_of(abilities_of(d, port(), true)).read_slices, 1);
}

TEST(VerbsParameters, WithoutWindowsNoPeerMayInvalidate) {
  ibv_device_attr d = device();
  d.device_cap_flags = IBV_DEVICE_MEM_MGT_EXTENSIONS;
  fabric::Limits l = limits_of(abilities_of(d, port(), false));
  EXPECT_TRUE(l.sends_invalidate);
  EXPECT_FALSE(l.accepts_invalidate);
  d = device();
  d.max_mw = 0;
  EXPECT_FALSE(limits_of(abilities_of(d, port(), false)).accepts_invalidate);
  d = device();
  d.device_cap_flags = IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  l = limits_of(abilities_of(d, port(), false));
  EXPECT_FALSE(l.sends_invalidate || l.accepts_invalidate);
}

TEST(VerbsParameters, WindowsAreUsedWhereTheyAreThereAndWork) {
  Abilities a = abilities_of(device(), port(), false);
  EXPECT_TRUE(wants_windows(a, HandleKind::kAuto));
  EXPECT_FALSE(wants_windows(a, HandleKind::kRegistrations));
  a.windows = false;
  EXPECT_FALSE(wants_windows(a, HandleKind::kAuto));
  ibv_device_attr rxe = device();
  rxe.vendor_id = 0xffffff;
  a = abilities_of(rxe, port(), false);
  EXPECT_FALSE(wants_windows(a, HandleKind::kAuto));
  EXPECT_TRUE(wants_windows(a, HandleKind::kWindows));
}

TEST(VerbsParameters, TheFirstCompletionQueueOfSiwCoversTheOffsetThatItsLibraryRefuses) {
  ibv_device_attr d = device();
  EXPECT_EQ(abilities_of(d, port(), false).completions, 16384U);
  d.max_cqe = 1000;
  EXPECT_EQ(abilities_of(d, port(), false).completions, 1000U);
  d.max_cqe = 3'276'800;
  d.vendor_id = 0x626d74;
  constexpr std::uint32_t kRefused = 0x90000, kPlace = 32;
  EXPECT_GT(abilities_of(d, port(), true).completions * kPlace, kRefused);
}

TEST(VerbsParameters, OnSiwAllWorkIsSignaled) {
  ibv_device_attr d = device();
  EXPECT_FALSE(abilities_of(d, port(), true).late_reads);
  EXPECT_FALSE(abilities_of(d, port(), true).signal_all);
  d.vendor_id = 0x626d74;
  EXPECT_TRUE(abilities_of(d, port(), true).late_reads);
  EXPECT_TRUE(abilities_of(d, port(), true).signal_all);
}

TEST(VerbsParameters, MemoryHasTheLeastRights) {
  Abilities a = abilities_of(device(), port(), false);
  EXPECT_EQ(local_access(a), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  a.windows = false;
  EXPECT_EQ(local_access(a), IBV_ACCESS_LOCAL_WRITE);
  a.iwarp = true;
  EXPECT_EQ(local_access(a), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  EXPECT_EQ(remote_access(fabric::Access::kRemoteRead), IBV_ACCESS_REMOTE_READ);
  EXPECT_EQ(remote_access(fabric::Access::kRemoteWrite), IBV_ACCESS_REMOTE_WRITE);
  EXPECT_EQ(remote_access(fabric::Access::kRemoteRead | fabric::Access::kRemoteWrite),
            IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
}

TEST(VerbsParameters, QueuesHoldWorkAndHandlesAsFarAsTheDeviceCan) {
  const Abilities a = abilities_of(device(), port(), false);
  EXPECT_EQ(queue_sizes(a, {64, 32, 10}).send, 84U);
  EXPECT_EQ(queue_sizes(a, {64, 32, 10}).receive, 32U);
  EXPECT_EQ(queue_sizes(a, {900, 2000, 100}).send, 1000U);
  EXPECT_EQ(queue_sizes(a, {900, 2000, 100}).receive, 1000U);
  EXPECT_EQ(queue_sizes(a, {0, 0, 0}).send, 1U);
  EXPECT_EQ(queue_sizes(a, {0, 0, 0}).receive, 1U);
  EXPECT_EQ(queue_sizes(a, {UINT32_MAX, 1, UINT32_MAX}).send, 1000U);
}

TEST(VerbsParameters, WhatIsAgreedIsTheLeast) {
  EXPECT_EQ(at_most(16, 255, 12), 12);
  EXPECT_EQ(at_most(16, 3, 12), 3);
  EXPECT_EQ(at_most(2, 3, 12), 2);
  EXPECT_EQ(at_most(255, 255, 100'000), 254);
}

}  // namespace
}  // namespace rpcrdma::verbs

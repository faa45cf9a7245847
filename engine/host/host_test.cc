// What the kernel states in procfs and sysfs is read as it is meant, and nothing else is.
#include "support/host_tree.h"

#include <gmock/gmock.h>

#include <rpcrdma/host/device_counters.h>
#include <rpcrdma/host/mountstats.h>
#include <rpcrdma/host/nfs_server.h>
#include <rpcrdma/host/sunrpc.h>

namespace rpcrdma::host {
namespace {

using ::rpcrdma::testing::HostTree;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

std::string mount_of(const std::string& statvers, const std::string& xprt,
                     const std::string& operation) {
  return "device s:/e mounted on /m with fstype nfs4 statvers=" + statvers +
         "\n\topts:\trw,proto=rdma\n\txprt:\t" + xprt + "\n\tper-op statistics\n\t        " +
         operation + "\n\n";
}

TEST(Mountstats, AMountIsReadWhole) {
  const Mounts all = parse_mountstats(HostTree::kMountstats);
  ASSERT_THAT(all.mounts, SizeIs(2));
  EXPECT_EQ(all.left_out_mounts + all.left_out_lines, 0U);
  const Mount& m = all.mounts[0];
  EXPECT_EQ(m.device, "server:/export");
  EXPECT_EQ(m.mountpoint, "/mnt/a b");
  EXPECT_EQ(m.fstype, "nfs4");
  EXPECT_EQ(m.statvers, "1.1");
  EXPECT_EQ(m.protocol, "rdma");
  EXPECT_EQ(m.version, "4.2");
  EXPECT_EQ(m.server, "10.0.0.1");
  EXPECT_THAT(m.age_seconds, Optional(1234U));
  EXPECT_THAT(m.events, SizeIs(27));
  EXPECT_THAT(m.bytes, ElementsAre(31, 32, 33, 34, 35, 36, 37, 38));
  ASSERT_THAT(m.transports, SizeIs(2));
  EXPECT_THAT(m.transports[1].numbers, SizeIs(27));
  EXPECT_THAT(m.transports[1].numbers[26], Optional(166U));
  // Operations that were never called are not there.
  ASSERT_THAT(m.operations, SizeIs(2));
  EXPECT_EQ(m.operations[0].name, "READ");
  EXPECT_THAT(m.operations[0].numbers, ElementsAre(71, 72, 73, 74, 75, 76001, 77, 78, 79));
  EXPECT_FALSE(m.fell_back());
  EXPECT_EQ(all.mounts[1].transports[0].protocol, "tcp");
  EXPECT_FALSE(all.mounts[1].fell_back());
}

// The lengths of the line in Linux 3.x, 4.0, 4.8, 4.11, 4.14 and since 4.15.
TEST(Mountstats, OlderKernelsStateFewerNumbers) {
  for (const std::size_t length : {20U, 21U, 24U, 25U, 26U, 27U}) {
    std::string xprt = "rdma";
    for (std::size_t i = 0; i < length; ++i) xprt += " " + std::to_string(i);
    for (const char* const statvers : {"1.0", "1.1"}) {
      const Mounts all = parse_mountstats(mount_of(statvers, xprt, "READ: 1 2 3 4 5 6 7 8"));
      ASSERT_THAT(all.mounts, SizeIs(1));
      EXPECT_THAT(all.mounts[0].transports[0].numbers, SizeIs(length));
      ASSERT_THAT(all.mounts[0].operations, SizeIs(1));
      EXPECT_EQ(all.mounts[0].operations[0].count, 8U);  // without errors, before Linux 5.3
      EXPECT_EQ(all.left_out_lines, 0U);
    }
  }
}

TEST(Mountstats, ATransportThatIsNotRdmaIsSeen) {
  const Mounts all = parse_mountstats(mount_of("1.1", "tcp 0 1 2", "READ: 1 2 3 4 5 6 7 8 9"));
  ASSERT_THAT(all.mounts, SizeIs(1));
  EXPECT_TRUE(all.mounts[0].fell_back());
}

TEST(Mountstats, TheLaterOfTwoEqualMountsIsShown) {
  const std::string one = mount_of("1.1", "rdma 0 1", "READ: 1 2 3 4 5 6 7 8 9");
  const std::string two = mount_of("1.1", "rdma 0 2", "READ: 1 2 3 4 5 6 7 8 9");
  const Mounts all = parse_mountstats(one + two);
  ASSERT_THAT(all.mounts, SizeIs(1));
  ASSERT_THAT(all.mounts[0].transports, SizeIs(1));
  EXPECT_THAT(all.mounts[0].transports[0].numbers[1], Optional(2U));
  EXPECT_EQ(all.left_out_mounts, 1U);
}

TEST(Mountstats, WhatIsNotValidIsCountedAndLeftOut) {
  for (const char* const operation :
       {"READ: 1 2 3", "READ: 1 2 3 4 5 6 7 8 9 10", "READ: 1 -2 3 4 5 6 7 8 9",
        "RE\"AD: 1 2 3 4 5 6 7 8 9", "READ: 99999999999999999999999 2 3 4 5 6 7 8", "READ"}) {
    const Mounts all = parse_mountstats(mount_of("1.1", "rdma 0", operation));
    EXPECT_EQ(all.left_out_lines, 1U) << operation;
  }
  const Mounts twice = parse_mountstats(
      mount_of("1.1", "rdma 0", "READ: 1 2 3 4 5 6 7 8 9\n\tREAD: 2 2 3 4 5 6 7 8 9"));
  ASSERT_THAT(twice.mounts[0].operations, SizeIs(1));
  EXPECT_EQ(twice.mounts[0].operations[0].numbers[0], 1U);
  EXPECT_EQ(twice.left_out_lines, 1U);
  const Mounts negative = parse_mountstats(mount_of("1.1", "rdma 0 1 2 3 -4 5", "READ: 0"));
  EXPECT_EQ(negative.mounts[0].transports[0].numbers[4], std::nullopt);
  EXPECT_THAT(negative.mounts[0].transports[0].numbers[5], Optional(5U));
  // Endless lines and lists end.
  std::string long_line = "rdma";
  for (int i = 0; i < 10000; ++i) long_line += " 1";
  std::string mounts = mount_of("1.1", long_line, "READ: 0");
  EXPECT_EQ(parse_mountstats(mounts).left_out_lines, 2U);
  for (int i = 0; i < 20000; ++i) {
    mounts += "device s:/e mounted on /m" + std::to_string(i) + " with fstype nfs statvers=1.1\n";
  }
  const Mounts many = parse_mountstats(mounts);
  EXPECT_THAT(many.mounts, SizeIs(8192));
  EXPECT_EQ(many.left_out_mounts, 20001U - 8192U);
  EXPECT_THAT(
      parse_mountstats("device  mounted\nno device mounted on / with fstype nfs\n\n\0x").mounts,
      IsEmpty());
}

TEST(Mountstats, ThatOfTheFirstProcessIsPreferred) {
  const HostTree host;
  EXPECT_THAT(read_mountstats(host.proc()).error().message, HasSubstr("self/mountstats: No such"));
  host.write("proc/self/mountstats", "");
  EXPECT_THAT(read_mountstats(host.proc())->mounts, IsEmpty());
  host.write("proc/1/mountstats", HostTree::kMountstats);
  EXPECT_THAT(read_mountstats(host.proc())->mounts, SizeIs(2));
}

// The lists of the drivers differ; what they mean is found in each.
TEST(DeviceCounters, EachDriversNamesAreKnown) {
  const HostTree host;
  const auto write = [&](const std::string& device, const char* name, const char* value) {
    host.write("sys/class/infiniband/" + device + "/ports/1/hw_counters/" + name, value);
  };
  write("bnxt_re0", "oos_drop_count", "1\n");
  write("bnxt_re0", "rnr_naks_rcvd", "2\n");
  write("bnxt_re0", "to_retransmits", "3\n");
  write("bnxt_re0", "rx_ecn_marked_pkts", "4\n");
  write("irdma0", "cnpSent", "5\n");
  write("irdma0", "RxECNMrkd", "6\n");
  write("rxe0", "out_of_seq_request", "7\n");
  write("rxe0", "rcvd_rnr_err", "8\n");
  write("rxe0", "send_rnr_err", "9\n");
  host.write("sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
  host.write("sys/class/infiniband/rxe0/ports/1/link_layer", "Ethernet\n");
  host.write("sys/class/infiniband/rxe0/ports/10/counters/port_xmit_data",
             "18446744073709551615\n");
  const auto all = read_devices(host.sys());
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->left_out, 0U);
  ASSERT_THAT(all->ports, SizeIs(4));
  const DevicePort& bnxt = all->ports[0];
  EXPECT_THAT(value_of(bnxt, Signal::kOutOfSequence), Optional(1U));
  EXPECT_THAT(value_of(bnxt, Signal::kRnrNaks), Optional(2U));
  EXPECT_THAT(value_of(bnxt, Signal::kAckTimeouts), Optional(3U));
  EXPECT_THAT(value_of(bnxt, Signal::kEcnMarked), Optional(4U));
  EXPECT_EQ(value_of(bnxt, Signal::kCnpSent), std::nullopt);
  EXPECT_THAT(value_of(all->ports[1], Signal::kCnpSent), Optional(5U));
  EXPECT_THAT(value_of(all->ports[1], Signal::kEcnMarked), Optional(6U));
  const DevicePort& rxe = all->ports[2];
  EXPECT_EQ(rxe.device, "rxe0");
  EXPECT_EQ(rxe.port, 1U);
  EXPECT_EQ(rxe.state, "ACTIVE");
  EXPECT_EQ(rxe.link_layer, "Ethernet");
  EXPECT_THAT(value_of(rxe, Signal::kOutOfSequence), Optional(7U));
  EXPECT_THAT(value_of(rxe, Signal::kRnrNaks), Optional(8U));
  EXPECT_THAT(value_of(rxe, Signal::kMissingReceive), Optional(9U));
  EXPECT_EQ(all->ports[3].port, 10U);
  EXPECT_EQ(all->ports[3].counters[0].value, UINT64_MAX);
}

TEST(DeviceCounters, WhatIsNoCounterIsCountedAndLeftOut) {
  const HostTree host;
  EXPECT_FALSE(read_devices(host.sys()));
  const std::string folder = "sys/class/infiniband/x/ports/1/hw_counters/";
  host.write(folder + "good", "1\n");
  host.write(folder + "bad name", "1\n");
  host.write(folder + "text", "many\n");
  host.write(folder + "negative", "-1\n");
  host.write(folder + "empty", "");
  host.write(folder + "long", std::string(100'000, '1'));
  host.make_folder(folder + "folder");
  host.make_folder("sys/class/infiniband/x/ports/zero");
  host.make_folder("sys/class/infiniband/x/ports/0");
  host.make_folder("sys/class/infiniband/x/ports/4294967296");
  const auto all = read_devices(host.sys());
  ASSERT_TRUE(all);
  ASSERT_THAT(all->ports, SizeIs(1));
  ASSERT_THAT(all->ports[0].hw_counters, SizeIs(1));
  EXPECT_EQ(all->ports[0].hw_counters[0].name, "good");
  EXPECT_EQ(all->left_out, 9U);
}

TEST(Server, CountersAndProceduresAreRead) {
  const HostTree host;
  EXPECT_FALSE(read_svcrdma(host.proc()));
  EXPECT_FALSE(read_nfsd(host.proc()));
  host.write_whole_host();
  const auto svcrdma = read_svcrdma(host.proc());
  ASSERT_TRUE(svcrdma);
  ASSERT_THAT(svcrdma->numbers, SizeIs(6));
  EXPECT_EQ(svcrdma->numbers[2].name, "rdma_stat_recv");
  EXPECT_EQ(svcrdma->numbers[2].value, 4711U);
  const auto nfsd = read_nfsd(host.proc());
  ASSERT_TRUE(nfsd);
  EXPECT_THAT(nfsd->reply_cache, ElementsAre(1, 20, 300));
  EXPECT_THAT(nfsd->io, ElementsAre(5000, 60000));
  EXPECT_THAT(nfsd->net, ElementsAre(70, 8, 9, 10));
  EXPECT_THAT(nfsd->rpc, ElementsAre(800, 6, 1, 2, 3));
  EXPECT_THAT(nfsd->write_delegation_getattrs, Optional(19U));
  ASSERT_THAT(nfsd->procedures, SizeIs(3));
  EXPECT_THAT(nfsd->procedures[2].calls, ElementsAre(0, 0, 0, 16, 17, 18));
  EXPECT_EQ(nfsd->left_out, 0U);
  // An older kernel's histogram of threads; a line whose length is not as it says.
  host.write("proc/net/rpc/nfsd",
             "th 8 0 0.000 0.000\nproc3 4 1 2\nfuture 1\nproc4 1 9\nproc4 1 9\n");
  const auto older = read_nfsd(host.proc());
  EXPECT_THAT(older->threads, ElementsAre(8, 0));
  EXPECT_THAT(older->procedures, SizeIs(1));
  EXPECT_EQ(older->left_out, 3U);
}

TEST(Sunrpc, TransportsAndTheirStatesAreRead) {
  const HostTree host;
  EXPECT_FALSE(read_sunrpc(host.sys()));
  host.write_whole_host();
  const std::string folder = "sys/kernel/sunrpc/xprt-switches/";
  host.write(folder + "switch-10/xprt-11-tcp/xprt_state", "state=CLOSED\n");
  host.write(folder + "switch-10/xprt-11-tcp/srcaddr", "10.0.0.2\n");
  host.write(folder + "other/x", "");
  host.write(folder + "switch-2/xprt-x-rdma/dstaddr", "");
  const auto all = read_sunrpc(host.sys());
  ASSERT_TRUE(all);
  ASSERT_THAT(all->switches, SizeIs(2));
  EXPECT_EQ(all->switches[0].number, 2U);
  EXPECT_EQ(all->switches[0].info[3].name, "queue_len");
  EXPECT_EQ(all->switches[0].info[3].value, 3U);
  ASSERT_THAT(all->switches[0].transports, SizeIs(1));
  const SunrpcTransport& t = all->switches[0].transports[0];
  EXPECT_EQ(t.number, 5U);
  EXPECT_EQ(t.protocol, "rdma");
  EXPECT_EQ(t.destination, "10.0.0.1");
  EXPECT_THAT(t.states, ElementsAre("CONNECTED", "BOUND", "CWND_WAIT"));
  EXPECT_THAT(t.info, SizeIs(12));
  EXPECT_EQ(t.info[2].value / SunrpcTransport::kWindowUnit, 128U);
  EXPECT_THAT(all->switches[1].transports[0].states, ElementsAre("CLOSED"));
  EXPECT_THAT(all->switches[1].transports[0].info, IsEmpty());
  EXPECT_EQ(all->switches[1].transports[0].source, "10.0.0.2");
  EXPECT_EQ(all->left_out, 1U);
}

}  // namespace
}  // namespace rpcrdma::host

// Joins mounts, and names what they show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/mounts/mounts.h>

namespace rpcrdma::mounts {
namespace {

using ::testing::ElementsAre;

Mount mount(std::uint64_t first_frame, std::uint32_t connection) {
  Mount m;
  m.version = 4;
  m.minor = 1;
  m.session = "01";
  m.first_frame = first_frame;
  m.last_frame = first_frame + 5;
  m.calls = m.replies = 10;
  m.slots = 16;
  m.slots_in_use_max = 3;
  MountConnection& c = m.connections.emplace_back();
  c.id = connection;
  c.calls = 10;
  c.credits_granted = 64;
  c.credits_in_use_max = 3;
  return m;
}

TEST(Mounts, AreAddedByConnection) {
  Mount to = mount(10, 2);
  Mount from = mount(30, 1);
  from.slots_in_use_max = 7;
  from.connections[0].back_bound = true;
  from.backchannel.callbacks = 2;
  from.backchannel.last = Callback{31, 5, "CB_RECALL", "NFS4_OK"};
  add(to, Mount(from));
  add(to, std::move(from));
  ASSERT_EQ(to.connections.size(), 2U);
  EXPECT_EQ(to.connections[0].id, 1U);
  EXPECT_EQ(to.connections[0].calls, 20U);
  EXPECT_EQ(to.connections[1].calls, 10U);
  EXPECT_EQ(to.calls, 30U);
  EXPECT_EQ(to.slots_in_use_max, 7U);
  EXPECT_EQ(to.first_frame, 10U);
  EXPECT_EQ(to.last_frame, 35U);
  EXPECT_EQ(to.backchannel.callbacks, 4U);
  EXPECT_EQ(to.backchannel.last->operation, "CB_RECALL");
  EXPECT_EQ(to.credits_granted(), 128U);
  EXPECT_EQ(to.credits_in_use_max(), 3U);
}

TEST(Mounts, ConnectionsBeyondTheBoundAreCounted) {
  Mount to = mount(1, 1);
  for (std::uint32_t id = 2; id <= kMaxMountConnections + 3; ++id) add(to, mount(id, id));
  EXPECT_EQ(to.connections.size(), kMaxMountConnections);
  EXPECT_EQ(to.more_connections, 3U);
}

TEST(Mounts, TheLimitIsTheOneThatWasReachedForLonger) {
  Mount m = mount(1, 1);
  EXPECT_EQ(m.limit(), Limit::kNone);
  m.slots_full = {2, 1000};
  EXPECT_EQ(m.limit(), Limit::kSlots);
  m.credits_full = {1, 900};
  EXPECT_EQ(m.limit(), Limit::kBoth);
  m.credits_full.ns = 2001;
  EXPECT_EQ(m.limit(), Limit::kCredits);
  m.replies = 0;
  EXPECT_EQ(m.limit(), Limit::kUnknown);
}

TEST(Mounts, DataServersAreFoundByAddress) {
  Mounts all;
  all.list.push_back(mount(1, 1));
  all.list[0].client = "192.0.2.1";
  all.list[0].server = "192.0.2.2";
  for (const char* netid : {"rdma", "tcp"}) {
    DataServer& s = all.list[0].layouts.servers.emplace_back();
    s.netid = netid;
    s.rdma = s.netid == "rdma";
    s.address = "192.0.2.9";
  }
  Mount data = mount(2, 5);
  data.session.clear();
  data.client = "192.0.2.1";
  data.server = "192.0.2.9";
  data.connections[0].reads = 4;
  all.list.push_back(data);
  data.client = "192.0.2.7";  // another client
  all.list.push_back(data);
  find_data_servers(all);
  EXPECT_THAT(all.list[0].layouts.servers[0].connections, ElementsAre(5U));
  EXPECT_EQ(all.list[0].layouts.servers[0].reads, 4U);
  EXPECT_THAT(all.list[0].layouts.servers[1].connections, ElementsAre());
}

TEST(Mounts, StatusFlagsHaveNames) {
  EXPECT_THAT(status_flag_names(0x201), ElementsAre("CB_PATH_DOWN", "CB_PATH_DOWN_SESSION"));
  EXPECT_THAT(status_flag_names(0x80000400), ElementsAre("BACKCHANNEL_FAULT", "0x80000000"));
}

}  // namespace
}  // namespace rpcrdma::mounts

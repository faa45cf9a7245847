#include "system_for_tests.h"

#include <cerrno>

#include <gmock/gmock.h>

#include <rpcrdma/verbs/system.h>

namespace rpcrdma::verbs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(VerbsSystem, AMachineWithoutAnythingIsEmittedHowToGetADevice) {
  const testing::FakeRoot root;
  const System system = look_at_system(root.path());
  EXPECT_TRUE(system.devices.empty());
  EXPECT_FALSE(system.has_uverbs || system.has_ucm || system.rdma_cm.exists);
  EXPECT_THAT(missing_requirements(system), HasSubstr("rdma link add"));
}

TEST(VerbsSystem, ADeviceWithAllThatIsKnownOfIt) {
  const testing::FakeRoot root;
  root.put_rxe();
  const System system = look_at_system(root.path());
  ASSERT_EQ(system.devices.size(), 1U);
  const Rnic& rnic = system.devices[0];
  EXPECT_EQ(rnic.name, "rxe0");
  EXPECT_FALSE(rnic.iwarp);
  EXPECT_EQ(rnic.uverbs.path, "/dev/infiniband/uverbs0");
  EXPECT_TRUE(rnic.uverbs.usable);
  ASSERT_EQ(rnic.ports.size(), 1U);
  const Port& port = rnic.ports[0];
  EXPECT_EQ(port.state, "ACTIVE");
  EXPECT_EQ(port.physical, "LinkUp");
  EXPECT_EQ(port.link_layer, "Ethernet");
  ASSERT_EQ(port.gids.size(), 3U);
  EXPECT_EQ(port.gids[1].index, 1U);
  EXPECT_EQ(port.gids[1].netdev, "eth0");
  EXPECT_EQ(port.gids[1].address()->to_string(), "10.77.0.1");
  EXPECT_EQ(port.gids[2].address()->to_string(), "fd77::1");
  EXPECT_EQ(missing_requirements(system), "");
}

TEST(VerbsSystem, WhatLacksIsEmittedInTheOrderInWhichItIsMended) {
  const testing::FakeRoot root;
  root.put_rxe();
  const System good = look_at_system(root.path());
  System bad = good;
  bad.devices[0].uverbs.usable = false;
  EXPECT_THAT(missing_requirements(bad), HasSubstr("no permission for /dev/infiniband/uverbs0"));
  bad.devices[0].uverbs.exists = false;
  EXPECT_THAT(missing_requirements(bad), HasSubstr("udev"));
  bad.rdma_cm.usable = false;
  EXPECT_THAT(missing_requirements(bad), HasSubstr("no permission for /dev/infiniband/rdma_cm"));
  bad.has_ucm = false;
  EXPECT_THAT(missing_requirements(bad), HasSubstr("modprobe rdma_ucm"));
  bad.has_uverbs = false;
  EXPECT_THAT(missing_requirements(bad), HasSubstr("modprobe ib_uverbs"));
  bad.devices.clear();
  EXPECT_THAT(missing_requirements(bad), HasSubstr("no RDMA device"));
}

TEST(VerbsSystem, WhoMayNotLockMemoryIsEmittedTheLimit) {
  System system;
  system.memlock = 64 << 10;
  const std::string text = registration_advice(ENOMEM, 1 << 20, system);
  EXPECT_THAT(text, HasSubstr("1048576 bytes"));
  EXPECT_THAT(text, HasSubstr("limited to 64 KiB"));
  EXPECT_THAT(text, HasSubstr("ulimit -l"));
  system.memlock = UINT64_MAX;
  EXPECT_THAT(registration_advice(ENOMEM, 1, system), Not(HasSubstr("ulimit")));
  system.memlock = 1;
  system.locks_anyway = true;
  EXPECT_THAT(registration_advice(ENOMEM, 1, system), Not(HasSubstr("ulimit")));
  EXPECT_THAT(registration_advice(EFAULT, 1, system), Not(HasSubstr(";")));
}

TEST(VerbsSystem, AnEntryOfTheGidTableIsAnAddress) {
  const testing::FakeRoot root;
  root.put_rxe();
  root.put("/sys/class/infiniband/rxe0/ports/1/gid_attrs/types/0", "IB/RoCE v1");
  const System system = look_at_system(root.path());
  EXPECT_EQ(address_of_gid(system, "rxe0", 1)->to_string(), "10.77.0.1");
  EXPECT_EQ(address_of_gid(system, "rxe0:1", 2)->to_string(), "fd77::1");
  EXPECT_THAT(address_of_gid(system, "rxe0", 0).error().message, HasSubstr("IB/RoCE v1"));
  EXPECT_THAT(address_of_gid(system, "rxe0", 3).error().message, HasSubstr("no GID 3"));
  EXPECT_THAT(address_of_gid(system, "rxe0:2", 1).error().message, HasSubstr("no such port"));
  EXPECT_THAT(address_of_gid(system, "rxe0:x", 1).error().message, HasSubstr("no such port"));
  EXPECT_THAT(address_of_gid(system, "mlx5_0", 1).error().message, HasSubstr("no such RDMA"));
}

TEST(VerbsSystem, WhatSysfsDoesNotSayRightIsLeftOut) {
  const testing::FakeRoot root;
  root.put_rxe();
  const std::string port = "/sys/class/infiniband/rxe0/ports/1";
  root.put(port + "/gids/1", "0000:0000:0000:0000:0000:ffff:0a4d:00");
  root.put(port + "/gids/2", "zzzz:0000:0000:0000:0000:0000:0000:0001");
  root.put(port + "/gids/x", "fd77:0000:0000:0000:0000:0000:0000:0001");
  root.put_folder("/sys/class/infiniband/rxe0/ports/none");
  const System system = look_at_system(root.path());
  ASSERT_EQ(system.devices[0].ports.size(), 1U);
  EXPECT_EQ(system.devices[0].ports[0].gids.size(), 1U);
}

}  // namespace
}  // namespace rpcrdma::verbs

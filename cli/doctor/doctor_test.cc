// Tests `rpcrdma doctor` on simulated machines in a directory.
#include "system_for_tests.h"

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>

#include <rpcrdma/doctor/verdict.h>

namespace rpcrdma::doctor {
namespace {

using rpcrdma::testing::FakeRoot;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A simulated machine in a directory, with what every Linux system has.
class Doctor : public ::testing::Test {
 protected:
  Doctor() {
    root_.put_folder("/sys");
    root_.put("/proc/self/status", "CapEff:\t0000000000000000");
  }
  Machine look(const std::string& home = "") const {
    return look_at_machine(root_.path(), "/nowhere:/usr/bin", home).value();
  }
  std::vector<Line> judged(const Build& build = {true, true, {}}) const {
    return judge(look(), build);
  }
  // Returns all lines about the subject.
  static std::vector<Line> about(const std::vector<Line>& lines, const std::string& subject) {
    std::vector<Line> found;
    std::copy_if(lines.begin(), lines.end(), std::back_inserter(found),
                 [&](const Line& l) { return l.subject == subject; });
    return found;
  }
  static Line only(const std::vector<Line>& lines, const std::string& subject) {
    const auto found = about(lines, subject);
    EXPECT_EQ(found.size(), 1U) << subject;
    return found.empty() ? Line() : found[0];
  }

  FakeRoot root_;
};

TEST_F(Doctor, AMachineWithoutRdmaLacksNothing) {
  const auto lines = judged();
  for (const Line& l : lines) EXPECT_NE(l.health, Health::kMissing) << l.subject;
  EXPECT_EQ(only(lines, "devices").health, Health::kNote);
  EXPECT_THAT(only(lines, "devices").advice, HasSubstr("no module rdma_rxe"));
  EXPECT_EQ(only(lines, "user-space RDMA").health, Health::kGood);
  EXPECT_THAT(to_text(lines), HasSubstr("Nothing is missing."));
}

TEST_F(Doctor, NamesOfDevicesAreHarmlessOnATerminal) {
  const std::string text = to_text({{"a\x1b[2J", Health::kGood, "b\xc2\x9b\nforged: c", "d\x07"}});
  EXPECT_THAT(text, HasSubstr("a\\x1b[2J: b\\xc2\\x9b\\x0aforged: c\n"));
  EXPECT_THAT(text, HasSubstr("-> d\\x07\n"));
}

TEST_F(Doctor, WhereTheKernelCanMakeADeviceItIsReportedHow) {
  utsname kernel{};
  ASSERT_EQ(::uname(&kernel), 0);
  root_.put(std::string("/lib/modules/") + kernel.release + "/modules.dep",
            "kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko: kernel/net/other.ko");
  EXPECT_THAT(only(judged(), "devices").advice, HasSubstr("rdma link add rxe0"));
}

TEST_F(Doctor, AnotherModuleThatNeedsRxeIsNotIt) {
  utsname kernel{};
  ASSERT_EQ(::uname(&kernel), 0);
  root_.put(std::string("/lib/modules/") + kernel.release + "/modules.dep",
            "kernel/other.ko: kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko");
  EXPECT_FALSE(look().rxe_available);
}

TEST_F(Doctor, ADeviceWithItsPortAndAddresses) {
  root_.put_rxe();
  root_.put("/sys/class/net/eth0/mtu", "1500");
  const auto lines = judged();
  EXPECT_EQ(only(lines, "device rxe0").health, Health::kGood);
  EXPECT_THAT(only(lines, "device rxe0").text, HasSubstr("RoCE"));
  EXPECT_EQ(only(lines, "rxe0 port 1").health, Health::kGood);
  const Line gid = only(lines, "rxe0 port 1 GID 1");
  EXPECT_EQ(gid.health, Health::kNote);
  EXPECT_EQ(gid.text, "10.77.0.1 on eth0, MTU 1500, which results in a path MTU of 1024");
  EXPECT_THAT(gid.advice, HasSubstr("ip link set eth0 mtu 4200"));
  EXPECT_THAT(only(lines, "rxe0 port 1 GID 2").text, HasSubstr("fd77::1"));
  EXPECT_EQ(only(lines, "module ib_uverbs").health, Health::kGood);
  EXPECT_THAT(only(lines, "user-space RDMA").advice, HasSubstr("rdma link delete"));
}

TEST_F(Doctor, AnMtuThatIsLargeEnoughIsGood) {
  root_.put_rxe();
  root_.put("/sys/class/net/eth0/mtu", "4200");
  EXPECT_EQ(only(judged(), "rxe0 port 1 GID 1").health, Health::kGood);
}

TEST_F(Doctor, WhatLacksOfADeviceIsReportedWithWhatToDo) {
  root_.put_rxe();
  std::filesystem::remove_all(root_.path() + "/sys/class/infiniband_verbs");
  std::filesystem::remove_all(root_.path() + "/sys/class/misc");
  std::filesystem::remove_all(root_.path() + "/dev");
  const std::string port = "/sys/class/infiniband/rxe0/ports/1";
  root_.put(port + "/state", "1: DOWN");
  for (const char* const index : {"0", "1", "2"}) {
    root_.put(port + "/gid_attrs/types/" + index, "IB/RoCE v1");
  }
  const auto lines = judged();
  EXPECT_THAT(only(lines, "module ib_uverbs").advice, HasSubstr("modprobe ib_uverbs"));
  EXPECT_THAT(only(lines, "module rdma_ucm").advice, HasSubstr("modprobe rdma_ucm"));
  EXPECT_EQ(only(lines, "/dev/infiniband/rdma_cm").text, "is missing");
  const auto of_port = about(lines, "rxe0 port 1");
  ASSERT_EQ(of_port.size(), 2U);
  EXPECT_EQ(of_port[0].health, Health::kMissing);
  EXPECT_THAT(of_port[0].advice, HasSubstr("ip link set"));
  EXPECT_THAT(of_port[1].text, HasSubstr("no RoCEv2 GID"));
  EXPECT_THAT(to_text(lines), HasSubstr("missing; see the advice below"));
}

TEST_F(Doctor, AnInfinibandPortThatWaitsNeedsASubnetManager) {
  Machine machine = look();
  verbs::Port port;
  port.state = "INIT";
  port.link_layer = "InfiniBand";
  machine.rdma.devices = {{"mlx5_0", false, "16.35", {}, {port}}};
  const auto lines = judge(machine, {true, true, {}});
  EXPECT_THAT(only(lines, "mlx5_0 port 1").advice, HasSubstr("subnet manager"));
  EXPECT_THAT(only(lines, "device mlx5_0").text, HasSubstr("InfiniBand, firmware 16.35"));
  EXPECT_EQ(only(lines, "capturing from mlx5_0").health, Health::kNote);
  const auto listed = judge(machine, {true, true, {"lo", "mlx5_0"}});
  EXPECT_EQ(only(listed, "capturing from mlx5_0").health, Health::kGood);
}

TEST_F(Doctor, LimitsOfMemoryThatMayBeLocked) {
  Machine machine = look();
  machine.rdma.memlock = 64 << 10;
  EXPECT_EQ(only(judge(machine, {}), "locked memory").health, Health::kNote);
  EXPECT_THAT(only(judge(machine, {}), "locked memory").text, HasSubstr("64 KiB"));
  machine.rdma.locks_anyway = true;
  EXPECT_EQ(only(judge(machine, {}), "locked memory").health, Health::kGood);
}

TEST_F(Doctor, RightsToCapture) {
  EXPECT_EQ(only(judged(), "capturing").health, Health::kNote);
  root_.put("/proc/self/status", "CapEff:\t0000000000002000");
  EXPECT_EQ(only(judged(), "capturing").health, Health::kGood);
  EXPECT_EQ(only(judged({true, false, {}}), "capturing").health, Health::kMissing);
}

TEST_F(Doctor, RpcbindAndWhoNeedsIt) {
  EXPECT_EQ(only(judged(), "rpcbind").health, Health::kNote);
  EXPECT_THAT(only(judged(), "rpcbind").advice, HasSubstr("rpcrdma serve --rpcbind"));
  root_.put("/run/rpcbind.sock");
  EXPECT_EQ(only(judged(), "rpcbind").health, Health::kGood);
}

TEST_F(Doctor, WiresharkAndWhatItLoads) {
  EXPECT_EQ(only(judged(), "Wireshark").health, Health::kNote);
  EXPECT_THAT(about(judged(), "Wireshark's plugin"), IsEmpty());
  root_.put("/usr/bin/tshark");
  std::filesystem::permissions(root_.path() + "/usr/bin/tshark", std::filesystem::perms::all);
  EXPECT_EQ(only(judged(), "Wireshark").text, "/usr/bin/tshark");
  EXPECT_EQ(only(judged(), "Wireshark's plugin").health, Health::kNote);
  const std::string plugin = "/home/me/.local/lib/wireshark/plugins/4.0/epan/rpcrdma-scope.so";
  root_.put(plugin);
  root_.put("/usr/lib/x86_64-linux-gnu/wireshark/extcap/rpcrdma-extcap");
  root_.put("/home/me/.local/lib/wireshark/extcap/rpcrdma-extcap");
  root_.put("/usr/lib/x86_64-linux-gnu/wireshark/extcap/sshdump");
  root_.put("/usr/lib/x86_64-linux-gnu/wireshark/extcap/rpcrdma.old");
  const Machine machine = look("/home/me");
  EXPECT_THAT(machine.plugins, ElementsAre(plugin));
  EXPECT_THAT(machine.extcaps,
              ElementsAre("/home/me/.local/lib/wireshark/extcap/rpcrdma-extcap",
                          "/usr/lib/x86_64-linux-gnu/wireshark/extcap/rpcrdma-extcap"));
}

TEST_F(Doctor, JsonHasLinesAndDevices) {
  root_.put_rxe();
  root_.put("/sys/class/net/eth0/mtu", "1500");
  const Machine machine = look();
  const auto json = nlohmann::json::parse(to_json(machine, judge(machine, {true, true, {}})));
  EXPECT_FALSE(json["checks"].empty());
  for (const auto& check : json["checks"]) {
    for (const char* const key : {"subject", "health", "text", "advice"}) {
      EXPECT_TRUE(check[key].is_string()) << key;
    }
  }
  const auto& gid = json["devices"][0]["ports"][0]["gids"][1];
  EXPECT_EQ(gid["address"], "10.77.0.1");
  EXPECT_EQ(gid["index"], 1);
  EXPECT_EQ(gid["mtu"], 1500);
}

TEST_F(Doctor, WithoutSysfsItCannotLook) {
  const auto nothing = look_at_machine(root_.path() + "/nowhere", "", "");
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().message, HasSubstr("/sys"));
}

}  // namespace
}  // namespace rpcrdma::doctor

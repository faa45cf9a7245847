#include "interfaces.h"

#include "support/live_hub.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace rpcrdma::extcap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const trace::RunningEndpoint kServer{
    .name = "a {server}",
    .process = 4711,
    .path = "/run/user/1000/rpcrdma/a__server_.4711.sock",
    .packets = "/run/user/1000/rpcrdma/a__server_.4711.packets.sock",
    .role = "server on\n10.0.0.1",
    .since = 1};

TEST(ExtcapInterfaces, EventsAndPacketsAreOneEach) {
  const std::string text = list_interfaces({kServer});
  EXPECT_THAT(text, HasSubstr("\ninterface {value=rpcrdma.a__server_.4711}{display=RPC-over-RDMA "
                              "events of a _server_: server on_10.0.0.1, process 4711}\n"));
  EXPECT_THAT(text, HasSubstr("\ninterface {value=rpcrdma.a__server_.4711.packets}{display=RoCEv2 "
                              "packets of a _server_: server on_10.0.0.1, process 4711}\n"));
  trace::RunningEndpoint on_a_device = kServer;
  on_a_device.packets.clear();
  on_a_device.since = 0;
  on_a_device.fault = "does not answer";
  EXPECT_THAT(list_interfaces({on_a_device}),
              testing::AllOf(Not(HasSubstr("packets")), HasSubstr("does not answer")));
}

// C1 in UTF-8, a byte that is none, a change of the writing direction, and an end of the sentence.
TEST(ExtcapInterfaces, NothingInANameOrARoleIsRaw) {
  trace::RunningEndpoint e = kServer;
  e.packets.clear();
  e.name =
      "a\xc2\x9b"
      "2J\x9b\xe2\x80\xae";
  e.role = "x}\ninterface {value=forged}{display=y\\";
  const std::string text = list_interfaces({e});
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_THAT(text, HasSubstr("events of a_xc2_x9b2J_x9b_xe2_x80_xae: x__interface "
                              "_value=forged__display=y_, process"));
}

TEST(ExtcapInterfaces, TheKernelIsAlwaysOne) {
  EXPECT_THAT(list_interfaces({}),
              HasSubstr("\ninterface {value=rpcrdma.kernel}{display=Linux NFS/RDMA (kernel)}\n"));
  EXPECT_TRUE(is_interface(kKernelInterface));
  EXPECT_THAT(list_link_types(kKernelInterface), HasSubstr("{number=252}"));
}

TEST(ExtcapInterfaces, SayWhatTheyCarryAndCanBeAskedFor) {
  EXPECT_THAT(list_link_types("rpcrdma.x.1"), HasSubstr("{number=252}"));
  EXPECT_THAT(list_link_types("rpcrdma.x.1.packets"), HasSubstr("{number=1}"));
  EXPECT_THAT(list_options("rpcrdma.x.1"), HasSubstr("{call=--events}"));
  EXPECT_THAT(list_options("rpcrdma.x.1"), HasSubstr("{call=--snaplen}"));
  EXPECT_THAT(list_options("rpcrdma.x.1.packets"), Not(HasSubstr("{call=--events}")));
  EXPECT_FALSE(is_interface("eth0"));
  EXPECT_FALSE(is_interface("rpcrdma."));
}

class ExtcapConnect : public trace::HubTest {};

TEST_F(ExtcapConnect, ByTheNameThatIsListed) {
  start_with_socket({.name = "nfsd"});
  ASSERT_TRUE(hub_->open_packet_socket());
  const auto endpoints = trace::list_endpoints();
  ASSERT_TRUE(endpoints);
  ASSERT_EQ(endpoints->size(), 1U);
  for (const std::string& name :
       {events_interface(endpoints->front()), packets_interface(endpoints->front())}) {
    const auto fd = extcap::connect(name);
    ASSERT_TRUE(fd) << fd.error();
    const auto source = capture::open_descriptor(base::FileDescriptor(::dup(fd->fd.get())), name);
    EXPECT_TRUE(source);
  }
  EXPECT_FALSE(extcap::connect(events_interface(endpoints->front()))->kernel);
  EXPECT_THAT(extcap::connect("rpcrdma.nfsd.1").error(), HasSubstr("rpcrdma.nfsd.1: no endpoint"));
}

// The fake endpoint has the kernel's name: nothing is started.
TEST_F(ExtcapConnect, TheKernelIfItRunsAlready) {
  start_with_socket({.name = "kernel"});
  const auto connected = extcap::connect(std::string(kKernelInterface));
  ASSERT_TRUE(connected) << connected.error();
  EXPECT_FALSE(connected->kernel);
}

}  // namespace
}  // namespace rpcrdma::extcap

// Tests of capturing from the loopback interface.
#include "capture_for_tests.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/capture/link.h>

namespace rpcrdma::capture {
namespace {

using ::testing::HasSubstr;

LiveOptions on_loopback(const std::string& filter) {
  LiveOptions options;
  options.interface = "lo";
  options.filter = filter;
  return options;
}

bool may_capture() {
  return open_live(on_loopback("")).has_value();
}

sockaddr_in on_loopback_port(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Sends datagrams from a source port that only this test uses: every other program on the machine,
// other tests included, shares the loopback interface.
class Sender {
 public:
  Sender() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = on_loopback_port(0);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_.get(), generic, size), 0);
    EXPECT_EQ(::getsockname(fd_.get(), generic, &size), 0);
    port_ = ntohs(address.sin_port);
  }

  // Returns a filter for what this sender sends to `port`.
  std::string filter(std::uint16_t port) const {
    return fmt::format("udp dst port {} and src port {}", port, port_);
  }

  void send(std::uint16_t port, const ByteVector& payload) const {
    const sockaddr_in to = on_loopback_port(port);
    ASSERT_EQ(::sendto(fd_.get(), payload.data(), payload.size(), 0,
                       reinterpret_cast<const sockaddr*>(&to), sizeof to),
              static_cast<ssize_t>(payload.size()));
  }

 private:
  base::FileDescriptor fd_;
  std::uint16_t port_ = 0;
};

std::atomic<LiveSource*> guarded{nullptr};

extern "C" void stop_guarded(int) {
  if (LiveSource* const source = guarded.load()) source->stop();
}

// Stops the capture with a signal if the frames that a test waits for do not come.
class Guard {
 public:
  explicit Guard(LiveSource& source) {
    guarded = &source;
    std::signal(SIGALRM, stop_guarded);
    ::alarm(20);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() {
    ::alarm(0);
    guarded = nullptr;
  }
};

class Live : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_capture()) GTEST_SKIP() << "not permitted to capture on lo";
  }
};

TEST_F(Live, SeesWhatTheFilterLetsThrough) {
  const Sender sender;
  auto source = open_live(on_loopback(sender.filter(4791)));
  ASSERT_TRUE(source) << source.error().message;
  const Guard guard(**source);
  for (std::uint8_t i = 0; i < 5; ++i) {
    sender.send(4790, ByteVector(32, 0xff));
    sender.send(4791, ByteVector(32, i));
  }
  for (std::uint8_t i = 0; i < 5; ++i) {
    Frame frame;
    ASSERT_TRUE((*source)->next(frame).value());
    EXPECT_EQ(frame.number, i + 1u);
    EXPECT_GT(frame.time_ns, 1'600'000'000'000'000'000);
    TransportPacket packet;
    ASSERT_EQ(dissect_link(frame, packet), LinkResult::kRoce);
    EXPECT_EQ(packet.dst.to_string(), "127.0.0.1");
    EXPECT_EQ(packet.transport()[0], i);
    EXPECT_EQ(packet.wire_length, 32u);
  }
  EXPECT_EQ((*source)->stats().frames, 5u);
  EXPECT_EQ((*source)->stats().dropped, 0u);
}

TEST_F(Live, SnapshotLengthCutsFrames) {
  const Sender sender;
  LiveOptions options = on_loopback(sender.filter(4791));
  options.snaplen = 60;
  auto source = open_live(options);
  ASSERT_TRUE(source) << source.error().message;
  const Guard guard(**source);
  sender.send(4791, ByteVector(1000, 1));
  Frame frame;
  ASSERT_TRUE((*source)->next(frame).value());
  EXPECT_EQ(frame.data.size(), 60u);
  EXPECT_EQ(frame.original, 14u + 20 + 8 + 1000);
}

TEST_F(Live, PollComesBackWithoutAFrame) {
  auto source = open_live(on_loopback("udp dst port 1 and udp src port 1"));
  ASSERT_TRUE(source) << source.error().message;
  const Guard guard(**source);
  Frame frame;
  EXPECT_EQ((*source)->poll(frame).value(), LiveSource::Polled::kNothing);
  (*source)->stop();
  EXPECT_EQ((*source)->poll(frame).value(), LiveSource::Polled::kStopped);
}

TEST_F(Live, RoceOnlyUnlessAFilterIsGiven) {
  LiveOptions options = on_loopback("");
  EXPECT_EQ(open_live(options).value()->interface().filter, "");
  options.only_roce = true;
  const auto source = open_live(options);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_THAT((*source)->interface().filter,
              HasSubstr("udp port 4791 or tcp port 20049 or ether proto 0x8915"));
  EXPECT_EQ((*source)->interface().link, LinkType::kEthernet);
  EXPECT_EQ((*source)->interface().name, "lo");
  EXPECT_GT((*source)->interface().snaplen, 65535u);
  // Links without an Ethernet header have no VLAN tags to match.
  options.interface = "any";
  EXPECT_EQ(open_live(options).value()->interface().filter,
            "udp port 4791 or tcp port 20049 or ether proto 0x8915");
}

TEST_F(Live, TunnelsOnRequest) {
  LiveOptions options = on_loopback("");
  options.only_roce = options.tunnels = true;
  for (const char* interface : {"lo", "any"}) {
    options.interface = interface;
    const auto source = open_live(options);
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_THAT((*source)->interface().filter, HasSubstr("udp dst port 4789"));
    EXPECT_THAT((*source)->interface().filter, HasSubstr("ether proto 0x8847"));
  }
}

TEST_F(Live, StopFromAnotherThreadEndsTheWait) {
  auto source = open_live(on_loopback("udp dst port 1 and udp src port 1"));
  ASSERT_TRUE(source) << source.error().message;
  const Guard guard(**source);
  std::thread other([&] { (*source)->stop(); });
  Frame frame;
  EXPECT_FALSE((*source)->next(frame).value());
  other.join();
  EXPECT_FALSE((*source)->next(frame).value());
}

TEST_F(Live, StopFromASignalHandlerEndsTheWait) {
  auto source = open_live(on_loopback("udp dst port 1 and udp src port 1"));
  ASSERT_TRUE(source) << source.error().message;
  const Guard guard(**source);
  ASSERT_EQ(std::raise(SIGALRM), 0);
  Frame frame;
  EXPECT_FALSE((*source)->next(frame).value());
}

TEST_F(Live, FramesFromBeforeTheStopAreDelivered) {
  const Sender sender;
  auto source = open_live(on_loopback(sender.filter(4791)));
  ASSERT_TRUE(source) << source.error().message;
  const Guard guard(**source);
  constexpr std::uint64_t kFrames = 300;
  for (std::uint64_t i = 0; i < kFrames; ++i) sender.send(4791, ByteVector(32, 1));
  (*source)->stop();
  sender.send(4791, ByteVector(32, 2));
  Frame frame;
  std::uint64_t before = 0;
  while ((*source)->next(frame).value()) {
    EXPECT_EQ(frame.data.back(), 1);
    ++before;
  }
  EXPECT_EQ(before, kFrames);
  EXPECT_EQ((*source)->stats().frames, kFrames);
}

TEST_F(Live, HeadersOfDataAndWholeMessages) {
  const Sender sender;
  LiveOptions options = on_loopback(sender.filter(4791));
  options.headers = true;
  auto source = open_live(options);
  ASSERT_TRUE(source) << source.error().message;
  const Guard guard(**source);
  constexpr std::uint8_t kWriteMiddle = 7, kSendOnly = 4;
  sender.send(4791, ByteVector(1000, kWriteMiddle));
  sender.send(4791, ByteVector(1000, kSendOnly));
  Frame frame;
  ASSERT_TRUE((*source)->next(frame).value());
  EXPECT_EQ(frame.data.size(), 256u);
  EXPECT_EQ(frame.original, 14u + 20 + 8 + 1000);
  ASSERT_TRUE((*source)->next(frame).value());
  EXPECT_EQ(frame.data.size(), 14u + 20 + 8 + 1000);
}

TEST_F(Live, FilterErrorsAreReported) {
  const auto source = open_live(on_loopback("udp porrt 4791"));
  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().message, HasSubstr("filter \"udp porrt 4791\": "));
}

TEST_F(Live, MissingInterfaceIsNamed) {
  LiveOptions options;
  options.interface = "no-such-if0";
  const auto source = open_live(options);
  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().message, HasSubstr("no-such-if0: No such device exists"));
}

TEST(LiveOptionsCheck, ImpossibleSizes) {
  LiveOptions options = on_loopback("");
  options.snaplen = 262145;
  EXPECT_THAT(open_live(options).error().message, HasSubstr("snapshot length 262145"));
  options.snaplen = 0;
  options.buffer_mib = 2048;
  EXPECT_THAT(open_live(options).error().message, HasSubstr("buffer of 2048 MiB"));
}

TEST(Interfaces, LoopbackIsAmongThem) {
  const auto found = list_interfaces();
  ASSERT_TRUE(found) << found.error().message;
  if (!may_capture()) GTEST_SKIP() << "not permitted to capture";
  EXPECT_TRUE(std::any_of(found->begin(), found->end(),
                          [](const ListedInterface& i) { return i.name == "lo"; }));
}

}  // namespace
}  // namespace rpcrdma::capture

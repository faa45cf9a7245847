// The bus on a real nats-server.
#include "support/nats_server.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <poll.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/fleet/bus.h>
#include <rpcrdma/fleet/subjects.h>

namespace rpcrdma::fleet {
namespace {

using e2e::NatsServer;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr milliseconds kLong{20'000};

bool becomes(const std::function<bool()>& condition) {
  for (int tries = 0; tries < 4000; ++tries) {
    if (condition()) return true;
    ::poll(nullptr, 0, 5);
  }
  return false;
}

struct Folder {
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rpcrdma-bus-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

class BusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!NatsServer::installed()) GTEST_SKIP() << "nats-server is not installed";
  }

  [[nodiscard]] BusOptions options() const {
    BusOptions o;
    o.url = server_.url();
    o.name = "test";
    return o;
  }
  [[nodiscard]] std::unique_ptr<Bus> connected() const {
    auto bus = Bus::connect(options());
    EXPECT_TRUE(bus) << bus.error().message;
    return bus ? std::move(*bus) : nullptr;
  }
  [[nodiscard]] std::string refusal() const {
    const auto bus = Bus::connect(options());
    return bus ? "connected" : bus.error().message;
  }

  static std::optional<BusMessage> next(Subscription& subscription) {
    std::optional<BusMessage> message;
    becomes([&] { return (message = subscription.take()).has_value(); });
    return message;
  }
  static std::vector<std::string> findings(Bus& bus, std::int64_t since = 0,
                                           const std::string& host = {}) {
    std::vector<std::string> all;
    const auto read = bus.findings_since(since, host, [&](const BusMessage& m) {
      EXPECT_NE(m.stored_ns, 0);
      all.push_back(m.data);
      return true;
    });
    EXPECT_TRUE(read) << read.error().message;
    return all;
  }

  const Folder folder_;
  NatsServer server_{folder_.path};
};

TEST_F(BusTest, DeliversStatesAndFindings) {
  ASSERT_TRUE(server_.start()) << server_.log();
  const auto agent = connected();
  const auto viewer = connected();
  ASSERT_TRUE(agent != nullptr && viewer != nullptr);
  const auto none = viewer->findings_since(0, {}, [](const BusMessage&) { return true; });
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "it has no stream RPCRDMA_FINDINGS: no agent has connected to it");
  const auto prepared = agent->prepare_streams();
  ASSERT_TRUE(prepared) << prepared.error().message;
  ASSERT_TRUE(viewer->prepare_streams());  // they exist
  EXPECT_TRUE(findings(*viewer).empty());

  auto states = viewer->subscribe(kAllStates);
  ASSERT_TRUE(states) << states.error().message;
  ASSERT_TRUE(viewer->flush(kLong));
  agent->publish_state("a.b", "one");
  ASSERT_TRUE(agent->flush(kLong));
  const auto first = next(**states);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->subject, "rpcrdma.state.a%2Eb");
  EXPECT_EQ(first->data, "one");
  EXPECT_EQ(first->stored_ns, 0);
  agent->publish_state("a.b", "two");
  agent->publish_state("c", "three");
  ASSERT_TRUE(agent->flush(kLong));
  std::vector<std::string> latest;
  ASSERT_TRUE(viewer->latest_states([&](const BusMessage& m) {
    EXPECT_NE(m.stored_ns, 0);
    latest.push_back(m.data);
    return true;
  }));
  EXPECT_THAT(latest, ElementsAre("two", "three"));

  agent->publish_finding("a", "i-1", "f1");
  agent->publish_finding("a", "i-1", "f1");  // the same
  agent->publish_finding("b", "i-2", "f2");
  ASSERT_TRUE(agent->flush(kLong));
  EXPECT_THAT(findings(*viewer), ElementsAre("f1", "f2"));
  EXPECT_THAT(findings(*viewer, 0, "b"), ElementsAre("f2"));
  EXPECT_TRUE(findings(*viewer, base::wall_clock_ns() + base::kSecond).empty());
  EXPECT_EQ(agent->counters().findings_dropped, 0U);
  EXPECT_EQ(agent->counters().findings_waiting, 0U);
}

TEST_F(BusTest, RequestsAreAnsweredAndQueuesAreBounded) {
  ASSERT_TRUE(server_.start());
  const auto a = connected();
  const auto b = connected();
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(a->request("rpcrdma.control.x", "hello", kLong).error().message,
            "nobody listens there");
  {
    auto control = b->subscribe("rpcrdma.control.x", {2, 100}, 50);
    ASSERT_TRUE(control);
    ASSERT_TRUE(b->flush(kLong));
    std::thread answering([&] {
      const auto request = next(**control);
      ASSERT_TRUE(request);
      EXPECT_EQ(request->data, "hello");
      EXPECT_TRUE(b->send(request->reply, "world"));
    });
    EXPECT_EQ(a->request("rpcrdma.control.x", "hello", kLong).value_or("none"), "world");
    answering.join();
    for (const std::size_t length : {10U, 51U, 45U, 10U}) {
      ASSERT_TRUE(a->send("rpcrdma.control.x", std::string(length, 'x')));
    }
    // One is too long, and one more than two do not fit.
    EXPECT_TRUE(becomes([&] { return (*control)->dropped() == 2; }));
    EXPECT_EQ(next(**control)->data.size(), 10U);
    EXPECT_EQ(next(**control)->data.size(), 45U);
    EXPECT_FALSE((*control)->take());
    EXPECT_FALSE(a->send("rpcrdma.control.x", std::string(2 << 20, 'x')));
  }
  ASSERT_TRUE(b->flush(kLong));
  EXPECT_EQ(a->request("rpcrdma.control.x", "hello", kLong).error().message,
            "nobody listens there");
}

// What cannot be published waits in bounded memory, and what does not fit is counted.
TEST_F(BusTest, SurvivesARestartOfTheServer) {
  ASSERT_TRUE(server_.start());
  BusOptions bounded = options();
  bounded.most_states = 2;
  bounded.most_findings = 3;
  auto agent = Bus::connect(bounded);
  ASSERT_TRUE(agent);
  const auto viewer = connected();
  ASSERT_TRUE((*agent)->prepare_streams());
  auto states = viewer->subscribe(kAllStates);
  ASSERT_TRUE(states && viewer->flush(kLong));
  server_.stop();
  ASSERT_TRUE(becomes([&] { return !(*agent)->state().connected; }));
  EXPECT_FALSE((*agent)->state().closed);
  for (const char* const state : {"1", "2", "3"}) (*agent)->publish_state("a", state);
  (*agent)->publish_state("b", "4");
  (*agent)->publish_state("c", "5");
  for (int i = 0; i < 5; ++i) {
    (*agent)->publish_finding("a", "i-" + std::to_string(i), std::to_string(i));
  }
  EXPECT_EQ((*agent)->counters().states_dropped, 3U);
  EXPECT_EQ((*agent)->counters().findings_dropped, 2U);
  EXPECT_EQ((*agent)->counters().findings_waiting, 3U);
  EXPECT_FALSE((*agent)->send("x", "y"));
  // A server without its store: the streams are created anew.
  std::filesystem::remove_all(folder_.path + "/store");
  ASSERT_TRUE(server_.start()) << server_.log();
  ASSERT_TRUE(becomes([&] { return viewer->state().connected; }));
  ASSERT_TRUE((*agent)->flush(kLong));
  EXPECT_EQ((*agent)->counters().reconnects, 1U);
  EXPECT_THAT(findings(*viewer), ElementsAre("0", "1", "2"));
  // The subscription works again; what came before the viewer was back is in the stream.
  (*agent)->publish_state("a", "6");
  std::vector<std::string> seen;
  ASSERT_TRUE(becomes([&] {
    while (const auto m = (*states)->take()) seen.push_back(m->data);
    return !seen.empty() && seen.back() == "6";
  }));
}

TEST_F(BusTest, NamesWhatIsWrong) {
  BusOptions wrong;
  wrong.url = "nats://127.0.0.1:1";
  EXPECT_EQ(Bus::connect(wrong).error().message,
            "bus nats://127.0.0.1:1: no NATS server answers there");
  wrong.url = "nats://me:secret@127.0.0.1:1";
  EXPECT_EQ(Bus::connect(wrong).error().message,
            "bus nats://127.0.0.1:1: no NATS server answers there");
  wrong.url = "nats://";
  EXPECT_FALSE(Bus::connect(wrong));
  server_.configure({.jetstream = false});
  ASSERT_TRUE(server_.start());
  {
    const auto bus = connected();
    ASSERT_TRUE(bus);
    EXPECT_EQ(bus->prepare_streams().error().message,
              "bus " + server_.url() +
                  ": it has no JetStream, or not for this user's account: start nats-server with "
                  "-js");
  }
  server_.stop();
  server_.configure({.more = "authorization { user: op, password: right }\n"});
  ASSERT_TRUE(server_.start());
  EXPECT_EQ(refusal(), "bus " + server_.url() + ": it does not accept this user, password or key");
  BusOptions user = options();
  user.user = "op";
  user.password = "wrong";
  EXPECT_THAT(Bus::connect(user).error().message, HasSubstr("does not accept this user"));
  user.password = "right";
  auto bus = Bus::connect(user);
  ASSERT_TRUE(bus) << bus.error().message;
  EXPECT_TRUE((*bus)->prepare_streams());
  // The password changes: the connection ends for good, and says why.
  server_.stop();
  server_.configure({.more = "authorization { user: op, password: other }\n"});
  ASSERT_TRUE(server_.start());
  ASSERT_TRUE(becomes([&] { return (*bus)->state().closed; }));
  EXPECT_THAT((*bus)->state().why, HasSubstr("uthorization"));
}

TEST_F(BusTest, AStreamWithOtherSettingsIsRefused) {
  ASSERT_TRUE(server_.start());
  const auto bus = connected();
  ASSERT_TRUE(bus);
  ASSERT_TRUE(bus->request("$JS.API.STREAM.CREATE.RPCRDMA_STATE",
                           R"({"name":"RPCRDMA_STATE","subjects":["rpcrdma.state.*"],)"
                           R"("storage":"file","retention":"limits","max_msgs_per_subject":1,)"
                           R"("max_age":60000000000,"discard":"old"})",
                           kLong));
  EXPECT_EQ(bus->prepare_streams().error().message,
            "bus " + server_.url() +
                ": the stream RPCRDMA_STATE exists with other settings (storage): delete it (nats "
                "stream rm RPCRDMA_STATE) or use another account");
}

}  // namespace
}  // namespace rpcrdma::fleet

// The playground without a window: Calls, faults, several at once, and changes while it runs.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/playground/playground.h>
#include <rpcrdma/session/session.h>

namespace rpcrdma::playground {
namespace {

// Waits for `condition`. Returns false after a minute.
bool until(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Keeps live sockets in a folder of the test.
class TrialThreads : public ::testing::Test {
 protected:
  TrialThreads() {
    std::string name = std::filesystem::temp_directory_path() / "trial.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  }
  ~TrialThreads() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    std::filesystem::remove_all(folder_);
  }

  static std::unique_ptr<Playground> start(const PlaygroundOptions& options = {}) {
    auto started = Playground::start(options);
    EXPECT_TRUE(started) << started.error().message;
    return started ? std::move(*started) : nullptr;
  }
  static bool more_calls(const Playground& playground, std::uint64_t calls) {
    const std::uint64_t before = playground.stats().calls;
    return until([&] { return playground.stats().calls >= before + calls; });
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(TrialThreads, CallsAreAnsweredRight) {
  const auto playground = start();
  ASSERT_TRUE(playground);
  ASSERT_TRUE(more_calls(*playground, 200));
  EXPECT_TRUE(playground->stats().connected);
  EXPECT_GT(playground->stats().bytes, 0U);
  EXPECT_EQ(playground->stats().granted, 32U);
  playground->stop();
  const PlaygroundStats stats = playground->stats();
  EXPECT_FALSE(stats.connected);
  EXPECT_EQ(stats.errors, 0U);
  EXPECT_EQ(stats.faults, 0U);
  EXPECT_EQ(stats.problem, "");
  playground->stop();
  EXPECT_TRUE(playground->set_faults({})) << "after the end nothing is there to change";
}

TEST_F(TrialThreads, FaultsAreDoneAndTakenBack) {
  const auto playground = start();
  ASSERT_TRUE(playground);
  ASSERT_TRUE(more_calls(*playground, 50));
  Faults faults;
  faults.loss = 0.1;
  ASSERT_TRUE(playground->set_faults(faults));
  ASSERT_TRUE(until([&] {
    const PlaygroundStats stats = playground->stats();
    return stats.faults >= 10 && stats.retransmitted >= 5;
  }));
  // An invalid setting changes nothing.
  Faults wrong;
  wrong.rules = "drip";
  EXPECT_FALSE(playground->set_faults(wrong));
  const std::uint64_t done = playground->stats().faults;
  ASSERT_TRUE(until([&] { return playground->stats().faults > done + 5; }));

  ASSERT_TRUE(playground->set_faults({}));
  ASSERT_TRUE(until([&] {
    const std::uint64_t before = playground->stats().faults;
    return more_calls(*playground, 300) && playground->stats().faults == before;
  }));
  EXPECT_EQ(playground->stats().errors, 0U);
}

TEST_F(TrialThreads, StopsWithCallsOutstanding) {
  PlaygroundOptions options;
  options.load.stalls = 1;
  options.load.stall = 50 * fabric::kSecond;
  const auto playground = start(options);
  ASSERT_TRUE(playground);
  // Before the first Reply, the credit limit is one.
  ASSERT_TRUE(until([&] { return playground->stats().waiting + 1 == options.depth; }));
  playground->stop();
  EXPECT_EQ(playground->stats().calls, 0U);
  EXPECT_EQ(playground->stats().errors, 0U);
}

TEST_F(TrialThreads, StopsWhereNoPacketPasses) {
  PlaygroundOptions options;
  options.faults.loss = 1;
  const auto playground = start(options);
  ASSERT_TRUE(playground);
  ASSERT_TRUE(until([&] { return playground->stats().faults != 0; }));
  EXPECT_FALSE(playground->stats().connected);
  playground->stop();
}

TEST_F(TrialThreads, TwoAtOnceHaveAddressesAndNamesOfTheirOwn) {
  const auto one = start();
  const auto other = start();
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->server_address(), other->server_address());
  EXPECT_NE(one->server_endpoint(), other->server_endpoint());
  EXPECT_NE(one->load_endpoint(), other->load_endpoint());
  EXPECT_TRUE(more_calls(*one, 50));
  EXPECT_TRUE(more_calls(*other, 50));
}

TEST_F(TrialThreads, OthersAttachToBothEnds) {
  std::string socket;
  {
    const auto playground = start();
    ASSERT_TRUE(playground);
    for (const std::string& which : {playground->server_endpoint(), playground->load_endpoint()}) {
      auto fd = trace::connect_endpoint(which);
      ASSERT_TRUE(fd) << fd.error().message;
      const auto source = capture::open_descriptor(std::move(*fd), "events");
      ASSERT_TRUE(source) << source.error().message;
      capture::Frame frame;
      for (int i = 0; i < 100; ++i) {
        const auto more = (*source)->next(frame);
        ASSERT_TRUE(more && *more);
      }
      EXPECT_TRUE(trace::connect_packets(which));
    }
    const auto found = trace::list_endpoints();
    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), 2U);
    EXPECT_EQ((*found)[0].name, "gui-load");
    EXPECT_EQ((*found)[1].name, "gui-server");
    socket = playground->server_endpoint();
  }
  EXPECT_FALSE(std::filesystem::exists(socket));
}

// The rules, on the events of one end.
class Reader {
 public:
  explicit Reader(const std::string& endpoint)
      : session_(
            {.rules = rules::Findings::Options{.on_occurrence = [this](const rules::Occurrence& o) {
               found_.emplace_back(o.rule.name);
             }}}) {
    auto fd = trace::connect_endpoint(endpoint);
    if (fd) source_ = capture::open_descriptor(std::move(*fd), "events").value_or(nullptr);
    if (source_ != nullptr) session_.pipeline().expect(*source_);
  }

  // Reads until `rule` is found. Returns false if it is not within a minute, or at the end.
  bool find(const std::string& rule) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!has(rule)) {
      if (std::chrono::steady_clock::now() > end || !next()) return false;
    }
    return true;
  }
  void read_all() {
    while (next()) {
    }
    session_.pipeline().finish();
    session_.finish_rules();
  }
  [[nodiscard]] bool has(const std::string& rule) const {
    return std::find(found_.begin(), found_.end(), rule) != found_.end();
  }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  bool next() {
    if (source_ == nullptr) return false;
    const auto more = source_->next(frame_);
    if (!more || !*more) return false;
    session_.pipeline().frame(frame_);
    ++events_;
    return true;
  }

  std::vector<std::string> found_;
  session::Session session_;
  std::unique_ptr<capture::Source> source_;
  capture::Frame frame_;
  std::uint64_t events_ = 0;
};

TEST_F(TrialThreads, HeavyLossIsFoundWhileItLasts) {
  PlaygroundOptions options;
  options.faults.loss = 0.05;
  const auto playground = start(options);
  ASSERT_TRUE(playground);
  for (const std::string& end : {playground->server_endpoint(), playground->load_endpoint()}) {
    EXPECT_TRUE(Reader(end).find("RETX-STORM")) << end;
  }
}

TEST_F(TrialThreads, LossThatBeginsLaterIsFound) {
  const auto playground = start();
  ASSERT_TRUE(playground);
  Reader reader(playground->server_endpoint());
  ASSERT_TRUE(more_calls(*playground, 200));
  EXPECT_FALSE(reader.has("RETX-STORM"));
  Faults faults;
  faults.loss = 0.05;
  ASSERT_TRUE(playground->set_faults(faults));
  EXPECT_TRUE(reader.find("RETX-STORM"));
}

// Its ends close their connection in order, once no Call is in flight: neither lost it.
TEST_F(TrialThreads, AStopIsNoLostConnection) {
  for (const double loss : {0.0, 0.05}) {
    PlaygroundOptions options;
    options.faults.loss = loss;
    const auto playground = start(options);
    ASSERT_TRUE(playground);
    Reader server(playground->server_endpoint());
    Reader client(playground->load_endpoint());
    std::thread server_reads([&] { server.read_all(); });
    std::thread client_reads([&] { client.read_all(); });
    EXPECT_TRUE(more_calls(*playground, 200));
    playground->stop();
    server_reads.join();
    client_reads.join();
    EXPECT_GT(server.events(), 400U);
    EXPECT_GT(client.events(), 400U);
    EXPECT_FALSE(server.has("CONN-LOST")) << loss;
    EXPECT_FALSE(client.has("CONN-LOST")) << loss;
  }
}

TEST_F(TrialThreads, TheLoadAndTheGrantChange) {
  const auto playground = start();
  ASSERT_TRUE(playground);
  ASSERT_TRUE(more_calls(*playground, 50));
  ASSERT_TRUE(playground->set_granted(3));
  ASSERT_TRUE(until([&] { return playground->stats().granted == 3; }));
  EXPECT_FALSE(playground->set_granted(0));
  EXPECT_FALSE(playground->set_granted(33));
  Load load;
  load.rate = 0;
  ASSERT_TRUE(playground->set_load(load));
  // Calls beyond the grant wait.
  ASSERT_TRUE(until([&] { return playground->stats().waiting != 0; }));
  load.paused = true;
  ASSERT_TRUE(playground->set_load(load));
  ASSERT_TRUE(until([&] { return playground->stats().outstanding == 0; }));
  load.paused = false;
  load.rate = 100;
  ASSERT_TRUE(playground->set_load(load));
  EXPECT_TRUE(more_calls(*playground, 20));
  load.stalls = 2;
  EXPECT_FALSE(playground->set_load(load));
}

TEST_F(TrialThreads, CallsGoBothWaysWithASingleCredit) {
  for (const std::uint32_t version : {1U, 2U}) {
    PlaygroundOptions options;
    options.version = version;
    options.credits = 1;
    options.depth = 1;
    options.reverse = true;
    const auto playground = start(options);
    ASSERT_TRUE(playground);
    ASSERT_TRUE(until([&] { return playground->stats().reverse_calls >= 20; }));
    ASSERT_TRUE(more_calls(*playground, 50));
    EXPECT_EQ(playground->stats().granted, 1U);
    EXPECT_EQ(playground->stats().errors, 0U);
    EXPECT_EQ(playground->stats().problem, "");
  }
}

TEST_F(TrialThreads, OptionsThatCannotBeAreRefused) {
  const auto refused = [](auto change) {
    PlaygroundOptions options;
    change(options);
    const auto playground = Playground::start(options);
    return !playground && playground.error().code == fabric::Errc::kBadArgument &&
           !playground.error().message.empty();
  };
  EXPECT_TRUE(refused([](PlaygroundOptions& o) { o.version = 3; }));
  EXPECT_TRUE(refused([](PlaygroundOptions& o) { o.credits = 0; }));
  EXPECT_TRUE(refused([](PlaygroundOptions& o) { o.depth = kMostDepth + 1; }));
  EXPECT_TRUE(refused([](PlaygroundOptions& o) { o.forward = false; }));
  EXPECT_TRUE(refused([](PlaygroundOptions& o) { o.server_threshold = 1000; }));
  EXPECT_TRUE(refused([](PlaygroundOptions& o) { o.client_threshold = 512 << 10; }));
  EXPECT_TRUE(refused([](PlaygroundOptions& o) { o.procedures = "ecco"; }));
  EXPECT_TRUE(refused([](PlaygroundOptions& o) { o.sizes = "4X"; }));
  EXPECT_TRUE(refused([](PlaygroundOptions& o) { o.sizes = "2Mi"; }));
  EXPECT_TRUE(refused([](PlaygroundOptions& o) { o.load.rate = -1; }));
  EXPECT_TRUE(refused([](PlaygroundOptions& o) { o.faults.rules = "drip"; }));
}

}  // namespace
}  // namespace rpcrdma::playground

// A bus of a test with what agents publish on it.
#pragma once

#include "support/background.h"
#include "support/nats_server.h"
#include "support/own_address.h"
#include "support/running_endpoint.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <poll.h>

#include <rpcrdma/fleet/bus.h>
#include <rpcrdma/fleet/subjects.h>
#include <rpcrdma/fleet/summary.h>

namespace rpcrdma::e2e {

inline bool becomes(const std::function<bool()>& condition) {
  for (int tries = 0; tries < 8000; ++tries) {
    if (condition()) return true;
    ::poll(nullptr, 0, 10);
  }
  return false;
}

class Fleet : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!NatsServer::installed()) GTEST_SKIP() << "nats-server is not installed";
    ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
    std::filesystem::create_directory(folder_.file("bus"));
  }
  void TearDown() override {
    states_.reset();
    bus_.reset();
    ::unsetenv("XDG_RUNTIME_DIR");
  }

  // Starts the bus, and listens to it.
  void start_bus(const NatsServer::Options& options = {}) {
    server_.configure(options);
    ASSERT_TRUE(server_.start()) << server_.log();
  }
  void listen(const fleet::BusOptions& how) {
    auto bus = fleet::Bus::connect(how);
    ASSERT_TRUE(bus) << bus.error().message;
    bus_ = std::move(*bus);
    auto states = bus_->subscribe(fleet::kAllStates);
    ASSERT_TRUE(states) << states.error().message;
    states_ = std::move(*states);
    ASSERT_TRUE(bus_->flush(std::chrono::seconds(20)));
  }
  void listen() {
    fleet::BusOptions how;
    how.url = server_.url();
    how.name = "test";
    listen(how);
  }

  [[nodiscard]] std::vector<std::string> agent_words(const std::vector<std::string>& more = {},
                                                     const std::string& host = "node") const {
    std::vector<std::string> words{"agent", "--bus", server_.url(), "--host", host};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  [[nodiscard]] std::vector<std::string> serve_words(
      const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"serve", "--listen", address_, "--provider", "soft"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  [[nodiscard]] std::vector<std::string> load_words(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"load",       address_, "--from", own_address(2),
                                   "--provider", "soft",   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  // Waits for a summary that fits, and returns it; all that came are counted.
  std::optional<fleet::Summary> summary(const std::function<bool(const fleet::Summary&)>& fits =
                                            [](const auto&) { return true; }) {
    std::optional<fleet::Summary> found;
    (void)becomes([&] {
      while (!found) {
        const auto message = states_->take();
        if (!message) return false;
        auto read = fleet::summary_from_json(message->data);
        if (!read) {
          ADD_FAILURE() << read.error().message;
          return true;
        }
        ++received_;
        latest_ = *read;
        if (fits(*read)) found = std::move(*read);
      }
      return true;
    });
    EXPECT_TRUE(found) << "the latest: " << fleet::to_json(latest_);
    return found;
  }
  static const fleet::EndpointSummary* endpoint(const fleet::Summary& summary,
                                                const std::string& name) {
    for (const fleet::EndpointSummary& e : summary.endpoints) {
      if (e.name == name) return &e;
    }
    return nullptr;
  }
  // Waits until the agent reads this endpoint.
  bool follows(const std::string& name) {
    return summary([&](const fleet::Summary& s) { return endpoint(s, name) != nullptr; })
        .has_value();
  }
  std::vector<fleet::FindingNote> findings() {
    std::vector<fleet::FindingNote> all;
    const auto read = bus_->findings_since(0, {}, [&](const fleet::BusMessage& m) {
      auto note = fleet::finding_from_json(m.data);
      EXPECT_TRUE(note) << note.error().message;
      if (note) all.push_back(std::move(*note));
      return true;
    });
    EXPECT_TRUE(read) << read.error().message;
    return all;
  }

  const TemporaryFolder folder_;
  const std::string address_ = own_address(1);
  NatsServer server_{folder_.file("bus")};
  std::unique_ptr<fleet::Bus> bus_;
  std::unique_ptr<fleet::Subscription> states_;
  std::uint64_t received_ = 0;
  fleet::Summary latest_;
};

}  // namespace rpcrdma::e2e

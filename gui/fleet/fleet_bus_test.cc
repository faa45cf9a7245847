// The source of the fleet's page on a real nats-server.
#include "bus_source.h"
#include "support/nats_server.h"
#ifdef RPCRDMA_COMMAND
#include "support/background.h"
#endif

#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include <gmock/gmock.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/fleet/bus.h>
#include <rpcrdma/fleet/subjects.h>
#include <rpcrdma/live/hub.h>

namespace rpcrdma::gui {
namespace {

using ::testing::HasSubstr;

constexpr int kBusPatience = 60'000;  // ms

class FleetBus : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fleet::Bus::available()) GTEST_SKIP() << "built without libnats";
    if (!e2e::NatsServer::installed()) GTEST_SKIP() << "nats-server is not installed";
    ASSERT_TRUE(server_.start()) << server_.log();
  }

  void follow(FleetAddress address) {
    source_ = std::make_unique<BusSource>(address);
    QObject::connect(source_.get(), &FleetSource::shown, source_.get(),
                     [this](const std::shared_ptr<const FleetShown>& now) { shown_ = now; });
  }
  [[nodiscard]] FleetAddress address() const {
    FleetAddress a;
    a.url = QString::fromStdString(server_.url());
    return a;
  }
  // What an agent does.
  [[nodiscard]] std::unique_ptr<fleet::Bus> agent() const {
    fleet::BusOptions options;
    options.url = server_.url();
    auto bus = fleet::Bus::connect(options);
    if (!bus) return nullptr;
    EXPECT_TRUE((*bus)->prepare_streams());
    return std::move(*bus);
  }
  void publish(fleet::Bus& bus, const std::string& host) {
    fleet::Summary& s = summary_;
    s.host = host;
    s.instance = "1";
    s.boot = "boot";
    s.version = "test";
    s.interval_ns = s.sequence == 0 ? 0 : base::monotonic_ns() - s.monotonic_ns;
    ++s.sequence;
    s.wall_ns = base::wall_clock_ns();
    s.monotonic_ns = base::monotonic_ns();
    s.endpoints.resize(1);
    s.endpoints[0].name = "nfsd";
    s.endpoints[0].counters.calls += 100;
    bus.publish_state(host, fleet::to_json(s));
  }
  static void publish_finding(fleet::Bus& bus, std::uint64_t sequence, const std::string& host,
                              const std::string& subject_host) {
    fleet::FindingNote note;
    note.host = host;
    note.instance = "1";
    note.sequence = sequence;
    note.kind = 1;
    note.count = sequence;
    note.wall_ns = base::wall_clock_ns();
    note.severity = "warning";
    note.rule = "RETX-STORM";
    note.text = "many";
    bus.publish_finding(subject_host, host + std::to_string(sequence), fleet::to_json(note));
  }
  // Publishes until what is shown is as wanted, as an agent would.
  template <typename Wanted>
  bool until(fleet::Bus* bus, Wanted wanted) {
    std::int64_t next = 0;
    return QTest::qWaitFor(
        [&] {
          if (bus != nullptr && base::monotonic_ns() >= next) {
            next = base::monotonic_ns() + 200 * base::kMillisecond;
            publish(*bus, "a");
          }
          return shown_ != nullptr && wanted(*shown_);
        },
        kBusPatience);
  }

  QTemporaryDir folder_;
  e2e::NatsServer server_{folder_.path().toStdString()};
  std::unique_ptr<BusSource> source_;
  std::shared_ptr<const FleetShown> shown_;
  fleet::Summary summary_;
};

bool is_live(const FleetShown& now) {
  return now.state.connected && now.state.hosts.size() == 1 && now.state.hosts[0].fresh &&
         now.state.hosts[0].rates && now.state.totals.hosts == 1;
}

TEST_F(FleetBus, HostsAndFindingsComeFromTheBusAndARestartOfItIsSaid) {
  auto bus = agent();
  ASSERT_NE(bus, nullptr);
  publish_finding(*bus, 1, "a", "a");
  ASSERT_TRUE(bus->flush(std::chrono::seconds(30)));
  follow(address());
  ASSERT_TRUE(until(bus.get(), is_live));
  EXPECT_EQ(shown_->state.hosts[0].name, "a");
  // From the stream, and then the same finding again.
  ASSERT_TRUE(until(bus.get(), [](const FleetShown& now) { return now.findings.size() == 1; }));
  EXPECT_EQ(shown_->findings[0].count, 1U);
  publish_finding(*bus, 2, "a", "a");
  ASSERT_TRUE(until(bus.get(), [](const FleetShown& now) {
    return now.findings.size() == 1 && now.findings[0].count == 2;
  }));
  // A host speaks for itself alone.
  publish_finding(*bus, 3, "b", "a");
  publish_finding(*bus, 4, "a", "a");
  ASSERT_TRUE(until(bus.get(), [](const FleetShown& now) {
    return now.findings.size() == 1 && now.findings[0].count == 4;
  }));

  server_.stop();
  ASSERT_TRUE(until(nullptr, [](const FleetShown& now) { return !now.state.connected; }));
  EXPECT_FALSE(shown_->connecting);
  EXPECT_FALSE(shown_->state.hosts.at(0).fresh);
  EXPECT_EQ(shown_->state.totals.hosts, 0U);
  ASSERT_TRUE(server_.start()) << server_.log();
  EXPECT_TRUE(until(bus.get(), is_live));
}

TEST_F(FleetBus, ABusThatIsNotThereIsSaidAndTriedAgain) {
  server_.stop();
  follow(address());
  ASSERT_TRUE(until(nullptr, [](const FleetShown& now) {
    return now.connecting && !now.state.connected && !now.state.bus.empty();
  }));
  EXPECT_EQ(shown_->state.bus.find('\n'), std::string::npos);
  ASSERT_TRUE(server_.start()) << server_.log();
  const auto bus = agent();
  ASSERT_NE(bus, nullptr);
  EXPECT_TRUE(until(bus.get(), is_live));
  // A source that is left while its bus does not answer.
  server_.stop();
  follow(address());
  source_.reset();
}

TEST_F(FleetBus, AUserNeedsThePasswordOfTheFile) {
  server_.stop();
  e2e::NatsServer::Options options;
  options.more = "authorization { user: joe, password: right }\n";
  server_.configure(options);
  ASSERT_TRUE(server_.start()) << server_.log();
  FleetAddress with = address();
  with.user = "joe";
  with.password_file = folder_.filePath("password");
  follow(with);
  ASSERT_TRUE(until(nullptr, [](const FleetShown& now) { return !now.state.bus.empty(); }));
  EXPECT_THAT(shown_->state.bus, HasSubstr(with.password_file.toStdString()));
  QFile file(with.password_file);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("right\n");
  file.close();
  EXPECT_TRUE(until(nullptr, [](const FleetShown& now) { return now.state.connected; }));
}

TEST_F(FleetBus, ARecordingThatNobodyMakesFailsInOneLine) {
  const auto bus = agent();
  ASSERT_NE(bus, nullptr);
  follow(address());
  QString why;
  QObject::connect(source_.get(), &FleetSource::record_failed, source_.get(),
                   [&why](const QString&, const QString& text) { why = text; });
  // Before there is a connection, and then with one.
  source_->record("a", "nfsd", 1, folder_.filePath("a.pcapng"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !why.isEmpty(); }, kBusPatience));
  ASSERT_TRUE(until(bus.get(), is_live));
  why.clear();
  source_->record("a", "nfsd", 1, folder_.filePath("a.pcapng"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !why.isEmpty(); }, kBusPatience));
  EXPECT_FALSE(why.contains('\n')) << why.toStdString();
  EXPECT_FALSE(QFile::exists(folder_.filePath("a.pcapng")));
}

#ifdef RPCRDMA_COMMAND
// With a real agent, which records an endpoint of this process.
TEST_F(FleetBus, AnAgentRecordsAnEndpoint) {
  qputenv("XDG_RUNTIME_DIR", folder_.path().toUtf8());
  const auto hub = trace::Hub::start({.name = "here", .role = "server"}).value();
  ASSERT_TRUE(hub->open_socket());
  e2e::Background agent({"agent", "--bus", server_.url(), "--host", "near"});
  follow(address());
  ASSERT_TRUE(until(nullptr, [](const FleetShown& now) {
    return now.state.hosts.size() == 1 &&
           std::ranges::any_of(now.state.hosts[0].endpoints,
                               [](const fleet::EndpointState& e) { return e.name == "here"; });
  })) << server_.log();
  QString path;
  QString why;
  QObject::connect(source_.get(), &FleetSource::recorded, source_.get(),
                   [&path](const QString&, const QString& to) { path = to; });
  QObject::connect(source_.get(), &FleetSource::record_failed, source_.get(),
                   [&why](const QString&, const QString& text) { why = text; });
  source_->record("near", "here", 1, folder_.filePath("near.pcapng"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !path.isEmpty() || !why.isEmpty(); }, kBusPatience));
  EXPECT_EQ(why.toStdString(), "");
  EXPECT_GT(QFileInfo(path).size(), 0);
  // Its end is said by itself.
  agent.signal(SIGTERM);
  EXPECT_TRUE(until(nullptr, [](const FleetShown& now) {
    return now.state.hosts.at(0).presence == fleet::HostPresence::kLeft;
  }));
  EXPECT_EQ(agent.finish(), 0) << agent.out;
  qunsetenv("XDG_RUNTIME_DIR");
}
#endif

}  // namespace
}  // namespace rpcrdma::gui

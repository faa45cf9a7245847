// The end of live endpoints, as the window shows it.
#include "connections_model.h"
#include "live_state.h"
#include "main_window.h"
#include "support/trace_builder.h"
#include "wait_for_tests.h"

#include <QSettings>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <cstring>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace rpcrdma::gui {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using trace_reader::testing::TraceBuilder;

// The live socket of an endpoint: sends given data to a reader, and hangs up on request.
class Endpoint {
 public:
  Endpoint(const QString& path, const TraceBuilder& trace) : bytes_(trace.pcapng()) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const QByteArray name = path.toUtf8();
    std::memcpy(address.sun_path, name.constData(),
                std::min(sizeof address.sun_path - 1, static_cast<std::size_t>(name.size())));
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~Endpoint() {
    hang_up();
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  void hang_up() {
    if (!std::exchange(hung_up_, true)) hangs_up_.set_value();
  }

 private:
  void serve() {
    const int reader = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (reader < 0) return;
    send(reader, bytes_);
    hangs_up_.get_future().wait();
    ::close(reader);
  }
  static void send(int to, const std::vector<std::uint8_t>& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t n = ::send(to, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (n <= 0) return;
      at += static_cast<std::size_t>(n);
    }
  }

  std::vector<std::uint8_t> bytes_;
  int listener_ = -1;
  std::promise<void> hangs_up_;
  bool hung_up_ = false;
  std::thread thread_;
};

// The events of a new connection, from the client's or the server's side.
TraceBuilder opened(const char* name, bool client) {
  TraceBuilder trace;
  trace.begin(name, client ? "client" : "server", client ? 42 : 43);
  trace::Connection c = trace_reader::testing::plain_connection();
  if (!client) {
    std::swap(c.local, c.peer);
    std::swap(c.local_qpn, c.peer_qpn);
    c.active = 0;
  }
  emit_plain_connection(trace, 7, c);
  // A message, so that it counts as an RPC-over-RDMA connection.
  const trace_reader::testing::Bytes call{0, 0, 0, 9, 0, 0, 0, 1, 0, 0,  0, 32, 0, 0, 0, 0, 0,
                                          0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0, 0,  0, 0, 9, 0, 0,
                                          0, 0, 0, 0, 0, 2, 0, 0, 0, 99, 0, 0,  0, 1, 0, 0, 0,
                                          1, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0, 0,  0, 0, 0, 0, 0};
  trace::Message m;
  m.side = client ? 0 : 1;
  m.length = static_cast<std::uint32_t>(call.size());
  trace.emit(7, m, call);
  return trace;
}

class LiveEnd : public ::testing::Test {
 protected:
  LiveEnd() : settings(folder.filePath("settings"), QSettings::IniFormat), window(settings) {
    window.show();
  }

  [[nodiscard]] std::string state() const {
    return window.findChild<LiveState*>()->text().toStdString();
  }
  [[nodiscard]] bool wait_for_state(const std::string& part) const {
    return QTest::qWaitFor([&] { return state().find(part) != std::string::npos; }, kBound);
  }
  [[nodiscard]] std::vector<std::string> connection_states() {
    constexpr int kState = 4;
    std::vector<std::string> states;
    const QAbstractItemModel& model = *window.connections().model();
    EXPECT_EQ(model.headerData(kState, Qt::Horizontal, Qt::DisplayRole), "State");
    for (int row = 0; row < model.rowCount(); ++row) {
      states.push_back(model.index(row, kState).data().toString().toStdString());
    }
    return states;
  }
  [[nodiscard]] bool wait_for_connections(int count) {
    return QTest::qWaitFor([&] { return window.connections().model()->rowCount() == count; },
                           kBound);
  }

  QTemporaryDir folder;
  QSettings settings;
  MainWindow window;
};

TEST_F(LiveEnd, AFileIsNeitherLiveNorEnded) {
  window.open({QString(RPCRDMA_TEST_CAPTURES) + "/linux-nfs41.pcap"});
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.document().row_count() == 100; }, kBound));
  EXPECT_EQ(state(), "");
  EXPECT_FALSE(window.findChild<LiveState*>()->isVisible());
}

TEST_F(LiveEnd, OfOneThatWasKilled) {
  const QString path = folder.filePath("socket");
  Endpoint endpoint(path, opened("ld", true));
  window.attach({path});
  ASSERT_TRUE(wait_for_connections(1)) << window.message().toStdString();
  EXPECT_EQ(state(), "LIVE");
  EXPECT_TRUE(window.windowTitle().contains(" - LIVE - "));
  EXPECT_THAT(connection_states(), ::testing::ElementsAre("open"));
  endpoint.hang_up();
  ASSERT_TRUE(wait_for_state("UTC: endpoint ld ended without closing (killed?)")) << state();
  EXPECT_THAT(state(), ::testing::StartsWith("ended "));
  EXPECT_TRUE(window.windowTitle().contains(" - ended - "));
  EXPECT_THAT(connection_states(), ::testing::ElementsAre(::testing::StartsWith("gone")));
}

TEST_F(LiveEnd, OfOneThatStoppedInOrder) {
  const QString path = folder.filePath("socket");
  TraceBuilder trace = opened("ld", true);
  trace::ConnectionEnd end;
  end.established = 1;
  trace.emit(7, end).end();
  Endpoint endpoint(path, trace);
  window.attach({path});
  ASSERT_TRUE(wait_for_connections(1));
  endpoint.hang_up();
  ASSERT_TRUE(wait_for_state("UTC: endpoint ld ended")) << state();
  EXPECT_THAT(state(), Not(HasSubstr("killed")));
  EXPECT_THAT(connection_states(), ::testing::ElementsAre(::testing::StartsWith("closed")));
}

// The other endpoint stays alive; its own retries would detect the loss only after seconds.
TEST_F(LiveEnd, OfOneOfTwo) {
  const QString client_path = folder.filePath("client");
  const QString server_path = folder.filePath("server");
  Endpoint client(client_path, opened("ld", true));
  Endpoint server(server_path, opened("srv", false));
  window.attach({client_path, server_path});
  // Both show the same connection.
  ASSERT_TRUE(wait_for_connections(1));
  EXPECT_THAT(connection_states(), ::testing::ElementsAre("open"));
  server.hang_up();
  ASSERT_TRUE(wait_for_state("endpoint srv ended without closing (killed?)")) << state();
  EXPECT_THAT(state(), ::testing::StartsWith("LIVE; "));
  EXPECT_TRUE(window.windowTitle().contains(" - LIVE - "));
  EXPECT_THAT(connection_states(), ::testing::ElementsAre(::testing::StartsWith("peer gone")));
}

TEST_F(LiveEnd, ByTheUser) {
  const QString path = folder.filePath("socket");
  Endpoint endpoint(path, opened("ld", true));
  window.attach({path});
  ASSERT_TRUE(wait_for_connections(1));
  window.document().stop();
  ASSERT_TRUE(wait_for_state("stopped ")) << state();
  EXPECT_THAT(state(), Not(HasSubstr("ended")));
}

TEST_F(LiveEnd, ANameThatIsNoEndpointIsSaidBesideTheOthers) {
  const QString path = folder.filePath("socket");
  Endpoint endpoint(path, opened("ld", true));
  window.attach({"nosuch", path});
  ASSERT_TRUE(wait_for_connections(1));
  EXPECT_TRUE(window.message().contains("nosuch")) << window.message().toStdString();
  EXPECT_FALSE(window.windowTitle().contains("nosuch"));
}

}  // namespace
}  // namespace rpcrdma::gui

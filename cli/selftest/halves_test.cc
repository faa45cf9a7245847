// Tests both halves on loopback addresses of this process.
#include "support/two_peers.h"

#include <atomic>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/protocol/message.h>
#include <rpcrdma/selftest/client_half.h>
#include <rpcrdma/selftest/server_half.h>
#include <rpcrdma/selftest/table.h>
#include <rpcrdma/soft/provider.h>

namespace rpcrdma::selftest {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::unique_ptr<soft::SoftProvider> open_provider(std::uint8_t host, std::string_view faults,
                                                  trace::Tracer* tracer) {
  soft::ProviderOptions options;
  options.faults = soft::parse_faults(faults).value();
  options.adapter.address = testing::own_address(host);
  options.adapter.tracer = tracer;
  return soft::SoftProvider::open(options).value();
}

class RunningServer {
 public:
  explicit RunningServer(Damage damage = Damage::kNone, const std::string& folder = {})
      : recorder_(Recorder::create("server", folder).value()),
        provider_(open_provider(2, "", recorder_->tracer())),
        half_(ServerHalf::create(*provider_, *recorder_, {.damage = damage}).value()),
        thread_([this] {
          while (!over_) EXPECT_TRUE(half_->loop().run_once());
        }) {}
  ~RunningServer() { stop(); }

  const ServerHalf& stop() {
    over_ = true;
    half_->loop().wake();
    if (thread_.joinable()) thread_.join();
    return *half_;
  }

 private:
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<soft::SoftProvider> provider_;
  std::unique_ptr<ServerHalf> half_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

class Client {
 public:
  explicit Client(std::string_view faults = {}, const std::string& folder = {},
                  Damage damage = Damage::kNone, std::uint8_t host = 1)
      : recorder_(Recorder::create("client", folder).value()),
        provider_(open_provider(host, faults, recorder_->tracer())) {
    ClientHalfOptions options;
    options.server = testing::own_address(2);
    options.damage = damage;
    if (!faults.empty()) options.lost = [this] { return provider_->counters().faults; };
    half_ = ClientHalf::create(*provider_, *recorder_, options).value();
  }

  std::vector<Done> run(const std::vector<std::string>& words) {
    std::vector<Done> done;
    const std::vector<Cell> cells = cells_of(words).value();
    for (const Cell& cell : cells) {
      auto result = half_->run(cell, ++number_);
      EXPECT_TRUE(result) << cell_name(cell) << ": " << (result ? "" : result.error().message);
      if (!result) break;
      done.push_back({cell, std::move(*result), 0});
    }
    return done;
  }

  ClientHalf& half() { return *half_; }

 private:
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<soft::SoftProvider> provider_;
  std::unique_ptr<ClientHalf> half_;
  std::uint32_t number_ = 0;
};

std::string all_failures(const std::vector<Done>& done) {
  std::string text;
  for (const Done& d : done) {
    for (const std::string& failure : d.result.failures) {
      text += cell_name(d.cell) + ": " + failure + '\n';
    }
  }
  return text;
}

class SelftestHalves : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static const Combination& combination() { return combinations()[GetParam()]; }
  [[nodiscard]] static std::string versions() {
    return std::string(combination().client) + '-' + combination().server;
  }
};

TEST_P(SelftestHalves, EveryCleanCellPasses) {
  RunningServer server;
  Client client;
  const auto done = client.run({versions(), profile_name(combination().profile), "clean"});
  EXPECT_THAT(done, SizeIs(3 * kShapes));
  EXPECT_EQ(all_failures(done), "");
  for (const Done& d : done) {
    SCOPED_TRACE(cell_name(d.cell));
    const CellResult& r = d.result;
    EXPECT_EQ(r.forward != 0, d.cell.direction != Direction::kReverse);
    EXPECT_EQ(r.reverse + r.refused != 0, d.cell.direction != Direction::kForward);
    const bool may_refuse =
        reverse_is_inline_only(combination().profile) && d.cell.direction != Direction::kForward;
    EXPECT_LE(r.refused, may_refuse ? UINT32_MAX : 0);
    EXPECT_EQ(r.lost, 0U);
  }
  EXPECT_EQ(server.stop().cells(), done.size());
  EXPECT_EQ(server.stop().bad_cells(), 0U);
}

TEST_P(SelftestHalves, SomeLossyCellsPass) {
  RunningServer server;
  Client client("drop rate=0.01 seed=3");
  const auto done = client.run({versions(), profile_name(combination().profile), "loss", "both",
                                "long-call", "several", "threshold"});
  EXPECT_THAT(done, SizeIs(3));
  EXPECT_EQ(all_failures(done), "");
  for (const Done& d : done) EXPECT_GT(d.result.lost, 0U) << cell_name(d.cell);
}

INSTANTIATE_TEST_SUITE_P(All, SelftestHalves,
                         ::testing::Range<std::size_t>(0, combinations().size()),
                         [](const auto& param) {
                           const Combination& c = combinations()[param.param];
                           std::string name =
                               std::string(c.client) + c.server + profile_name(c.profile);
                           std::erase(name, '-');
                           return name;
                         });

TEST(SelftestDamage, OneWrongByteFailsTheCell) {
  RunningServer server(Damage::kByte);
  Client client;
  const auto done = client.run({"v1-v1", "rfc8166", "forward", "clean", "write", "long-reply"});
  ASSERT_THAT(done, SizeIs(2));
  EXPECT_THAT(done[0].result.failures,
              Contains(AllOf(HasSubstr("8 of 8 Calls failed"),
                             HasSubstr("the filler: byte 0 of 20000 is"))));
  EXPECT_THAT(done[1].result.failures,
              Contains(HasSubstr("results of 20000: result 1: byte 10000 of 20000 is")));
  EXPECT_THAT(to_text({}, done), HasSubstr("FAIL v1-v1.rfc8166.forward.clean.write: "));
}

TEST(SelftestDamage, AWrongLengthFailsTheCell) {
  RunningServer server(Damage::kLength);
  Client client;
  const auto done = client.run({"v2-v2", "forward", "clean", "write"});
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_THAT(done[0].result.failures, Contains(HasSubstr("has 19999 bytes, expected 20000")));
}

TEST(SelftestDamage, IsNoticedInTheReverseDirection) {
  RunningServer server;
  Client client({}, {}, Damage::kByte);
  const auto done = client.run({"v1-v1", "rfc8166", "reverse", "both", "clean", "odd"});
  ASSERT_THAT(done, SizeIs(2));
  for (const Done& d : done) {
    EXPECT_THAT(d.result.failures, Contains(HasSubstr("9 of 9 reverse Calls failed")));
  }
}

TEST(SelftestRecordings, AreKeptWhenAskedFor) {
  std::string folder = ::testing::TempDir() + "selftest_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  {
    RunningServer server(Damage::kNone, folder);
    Client client({}, folder);
    EXPECT_EQ(all_failures(client.run({"v2-v1", "rfc8166", "both", "clean", "read"})), "");
  }
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.insert(entry.path().filename().string());
  }
  EXPECT_THAT(files, ::testing::ElementsAre("v2-v1.rfc8166.both.clean.read-client.pcapng",
                                            "v2-v1.rfc8166.both.clean.read-server.pcapng"));
  std::filesystem::remove_all(folder);
}

TEST(SelftestRecordings, AFindingIsAnError) {
  const auto recorder = Recorder::create("client", "").value();
  ASSERT_TRUE(recorder->begin());
  trace::Tracer& tracer = *recorder->tracer();
  const std::uint32_t connection = tracer.new_connection();
  trace::Connection up;
  up.active = 1;
  up.port = 20049;
  up.local_qpn = 1;
  up.peer_qpn = 2;
  up.inline_send = up.inline_receive = 1024;
  tracer.emit(connection, 1000, up);
  // RDMA_MSG, 32 credits, no chunks; and a NULL of NFS with another XID.
  std::vector<std::uint8_t> message;
  for (const std::uint32_t word :
       {7U, 1U, 32U, 0U, 0U, 0U, 0U, 8U, 0U, 2U, 100003U, 3U, 0U, 0U, 0U, 0U, 0U}) {
    message.resize(message.size() + 4);
    wire::store_be32(&message[message.size() - 4], word);
  }
  trace::Message sent;
  sent.length = static_cast<std::uint32_t>(message.size());
  tracer.emit(connection, 2000, sent, message);
  tracer.emit(connection, 3000, trace::ConnectionEnd{.established = 1});
  const Judgement judgement = recorder->end("../../a cell", rules::Profile::k8166, 2);
  EXPECT_THAT(judgement.errors, Contains(HasSubstr("HDR-02 (client): ")));
  EXPECT_THAT(judgement.errors, Contains("version 1 was spoken, expected 2"));
}

TEST(SelftestRecordings, WithoutOneTheCellFails) {
  const auto recorder = Recorder::create("client", "").value();
  EXPECT_THAT(recorder->end("cell", rules::Profile::k8166, 1).errors,
              Contains("nothing was recorded"));
  ASSERT_TRUE(recorder->begin());
  EXPECT_THAT(recorder->end("cell", rules::Profile::k8166, 1).errors,
              Contains("nothing was recorded"));
}

TEST(SelftestClient, IsReportedThatNobodyListens) {
  Client client;
  const auto result = client.half().run({}, 1);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("not connected: "));
}

}  // namespace
}  // namespace rpcrdma::selftest

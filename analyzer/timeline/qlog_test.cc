#include "calls_for_tests.h"
#include "support/timeline_checks.h"

#include <rpcrdma/timeline/qlog.h>

namespace rpcrdma::timeline {
namespace {

using testing::add_read;
using testing::call;
using testing::json;
using testing::kOfClient;
using testing::kStart;
using testing::read_sequence;
using testing::Written;

// Returns the data of all events with a name.
std::vector<json> data_of(const std::vector<json>& records, const std::string& name) {
  std::vector<json> data;
  for (const json& r : records) {
    if (r.value("name", "") == "rpcrdma:" + name) data.push_back(r["data"]);
  }
  return data;
}

// draft-ietf-quic-qlog-main-schema-08 section 4: the members of the first record, and its first
// bytes.
TEST(Qlog, Header) {
  Written w(make_qlog);
  const std::string& text = w.text();
  EXPECT_TRUE(text.starts_with("\x1e{\"qlog_version\":\"0.4\",\"qlog_format\":\"JSON-SEQ\","));
  const json header = read_sequence(text).at(0);
  const json& common = header["trace"]["common_fields"];
  EXPECT_EQ(common["time_format"], "relative");
  EXPECT_EQ(common["reference_time"], kStart / 1'000'000);
  EXPECT_EQ(common["protocol_type"], json::array({"RPCRDMA"}));
  EXPECT_EQ(header["trace"]["vantage_point"]["type"], "network");
}

// Section 4.4: `flow` is present only if the vantage point is in the network.
TEST(Qlog, AnEndpointShowsWhichItIs) {
  const auto vantage_point = [](Vantage vantage) {
    Written w(make_qlog, vantage);
    return read_sequence(w.text()).at(0)["trace"]["vantage_point"];
  };
  EXPECT_EQ(vantage_point(Vantage::kNetwork)["flow"], "client");
  EXPECT_EQ(vantage_point(Vantage::kClient)["type"], "client");
  EXPECT_EQ(vantage_point(Vantage::kServer)["type"], "server");
  EXPECT_FALSE(vantage_point(Vantage::kServer).contains("flow"));
}

TEST(Qlog, EventsHaveTimeNameGroupAndData) {
  Written w(make_qlog);
  for (const json& r : read_sequence(w.text())) {
    if (r.contains("qlog_version")) continue;
    EXPECT_TRUE(r["time"].is_number());
    EXPECT_TRUE(r["name"].get<std::string>().starts_with("rpcrdma:"));
    EXPECT_EQ(r["group_id"], "1");
    EXPECT_TRUE(r["data"].is_object());
  }
}

TEST(Qlog, ACallFromBeginningToEnd) {
  Written w(make_qlog);
  model::Call c = call(1, 5);
  ++c.message.time_ns;
  add_read(c, 7, 9);
  w.begin(c);
  w->message(c.message, kOfClient);
  w->operation(c, c.operations[0], kOfClient);
  w.end(c, 12);
  const std::vector<json> records = read_sequence(w.text());
  const json message = data_of(records, "message").at(0);
  EXPECT_EQ(message["kind"], "call");
  EXPECT_EQ(message["xid"], 0x1001);
  EXPECT_EQ(message["rpc"]["procedure_name"], "WRITE");
  const json read = data_of(records, "operation").at(0);
  EXPECT_EQ(read["kind"], "read");
  EXPECT_EQ(read["sender"], 1);
  EXPECT_EQ(read["offset"], 0xffff888000001000);
  EXPECT_EQ(read["begin"], 0.007);
  EXPECT_EQ(read["duration"], 0.002);
  const json ended = data_of(records, "call_ended").at(0);
  EXPECT_EQ(ended["ending"], "replied");
  EXPECT_EQ(ended["outcome"], "ok");
  EXPECT_EQ(ended["duration"], 0.006999);
  EXPECT_EQ(ended["parts"]["call_to_first_operation"], 0.001999);
  EXPECT_EQ(ended["parts"]["operations"], 0.002);
  EXPECT_EQ(ended["parts"]["last_operation_to_reply"], 0.003);
}

TEST(Qlog, CreditsAreReportedWhenALimitChanges) {
  Written w(make_qlog);
  w->credits({32, 16, 1}, kOfClient, kStart);
  w->credits({32, 16, 2}, kOfClient, kStart);
  w->credits({32, 8, 2}, kOfClient, kStart);
  const std::vector<json> recorded = data_of(read_sequence(w.text()), "credits_updated");
  ASSERT_EQ(recorded.size(), 2U);
  EXPECT_EQ(recorded[0]["granted"], 16);
  EXPECT_EQ(recorded[1]["granted"], 8);
}

TEST(Qlog, PrivateData) {
  Written w(make_qlog);
  wire::PrivateData data;
  data.flags = wire::kPrivateDataFlagR;
  data.send_code = 3;
  w->private_data(w.connection(), 0, &data, kStart);
  w->private_data(w.connection(), 1, nullptr, kStart);
  const std::vector<json> recorded = data_of(read_sequence(w.text()), "private_data");
  EXPECT_EQ(recorded.at(0)["send_size"], 4096);
  EXPECT_EQ(recorded.at(0)["remote_invalidation"], true);
  EXPECT_EQ(recorded.at(1), json({{"sender", 1}, {"present", false}}));
}

}  // namespace
}  // namespace rpcrdma::timeline

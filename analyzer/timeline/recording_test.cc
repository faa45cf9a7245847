// Tests timelines of recordings: the vantage point, and data that no CM message carries.
#include "support/timeline_checks.h"
#include "support/trace_builder.h"

#include <memory>
#include <set>

#include <gtest/gtest.h>

#include <rpcrdma/timeline/perfetto.h>
#include <rpcrdma/timeline/qlog.h>
#include <rpcrdma/timeline/timeline.h>

namespace rpcrdma::timeline {
namespace {

using testing::json;
using trace_reader::testing::TraceBuilder;

std::string export_as(std::unique_ptr<Format> (*make)(Write), const TraceBuilder& recording) {
  std::string text;
  const auto format = make([&](std::string_view piece) { text += piece; });
  Timeline timeline(*format);
  const auto file = recording.pcapng();
  const auto source = capture::open_memory(file);
  EXPECT_TRUE(source && timeline.pipeline().run(**source, {}, 1));
  timeline.pipeline().finish();
  timeline.finish(0);
  return text;
}

TraceBuilder recording(bool active) {
  TraceBuilder t;
  t.begin();
  trace::Connection connection = trace_reader::testing::plain_connection();
  connection.active = active ? 1 : 0;
  trace_reader::testing::emit_plain_connection(t, 7, connection);
  return t.end();
}

std::vector<json> records_of(const std::vector<json>& records, const std::string& name) {
  std::vector<json> found;
  for (const json& r : records) {
    if (r.value("name", "") == name) found.push_back(r);
  }
  return found;
}

TEST(TimelineOfARecording, QlogShowsPrivateDataOfBothSidesAndWhoShows) {
  for (const bool active : {true, false}) {
    const auto records = testing::read_sequence(export_as(make_qlog, recording(active)));
    EXPECT_EQ(records.at(0)["trace"]["vantage_point"]["type"], active ? "client" : "server");
    const std::vector<json> recorded = records_of(records, "rpcrdma:private_data");
    ASSERT_EQ(recorded.size(), 2U);
    for (std::size_t side = 0; side < 2; ++side) {
      const json& data = recorded[side]["data"];
      EXPECT_EQ(data["sender"], side);
      EXPECT_EQ(data["send_size"], 4096);
      EXPECT_EQ(data["receive_size"], 4096);
      EXPECT_EQ(data["remote_invalidation"], true);
    }
  }
}

TEST(TimelineOfARecording, PerfettoShowsPrivateDataOfBothSides) {
  const testing::Trace trace = testing::read_trace(export_as(make_perfetto, recording(true)));
  std::set<std::string> senders;
  for (const json& e : trace.instants) {
    if (e["name"] == "private data") senders.insert(e["args"]["sender"]);
  }
  EXPECT_EQ(senders.size(), 2U);
}

// It is unknown whether the connection would have had private data.
TEST(TimelineOfARecording, OfAConnectionThatNeverWasNoPrivateDataAreReported) {
  TraceBuilder t;
  t.begin();
  trace::ConnectionEnd end;
  end.side = 1;
  end.reject_reason = 28;
  end.active = 1;
  end.port = 20049;
  t.emit(7, end).end();
  const auto records = testing::read_sequence(export_as(make_qlog, t));
  EXPECT_EQ(records_of(records, "rpcrdma:connection_opened").size(), 1U);
  EXPECT_TRUE(records_of(records, "rpcrdma:private_data").empty());
}

}  // namespace
}  // namespace rpcrdma::timeline

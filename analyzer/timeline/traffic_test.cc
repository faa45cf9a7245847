// Exports traffic with loss, damage and retransmission in both formats, and compares their contents
// with the counts of the model.
#include "support/model_traffic.h"
#include "support/timeline_checks.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include <rpcrdma/timeline/perfetto.h>
#include <rpcrdma/timeline/qlog.h>
#include <rpcrdma/timeline/timeline.h>

namespace rpcrdma::timeline {
namespace {

using model::testing::make_traffic;
using model::testing::Traffic;
using model::testing::TrafficOptions;
using testing::json;

struct Totals {
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;
  std::uint64_t errors = 0;
  std::uint64_t unmatched = 0;
  std::uint64_t messages = 0;
  std::uint64_t retransmitted = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Totals& t) {
    return out << t.calls << " Calls, " << t.replies << " Replies, " << t.errors << " errors, "
               << t.unmatched << " without answer, " << t.messages << " messages, "
               << t.retransmitted << " packets retransmitted";
  }
};

struct Exported {
  std::string text;
  Totals totals;
};

// Exports the traffic in a format, and returns the text and the counts of the model.
Exported export_as(std::unique_ptr<Format> (*make)(Write), const Traffic& traffic,
                   const std::string& expression = "") {
  Exported e;
  const auto format = make([&](std::string_view piece) { e.text += piece; });
  TimelineOptions options;
  if (!expression.empty()) options.filter = filter::compile(expression).value();
  Timeline timeline(*format, std::move(options));
  session::Pipeline& pipeline = timeline.pipeline();
  play(traffic, [&](const roce::PreparedPacket& packet) { pipeline.packet(packet); });
  pipeline.finish();
  timeline.finish(0);
  for (std::uint32_t i = 0; i < pipeline.connections().connection_count(); ++i) {
    const model::ConnectionModel& c = pipeline.model().connection(i);
    for (const model::CallerCounts& caller : c.caller) {
      e.totals.calls += caller.calls;
      e.totals.replies += caller.replies;
      e.totals.errors += caller.errors;
      e.totals.unmatched += caller.unmatched_calls;
    }
    e.totals.messages += c.messages;
  }
  e.totals.retransmitted = pipeline.connections().stats().retransmitted;
  return e;
}

Totals totals_of(const testing::Trace& trace) {
  Totals t;
  for (const json& call : trace.calls) {
    ++t.calls;
    const std::string ended = call["args"]["ended"];
    ++(ended == "replied" ? t.replies : ended == "rdma_error" ? t.errors : t.unmatched);
  }
  for (const json& e : trace.instants) {
    if (e["cat"] == "retransmission") {
      t.retransmitted += e["args"]["packets"].get<std::uint64_t>();
    }
  }
  return t;
}

Totals totals_of(const std::vector<json>& records) {
  Totals t;
  for (const json& r : records) {
    if (!r.contains("name")) continue;
    const json& data = r["data"];
    if (r["name"] == "rpcrdma:message") ++t.messages;
    if (r["name"] == "rpcrdma:retransmission") {
      t.retransmitted += data["packets"].get<std::uint64_t>();
    }
    if (r["name"] != "rpcrdma:call_ended") continue;
    ++t.calls;
    ++(data["ending"] == "replied"      ? t.replies
       : data["ending"] == "rdma_error" ? t.errors
                                        : t.unmatched);
  }
  return t;
}

void expect_whole(const Traffic& traffic) {
  const Exported perfetto = export_as(make_perfetto, traffic);
  const testing::Trace trace = testing::read_trace(perfetto.text);
  Totals expected = perfetto.totals;
  expected.messages = 0;  // this format has no message events
  EXPECT_EQ(totals_of(trace), expected);

  const Exported qlog = export_as(make_qlog, traffic);
  const std::vector<json> records = testing::read_sequence(qlog.text);
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records[0]["qlog_format"], "JSON-SEQ");
  EXPECT_EQ(totals_of(records), qlog.totals);
}

TEST(Traffic, Undisturbed) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    TrafficOptions options;
    options.seed = seed;
    options.connections = 1 + static_cast<int>(seed % 3);
    options.version = 1 + seed % 2;
    options.cm = seed % 4 != 0;
    expect_whole(make_traffic(options));
  }
}

TEST(Traffic, LostLateAndDamaged) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    TrafficOptions options;
    options.seed = seed;
    options.connections = 2;
    options.calls = 30;
    options.cm = seed % 2 != 0;
    options.reuse_numbers = seed % 3 == 0;
    options.lost_before = options.lost_behind = 0.02;
    options.late = 0.05;
    options.damaged_before = options.damaged_copy = 0.01;
    options.rnr = 0.05;
    expect_whole(make_traffic(options));
  }
}

// A capture that lost packets and ends at any point: Calls without Replies, Replies without Calls,
// connections with only one direction at first, and a clock that steps back.
TEST(Traffic, HolesAndAClockThatStepsBack) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    TrafficOptions options;
    options.seed = seed;
    options.connections = 3;
    options.calls = 30;
    options.cm = false;
    Traffic traffic = make_traffic(options);
    std::size_t n = 0;
    std::erase_if(traffic.packets, [&](const auto&) { return ++n * 7919 % 11 == seed % 11; });
    traffic.packets.resize(traffic.packets.size() * 3 / 4);
    for (std::size_t i = traffic.packets.size() / 2; i < traffic.packets.size(); ++i) {
      traffic.packets[i].time_ns -= 300'000 * static_cast<std::int64_t>(i % 3);
    }
    expect_whole(traffic);
  }
}

TEST(Traffic, EveryOperationIsThere) {
  TrafficOptions options;
  options.connections = 2;
  options.calls = 60;
  options.reverse = false;
  const Traffic traffic = make_traffic(options);
  const testing::Trace trace = testing::read_trace(export_as(make_perfetto, traffic).text);
  std::uint64_t operations = 0;
  for (const json& call : trace.calls) {
    operations += call["args"]["operations"].get<std::uint64_t>();
  }
  EXPECT_GT(operations, 50U);
  EXPECT_EQ(trace.operations.size(), operations);
  std::uint64_t recorded = 0;
  for (const json& r : testing::read_sequence(export_as(make_qlog, traffic).text)) {
    if (r.value("name", "") == "rpcrdma:operation") ++recorded;
  }
  EXPECT_EQ(recorded, operations);
}

// Reads of one Call overlap in this traffic, and are drawn in parallel rows.
TEST(Traffic, OperationsThatOverlapLieAbreast) {
  TrafficOptions options;
  options.calls = 60;
  const testing::Trace trace =
      testing::read_trace(export_as(make_perfetto, make_traffic(options)).text);
  std::size_t abreast = 0;
  for (const auto& [thread, name] : trace.threads) {
    if (name.find("overlapping operations") != std::string::npos) ++abreast;
  }
  EXPECT_GT(abreast, 0U);
  // Most operations are nested in their Call's slice.
  std::set<std::pair<std::uint32_t, std::uint32_t>> rows;
  for (const json& call : trace.calls) rows.emplace(call["pid"], call["tid"]);
  const auto within =
      std::count_if(trace.operations.begin(), trace.operations.end(), [&](const json& o) {
        return rows.contains({o["pid"], o["tid"]});
      });
  EXPECT_GT(2 * static_cast<std::size_t>(within), trace.operations.size());
}

TEST(Traffic, CreditsEndAtZeroInUse) {
  TrafficOptions options;
  options.connections = 3;
  options.calls = 30;
  Traffic traffic = make_traffic(options);
  traffic.packets.resize(traffic.packets.size() / 2);
  const testing::Trace trace = testing::read_trace(export_as(make_perfetto, traffic).text);
  // The last two values of each track: at the end of its last Call and of the connection.
  std::map<std::pair<std::uint32_t, std::string>, std::pair<json, json>> tracks;
  std::uint64_t most = 0;
  for (const json& c : trace.counters) {
    auto& [before, last] = tracks[{c["pid"], c["name"]}];
    before = std::exchange(last, c["args"]);
    most = std::max<std::uint64_t>(most, c["args"]["in_use"]);
  }
  EXPECT_GT(most, 1U);
  EXPECT_GE(tracks.size(), 3U);
  for (const auto& [track, values] : tracks) {
    EXPECT_EQ(values.first["in_use"], 0) << track.second;
    EXPECT_NE(values.first["requested"], 0) << track.second;
    EXPECT_EQ(values.second, json({{"requested", 0}, {"granted", 0}, {"in_use", 0}}));
  }
}

TEST(Traffic, AFilterTakesRpcsWhole) {
  TrafficOptions options;
  options.connections = 2;
  options.calls = 40;
  const Traffic traffic = make_traffic(options);
  const std::string filter = "rpcrdma.read.count > 0 || rpcrdma.kind == error";
  const testing::Trace all = testing::read_trace(export_as(make_perfetto, traffic).text);
  const testing::Trace some = testing::read_trace(export_as(make_perfetto, traffic, filter).text);
  const auto chosen = std::count_if(all.calls.begin(), all.calls.end(), [](const json& c) {
    return c["args"]["ended"] == "rdma_error" || c["args"]["read_bytes"] != 0;
  });
  EXPECT_GT(chosen, 0);
  EXPECT_LT(some.calls.size(), all.calls.size());
  EXPECT_EQ(static_cast<std::size_t>(chosen), some.calls.size());
  EXPECT_EQ(some.counters, all.counters);

  const auto records = testing::read_sequence(export_as(make_qlog, traffic, filter).text);
  const Totals t = totals_of(records);
  EXPECT_EQ(t.calls, some.calls.size());
  EXPECT_EQ(t.messages, t.calls + t.replies + t.errors);
  const auto operations = std::count_if(records.begin(), records.end(), [](const json& r) {
    return r.value("name", "") == "rpcrdma:operation";
  });
  EXPECT_EQ(static_cast<std::size_t>(operations), some.operations.size());
}

}  // namespace
}  // namespace rpcrdma::timeline

// Tests latencies by connection, address and size: which rows there are, their order, the bounds,
// JSON, and merges.
#include "captures_for_tests.h"
#include "latency_join.h"
#include "text/latency_text.h"

#include <cmath>
#include <numeric>

#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/report_text.h>

namespace rpcrdma::report {
namespace {

using testing::report_of;

constexpr ProcedureKey kGetattr{100003, 3, 1, UINT32_MAX, false};
constexpr ProcedureKey kBulk{100003, 3, 6, UINT32_MAX, false};
constexpr std::int64_t kMicro = 1000;

Connection& add_connection(Report& r, const std::string& client, const std::string& server) {
  Connection& c = r.connections.emplace_back();
  c.id = ++r.connection_ids;
  c.side[0].address = client;
  c.side[1].address = server;
  return c;
}

void add_calls(Report& r, std::uint32_t connection, const ProcedureKey& key, int count,
               std::int64_t latency_ns) {
  auto& all = r.latencies.connections;
  auto at = std::find_if(all.begin(), all.end(),
                         [&](const ConnectionLatency& c) { return c.connection == connection; });
  if (at == all.end()) {
    all.emplace_back().connection = connection;
    at = all.end() - 1;
  }
  for (int i = 0; i < count; ++i) at->direction[key.reverse ? 1 : 0].add(key, latency_ns);
}

std::vector<std::string> names(const std::vector<LatencyTableRow>& rows) {
  std::vector<std::string> list;
  for (const LatencyTableRow& row : rows) list.push_back(row.name);
  return list;
}

std::uint64_t calls(const std::vector<LatencyTableRow>& rows) {
  std::uint64_t sum = 0;
  for (const LatencyTableRow& row : rows) sum += row.latency.count();
  return sum;
}

TEST(LatencyTable, TheSlowestForTheSameWorkComesFirst) {
  Report r;
  add_connection(r, "10.0.0.2", "10.0.0.1");  // much work, each Call fast
  add_connection(r, "10.0.0.3", "10.0.0.1");  // little work, each Call slow
  add_connection(r, "10.0.0.4", "10.0.0.1");  // long Calls, because they are bulk
  add_calls(r, 1, kGetattr, 5000, 100 * kMicro);
  add_calls(r, 2, kGetattr, 20, 2000 * kMicro);
  add_calls(r, 3, kBulk, 20, 9000 * kMicro);
  add_calls(r, 2, kBulk, 20, 9000 * kMicro);
  const auto rows = latency_table(r, LatencyBy::kClient);
  ASSERT_EQ(names(rows), (std::vector<std::string>{"10.0.0.3", "10.0.0.4", "10.0.0.2"}));
  ASSERT_TRUE(rows[0].times_as_slow);
  // Expected: 20 times 100 us and 20 times 9 ms.
  EXPECT_NEAR(*rows[0].times_as_slow, (20 * 2 + 20 * 9) / (20 * 0.1 + 20 * 9), 1e-6);
  EXPECT_NEAR(*rows[1].times_as_slow, 1, 1e-6);
  EXPECT_NEAR(*rows[2].times_as_slow, 0.05, 1e-6);
  EXPECT_EQ(rows[0].latency.count(), 40U);
  EXPECT_NEAR(rows[0].share_of_time, 220.0 / (500 + 220 + 180), 1e-6);
  const auto servers = latency_table(r, LatencyBy::kServer);
  ASSERT_EQ(servers.size(), 1U);
  EXPECT_EQ(servers[0].latency.count(), 5060U);
  EXPECT_FALSE(servers[0].times_as_slow);
}

TEST(LatencyTable, TooFewCallsAreNotCompared) {
  Report r;
  add_connection(r, "a", "s");
  add_connection(r, "b", "s");
  add_calls(r, 1, kGetattr, 9, kMicro);
  add_calls(r, 2, kGetattr, 50, kMicro);
  for (const auto& row : latency_table(r, LatencyBy::kClient)) {
    EXPECT_FALSE(row.times_as_slow) << row.name;
  }
  add_calls(r, 1, kGetattr, 1, kMicro);
  for (const auto& row : latency_table(r, LatencyBy::kClient)) {
    EXPECT_TRUE(row.times_as_slow) << row.name;
  }
  // Fewer than half of the Calls have a counterpart.
  add_calls(r, 1, kBulk, 11, kMicro);
  const auto rows = latency_table(r, LatencyBy::kClient);
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(),
                          [](const auto& row) { return row.times_as_slow.has_value(); }),
            1);
}

TEST(LatencyTable, CallsOfTheServerHaveRowsOfTheirOwn) {
  Report r;
  add_connection(r, "a", "s");
  add_calls(r, 1, kGetattr, 3, kMicro);
  ProcedureKey recall = kGetattr;
  recall.reverse = true;
  add_calls(r, 1, recall, 2, 5 * kMicro);
  for (const LatencyBy by : {LatencyBy::kConnection, LatencyBy::kClient, LatencyBy::kServer}) {
    const auto rows = latency_table(r, by);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_NE(rows[0].reverse, rows[1].reverse);
    EXPECT_EQ(rows[0].latency.count(), rows[0].reverse ? 2U : 3U);
  }
}

TEST(LatencyTable, AQuantileNeedsEnoughValues) {
  const auto given = [](int count, double q) {
    base::Histogram h;
    for (int i = 0; i < count; ++i) h.add(i);
    return given_quantile(h, q).has_value();
  };
  for (const auto& [q, needed] : std::vector<std::pair<double, int>>{
           {0.5, 2}, {0.9, 10}, {0.95, 20}, {0.99, 100}, {0.999, 1000}}) {
    EXPECT_FALSE(given(needed - 1, q)) << q;
    EXPECT_TRUE(given(needed, q)) << q;
  }
}

TEST(LatencyTable, SizesAreRoundedUpToTheirClass) {
  EXPECT_EQ(size_class(0), SizeClass::k4KiB);
  EXPECT_EQ(size_class(4096), SizeClass::k4KiB);
  EXPECT_EQ(size_class(4097), SizeClass::k64KiB);
  EXPECT_EQ(size_class(65536), SizeClass::k64KiB);
  EXPECT_EQ(size_class(262144), SizeClass::k256KiB);
  EXPECT_EQ(size_class(1048576), SizeClass::k1MiB);
  EXPECT_EQ(size_class(1048577), SizeClass::kMore);
  EXPECT_EQ(size_class(UINT64_MAX), SizeClass::kMore);
}

// Each table has all answered Calls of a capture.
TEST(LatencyTable, NoCallIsLeftOut) {
  for (const char* name : {"linux-nfs3.pcap", "linux-nfs41.pcap", "linux-deleg.pcap",
                           "cases/protocol-c03-msgp-write.pcap"}) {
    const Report r = report_of(name);
    std::uint64_t answered = 0;
    for (const auto& [key, p] : r.procedures) answered += p.total.count();
    EXPECT_GT(answered, 0U) << name;
    for (const LatencyBy by : kLatencyTables) {
      const auto rows = latency_table(r, by);
      EXPECT_EQ(calls(rows), answered) << name << " by " << latency_by_name(by);
      const double share =
          std::accumulate(rows.begin(), rows.end(), 0.0,
                          [](double sum, const auto& row) { return sum + row.share_of_time; });
      EXPECT_NEAR(share, 1, 1e-9) << name;
    }
    std::uint64_t in_series = 0;
    for (const ProcedureSeries& p : r.latencies.procedures) {
      for (std::int64_t n = p.series.first(); n <= p.series.last(); ++n) {
        for (const std::uint32_t count : p.series.bin(n).counts) in_series += count;
      }
    }
    EXPECT_EQ(in_series, answered) << name;
  }
}

TEST(LatencyTable, AFilterLimitsTheCalls) {
  const Report r = report_of("linux-nfs3.pcap", "rpc.procedure == READ");
  ASSERT_FALSE(r.procedures.empty());
  std::uint64_t answered = 0;
  for (const auto& [key, p] : r.procedures) answered += p.total.count();
  EXPECT_EQ(calls(latency_table(r, LatencyBy::kClient)), answered);
  EXPECT_LT(answered, calls(latency_table(report_of("linux-nfs3.pcap"), LatencyBy::kClient)));
}

TEST(LatencyText, ShowsOnlyWhatTheSampleGives) {
  base::Histogram h;
  for (int i = 0; i < 9; ++i) h.add(5000);
  EXPECT_EQ(latency_columns(h),
            "       9      5 us         -         -         -         -      5 us");
  EXPECT_EQ(latency_columns(base::Histogram()),
            "       0         -         -         -         -         -         -");
}

TEST(LatencyText, OneClientIsNotCompared) {
  Report r;
  add_connection(r, "10.0.0.2", "10.0.0.1");
  add_calls(r, 1, kGetattr, 20, kMicro);
  EXPECT_EQ(who_is_slow(r, false), "");
  // Two connections of one client to one server.
  add_connection(r, "10.0.0.2", "10.0.0.1");
  add_calls(r, 2, kGetattr, 20, 3 * kMicro);
  const std::string text = who_is_slow(r, false);
  EXPECT_NE(text.find("Latency by connection"), std::string::npos);
  EXPECT_EQ(text.find("Latency by client"), std::string::npos);
  EXPECT_LT(text.find("2: 10.0.0.2"), text.find("1: 10.0.0.2"));
  EXPECT_NE(text.find("75 %       3.0x"), std::string::npos) << text;
}

TEST(LatencyText, ALongTableNamesTheOptionThatShowsAll) {
  Report r;
  for (std::uint32_t i = 1; i <= 7; ++i) {
    add_connection(r, "10.0.1." + std::to_string(i), "10.0.0.1");
    add_calls(r, i, kGetattr, 2, kMicro * i);
  }
  EXPECT_NE(who_is_slow(r, false).find("and 2 more (--by client lists them)\n"), std::string::npos);
  TextOptions options;
  options.by = LatencyBy::kClient;
  std::string text;
  write_text(r, options, [&](std::string_view piece) { text += piece; });
  for (std::uint32_t i = 1; i <= 7; ++i) {
    EXPECT_NE(text.find("10.0.1." + std::to_string(i)), std::string::npos) << i;
  }
  EXPECT_EQ(text.find("Capture quality"), std::string::npos);
}

TEST(Latencies, TooManyConnectionsCountByAddress) {
  Report to;
  Latencies later;
  for (std::uint32_t i = 1; i <= kMaxLatencyConnections + 10; ++i) {
    add_connection(to, i % 2 == 0 ? "even" : "odd", "s");
    ConnectionLatency& c = later.connections.emplace_back();
    c.connection = i;
    c.direction[0].add(kGetattr, kMicro);
  }
  join_latencies(to, later);
  EXPECT_EQ(to.latencies.connections.size(), kMaxLatencyConnections);
  ASSERT_EQ(to.latencies.pairs.size(), 2U);
  EXPECT_EQ(to.latencies.pairs[0].direction[0].total.count(), 5U);
  const auto clients = latency_table(to, LatencyBy::kClient);
  ASSERT_EQ(clients.size(), 2U);
  EXPECT_EQ(clients[0].latency.count(), kMaxLatencyConnections / 2 + 5);
  const auto connections = latency_table(to, LatencyBy::kConnection);
  EXPECT_EQ(connections.size(), kMaxLatencyConnections + 1);
  EXPECT_EQ(calls(connections), kMaxLatencyConnections + 10);
}

TEST(Latencies, TooManyAddressesAreOneEntry) {
  Latencies all;
  for (std::size_t i = 0; i < kMaxLatencyPairs + 5; ++i) {
    all.pair("client" + std::to_string(i), "s").direction[0].add(kGetattr, kMicro);
  }
  ASSERT_EQ(all.pairs.size(), kMaxLatencyPairs + 1);
  EXPECT_EQ(all.pairs.back().client, "");
  EXPECT_EQ(all.pairs.back().direction[0].total.count(), 5U);
}

TEST(Latencies, AReportOfJsonHasThem) {
  Report r = report_of("linux-deleg.pcap");
  r.latencies.pair("10.9.9.9", "10.0.0.1").direction[1].add(kBulk, 7 * kMicro);
  r.latencies.pair({}, {}).direction[0].add(kGetattr, 9 * kMicro);
  const std::string json = testing::json_of(r);
  const auto read = read_json(json);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->latencies.connections.size(), r.latencies.connections.size());
  EXPECT_EQ(read->latencies.pairs.size(), 2U);
  EXPECT_EQ(testing::json_of(*read), json);
}

TEST(Latencies, JsonBeyondTheBoundsIsRefused) {
  Report r = report_of("linux-deleg.pcap");
  r.latencies.procedures.resize(kMaxProcedureSeries + 1);
  EXPECT_FALSE(read_json(testing::json_of(r)));
  r = report_of("linux-deleg.pcap");
  r.latencies.connections.at(0).direction[0].procedures.resize(kMaxLatencyProcedures + 1);
  EXPECT_FALSE(read_json(testing::json_of(r)));
}

// Client and server of a connection are swapped if a later report is more certain.
TEST(Latencies, AMergeSwapsDirectionsWithTheirConnection) {
  const auto part = [](std::int64_t second, Roles roles, bool swapped) {
    Report r;
    r.capture.frames = 10;
    r.capture.first_ns = second * 1000000000;
    r.capture.last_ns = r.capture.first_ns + 1;
    Connection& c = add_connection(r, swapped ? "b" : "a", swapped ? "a" : "b");
    c.side[0].qpn = swapped ? 2 : 1;
    c.side[1].qpn = swapped ? 1 : 2;
    c.roles = roles;
    ProcedureKey key = kGetattr;
    key.reverse = swapped;
    add_calls(r, 1, key, 3, kMicro);
    return r;
  };
  auto whole = merge({part(1, Roles::kUnknown, true), part(2, Roles::kCertain, false)});
  ASSERT_TRUE(whole);
  const auto clients = latency_table(*whole, LatencyBy::kClient);
  ASSERT_EQ(clients.size(), 1U);
  EXPECT_EQ(clients[0].name, "a");
  EXPECT_FALSE(clients[0].reverse);
  EXPECT_EQ(clients[0].latency.count(), 6U);
}

TEST(Latencies, GroupsOfReportsDoNotMatterBeyondTheBoundOfProcedures) {
  std::vector<Report> parts(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    for (std::uint32_t p = 0; p < kMaxProcedureSeries; ++p) {
      const ProcedureKey key{100003, 3, (p * 7 + i * 11) % 100, UINT32_MAX, false};
      if (LatencySeries* const s = parts[i].latencies.series(key)) s->at(i).add(kMicro);
    }
  }
  const auto joined = [](Report a, const Report& b) {
    join_latencies(a, b.latencies);
    return a;
  };
  const Report left = joined(joined(parts[0], parts[1]), parts[2]);
  const Report right = joined(parts[0], joined(parts[1], parts[2]));
  EXPECT_EQ(left.latencies.procedures.size(), kMaxProcedureSeries);
  EXPECT_EQ(testing::json_of(left), testing::json_of(right));
}

}  // namespace
}  // namespace rpcrdma::report

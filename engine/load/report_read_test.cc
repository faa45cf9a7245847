// Tests that what load writes can be read back, and that hostile text is refused.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/load/report.h>
#include <rpcrdma/load/report_read.h>

namespace rpcrdma::load {
namespace {

std::string written() {
  Setup setup;
  setup.procedures = {"null", "echo", "sink"};
  Result result;
  result.elapsed = 2'500'000'000;
  for (int i = 0; i < 100; ++i) {
    Sample s;
    s.procedure = 2;
    s.due = 10'000'000 * i;
    s.times.ended = s.due + 50'000 + 1000 * i;
    s.end = i == 7 ? End::kError : End::kRight;
    result.tally.add(s);
  }
  return to_json(setup, result);
}

TEST(LoadReport, IsReadAsWritten) {
  const auto report = read_json(written());
  ASSERT_TRUE(report) << report.error();
  EXPECT_EQ(report->seconds, 2.5);
  ASSERT_EQ(report->procedures.size(), 1U);
  const ReadProcedure& sink = report->procedures[0];
  EXPECT_EQ(sink.number, 2U);
  EXPECT_EQ(sink.calls, 100U);
  EXPECT_EQ(sink.latency.count(), 99U);
  EXPECT_EQ(sink.latency.min(), 50'000);
  EXPECT_EQ(sink.latency.max(), 149'000);
  // 0.99 s in bins of 16 ms.
  ASSERT_EQ(sink.over_time.size(), 60U);
  std::uint64_t all = 0;
  for (const auto& bin : sink.over_time) {
    for (const std::uint32_t count : bin) all += count;
  }
  EXPECT_EQ(all, 99U);
}

TEST(LoadReport, RefusesWhatIsNone) {
  using Change = void (*)(nlohmann::json&);
  constexpr Change kChanges[] = {
      [](nlohmann::json& j) { j.erase("procedures"); },
      [](nlohmann::json& j) { j["seconds"] = "2"; },
      [](nlohmann::json& j) { j["procedures"] = 1; },
      [](nlohmann::json& j) { j["procedures"][0] = 1; },
      [](nlohmann::json& j) { j["procedures"][0]["name"] = "nosuch"; },
      [](nlohmann::json& j) { j["procedures"][0]["calls"] = -1; },
      [](nlohmann::json& j) { j["procedures"][0]["calls"] = 98; },  // fewer than latencies
      [](nlohmann::json& j) { j["procedures"].push_back(j["procedures"][0]); },
      [](nlohmann::json& j) { j["procedures"][0].erase("histogram_ns"); },
      [](nlohmann::json& j) { j["procedures"][0].erase("over_time"); },
      [](nlohmann::json& j) { j["procedures"][0]["over_time"]["bins"][3]["bin"] = 1000; },
      [](nlohmann::json& j) { j["procedures"][0]["over_time"]["bins"][3]["bin"] = 1; },
      [](nlohmann::json& j) {
        j["procedures"][0]["over_time"]["bins"][0]["log2"] = {{24, 1}};
      },
      [](nlohmann::json& j) {
        j["procedures"][0]["over_time"]["bins"][0]["log2"] = {{1, -1}};
      },
      [](nlohmann::json& j) { j["procedures"][0]["histogram_ns"]["min"] = 1; },
      [](nlohmann::json& j) { j["procedures"][0]["histogram_ns"]["max"] = UINT64_MAX; },
      [](nlohmann::json& j) { j["procedures"][0]["histogram_ns"]["buckets"] = {{1}}; },
      [](nlohmann::json& j) {
        j["procedures"][0]["histogram_ns"]["buckets"] = {{5000, 1}};
      },
      [](nlohmann::json& j) { j["procedures"][0]["histogram_ns"]["buckets"][0][1] = 1ULL << 40; },
  };
  for (const Change change : kChanges) {
    nlohmann::json json = nlohmann::json::parse(written());
    change(json);
    const auto report = read_json(json.dump());
    ASSERT_FALSE(report) << json;
    EXPECT_FALSE(report.error().empty());
  }
  for (const char* text : {"", "[", "[]", "1", "{}", "null"}) EXPECT_FALSE(read_json(text)) << text;
}

}  // namespace
}  // namespace rpcrdma::load

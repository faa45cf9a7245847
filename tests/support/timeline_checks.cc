#include "timeline_checks.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace rpcrdma::timeline::testing {

namespace {

struct Slice {
  std::int64_t begin = 0;  // ns
  std::int64_t end = 0;
  std::string name;
};

// Slices that start at the same time keep the order of the file, the outer one first.
void expect_nested(std::vector<Slice> slices) {
  std::stable_sort(slices.begin(), slices.end(),
                   [](const Slice& a, const Slice& b) { return a.begin < b.begin; });
  std::vector<Slice> open;
  for (const Slice& s : slices) {
    while (!open.empty() && open.back().end <= s.begin) open.pop_back();
    if (!open.empty()) {
      ASSERT_LE(s.end, open.back().end) << s.name << " at " << s.begin << " ends after "
                                        << open.back().name << " at " << open.back().begin;
    }
    open.push_back(s);
  }
}

void expect_flow(const std::vector<json>& places) {
  ASSERT_GE(places.size(), 2U);
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(places[i].at("ph"), i == 0 ? "s" : i + 1 == places.size() ? "f" : "t") << places[i];
    EXPECT_EQ(places[i].at("name"), places[0].at("name"));
    if (i != 0) {
      EXPECT_GE(nanoseconds(places[i].at("ts")), nanoseconds(places[i - 1].at("ts"))) << places[i];
    }
  }
}

}  // namespace

Trace read_trace(const std::string& text) {
  Trace trace;
  const json whole = json::parse(text, nullptr, false);
  EXPECT_TRUE(whole.is_object()) << "not JSON";
  if (!whole.is_object()) return trace;
  EXPECT_TRUE(whole.at("otherData").at("start_time_ns").is_number_integer());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Slice>> slices, written;
  for (const json& e : whole.at("traceEvents")) {
    const std::string phase = e.at("ph");
    EXPECT_TRUE(e.at("name").is_string() && !e.at("name").get<std::string>().empty()) << e;
    EXPECT_TRUE(e.at("pid").is_number_unsigned() && e.at("tid").is_number_unsigned()) << e;
    EXPECT_TRUE(e.at("args").is_object()) << e;
    const std::pair thread(e.at("pid").get<std::uint32_t>(), e.at("tid").get<std::uint32_t>());
    if (phase == "M") {
      const std::string name = e.at("name");
      if (name == "process_name") trace.processes[thread.first] = e.at("args").at("name");
      if (name == "thread_name") trace.threads[thread] = e.at("args").at("name");
      EXPECT_TRUE(std::set<std::string>({"process_name", "thread_name", "thread_sort_index"})
                      .contains(name));
      continue;
    }
    EXPECT_TRUE(e.at("cat").is_string()) << e;
    EXPECT_TRUE(e.at("ts").is_number() && e.at("ts").get<double>() >= 0) << e;
    if (phase == "X") {
      EXPECT_TRUE(e.at("dur").is_number() && e.at("dur").get<double>() >= 0) << e;
      const std::int64_t begin = nanoseconds(e.at("ts"));
      const std::int64_t end = begin + nanoseconds(e.at("dur"));
      written[thread].push_back({begin, end, e.at("name")});
      if (end < kExactNs) slices[thread].push_back({begin, end, e.at("name")});
      const std::string category = e.at("cat");
      (category == "call"    ? trace.calls
       : category == "point" ? trace.points
       : category == "stage" ? trace.stages
                             : trace.operations)
          .push_back(e);
      EXPECT_TRUE(std::set<std::string>({"call", "operation", "point", "stage"}).contains(category))
          << e;
    } else if (phase == "i") {
      EXPECT_EQ(e.at("s"), "t");
      trace.instants.push_back(e);
    } else if (phase == "C") {
      for (const json& value : e.at("args")) EXPECT_TRUE(value.is_number_unsigned()) << e;
      trace.counters.push_back(e);
    } else if (phase == "s" || phase == "t" || phase == "f") {
      EXPECT_EQ(e.at("bp"), "e");
      trace.flows[e.at("id").get<std::uint64_t>()].push_back(e);
      // It binds to a slice that was written before.
      const std::int64_t time = nanoseconds(e.at("ts"));
      const std::vector<Slice>& before = written[thread];
      EXPECT_TRUE(time >= kExactNs ||
                  std::any_of(before.begin(), before.end(),
                              [&](const Slice& s) { return s.begin <= time && time < s.end; }))
          << e;
    } else {
      ADD_FAILURE() << "no such phase here: " << e;
    }
  }
  for (const auto& [thread, list] : slices) {
    EXPECT_TRUE(trace.threads.contains(thread)) << thread.second << " has no name";
    expect_nested(list);
  }
  for (const auto& [id, places] : trace.flows) expect_flow(places);
  for (const auto* list : {&trace.calls, &trace.operations, &trace.instants, &trace.counters,
                           &trace.points, &trace.stages}) {
    for (const json& e : *list) {
      EXPECT_TRUE(trace.processes.contains(e.at("pid").get<std::uint32_t>())) << e;
    }
  }
  return trace;
}

std::vector<json> read_sequence(const std::string& text) {
  std::vector<json> records;
  for (std::size_t at = 0; at < text.size();) {
    EXPECT_EQ(text[at], '\x1e') << "at " << at;
    const std::size_t end = std::min(text.find('\x1e', at + 1), text.size());
    EXPECT_EQ(text[end - 1], '\n') << "at " << end;
    records.push_back(json::parse(text.substr(at + 1, end - at - 1), nullptr, false));
    EXPECT_TRUE(records.back().is_object()) << text.substr(at, end - at);
    at = end;
  }
  return records;
}

}  // namespace rpcrdma::timeline::testing

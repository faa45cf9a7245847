// The text and the JSON of load results.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/load/report.h>

namespace rpcrdma::load {
namespace {

Sample sample(std::uint32_t procedure, End end = End::kRight) {
  Sample s;
  s.end = end;
  s.procedure = procedure;
  s.bytes = 1'000'000;
  s.times = {0, 1000, 9000, 49000, 50000};
  s.server = {4000, 16000};
  return s;
}

Setup setup() {
  Setup s;
  s.server = "127.0.0.1 port 20049";
  s.from = "127.0.0.2";
  s.connections = 4;
  s.depth = 16;
  s.seed = 1;
  s.procedures = {"null", "sink"};
  return s;
}

Result result() {
  Result r;
  for (int i = 0; i < 3; ++i) r.tally.add(sample(1));
  r.elapsed = 2 * fabric::kSecond;
  r.user = 30 * fabric::kMicrosecond;
  r.system = 15 * fabric::kMicrosecond;
  return r;
}

TEST(Report, Text) {
  EXPECT_EQ(to_text(setup(), result()),
            "127.0.0.1 port 20049 from 127.0.0.2: 4 connections, depth 16, 1 thread\n"
            "3 Calls in 2.000 s: 1.5 calls/s, 1.50 MB/s (2930 KiB)\n"
            "0 errors, 0 mismatches\n"
            "processor time per Call: 15.0 us, 5.0 us of it in the kernel\n"
            "\n"
            "                          p50      p90      p95      p99    p99.9   p99.99      max   "
            "  mean\n"
            "latency                 50 us    50 us    50 us    50 us    50 us    50 us    50 us   "
            " 50 us\n"
            "  due, not started       0 ns     0 ns     0 ns     0 ns     0 ns     0 ns     0 ns   "
            "  0 ns\n"
            "  waiting for credit     1 us     1 us     1 us     1 us     1 us     1 us     1 us   "
            "  1 us\n"
            "  sent until Reply      48 us    48 us    48 us    48 us    48 us    48 us    48 us   "
            " 48 us\n"
            "    sending              8 us     8 us     8 us     8 us     8 us     8 us     8 us   "
            "  8 us\n"
            "    peer reading         4 us     4 us     4 us     4 us     4 us     4 us     4 us   "
            "  4 us\n"
            "    peer                16 us    16 us    16 us    16 us    16 us    16 us    16 us   "
            " 16 us\n"
            "    data and network    20 us    20 us    20 us    20 us    20 us    20 us    20 us   "
            " 20 us\n"
            "  fencing memory         1 us     1 us     1 us     1 us     1 us     1 us     1 us   "
            "  1 us\n");
}

TEST(Report, TextOfWhatWentWrong) {
  load::Setup s = setup();
  s.rate = 500;
  s.threads = 2;
  Result r = result();
  r.tally.add(sample(0));
  r.tally.add(sample(0, End::kError));
  r.tally.add_reason("timed out");
  r.not_begun = 1;
  r.abandoned = 2;
  r.lost = 1;
  r.interrupted = true;
  const std::string text = to_text(s, r);
  EXPECT_NE(text.find("depth 16, 2 threads, target 500 calls/s\ninterrupted: 5 Calls in 2.000 s"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n1 error, 0 mismatches\n  1 x timed out\n"
                      "1 Call was due but not started before the end\n"
                      "2 Calls were in flight at the end and abandoned\n"
                      "1 connection was lost, 0 Calls were resent\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nlatency: only Calls with a correct answer; 4 others are not included\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nnull, 2                 50 us"), std::string::npos) << text;
  EXPECT_NE(text.find("\nsink, 3                 50 us"), std::string::npos) << text;
}

TEST(Report, TextOfTimesThatAreNotKnown) {
  Result r = result();
  Sample null = sample(0);
  null.server.reset();
  null.times.arrived = 0;
  r.tally.add(null);
  Sample lie = sample(1);
  lie.server = {0, 1'000'000};
  r.tally.add(lie);
  const std::string text = to_text(setup(), r);
  EXPECT_NE(text.find("\n    peer and network    48 us"), std::string::npos) << text;
  EXPECT_NE(
      text.find(
          "\nsending: unknown for 1 Call whose Reply arrived before an acknowledgment was seen; "
          "included in the network's time\n"
          "peer and network: the Replies of 1 Call do not contain the peer's own time\n"
          "peer: for 1 Call it reports more than the time until the Reply; limited to "
          "that\n"),
      std::string::npos)
      << text;
}

TEST(Report, TextOfPackets) {
  Result r = result();
  r.packets = {1, 2, 0};
  const std::string text = to_text(setup(), r);
  EXPECT_NE(text.find("\n1 packet retransmitted; 2 NAKs and 0 RNR NAKs from the server\n"),
            std::string::npos)
      << text;
}

TEST(Report, TextOfNothing) {
  const std::string text = to_text(setup(), {});
  EXPECT_NE(text.find("\n0 Calls in 0 ns: 0.0 calls/s, 0 B/s (0 B)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nlatency                     -        -"), std::string::npos) << text;
}

TEST(Report, Json) {
  const auto j = nlohmann::json::parse(to_json(setup(), result()));
  EXPECT_EQ(j["calls"], 3);
  EXPECT_EQ(j["errors"], 0);
  EXPECT_EQ(j["mismatches"], 0);
  EXPECT_EQ(j["seconds"], 2.0);
  EXPECT_EQ(j["calls_per_second"], 1.5);
  EXPECT_EQ(j["bytes_per_second"], 1.5e6);
  EXPECT_EQ(j["cpu_us_per_call"]["user"], 10.0);
  EXPECT_EQ(j["cpu_us_per_call"]["system"], 5.0);
  for (const char* key : {"p50", "p90", "p95", "p99", "p999", "p9999", "max", "min", "mean"}) {
    EXPECT_EQ(j["latency_us"][key], 50.0) << key;
  }
  const auto& parts = j["parts_us"];
  EXPECT_EQ(parts["reply"]["max"], 48.0);
  EXPECT_EQ(parts["send"]["max"], 8.0);
  EXPECT_EQ(parts["read"]["max"], 4.0);
  EXPECT_EQ(parts["peer"]["max"], 16.0);
  EXPECT_EQ(parts["network"]["max"], 20.0);
  EXPECT_EQ(parts["network"]["calls"], 3);
  EXPECT_EQ(parts["peer_and_network"]["calls"], 0);
  EXPECT_EQ(j["implausible"], 0);
  ASSERT_EQ(j["procedures"].size(), 1U);
  EXPECT_EQ(j["procedures"][0]["name"], "sink");
  EXPECT_TRUE(j["failed"].empty());
}

TEST(Report, JsonOfWhatIsNotKnownIsNull) {
  Result r;
  r.tally.add(sample(0, End::kError));
  auto j = nlohmann::json::parse(to_json(setup(), r));
  for (const char* key : {"p50", "p90", "p95", "p99", "p999", "p9999", "max", "min", "mean"}) {
    ASSERT_TRUE(j["latency_us"].contains(key)) << key;
    EXPECT_TRUE(j["latency_us"][key].is_null()) << key;
    EXPECT_TRUE(j["parts_us"]["reply"][key].is_null()) << key;
    EXPECT_TRUE(j["procedures"][0]["latency_us"][key].is_null()) << key;
  }
  EXPECT_EQ(j["parts_us"]["reply"]["calls"], 0);
  for (const char* key : {"packets_retransmitted", "naks", "rnr_naks", "device_work"}) {
    ASSERT_TRUE(j.contains(key)) << key;
    EXPECT_TRUE(j[key].is_null()) << key;
  }
  EXPECT_EQ(j["calls_per_second"], 0.0);
  EXPECT_TRUE(j["cpu_us_per_call"]["user"].is_number());
  j = nlohmann::json::parse(to_json(setup(), {}));
  EXPECT_TRUE(j["cpu_us_per_call"]["user"].is_null());
  EXPECT_TRUE(j["cpu_us_per_call"]["system"].is_null());
}

TEST(Report, JsonOfPackets) {
  Result r = result();
  r.packets = {5, 2, 1};
  const auto j = nlohmann::json::parse(to_json(setup(), r));
  EXPECT_EQ(j["packets_retransmitted"], 5);
  EXPECT_EQ(j["naks"], 2);
  EXPECT_EQ(j["rnr_naks"], 1);
}

TEST(Report, DeviceWork) {
  Result r = result();
  r.device_work = {.send_posts = 3, .send_requests = 6, .completions = 9, .registrations = 1};
  *r.device_work += {.signaled = 3, .receive_posts = 1, .receive_requests = 3};
  const std::string text = to_text(setup(), r);
  EXPECT_NE(text.find("\ndevice, per Call: 1.00 posts of 2.00 requests, 1.00 signaled; 0.33 posts "
                      "of 1.00 Receives; 3.00 completions, 0.00 notifications; 0.33 registrations, "
                      "0.00 windows bound, 0.00 invalidated\n"),
            std::string::npos)
      << text;
  const auto j = nlohmann::json::parse(to_json(setup(), r));
  EXPECT_EQ(j["device_work"]["send_requests"], 6);
  EXPECT_EQ(j["device_work"]["signaled"], 3);
  EXPECT_EQ(j["device_work"]["receive_requests"], 3);
  EXPECT_EQ(j["device_work"]["invalidations"], 0);
}

TEST(Report, Rates) {
  EXPECT_EQ(format_byte_rate(0), "0 B/s");
  EXPECT_EQ(format_byte_rate(999), "999 B/s");
  EXPECT_EQ(format_byte_rate(999.6), "1.00 kB/s");
  EXPECT_EQ(format_byte_rate(9994), "9.99 kB/s");
  EXPECT_EQ(format_byte_rate(99949), "99.9 kB/s");
  EXPECT_EQ(format_byte_rate(123.4e6), "123 MB/s");
  EXPECT_EQ(format_byte_rate(1.25e9), "1.25 GB/s");
  EXPECT_EQ(format_byte_rate(5e15), "5000 TB/s");
  EXPECT_EQ(format_call_rate(999.94), "999.9");
  EXPECT_EQ(format_call_rate(999.96), "1000");
  EXPECT_EQ(format_call_rate(123456.7), "123457");
}

TEST(Report, ProgressIsOfTheIntervalAndFailuresOfAll) {
  EXPECT_EQ(
      progress_line({100, 1, 1000}, {300, 3, 2'001'000}, 2 * fabric::kSecond, 5 * fabric::kSecond),
      "5 s: 100.0 calls/s, 1.00 MB/s, 3 failed");
}

}  // namespace
}  // namespace rpcrdma::load

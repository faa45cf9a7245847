// An endpoint's recording with every command that opens a capture. The recording is derived from a
// capture, with the events that one endpoint would have emitted.
#include "eventful_recording.h"
#include "support/command.h"
#include "support/trace_builder.h"

#include <algorithm>
#include <array>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/live/stream_file.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using trace_reader::testing::TraceBuilder;

constexpr const char* kCapture = "linux-nfs41.pcap";

TraceBuilder recorded(const std::string& name, std::uint8_t side,
                      bool sees_peer_operations = true) {
  const std::string bytes = read_file(capture(name));
  return trace_reader::testing::events_of_capture(
      {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()},
      {.side = side, .sees_peer_operations = sees_peer_operations});
}

std::string file_of(const TraceBuilder& trace) {
  const auto bytes = trace.pcapng();
  return {bytes.begin(), bytes.end()};
}

json analyzed(const std::string& file) {
  const Result r = run("RPCRDMA analyze --json " + file);
  EXPECT_EQ(r.status, 0) << r.err;
  return try_parse_json(r.out);
}

// The part of each line that does not depend on the observer.
std::vector<std::string> gist(const std::string& lines) {
  std::vector<std::string> all;
  for (const json& m : json_lines(lines)) {
    if (m["kind"] == "event") continue;
    all.push_back(m["kind"].dump() + m["xid"].dump() + m["proc"].dump() + m["credit"].dump() +
                  m["source"].dump() + m["destination"].dump() + m["read_list"].dump() +
                  m["write_list"].dump() + m["reply_chunk"].dump() + m["rpc"].dump());
  }
  return all;
}

class Recording : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    write_file(folder_.file(name), bytes);
    return folder_.file(name);
  }

  TemporaryFolder folder_;
};

class RecordingOf : public Recording,
                    public ::testing::WithParamInterface<std::tuple<const char*, std::uint8_t>> {
 protected:
  const std::string packets_ = capture(std::get<0>(GetParam()));
  const std::string events_ =
      write("recorded.pcapng", file_of(recorded(std::get<0>(GetParam()), std::get<1>(GetParam()))));
};

TEST_P(RecordingOf, MessagesAreThoseOfThePackets) {
  const Result r = run("RPCRDMA decode --json " + events_);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(gist(r.out), gist(run("RPCRDMA decode --json " + packets_).out));
}

TEST_P(RecordingOf, TheReportIsThatOfThePackets) {
  const json events = analyzed(events_);
  const json packets = analyzed(packets_);
  EXPECT_EQ(events["messages"], packets["messages"]);
  ASSERT_EQ(events["connections"].size(), packets["connections"].size());
  for (std::size_t i = 0; i < packets["connections"].size(); ++i) {
    const json& e = events["connections"][i];
    const json& p = packets["connections"][i];
    EXPECT_TRUE(e["recorded"].get<bool>());
    for (const char* key : {"client", "server"}) {
      for (const char* member : {"address", "qpn"}) EXPECT_EQ(e[key][member], p[key][member]);
    }
    for (const char* key : {"protocol", "roles", "setup", "state", "version", "calls", "replies",
                            "unmatched", "errors", "malformed", "forward", "reverse", "credits",
                            "thresholds", "chunks", "inline_bytes", "unmatched_operations"}) {
      EXPECT_EQ(e[key], p[key]) << key << " of connection " << i + 1;
    }
  }
  ASSERT_EQ(events["procedures"].size(), packets["procedures"].size());
  for (std::size_t i = 0; i < packets["procedures"].size(); ++i) {
    for (const char* key : {"name", "calls", "replies", "errors", "unmatched", "bytes"}) {
      EXPECT_EQ(events["procedures"][i][key], packets["procedures"][i][key]) << key;
    }
  }
  std::set<std::string> found;
  for (const json& f : packets["findings"]) found.insert(f["rule"]);
  // An endpoint counts time on the way to it as its own, which packets can separate.
  found.insert("SLOW-PEER");
  for (const json& f : events["findings"]) EXPECT_EQ(found.count(f["rule"]), 1U) << f;
  EXPECT_TRUE(events["capture_quality"]["complete"].get<bool>()) << events["capture_quality"];
  EXPECT_EQ(events["recording"]["lost"], 0);
  EXPECT_EQ(events["recording"]["emitted"], events["recording"]["received"]);
}

INSTANTIATE_TEST_SUITE_P(Linux, RecordingOf,
                         ::testing::Combine(::testing::Values("linux-nfs41.pcap"),
                                            ::testing::Values(0, 1)),
                         [](const auto& i) {
                           return std::get<1>(i.param) == 0 ? "Client" : "Server";
                         });

// The same events in a ring of files, read in any order.
TEST_F(Recording, TheFilesOfARingAreAsOne) {
  const TraceBuilder events = recorded(kCapture, 0);
  const json whole = analyzed(write("whole.pcapng", file_of(events)));
  auto ring = trace::StreamFile::open(folder_.file("ring.pcapng"),
                                      {.file_bytes = 8192, .file_ns = 0, .files = 0}, "test",
                                      1'800'000'000'000'000'000);
  ASSERT_TRUE(ring) << ring.error().message;
  events.for_each([&](auto data, const roce::PacketMeta& meta) {
    capture::Frame frame;
    frame.time_ns = meta.time_ns;
    frame.original = static_cast<std::uint32_t>(data.size());
    frame.link = capture::LinkType::kUpperPdu;
    frame.data = data;
    ASSERT_TRUE((*ring)->write(frame));
  });
  ASSERT_TRUE((*ring)->finish(1'800'000'000'000'000'000));
  const json files = analyzed("$(ls -r " + folder_.file("ring_*.pcapng") + ")");
  EXPECT_GT(files["capture"]["files"], 5);
  EXPECT_EQ(files["messages"], whole["messages"]);
  EXPECT_EQ(files["inconclusive"], whole["inconclusive"]);
  EXPECT_EQ(files["capture_quality"], whole["capture_quality"]);
  ASSERT_EQ(files["connections"].size(), whole["connections"].size());
  for (std::size_t i = 0; i < whole["connections"].size(); ++i) {
    for (const char* key : {"setup", "state", "calls", "replies", "unmatched", "credits", "chunks",
                            "events_lost", "clock_stepped_back", "first_time_ns", "last_time_ns"}) {
      EXPECT_EQ(files["connections"][i][key], whole["connections"][i][key]) << key;
    }
  }
  ASSERT_EQ(files["findings"].size(), whole["findings"].size());
  for (std::size_t i = 0; i < whole["findings"].size(); ++i) {
    for (const char* key : {"rule", "severity", "peer", "count"}) {
      EXPECT_EQ(files["findings"][i][key], whole["findings"][i][key]) << key;
    }
  }
  for (const char* key : {"emitted", "received", "lost", "missing", "unattributed", "skipped"}) {
    EXPECT_EQ(files["recording"][key], whole["recording"][key]) << key;
  }
}

TEST_F(Recording, WithoutThePeersOperationsItSaysSo) {
  const json report = analyzed(write("recorded.pcapng", file_of(recorded(kCapture, 0, false))));
  EXPECT_EQ(report["capture_quality"]["operations_unseen"]["connections"], 1);
  EXPECT_TRUE(report["connections"][0]["operations_unseen"].get<bool>());
  const Result text = run("RPCRDMA analyze " + folder_.file("recorded.pcapng"));
  EXPECT_THAT(text.out, HasSubstr("the peer's RDMA Reads and Writes are not recorded"));
}

// The recording of a killed endpoint: the final loss counters are missing, and perhaps more.
TEST_F(Recording, OneThatWasCutOffIsNotReportedToBeWhole) {
  TraceBuilder events = recorded(kCapture, 0);
  const json whole = analyzed(write("whole.pcapng", file_of(events)));
  events.frames().pop_back();
  const json cut = analyzed(write("cut.pcapng", file_of(events)));
  EXPECT_TRUE(whole["capture_quality"]["complete"].get<bool>());
  EXPECT_EQ(whole["recording"]["truncated"], 0);
  EXPECT_FALSE(cut["capture_quality"]["complete"].get<bool>());
  EXPECT_EQ(cut["recording"]["truncated"], 1);
  EXPECT_EQ(cut["recording"]["missing"], 0);
  // The existing events are still checked.
  EXPECT_EQ(cut["findings"], whole["findings"]);
  EXPECT_EQ(cut["capture_quality"]["inconclusive"], whole["capture_quality"]["inconclusive"]);
  const Result text = run("RPCRDMA analyze " + folder_.file("cut.pcapng"));
  EXPECT_THAT(text.out, HasSubstr("the recording ends without closing counters"));
}

TEST_F(Recording, WhatWasLostIsReported) {
  const std::string file = write("lossy.pcapng", eventful_recording());
  const json report = analyzed(file);
  EXPECT_EQ(report["recording"]["lost"], 9);
  EXPECT_EQ(report["recording"]["emitted"],
            report["recording"]["received"].get<int>() + report["recording"]["lost"].get<int>());
  EXPECT_FALSE(report["capture_quality"]["complete"].get<bool>());
  EXPECT_EQ(report["connections"][0]["events_lost"], 9);
  const Result text = run("RPCRDMA analyze " + file);
  EXPECT_THAT(text.out, HasSubstr("9 of 21 emitted events are missing from the recording"));
  EXPECT_THAT(text.out, HasSubstr("nfsd, server on 192.0.2.1, process 42"));
  EXPECT_THAT(text.out, HasSubstr("drop 3 incoming packets: drop op=send"));
  EXPECT_EQ(text.out.find('\x1b'), std::string::npos);
}

TEST_F(Recording, PageTablesAndJoinedReports) {
  const std::string file = write("r.pcapng", eventful_recording());
  const Result r = run("cd " + folder_.path() +
                       " && RPCRDMA analyze --json r.pcapng --html r.html --csv r > r.json");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(run("xmllint --nonet --noout " + folder_.file("r.html")).status, 0);
  EXPECT_THAT(read_file(folder_.file("r.html")), HasSubstr("drop op=send"));
  // A report of one file, written again, is identical.
  const Result again = run("RPCRDMA merge --json " + folder_.file("r.json"));
  EXPECT_EQ(again.out, read_file(folder_.file("r.json"))) << again.err;
  const Result same =
      run("RPCRDMA merge --json " + folder_.file("r.json") + " " + folder_.file("r.json"));
  EXPECT_EQ(same.status, 2);
  json later = parse_json(r.out.empty() ? read_file(folder_.file("r.json")) : r.out);
  const auto an_hour_later = [](json& times) {
    for (const char* key : {"first_time_ns", "last_time_ns"}) {
      times[key] = times[key].get<std::int64_t>() + 3'600'000'000'000;
    }
  };
  an_hour_later(later["capture"]);
  for (json& connection : later["connections"]) an_hour_later(connection);
  const std::string other = write("later.json", later.dump());
  const Result twice = run("RPCRDMA merge --json " + folder_.file("r.json") + " " + other);
  EXPECT_EQ(twice.status, 0) << twice.err;
  EXPECT_EQ(parse_json(twice.out)["recording"]["lost"], 18);
}

TEST_F(Recording, EventsAreDecodedAndSelected) {
  const std::string file = write("r.pcapng", eventful_recording());
  const auto events = [&](const std::string& options) {
    std::vector<std::string> names;
    for (const json& line : json_lines(run("RPCRDMA decode --json " + options + " " + file).out)) {
      if (line["kind"] == "event") names.push_back(line["event"]);
    }
    return names;
  };
  using ::testing::ElementsAre;
  EXPECT_EQ(events("").size(), 15U);
  EXPECT_THAT(events("--xid 0x1234"),
              ElementsAre("advertise", "credit wait", "credit wait", "Call end", "Call end"));
  EXPECT_THAT(events("-Y 'rpcrdma.trace.event == \"error\"'"), ElementsAre("error"));
  EXPECT_THAT(events("-Y 'rpcrdma.trace.total > 500us && rpcrdma.trace.by == peer'"),
              ElementsAre("Call end"));
  EXPECT_THAT(events("-Y 'rpcrdma.segment.handle == 0x77'"),
              ElementsAre("advertise", "invalidate"));
  EXPECT_TRUE(events("--type call").empty());
  // Events of every Call are omitted from lines unless requested.
  const Result lines = run("RPCRDMA decode " + file);
  EXPECT_THAT(lines.out, HasSubstr("connection end | "));
  EXPECT_EQ(lines.out.find("advertise"), std::string::npos) << lines.out;
  EXPECT_EQ(lines.out.find('\x1b'), std::string::npos);
  EXPECT_THAT(run("RPCRDMA decode --events " + file).out, HasSubstr("advertise | "));
}

// The recording of a program that was interrupted at any point.
TEST_F(Recording, EndsAnywhere) {
  const std::string whole = file_of(recorded(kCapture, 0));
  const std::size_t messages = gist(run("RPCRDMA decode --json " + write("w", whole)).out).size();
  for (std::size_t part = 1; part < 12; ++part) {
    const std::string file = write("cut.pcapng", whole.substr(0, whole.size() * part / 12));
    const Result r = run("RPCRDMA decode --json " + file);
    EXPECT_EQ(r.status, 0) << r.err;
    const std::size_t read = gist(r.out).size();
    EXPECT_GT(read, messages * (part - 1) / 16);
    EXPECT_LT(read, messages);
    analyzed(file);
  }
}

TEST_F(Recording, BesideACaptureOfTheSame) {
  const std::string file = write("recorded.pcapng", file_of(recorded(kCapture, 0)));
  const json both = analyzed(file + " " + capture(kCapture));
  const json one = analyzed(capture(kCapture));
  const auto calls = [](const json& report) {
    int all = 0;
    for (const json& c : report["connections"]) all += c["calls"].get<int>();
    return all;
  };
  EXPECT_EQ(calls(both), calls(one));
  EXPECT_EQ(both["packets"]["total"].get<int>(),
            both["packets"]["events"].get<int>() + one["packets"]["total"].get<int>());
}

TEST_F(Recording, PayloadIsExtracted) {
  const std::string file = write("recorded.pcapng", file_of(recorded(kCapture, 0)));
  const std::string cd = "cd " + folder_.path() + " && ";
  EXPECT_EQ(run(cd + "RPCRDMA extract --kind read -d events " + file).status, 0);
  EXPECT_EQ(run(cd + "RPCRDMA extract --kind read -d packets " + capture(kCapture)).status, 0);
  const auto contents = [&](const std::string& name) {
    std::multiset<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file(name))) {
      all.insert(read_file(entry.path()));
    }
    return all;
  };
  EXPECT_FALSE(contents("packets").empty());
  EXPECT_EQ(contents("events"), contents("packets"));
}

}  // namespace
}  // namespace rpcrdma::e2e

// `rpcrdma ls` and `rpcrdma attach` with an endpoint that this process simulates: it emits the
// events of one side of a capture.
#include "support/background.h"
#include "support/command.h"
#include "support/trace_builder.h"

#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/live/hub.h>
#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using trace_reader::testing::TraceBuilder;

class Attach : public ::testing::Test {
 protected:
  Attach() { ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
  ~Attach() override { ::unsetenv("XDG_RUNTIME_DIR"); }

  std::unique_ptr<trace::Hub> endpoint(const std::string& name) const {
    auto hub = trace::Hub::start({.name = name, .role = "server on 10.0.0.1"});
    EXPECT_TRUE(hub) << hub.error().message;
    const auto open = (*hub)->open_socket();
    EXPECT_TRUE(open) << open.error().message;
    return std::move(*hub);
  }

  static TraceBuilder recorded() {
    const std::string bytes = read_file(capture("linux-nfs41.pcap"));
    return trace_reader::testing::events_of_capture(
        {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, {.side = 0});
  }
  // The hub emits identity and loss events itself.
  static void emit(trace::Tracer& tracer, const TraceBuilder& trace) {
    trace.for_each([&](auto data, const roce::PacketMeta&) {
      const trace::EventView view = *trace::view_event(*trace::event_in_pdu(data));
      const auto type = static_cast<trace::EventType>(view.header.type);
      if (type == trace::EventType::kEndpoint || type == trace::EventType::kLoss) return;
      trace::EventHeader header = view.header;
      header.ring = tracer.number();
      tracer.ring().write(header, view.fixed, view.payload);
    });
  }
  // Waits until the first event is in the recorded stream: later events follow.
  static void wait_for_event(const std::string& file) {
    while (read_file(file).find(trace::kDissector) == std::string::npos) std::this_thread::yield();
  }

  [[nodiscard]] std::string out() const { return read_file(folder_.file("out")); }
  // The messages of a recording without their times.
  static std::vector<std::string> gist(const std::string& lines) {
    std::vector<std::string> all;
    for (json line : json_lines(lines)) {
      if (line["kind"] == "finding") continue;  // only a file has findings without a message
      if (line["kind"] == "event" && (line["event"] == "endpoint" || line["event"] == "loss")) {
        continue;
      }
      for (const char* key : {"frame", "first_frame", "time", "time_ns", "match", "operations",
                              "findings", "latency_us"}) {
        line.erase(key);
      }
      if (line.contains("fields")) line["fields"].erase("rpcrdma.trace.thread");
      all.push_back(line.dump());
    }
    return all;
  }
  std::vector<std::string> expected() const {
    const auto bytes = recorded().pcapng();
    write_file(folder_.file("recorded.pcapng"), {bytes.begin(), bytes.end()});
    return gist(run("RPCRDMA decode --json " + folder_.file("recorded.pcapng")).out);
  }

  TemporaryFolder folder_;
};

TEST_F(Attach, ListsWhatRuns) {
  const Result none = run("RPCRDMA ls");
  EXPECT_EQ(none.status, 0) << none.err;
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr(::geteuid() == 0 ? "no endpoint is running"
                                                   : "no endpoint of this user is running"));
  const auto one = endpoint("nfsd");
  const auto other = endpoint("another one");
  const Result r = run("RPCRDMA ls");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, ::testing::MatchesRegex(
                         "NAME +PROCESS +USER +SINCE \\(UTC\\) +ROLE\n"
                         "another one +[0-9]+ +[a-z_-]+ +20[0-9-]+ [0-9:]+ +server on 10.0.0.1\n"
                         "nfsd +[0-9]+ +[a-z_-]+ +20[0-9-]+ [0-9:]+ +server on 10.0.0.1\n"));
  const auto lines = json_lines(run("RPCRDMA ls --json").out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["name"], "nfsd");
  EXPECT_EQ(lines[1]["process"], ::getpid());
  EXPECT_EQ(lines[1]["role"], "server on 10.0.0.1");
  EXPECT_EQ(lines[1]["socket"], one->socket_path());
  EXPECT_GT(lines[1]["since_ns"], 0);
  EXPECT_THAT(run("RPCRDMA complete attach ''").out, HasSubstr("nfsd"));
}

TEST_F(Attach, ShowsWhatTheRecordingShows) {
  const auto hub = endpoint("nfsd");
  trace::Tracer& tracer = *hub->add();
  Background r({"attach", "nfsd", "--json"}, folder_.file("out"));
  ASSERT_TRUE(r.wait_for("attached to nfsd")) << r.out;
  emit(tracer, recorded());
  hub->stop();
  EXPECT_EQ(r.finish(), 0);
  EXPECT_THAT(r.out, HasSubstr("nfsd ended; "));
  EXPECT_THAT(r.out, HasSubstr(" events, 0 lost"));
  const auto shown = gist(out());
  EXPECT_GT(shown.size(), 100U);
  EXPECT_THAT(shown, ::testing::ElementsAreArray(expected()));
}

// Each file can be read by itself, and together they hold all events.
TEST_F(Attach, KeepsARingOfFiles) {
  std::vector<std::string> messages;
  const auto add_messages = [](const std::string& file, std::vector<std::string>& to) {
    for (const json& line : json_lines(run("RPCRDMA decode --json " + file).out)) {
      if (line.contains("xid")) to.push_back(line["kind"].dump() + line["xid"].dump());
    }
  };
  const auto hub = endpoint("nfsd");
  trace::Tracer& tracer = *hub->add();
  Background r({"attach", "nfsd", "-w", folder_.file("kept.pcapng"), "--ring-size", "32k"});
  ASSERT_TRUE(r.wait_for("attached to nfsd")) << r.out;
  emit(tracer, recorded());
  hub->stop();
  EXPECT_EQ(r.finish(), 0);
  EXPECT_THAT(r.out, HasSubstr("nfsd ended; "));
  EXPECT_THAT(r.out, HasSubstr(" events written, 0 lost: " + folder_.file("kept_")));
  std::set<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    if (file.path().filename().string().starts_with("kept_")) files.insert(file.path().string());
  }
  EXPECT_GT(files.size(), 2U);
  for (const std::string& file : files) {
    add_messages(file, messages);
    const json report = parse_json(run("RPCRDMA analyze --json " + file).out);
    EXPECT_EQ(report["recording"]["missing"], 0) << file;
    EXPECT_EQ(report["connections"].size(), 1U) << file;
  }
  EXPECT_GT(expected().size(), 100U);  // writes the file
  std::vector<std::string> all;
  add_messages(folder_.file("recorded.pcapng"), all);
  EXPECT_EQ(messages, all);
}

TEST_F(Attach, FiltersSelect) {
  const auto hub = endpoint("nfsd");
  trace::Tracer& tracer = *hub->add();
  Background r({"attach", std::to_string(::getpid()), "--json", "-Y", "nfs.op == READ"},
               folder_.file("out"));
  ASSERT_TRUE(r.wait_for("attached to")) << r.out;
  emit(tracer, recorded());
  hub->stop();
  EXPECT_EQ(r.finish(), 0);
  const auto lines = json_lines(out());
  const auto packets = json_lines(
      run("RPCRDMA decode --json -Y 'nfs.op == READ' " + capture("linux-nfs41.pcap")).out);
  EXPECT_FALSE(packets.empty());
  EXPECT_EQ(lines.size(), packets.size());
}

TEST_F(Attach, KeepsTheStream) {
  const auto hub = endpoint("nfsd");
  trace::Tracer& tracer = *hub->add();
  const std::string file = folder_.file("kept.pcapng");
  Background r({"attach", hub->socket_path(), "-w", file});
  wait_for_event(file);
  emit(tracer, recorded());
  hub->stop();
  EXPECT_EQ(r.finish(), 0);
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const Result decoded = run("RPCRDMA decode --json " + file);
  EXPECT_EQ(decoded.err, "");
  EXPECT_EQ(gist(decoded.out), expected());
}

TEST_F(Attach, EndsBySignal) {
  const auto hub = endpoint("nfsd");
  trace::Tracer& tracer = *hub->add();
  for (const bool keep : {false, true}) {
    std::vector<std::string> arguments{"attach", "nfsd", "--events"};
    if (keep) arguments = {"attach", "nfsd", "-w", "-"};
    Background r(arguments);
    EXPECT_TRUE(r.wait_for(keep ? std::string(trace::kDissector) : "endpoint")) << r.out;
    tracer.emit(0, 1, trace::Receives{32, 32});
    EXPECT_TRUE(keep || r.wait_for("Receives")) << r.out;
    r.signal(SIGINT);
    EXPECT_EQ(r.finish(), 0) << r.out;
    EXPECT_EQ(r.out.find("warning"), std::string::npos) << r.out;
    while (tracer.listening()) std::this_thread::yield();
  }
}

TEST_F(Attach, GoesOnThroughAPipe) {
  const auto hub = endpoint("nfsd");
  trace::Tracer& tracer = *hub->add();
  const std::string copy = folder_.file("copy");
  std::thread emitter([&] {
    wait_for_event(copy);
    emit(tracer, recorded());
    hub->stop();
  });
  const Result r = run("RPCRDMA attach nfsd -w - | tee " + copy + " | RPCRDMA decode --json -");
  emitter.join();
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(gist(r.out), expected());
}

TEST_F(Attach, SaysWhyItCannot) {
  const Result none = run("RPCRDMA attach nobody");
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("nobody"));
  const auto hub = endpoint("nfsd");
  const Result both = run("RPCRDMA attach nfsd -w x -Y nfs");
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(both.err, HasSubstr("-w"));
  EXPECT_THAT(run("RPCRDMA attach nfsd --ring-size 8k").err, HasSubstr("-w FILE"));
  EXPECT_THAT(run("RPCRDMA attach nfsd -w x --ring-files 2").err, HasSubstr("--ring-size or"));
  const Result full = run("RPCRDMA attach nfsd -w /dev/full");
  EXPECT_EQ(full.status, 2);
  EXPECT_THAT(full.err, HasSubstr("/dev/full: cannot write"));
}

}  // namespace
}  // namespace rpcrdma::e2e

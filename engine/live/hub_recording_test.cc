// Recordings of a hub.
#include "support/live_hub.h"

#include <array>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpcrdma::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class TraceRecordingThreads : public HubTest {
 protected:
  std::vector<std::string> files(const std::string& prefix) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with(prefix)) {
        found.push_back(entry.path().string());
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }
};

TEST_F(TraceRecordingThreads, AllThatIsEmittedIsInTheFile) {
  Hub& hub = start();
  Tracer& tracer = *hub.add();
  tracer.emit(tracer.new_connection(), 1, Connection{});
  ASSERT_TRUE(hub.record(path("a.pcapng")));
  EXPECT_TRUE(on(&tracer));
  emit(tracer, 5000);
  hub.stop();
  EventStream stream(path("a.pcapng"));
  const auto emitted = stream.rest();
  ASSERT_GT(emitted.size(), 2U);
  EXPECT_EQ(emitted[0].type(), EventType::kEndpoint);
  EXPECT_EQ(emitted[1].type(), EventType::kConnection);
  EXPECT_EQ(stream.audit.ring(1).received, 5001U);
  EXPECT_EQ(stream.audit.ring(1).emitted, 5001U);
  EXPECT_EQ(stream.stats().damage, "");
  const auto counters = hub.recordings();
  ASSERT_THAT(counters, SizeIs(1));
  EXPECT_EQ(counters[0].file, path("a.pcapng"));
  EXPECT_EQ(counters[0].events, 5001U);
  EXPECT_EQ(counters[0].lost, 0U);
  EXPECT_EQ(counters[0].error, "");
}

TEST_F(TraceRecordingThreads, OneAfterAnother) {
  Hub& hub = start();
  Tracer& tracer = *hub.add();
  EXPECT_THAT(hub.end_recordings(), SizeIs(0));
  for (const std::string name : {"a.pcapng", "b.pcapng"}) {
    ASSERT_TRUE(hub.record(path(name)));
    const std::uint32_t connection = tracer.new_connection();
    tracer.emit(connection, 1, Connection{});
    emit(tracer, 3000);
    tracer.emit(connection, 2, ConnectionEnd{});
    const auto ended = hub.end_recordings();
    EXPECT_FALSE(on(&tracer));
    ASSERT_THAT(ended, SizeIs(1));
    EXPECT_EQ(ended[0].file, path(name));
    EXPECT_EQ(ended[0].events, 3002U);
    EXPECT_EQ(ended[0].lost, 0U);
    EXPECT_THAT(hub.recordings(), SizeIs(0));
    EventStream stream(path(name));
    EXPECT_THAT(stream.rest(), SizeIs(3004));  // plus the endpoint and the sums
    EXPECT_TRUE(stream.audit.is_complete());
    EXPECT_EQ(stream.stats().damage, "");
  }
  hub.stop();
  EXPECT_THAT(hub.end_recordings(), SizeIs(0));
}

TEST_F(TraceRecordingThreads, FilesOfARing) {
  constexpr std::uint64_t kEvents = 5000;
  Hub& hub = start();
  Tracer& tracer = *hub.add();
  const std::uint32_t connection = tracer.new_connection();
  ASSERT_TRUE(hub.record(path("a.pcapng"), {.file_bytes = 64 << 10, .file_ns = 0, .files = 0}));
  tracer.emit(connection, 1, Connection{});
  emit(tracer, kEvents);
  hub.stop();
  const auto found = files("a_");
  ASSERT_GT(found.size(), 5U);
  std::uint64_t withdrawn = 0;
  for (const std::string& file : found) {
    EXPECT_LE(std::filesystem::file_size(file), 66U << 10);
    EventStream stream(file);
    const auto emitted = stream.rest();
    ASSERT_GT(emitted.size(), 2U);
    EXPECT_EQ(emitted[0].type(), EventType::kEndpoint);
    EXPECT_EQ(emitted[1].header.connection, connection);
    EXPECT_EQ(emitted.back().type(), EventType::kLoss);
    EXPECT_TRUE(stream.audit.is_complete());
    for (const Emitted& one : emitted) {
      if (one.type() == EventType::kInvalidate) {
        EXPECT_EQ(one.as<Invalidate>().handle, withdrawn);
        ++withdrawn;
      }
    }
  }
  EXPECT_EQ(withdrawn, kEvents);
}

// A pipe without a reader is as slow as a disk can be.
TEST_F(TraceRecordingThreads, ASlowDiskCostsReadersNothing) {
  constexpr std::uint64_t kRounds = 400, kOfARound = 100;
  ASSERT_EQ(::mkfifo(path("slow").c_str(), 0600), 0);
  const int pipe = ::open(path("slow").c_str(), O_RDWR | O_CLOEXEC);
  std::vector<std::string> losing;
  HubOptions options;
  options.recording_bytes = 1 << 20;
  options.recording_losing = [&](const std::string& file) { losing.push_back(file); };
  Hub& hub = start_with_socket(options);
  Tracer& tracer = *hub.add();
  ASSERT_TRUE(hub.record(path("slow")));
  EventStream live = connect();
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    emit(tracer, kOfARound);
    for (std::uint64_t i = 0; i < kOfARound; ++i) ASSERT_TRUE(live.next_event());
  }
  live.read_until(1, kRounds * kOfARound);
  EXPECT_EQ(live.audit.ring(1).received, kRounds * kOfARound);

  // Now it is read to its end.
  Audit::Sums recorded;
  std::thread reader([&] {
    EventStream stream(path("slow"));
    ::close(pipe);
    (void)stream.rest();
    EXPECT_TRUE(stream.audit.is_complete());
    recorded = stream.audit.ring(1);
  });
  hub.stop();
  const std::uint64_t lost = hub.recordings()[0].lost;
  EXPECT_EQ(hub.recordings()[0].not_taken, lost);
  hub_.reset();
  EXPECT_THAT(losing, ElementsAre(path("slow"))) << "once";
  reader.join();
  EXPECT_EQ(recorded.emitted, kRounds * kOfARound);
  EXPECT_GT(recorded.lost, 0U);
  EXPECT_EQ(recorded.lost, lost);
}

TEST_F(TraceRecordingThreads, AFileThatCannotBeWrittenIsEmitted) {
  Hub& hub = start();
  Tracer& tracer = *hub.add();
  EXPECT_THAT(hub.record(path("missing/a")).error().message, HasSubstr("missing/a: No such file"));
  EXPECT_FALSE(on(&tracer));

  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{256 << 10, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  ASSERT_TRUE(hub.record(path("a.pcapng")));
  // Nothing can be written, since the file is full; then the hub stops asking for events.
  while (on(&tracer)) emit(tracer, 100);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(hub.recordings()[0].error, HasSubstr("a.pcapng: cannot write: File too large"));
  EXPECT_GT(EventStream(path("a.pcapng")).rest().size(), 1000U);
  hub.stop();
  EXPECT_THAT(hub.recordings()[0].error, HasSubstr("a.pcapng: cannot write: File too large"));
}

TEST_F(TraceRecordingThreads, AKilledProcessLeavesAReadableFile) {
  constexpr std::uint64_t kRecorded = 20'000;
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(100);
    Hub& hub = start();
    Tracer& tracer = *hub.add();
    if (!hub.record(path("a.pcapng"))) ::_exit(1);
    tracer.emit(tracer.new_connection(), 1, Connection{});
    for (bool said = false;; emit(tracer, 100)) {
      if (said || hub.recordings()[0].events < kRecorded) continue;
      said = ::write(ends[1], "x", 1) == 1;
    }
  }
  ::close(ends[1]);
  char c = 0;
  EXPECT_EQ(::read(ends[0], &c, 1), 1);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EventStream stream(path("a.pcapng"));
  const auto emitted = stream.rest();
  ASSERT_GT(emitted.size(), kRecorded);
  EXPECT_EQ(emitted[0].type(), EventType::kEndpoint);
  EXPECT_EQ(emitted[1].type(), EventType::kConnection);
  EXPECT_GE(stream.audit.ring(1).received, kRecorded);
  ::close(ends[0]);
}

}  // namespace
}  // namespace rpcrdma::trace

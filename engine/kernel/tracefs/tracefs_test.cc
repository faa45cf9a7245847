// The source on a folder that looks like tracefs: its buffers are FIFOs.
#include "tracefs.h"

#include <filesystem>
#include <fstream>
#include <map>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <support/trace_dat_builder.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/trace/read.h>

namespace rpcrdma::kernel {
namespace {

namespace fs = std::filesystem;
using test::EventFormat;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const EventFormat kReserve("xprt_reserve", 7, {{"task_id"}, {"client_id"}, {"xid"}});
const EventFormat kMarshal(
    "xprtrdma_marshal", 8,
    {{"task_id"}, {"client_id"}, {"xid"}, {"hdrlen"}, {"headlen"}, {"pagelen"}, {"taillen"}});
const EventFormat kPostSend("xprtrdma_post_send", 9,
                            {{"cq_id"}, {"completion_id"}, {"task_id"}, {"client_id"}});

std::int64_t now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

class CountingSink final : public EventSink {
 public:
  void event(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
             std::span<const std::uint8_t> payload, std::span<const std::uint8_t>) override {
    ++types[header.type];
    if (const auto m = trace::read_event<trace::Message>({header, fixed, payload})) {
      xids.push_back(payload[3]);
    }
  }
  void lost(std::uint64_t count) override { lost_events += count; }
  std::uint32_t new_connection() override { return ++connections; }

  [[nodiscard]] std::size_t count(trace::EventType type) const {
    const auto it = types.find(static_cast<std::uint16_t>(type));
    return it != types.end() ? it->second : 0;
  }

  std::map<std::uint16_t, std::size_t> types;
  std::vector<int> xids;
  std::uint64_t lost_events = 0;
  std::uint32_t connections = 0;
};

class Tracefs : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "rpcrdma-tracefs-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    write(root_ + "/events/header_page", test::kHeaderPage);
    instance_ = root_ + "/instances/rpcrdma-scope-" + std::to_string(::getpid());
    for (const char* const file :
         {"trace_clock", "tracing_on", "buffer_percent", "buffer_size_kb"}) {
      write(instance_ + "/" + file, "");
    }
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  static void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }
  static std::string read(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void add_event(const std::string& system, const EventFormat& format) {
    const std::string folder = instance_ + "/events/" + system + "/" + format.name();
    write(folder + "/format", format.text());
    write(folder + "/enable", "0");
  }
  void add_client() {
    add_event("sunrpc", kReserve);
    add_event("rpcrdma", kMarshal);
    add_event("rpcrdma", kPostSend);
  }
  void add_cpus(int count) {
    for (int cpu = 0; cpu < count; ++cpu) {
      const std::string pipe = instance_ + "/per_cpu/cpu" + std::to_string(cpu) + "/trace_pipe_raw";
      fs::create_directories(fs::path(pipe).parent_path());
      ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
      // Keeps it open, so that a reader waits instead of seeing its end.
      writers_.emplace_back(::open(pipe.c_str(), O_RDWR | O_CLOEXEC));
    }
  }
  void fill(std::size_t cpu, test::PagesBuilder& pages) {
    const test::TraceBytes& bytes = pages.pages();
    ASSERT_EQ(::write(writers_[cpu].get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  static void add_call(test::PagesBuilder& pages, std::int64_t time, std::uint32_t n) {
    const auto at = static_cast<std::uint64_t>(time);
    pages.add(at, kReserve.record(1, {n, 0, n}));
    pages.add(at + 1, kMarshal.record(1, {n, 0, n, 28, 40, 0, 0}));
    pages.add(at + 2, kPostSend.record(1, {1, n, n, 0}));
  }
  // Drains until it has seen this many messages.
  static void drain(Source& source, CountingSink& sink, std::size_t messages) {
    while (sink.count(trace::EventType::kMessage) < messages) {
      pollfd p{source.fd(), POLLIN, 0};
      ASSERT_EQ(::poll(&p, 1, 10'000), 1);
      ASSERT_TRUE(source.drain(sink));
    }
  }

  std::string root_, instance_;
  std::vector<base::FileDescriptor> writers_;
};

TEST_F(Tracefs, EventsOfAllCpusInOrder) {
  add_client();
  add_cpus(2);
  auto source = open_tracefs_at(root_, {});
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(read(instance_ + "/trace_clock"), "mono");
  EXPECT_EQ(read(instance_ + "/events/rpcrdma/xprtrdma_post_send/enable"), "1");
  EXPECT_EQ((*source)->kind(), trace::EventSource::kKernelTracepoints);
  EXPECT_THAT((*source)->role(), HasSubstr("client of Linux"));
  EXPECT_THAT((*source)->missing(), HasSubstr("fields, not bytes"));
  (*source)->listen(true);
  EXPECT_EQ(read(instance_ + "/tracing_on"), "1");
  const std::int64_t begin = now() - 1'000'000'000;
  test::PagesBuilder first, second;
  add_call(first, begin, 1);
  add_call(second, begin + 100, 2);
  add_call(first, begin + 200, 3);
  fill(0, first);
  fill(1, second);
  CountingSink sink;
  drain(**source, sink, 3);
  EXPECT_THAT(sink.xids, ::testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(sink.connections, 1U);
  (*source)->listen(false);
  EXPECT_EQ(read(instance_ + "/tracing_on"), "0");
}

TEST_F(Tracefs, RecordsOfTheLastMomentAreNotForgotten) {
  add_client();
  add_cpus(1);
  auto source = open_tracefs_at(root_, {});
  ASSERT_TRUE(source) << source.error().message;
  test::PagesBuilder pages;
  add_call(pages, now() + 20'000'000, 1);
  fill(0, pages);
  CountingSink sink;
  drain(**source, sink, 1);
}

TEST_F(Tracefs, LostRecordsAreCounted) {
  add_client();
  add_cpus(1);
  auto source = open_tracefs_at(root_, {});
  ASSERT_TRUE(source) << source.error().message;
  test::PagesBuilder pages;
  add_call(pages, now() - 1'000'000'000, 1);
  pages.lose(17);
  add_call(pages, now() - 900'000'000, 2);
  fill(0, pages);
  CountingSink sink;
  drain(**source, sink, 2);
  EXPECT_EQ(sink.lost_events, 17U);
  EXPECT_EQ((*source)->lost(), 17U);
}

TEST_F(Tracefs, RolesAreChosen) {
  add_client();
  add_event("rpcrdma", EventFormat("svcrdma_post_send", 12, {{"cq_id"}}));
  add_cpus(1);
  Options options;
  options.client = false;
  const auto source = open_tracefs_at(root_, options);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_THAT((*source)->role(), HasSubstr("server of Linux"));
  EXPECT_EQ(read(instance_ + "/events/rpcrdma/xprtrdma_post_send/enable"), "0");
  EXPECT_EQ(read(instance_ + "/events/rpcrdma/svcrdma_post_send/enable"), "1");
}

TEST_F(Tracefs, WhatItCannotDoIsSaid) {
  add_client();
  add_cpus(1);
  Options options;
  options.mode = Mode::kSums;
  options.filter.only_errors = true;
  const auto source = open_tracefs_at(root_, options);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_THAT((*source)->missing(), HasSubstr("cannot be filtered"));
  EXPECT_THAT((*source)->missing(), HasSubstr("cannot count"));
}

TEST_F(Tracefs, ErrorsSayWhatToDo) {
  const auto without_module = open_tracefs_at(root_, {});
  ASSERT_FALSE(without_module);
  EXPECT_THAT(without_module.error().message, HasSubstr("modprobe rpcrdma"));
  add_client();
  const auto without_cpus = open_tracefs_at(root_, {});
  ASSERT_FALSE(without_cpus);
  const auto without_tracefs = open_tracefs_at(root_ + "/none", {});
  ASSERT_FALSE(without_tracefs);
  EXPECT_THAT(without_tracefs.error().message, HasSubstr("cannot be read"));
}

TEST_F(Tracefs, AnUnreadableFormatIsNamed) {
  add_client();
  add_cpus(1);
  write(instance_ + "/events/rpcrdma/xprtrdma_post_send/format", "nothing");
  const auto source = open_tracefs_at(root_, {});
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().message, "the format of xprtrdma_post_send is unknown");
}

// In a real tracefs, removing the folder of an instance removes the instance.
TEST_F(Tracefs, TheInstanceIsRemovedAtTheEnd) {
  add_client();
  add_cpus(1);
  auto source = open_tracefs_at(root_, {});
  ASSERT_TRUE(source) << source.error().message;
  writers_.clear();
  fs::remove_all(instance_);
  fs::create_directories(instance_);
  source->reset();
  EXPECT_FALSE(fs::exists(instance_));
}

}  // namespace
}  // namespace rpcrdma::kernel

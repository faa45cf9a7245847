// Loading of files, pipes, damaged captures and live streams, and its cancellation.
#include "index_for_tests.h"
#include "support/traffic_count.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <rpcrdma/index/excerpt.h>
#include <rpcrdma/index/kept_frames.h>
#include <rpcrdma/index/search.h>

namespace rpcrdma::index {
namespace {

using ::testing::HasSubstr;
using testing::Loaded;

TEST(Loading, SaysWhatCannotBeOpened) {
  Store store;
  const auto loading = Loading::files(store, {"/nowhere/at/all.pcap"}, {}, [] {});
  ASSERT_FALSE(loading);
  EXPECT_THAT(loading.error().message, HasSubstr("/nowhere/at/all.pcap"));
}

TEST(Loading, SeveralFilesAreOneCaptureThatCanBeLookedAtAgain) {
  const Loaded one(testing::capture("linux-nfs3.pcap"));
  const Loaded both({testing::capture("linux-nfs3.pcap"), testing::capture("linux-nfs41.pcap")});
  const auto rows = [](const Loaded& l) {
    return l.store.read([](const Content& c) { return c.rows.size(); });
  };
  const Loaded other(testing::capture("linux-nfs41.pcap"));
  EXPECT_EQ(rows(both), rows(one) + rows(other));
  const std::atomic<bool> never{false};
  const Stretch stretch =
      both.store.read([&](const Content& c) { return stretch_of(c, c.rows.size()); });
  const auto excerpt = read_excerpt(both.store, both.loading->frames(), stretch, never);
  ASSERT_TRUE(excerpt) << excerpt.error().message;
  EXPECT_NE(excerpt->find(rows(both)), nullptr);
}

TEST(Loading, TracesOfTheKernelAreCaptures) {
  const Loaded trace(testing::capture("kernel/k61-client.dat"));
  const Loaded text(testing::capture("kernel/k61-client.txt.gz"));
  for (const Loaded* l : {&trace, &text}) {
    EXPECT_EQ(l->store.read([](const Content& c) { return c.progress.error; }), "");
    EXPECT_EQ(l->store.read([](const Content& c) { return c.rows.size(); }), 156U);
  }
  const std::atomic<bool> never{false};
  const Stretch stretch = trace.store.read([](const Content& c) { return stretch_of(c, 156); });
  const auto excerpt = read_excerpt(trace.store, trace.loading->frames(), stretch, never);
  ASSERT_TRUE(excerpt) << excerpt.error().message;
  EXPECT_NE(excerpt->find(156), nullptr);
}

TEST(Loading, WithManyThreadsAsWithOne) {
  LoadOptions one;
  one.threads = 1;
  LoadOptions two;
  two.threads = 2;
  const Loaded a({testing::capture("linux-nfs41.pcap")}, one);
  const Loaded b({testing::capture("linux-nfs41.pcap")}, two);
  const auto count = [](const Loaded& l) {
    return l.store.read([](const Content& c) {
      return std::array<std::uint64_t, 3>{c.rows.size(), c.kinds.size(), c.marks.size()};
    });
  };
  EXPECT_EQ(count(a), count(b));
}

// Captures with flipped bytes, a truncated end, or a mid-stream start: the window shows the part
// that can be decoded.
TEST(Loading, DamagedCapturesAreShownAsFarAsTheyGo) {
  std::ifstream file(testing::capture("linux-nfs41.pcap"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  ASSERT_GT(whole.size(), 100'000u);
  const std::string path = ::testing::TempDir() + "damaged." + std::to_string(::getpid());
  std::mt19937 random(11);
  const std::atomic<bool> never{false};
  // The address sanitizer checks the effect of damage on memory; the thread sanitizer checks the
  // loading thread, and needs fewer rounds.
  const int rounds = report::testing::kThreadSanitizer ? 10 : 60;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = whole;
    for (std::size_t i = 0; i < 1 + random() % 40; ++i) {
      // The file header stays intact, so the file is still recognized as a capture.
      char& byte = bytes[24 + random() % (bytes.size() - 24)];
      byte = static_cast<char>(byte ^ (1 << random() % 8));
    }
    if (round % 3 == 0) bytes.resize(24 + random() % (bytes.size() - 24));
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    const Loaded loaded(path);
    ASSERT_NE(loaded.loading, nullptr);
    const std::uint64_t rows = loaded.store.read([](const Content& c) { return c.rows.size(); });
    for (std::uint64_t id = 1; id <= rows; id += 1 + random() % 9) {
      const Stretch stretch =
          loaded.store.read([&](const Content& c) { return stretch_of(c, id); });
      const auto excerpt = read_excerpt(loaded.store, path, stretch, never);
      ASSERT_TRUE(excerpt) << excerpt.error().message;
      EXPECT_NE(excerpt->find(id), nullptr) << "round " << round << ", message " << id;
    }
    static_cast<void>(testing::search(loaded, "rpcrdma.finding || rpc.xid < 7"));
  }
  std::remove(path.c_str());
}

// A pipe with half a capture, and then silence: the data is shown, and loading can be cancelled.
TEST(Loading, APipeThatSaysNoMoreKeepsNobody) {
  const std::string path = ::testing::TempDir() + "pipe." + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::ifstream file(testing::capture("linux-nfs41.pcap"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  Store store;
  testing::Watch watch(store);
  LoadOptions options;
  options.folder = ::testing::TempDir();
  auto loading = Loading::files(store, {path}, options, watch.changed());
  ASSERT_TRUE(loading) << loading.error().message;
  const base::FileDescriptor writer(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_GE(writer.get(), 0);
  const std::size_t part = whole.size() / 2 + 5;
  for (std::size_t at = 0; at < part;) {
    const ssize_t n = ::write(writer.get(), whole.data() + at, part - at);
    ASSERT_GT(n, 0);
    at += static_cast<std::size_t>(n);
  }
  EXPECT_TRUE(watch.until([](const Content& c) { return c.rows.size() > 10; }));
  (*loading)->cancel();
  EXPECT_TRUE(watch.until_finished());
  store.read([](const Content& c) { EXPECT_TRUE(c.progress.cancelled); });
  loading->reset();
  std::remove(path.c_str());
}

class Pipes : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    endpoint = base::FileDescriptor(ends[0]);
    std::vector<Loading::Stream> streams;
    streams.push_back({"an endpoint", base::FileDescriptor(ends[1])});
    LoadOptions options;
    options.folder = ::testing::TempDir();
    auto made = Loading::endpoints(store, std::move(streams), options, watch.changed());
    ASSERT_TRUE(made) << made.error().message;
    loading = std::move(*made);
  }

  Store store;
  testing::Watch watch{store};
  base::FileDescriptor endpoint;
  std::unique_ptr<Loading> loading;
};

// A capture in the form in which an endpoint sends one: pcapng, here with packets.
std::string as_stream(const std::vector<std::string>& paths) {
  const std::string made = ::testing::TempDir() + "loading_test." + std::to_string(::getpid());
  const auto to = capture::FrameFile::create(made);
  if (!to) return {};
  for (const std::string& path : paths) {
    const auto from = capture::open_file(path);
    if (!from) return {};
    for (capture::Frame frame;;) {
      const auto more = (*from)->next(frame);
      if (!more || !*more || !(*to)->write(frame)) break;
    }
  }
  if (!(*to)->finish()) return {};
  std::ifstream file(made, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::remove(made.c_str());
  return bytes;
}

TEST_F(Pipes, WhatAnEndpointShowsIsThereAsItComes) {
  const std::string bytes = as_stream({testing::capture("linux-nfs41.pcap")});
  const auto send = [&](std::size_t from, std::size_t to) {
    while (from < to) {
      const ssize_t n = ::send(endpoint.get(), bytes.data() + from, to - from, MSG_NOSIGNAL);
      ASSERT_GT(n, 0);
      from += static_cast<std::size_t>(n);
    }
  };
  send(0, bytes.size() / 2);
  // While it is still being read, before its end arrives.
  EXPECT_TRUE(watch.until([](const Content& c) { return !c.rows.empty(); }));
  std::uint64_t half = 0;
  EXPECT_TRUE(watch.until([&](const Content& c) {
    half = c.rows.size();
    return c.integrity.frames > 400;
  }));
  const std::atomic<bool> never{false};
  const Stretch stretch = store.read([&](const Content& c) { return stretch_of(c, half); });
  const auto excerpt = read_excerpt(store, loading->frames(), stretch, never);
  ASSERT_TRUE(excerpt) << excerpt.error().message;
  EXPECT_NE(excerpt->find(half), nullptr);
  send(bytes.size() / 2, bytes.size());
  endpoint.reset();
  EXPECT_TRUE(watch.until_finished());
  const testing::Loaded whole(testing::capture("linux-nfs41.pcap"));
  const auto rows = [](const Content& c) { return c.rows.size(); };
  EXPECT_EQ(store.read(rows), whole.store.read(rows));
}

// The rows stay; the frames of the messages in the gap are not kept.
TEST(Ring, TheBufferOfALiveSourceHasALimit) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  base::FileDescriptor endpoint(ends[0]);
  std::vector<Loading::Stream> streams;
  streams.push_back({"an endpoint", base::FileDescriptor(ends[1])});
  LoadOptions options;
  options.folder = ::testing::TempDir();
  options.buffer_limit = 900'000;
  Store store;
  testing::Watch watch{store};
  const auto loading =
      Loading::endpoints(store, std::move(streams), options, watch.changed()).value();
  const std::string bytes =
      as_stream({testing::capture("linux-nfs3.pcap"), testing::capture("linux-nfs41.pcap")});
  for (std::size_t from = 0; from < bytes.size();) {
    const ssize_t n =
        ::send(endpoint.get(), bytes.data() + from, bytes.size() - from, MSG_NOSIGNAL);
    ASSERT_GT(n, 0);
    from += static_cast<std::size_t>(n);
  }
  endpoint.reset();
  ASSERT_TRUE(watch.until_finished());
  const Progress progress = store.read([](const Content& c) { return c.progress; });
  EXPECT_EQ(progress.error, "");
  EXPECT_EQ(progress.buffer_limit, 900'000U);
  EXPECT_LE(progress.buffer_bytes, 900'000U);
  ASSERT_NE(progress.gap.first_frame, 0U);
  const auto [rows, frames] =
      store.read([](const Content& c) { return std::pair(c.rows.size(), c.integrity.frames); });
  const testing::Loaded whole(
      {testing::capture("linux-nfs3.pcap"), testing::capture("linux-nfs41.pcap")});
  EXPECT_EQ(rows, whole.store.read([](const Content& c) { return c.rows.size(); }));

  const std::atomic<bool> never{false};
  std::size_t before = 0;
  std::size_t behind = 0;
  for (std::uint64_t id = 1; id <= rows; id += 7) {
    const Stretch stretch = store.read([&](const Content& c) { return stretch_of(c, id); });
    // Also of a message soon behind the gap, which depends on frames in it.
    constexpr std::uint64_t kAround = 512;
    const bool gone = stretch.first_frame <= progress.gap.last_frame + kAround &&
                      stretch.last_frame >= progress.gap.first_frame;
    const auto excerpt = read_excerpt(store, loading->frames(), stretch, never);
    EXPECT_EQ(excerpt.has_value(), !gone) << id;
    if (gone) {
      EXPECT_THAT(excerpt.error().message, HasSubstr("no longer in the buffer"));
    } else if (excerpt) {
      EXPECT_NE(excerpt->find(id), nullptr) << id;
      ++(stretch.last_frame < progress.gap.first_frame ? before : behind);
    }
  }
  EXPECT_GT(before, 0U);
  EXPECT_GT(behind, 0U);
  EXPECT_LT(before + behind, rows);

  const auto kept = open_kept_frames(store, loading->frames());
  ASSERT_TRUE(kept) << kept.error().message;
  std::uint64_t read = 0;
  for (capture::Frame frame;; ++read) {
    const auto more = (*kept)->next(frame);
    ASSERT_TRUE(more) << more.error().message;
    if (!*more) break;
    EXPECT_FALSE(progress.gap.has(frame.number));
  }
  EXPECT_EQ(read, frames - (progress.gap.last_frame - progress.gap.first_frame + 1));

  Search by_frames(store, loading->frames(), filter::compile("nfs.path contains \"big\"").value());
  EXPECT_TRUE(by_frames.reads());
  EXPECT_THAT(by_frames.step().error, HasSubstr("no longer in the buffer"));
}

TEST_F(Pipes, WhatNoEndpointSendsEndsItWithTheReason) {
  std::string bytes = as_stream({testing::capture("linux-nfs41.pcap")});
  const auto length_at = [&](std::size_t at) {
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + at + 4, sizeof length);
    return length;
  };
  const std::size_t section = length_at(0);
  const std::string interface = bytes.substr(section, length_at(section));
  bytes.resize(section);
  for (int i = 0; i < 1000; ++i) bytes += interface;
  ASSERT_GT(::send(endpoint.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
  ASSERT_TRUE(watch.until_finished());
  store.read([](const Content& c) {
    EXPECT_EQ(c.progress.error, "an endpoint: it sends more interfaces than an endpoint has");
  });
}

TEST_F(Pipes, NothingIsAnErrorAtTheEndOfAnEndpoint) {
  endpoint.reset();
  ASSERT_TRUE(watch.until_finished());
  store.read([](const Content& c) { EXPECT_EQ(c.progress.error, ""); });
}

TEST_F(Pipes, CancelledWhileItWaitsItEndsAtOnce) {
  loading->cancel();
  ASSERT_TRUE(watch.until_finished());
  store.read([](const Content& c) { EXPECT_TRUE(c.progress.cancelled); });
}

}  // namespace
}  // namespace rpcrdma::index

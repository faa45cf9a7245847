#include "testing.h"

#include <array>
#include <cstdio>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <rpcrdma/index/excerpt.h>

namespace rpcrdma::index {
namespace {

using testing::capture;
using ::testing::HasSubstr;
using testing::Loaded;

TEST(Loading, SaysWhatCannotBeOpened) {
  Store store;
  const auto loading = Loading::files(store, {"/nowhere/at/all.pcap"}, {}, [] {});
  ASSERT_FALSE(loading);
  EXPECT_THAT(loading.error().message, HasSubstr("/nowhere/at/all.pcap"));
}

TEST(Loading, SeveralFilesAreOneCaptureThatCanBeLookedAtAgain) {
  const Loaded one(capture("linux-nfs3.pcap"));
  const Loaded both({capture("linux-nfs3.pcap"), capture("linux-nfs41.pcap")});
  const auto rows = [](const Loaded& l) {
    return l.store.read([](const Content& c) { return c.rows.size(); });
  };
  const Loaded other(capture("linux-nfs41.pcap"));
  EXPECT_EQ(rows(both), rows(one) + rows(other));
  const std::atomic<bool> never{false};
  const Stretch stretch =
      both.store.read([&](const Content& c) { return stretch_of(c, c.rows.size()); });
  const auto excerpt = read_excerpt(both.store, both.loading->frames(), stretch, never);
  ASSERT_TRUE(excerpt) << excerpt.error().message;
  EXPECT_NE(excerpt->find(rows(both)), nullptr);
}

TEST(Loading, WithManyThreadsAsWithOne) {
  LoadOptions one;
  one.threads = 1;
  LoadOptions two;
  two.threads = 2;
  const Loaded a({capture("linux-nfs41.pcap")}, one);
  const Loaded b({capture("linux-nfs41.pcap")}, two);
  const auto count = [](const Loaded& l) {
    return l.store.read([](const Content& c) {
      return std::array<std::uint64_t, 3>{c.rows.size(), c.kinds.size(), c.marks.size()};
    });
  };
  EXPECT_EQ(count(a), count(b));
}

class Pipes : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    endpoint = capture::FileDescriptor(ends[0]);
    std::vector<Loading::Stream> streams;
    streams.push_back({"an endpoint", capture::FileDescriptor(ends[1])});
    LoadOptions options;
    options.folder = ::testing::TempDir();
    auto made = Loading::endpoints(store, std::move(streams), options, watch.changed());
    ASSERT_TRUE(made) << made.error().message;
    loading = std::move(*made);
  }

  Store store;
  testing::Watch watch{store};
  capture::FileDescriptor endpoint;
  std::unique_ptr<Loading> loading;
};

TEST_F(Pipes, WhatAnEndpointTellsIsThereAsItComes) {
  const std::string path = capture("rules/FC-01-kept.pcapng");
  std::ifstream file(std::filesystem::exists(path) ? path : capture("linux-nfs41.pcap"),
                     std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::size_t sent = 0;
  for (; sent < bytes.size() / 2;) {
    const ssize_t n = ::write(endpoint.get(), bytes.data() + sent,
                              std::min<std::size_t>(4096, bytes.size() / 2 - sent));
    ASSERT_GT(n, 0);
    sent += static_cast<std::size_t>(n);
  }
  EXPECT_TRUE(watch.until([](const Content& c) { return c.progress.finished || !c.rows.empty(); }));
  endpoint.close();
  EXPECT_TRUE(watch.until_finished());
}

TEST_F(Pipes, NothingIsAnErrorAtTheEndOfAnEndpoint) {
  endpoint.close();
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

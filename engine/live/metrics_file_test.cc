// The file that states where an endpoint's metrics are, also one that somebody else wrote.
#include "metrics_file.h"

#include "support/live_hub.h"

#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpcrdma::trace {
namespace {

using ::testing::SizeIs;

TEST(MetricsAddress, IsAnAddressWithAPort) {
  for (const char* const right :
       {"127.0.0.1:9464", "0.0.0.0:1", "[::]:65535", "[fe80::1%eth0.2]:9"}) {
    EXPECT_TRUE(is_metrics_address(right)) << right;
  }
  for (const std::string& wrong : {std::string(),
                                   std::string(":"),
                                   std::string(":9464"),
                                   std::string("9464"),
                                   std::string("localhost:9464"),
                                   std::string("127.0.0.1"),
                                   std::string("127.0.0.1:"),
                                   std::string("127.0.0.1:0"),
                                   std::string("127.0.0.1:65536"),
                                   std::string("127.0.0.1:9464/x"),
                                   std::string("127.0.0.1:+9"),
                                   std::string("::1:9464"),
                                   std::string("[::1:9464"),
                                   std::string("[::1%]:9464"),
                                   std::string("[::1% a]:9464"),
                                   std::string("[127.0.0.1]:9464"),
                                   std::string("[]:9464"),
                                   std::string("127.0.0.1\0:9464", 15),
                                   std::string("a\nb:9464"),
                                   "[::1%" + std::string(100, 'x') + "]:9464"}) {
    EXPECT_FALSE(is_metrics_address(wrong)) << wrong;
  }
}

TEST(MetricsFileName, BelongsToASocket) {
  EXPECT_EQ(metrics_file_name({"a/b", 7}), "a_b.7.metrics");
  EXPECT_EQ(process_of_metrics_file("a_b.7.metrics"), 7U);
  for (const char* const wrong : {"", ".metrics", "a.metrics", "a.x.metrics", "a.7.sock", "a.7",
                                  "a.7.packets.metrics", "../a.7.metrics", "a b.7.metrics"}) {
    EXPECT_FALSE(process_of_metrics_file(wrong)) << wrong;
  }
}

class MetricsFileThreads : public HubTest {
 protected:
  static std::unique_ptr<Hub> run(const std::string& name) {
    auto hub = Hub::start({.name = name, .role = "server"});
    EXPECT_TRUE(hub && (*hub)->open_socket());
    return std::move(*hub);
  }
  static std::string listed() {
    const auto endpoints = list_endpoints();
    EXPECT_TRUE(endpoints && endpoints->size() == 1);
    return endpoints && !endpoints->empty() ? endpoints->front().metrics : "none is listed";
  }
  std::string file(const std::string& name, std::uint32_t process) const {
    return path("rpcrdma/" + metrics_file_name({name, process}));
  }
  std::string own(const std::string& name) const {
    return file(name, static_cast<std::uint32_t>(::getpid()));
  }
};

TEST_F(MetricsFileThreads, IsListedWhileTheHubRuns) {
  const auto hub = run("serve");
  EXPECT_EQ(listed(), "");
  ASSERT_TRUE(hub->announce_metrics("0.0.0.0:9464"));
  EXPECT_EQ(listed(), "0.0.0.0:9464");
  struct stat status {};
  ASSERT_EQ(::stat(own("serve").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_FALSE(hub->announce_metrics("localhost:9464"));
  hub->stop();
  EXPECT_FALSE(std::filesystem::exists(own("serve")));
}

TEST_F(MetricsFileThreads, WithoutASocketNothingIsAnnounced) {
  const auto hub = Hub::start({.name = "hidden"});
  ASSERT_TRUE(hub);
  EXPECT_TRUE((*hub)->announce_metrics("127.0.0.1:9464"));
  EXPECT_FALSE(std::filesystem::exists(own("hidden")));
}

TEST_F(MetricsFileThreads, WhatIsNoAddressIsIgnored) {
  const auto hub = run("serve");
  for (const std::string& text :
       {std::string(), std::string("127.0.0.1:9464"), std::string("\n"),
        std::string("evil.example:9464\n"), std::string("127.0.0.1:9464\n\n"),
        std::string("127.0.0.1:9464\nmore\n"), std::string(1 << 20, '1') + "\n"}) {
    std::ofstream(own("serve"), std::ios::trunc) << text;
    EXPECT_EQ(listed(), "") << text.substr(0, 40);
  }
  std::ofstream(own("serve"), std::ios::trunc) << "127.0.0.1:9464\n";
  EXPECT_EQ(listed(), "127.0.0.1:9464");
  // A link, and a FIFO that nobody writes.
  std::filesystem::rename(own("serve"), path("elsewhere"));
  std::filesystem::create_symlink(path("elsewhere"), own("serve"));
  EXPECT_EQ(listed(), "");
  std::filesystem::remove(own("serve"));
  ASSERT_EQ(::mkfifo(own("serve").c_str(), 0600), 0);
  EXPECT_EQ(listed(), "");
}

TEST_F(MetricsFileThreads, FilesOfDeadProcessesAreRemoved) {
  const auto hub = run("serve");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const std::string dead = file("serve", static_cast<std::uint32_t>(child));
  const std::string unfinished = path("rpcrdma/.x." + std::to_string(child) + ".metrics");
  for (const std::string& f : {dead, unfinished, own("other"), path("rpcrdma/x.metrics")}) {
    std::ofstream(f) << "127.0.0.1:9464\n";
  }
  EXPECT_EQ(listed(), "");
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_FALSE(std::filesystem::exists(unfinished));
  EXPECT_TRUE(std::filesystem::exists(own("other")));
  EXPECT_TRUE(std::filesystem::exists(path("rpcrdma/x.metrics")));
}

}  // namespace
}  // namespace rpcrdma::trace

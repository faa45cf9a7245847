// Targets for Prometheus, from endpoints that state anything at all; and the file.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/service_discovery/service_discovery.h>

namespace rpcrdma::service_discovery {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::RunningEndpoint;

RunningEndpoint endpoint(const std::string& name, const std::string& metrics) {
  RunningEndpoint e;
  e.name = name;
  e.process = 7;
  e.path = "/run/" + name + ".7.sock";
  e.role = "server on 10.0.0.1";
  e.since = 1;
  e.uid = ::geteuid();
  e.user = "mara";
  e.metrics = metrics;
  return e;
}

class Discovery : public ::testing::Test {
 protected:
  Discovery() {
    std::string folder = std::filesystem::temp_directory_path() / "discovery.XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    options_ = {folder + "/targets.json", "host1", ""};
  }
  ~Discovery() override { std::filesystem::remove_all(folder_); }

  static std::string read(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  // The file after an update by a new File.
  json written(const std::vector<RunningEndpoint>& endpoints) {
    File file(options_);
    const auto updated = file.update(endpoints);
    EXPECT_TRUE(updated) << updated.error().message;
    left_out_ = updated ? updated->left_out : std::vector<std::string>{};
    return json::parse(read(options_.file), nullptr, false);
  }
  std::string address_of(const std::string& metrics) {
    const json all = written({endpoint("serve", metrics)});
    return all.size() == 1 ? all[0]["targets"][0].get<std::string>() : "none";
  }

  std::filesystem::path folder_;
  Options options_;
  std::vector<std::string> left_out_;
};

TEST_F(Discovery, EndpointsWithMetricsAreTargets) {
  const json all = written({endpoint("serve", "127.0.0.1:9464"), endpoint("load", "")});
  EXPECT_EQ(all, json::parse(R"([{"targets": ["127.0.0.1:9464"],
      "labels": {"endpoint": "serve", "endpoint_role": "server on 10.0.0.1", "host": "host1",
                 "process": "7", "user": "mara"}}])"));
  EXPECT_THAT(left_out_, IsEmpty());
  EXPECT_EQ(written({}), json::array());
}

TEST_F(Discovery, AWildcardAddressIsThatOfTheMachine) {
  EXPECT_EQ(address_of("0.0.0.0:9464"), "host1:9464");
  EXPECT_EQ(address_of("[::]:9464"), "host1:9464");
  options_.reached_as = "host1.example";
  EXPECT_EQ(address_of("[::]:9464"), "host1.example:9464");
  options_.reached_as = "2001:db8::1";
  EXPECT_EQ(address_of("0.0.0.0:9464"), "[2001:db8::1]:9464");
  EXPECT_EQ(address_of("10.0.0.1:9464"), "10.0.0.1:9464");
}

TEST_F(Discovery, WhatPrometheusCannotReachIsLeftOutAndReported) {
  EXPECT_EQ(address_of("[::1]:9464"), "[::1]:9464");
  EXPECT_EQ(address_of("[fe80::1%eth0]:9464"), "none");
  EXPECT_THAT(left_out_, ElementsAre(HasSubstr("link-local")));
  options_.reached_as = "host1.example";
  for (const char* const loopback : {"127.0.0.1:9464", "127.3.2.1:9464", "[::1]:9464"}) {
    EXPECT_EQ(address_of(loopback), "none");
    EXPECT_THAT(left_out_, ElementsAre(HasSubstr("loopback")));
  }
}

// Another user must not make Prometheus connect to an address of their choice.
TEST_F(Discovery, AnotherUsersAddressMustBeOfThisMachine) {
  RunningEndpoint other = endpoint("serve", "198.51.100.7:9464");
  EXPECT_EQ(written({other}).size(), 1U);
  other.uid = ::geteuid() + 1;
  EXPECT_EQ(written({other}).size(), 0U);
  EXPECT_THAT(left_out_, ElementsAre(HasSubstr("not of this machine")));
  other.metrics = "127.0.0.1:9464";
  EXPECT_EQ(written({other}).size(), 1U);
  EXPECT_TRUE(is_local("127.0.0.1"));
  EXPECT_FALSE(is_local("198.51.100.7"));
  EXPECT_FALSE(is_local("2001:db8::7"));
  EXPECT_FALSE(is_local("x"));
}

TEST_F(Discovery, AnAddressIsATargetOnce) {
  RunningEndpoint own = endpoint("own", "127.0.0.1:9464");
  RunningEndpoint other = endpoint("other", "127.0.0.1:9464");
  other.uid = own.uid + 1;
  const json all = written({own, other});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["labels"]["endpoint"], "own");
  EXPECT_THAT(left_out_, ElementsAre(HasSubstr("same address")));
}

TEST_F(Discovery, TextFromOthersDoesNotBreakTheFile) {
  const std::string hostile = "a\"}],\n\x1b[2J\xff\\ \xe2\x82\xac";
  RunningEndpoint e = endpoint(hostile, "127.0.0.1:9464");
  e.role = std::string("\0x", 2);
  const json all = written({e});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["labels"]["endpoint"], "a\"}],\n\x1b[2J\xef\xbf\xbd\\ \xe2\x82\xac");
  EXPECT_EQ(all[0]["labels"]["endpoint_role"], std::string("\0x", 2));
  for (const char c : read(options_.file)) EXPECT_TRUE((c >= ' ' && c <= '~') || c == '\n');
  e.metrics = "[fe80::1%x]:1";
  written({e});
  ASSERT_EQ(left_out_.size(), 1U);
  for (const char c : left_out_[0]) EXPECT_TRUE(c >= ' ' && c <= '~') << left_out_[0];
}

TEST_F(Discovery, AFileThatIsRightIsNotWrittenAgain) {
  File file(options_);
  const std::vector<RunningEndpoint> endpoints{endpoint("serve", "127.0.0.1:9464")};
  EXPECT_TRUE(file.update(endpoints)->written);
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat(options_.file.c_str(), &before), 0);
  EXPECT_FALSE(file.update(endpoints)->written);
  EXPECT_FALSE(File(options_).update(endpoints)->written);
  ASSERT_EQ(::stat(options_.file.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  // Somebody has changed or removed it.
  std::ofstream(options_.file, std::ios::app) << "x";
  EXPECT_TRUE(file.update(endpoints)->written);
  std::filesystem::remove(options_.file);
  EXPECT_TRUE(file.update(endpoints)->written);
  EXPECT_EQ(json::parse(read(options_.file)).size(), 1U);
  // Prometheus, another user, reads it; nothing else is left there.
  ASSERT_EQ(::stat(options_.file.c_str(), &after), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(after.st_mode & 0777, 0644 & ~mask);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

// New labels are new series.
TEST_F(Discovery, AnEndpointThatHangsKeepsItsLabels) {
  File file(options_);
  ASSERT_TRUE(file.update(std::vector{endpoint("a/b", "127.0.0.1:9464")}));
  RunningEndpoint hangs = endpoint("a_b", "127.0.0.1:9464");
  hangs.path = endpoint("a/b", "").path;
  hangs.since = 0;
  hangs.role = "";
  hangs.fault = "does not answer";
  const auto updated = file.update(std::vector{hangs});
  ASSERT_TRUE(updated);
  EXPECT_FALSE(updated->written);
  EXPECT_EQ(updated->targets, 1U);
  // Not known from before: by the name of its socket.
  const json all = written({hangs});
  EXPECT_EQ(all[0]["labels"]["endpoint"], "a_b");
}

TEST_F(Discovery, WhatIsLeftOutIsReportedOnce) {
  File file(options_);
  const std::vector<RunningEndpoint> endpoints{endpoint("serve", "[fe80::1%eth0]:9464")};
  EXPECT_EQ(file.update(endpoints)->left_out.size(), 1U);
  EXPECT_THAT(file.update(endpoints)->left_out, IsEmpty());
  EXPECT_THAT(file.update({})->left_out, IsEmpty());
  EXPECT_EQ(file.update(endpoints)->left_out.size(), 1U);
}

TEST_F(Discovery, AFailureLeavesTheFileAsItWas) {
  options_.file = folder_ / "missing" / "targets.json";
  EXPECT_THAT(File(options_).update({}).error().message, HasSubstr("No such file"));
  options_.file = folder_ / "folder.json";
  std::filesystem::create_directory(options_.file);
  EXPECT_THAT(File(options_).update({}).error().message, HasSubstr("folder.json: "));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Discovery, OptionsAreChecked) {
  EXPECT_TRUE(check(options_));
  for (const char* const host : {"host1", "host1.example", "10.0.0.1", "2001:db8::1", "a_b-c"}) {
    options_.reached_as = host;
    EXPECT_TRUE(check(options_)) << host;
  }
  for (const char* const host : {"host1:9464", "[::1]", "a b", "a/b", "http://a", "\x1b"}) {
    options_.reached_as = host;
    EXPECT_FALSE(check(options_)) << host;
  }
  for (const char* const file : {"targets", "targets.yml", "targets.json.old", "-"}) {
    EXPECT_THAT(check({file, "host1", ""}).error().message, HasSubstr("end in .json")) << file;
  }
}

}  // namespace
}  // namespace rpcrdma::service_discovery

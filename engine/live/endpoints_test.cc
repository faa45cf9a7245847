// Listing of endpoints and connecting to them, with hostile, silent and left-over sockets.
#include "socket_file.h"
#include "support/event_sender.h"
#include "support/live_hub.h"

#include <cerrno>
#include <chrono>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpcrdma::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kProcess = std::to_string(::getpid());

class TraceEndpointsThreads : public HubTest {
 protected:
  static std::vector<RunningEndpoint> list() {
    auto listed = list_endpoints();
    EXPECT_TRUE(listed) << listed.error().message;
    return listed.value_or(std::vector<RunningEndpoint>{});
  }
  static std::unique_ptr<Hub> run(const std::string& name, const std::string& role) {
    auto hub = Hub::start({.name = name, .role = role});
    EXPECT_TRUE(hub && (*hub)->open_socket());
    return std::move(*hub);
  }
  static std::string error_of(const std::string& which) {
    const auto fd = connect_endpoint(which);
    return fd ? "" : fd.error().message;
  }
  // Returns the name in the first event.
  static std::string name_behind(const std::string& which) {
    auto fd = connect_endpoint(which);
    if (!fd) return fd.error().message;
    const Emitted emitted = EventStream(std::move(*fd)).next().value();
    return emitted.payload().substr(0, emitted.as<Endpoint>().name_bytes);
  }
};

TEST_F(TraceEndpointsThreads, NoneAtFirst) {
  EXPECT_THAT(list(), IsEmpty());
  EXPECT_EQ(error_of("server"), "no endpoint server runs here");
}

TEST_F(TraceEndpointsThreads, AreFoundByTheirSocketsAlone) {
  EXPECT_THAT(find_endpoints().value(), IsEmpty());
  const auto b = run("b/server", "server on ::1");
  const auto a = run("a", "");
  const auto found = find_endpoints().value();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].name, "a");
  EXPECT_EQ(found[1].name, "b_server");
  EXPECT_EQ(found[1].process, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(found[1].path, b->socket_path());
  EXPECT_EQ(found[1].role, "");
  std::filesystem::permissions(folder_ + "/rpcrdma", std::filesystem::perms::all);
  EXPECT_FALSE(find_endpoints());
}

TEST_F(TraceEndpointsThreads, AreListedWithWhatTheySay) {
  const auto b = run("b/server", "server on ::1");
  const auto a = run("a", "");
  const auto listed = list();
  ASSERT_THAT(listed, SizeIs(2));
  EXPECT_EQ(listed[0].name, "a");
  EXPECT_EQ(listed[0].role, "");
  EXPECT_EQ(listed[1].name, "b/server");
  EXPECT_EQ(listed[1].role, "server on ::1");
  EXPECT_EQ(listed[1].process, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(listed[1].path, b->socket_path());
  EXPECT_GT(listed[1].since, 0);
  EXPECT_LE(listed[1].since, listed[0].since);
}

TEST_F(TraceEndpointsThreads, AreFoundByNameProcessAndPath) {
  const auto hub = run("server", "");
  EXPECT_EQ(name_behind("server"), "server");
  EXPECT_EQ(name_behind(kProcess), "server");
  EXPECT_EQ(name_behind(hub->socket_path()), "server");
  EXPECT_THAT(error_of("1"), HasSubstr("no endpoint 1 runs here"));
  EXPECT_THAT(error_of(path("rpcrdma/x.1.sock")), HasSubstr("x.1.sock: No such file"));
  EXPECT_THAT(error_of("/x.1.sock"), HasSubstr("/x.1.sock: No such file"));
  EXPECT_THAT(error_of(path("missing/x.1.sock")), HasSubstr("No such file"));
}

TEST_F(TraceEndpointsThreads, OfTwoOfAName) {
  const auto a = run("x", "");
  const auto other = ListeningSocket::open(make_runtime_folder().value(), {"x", 1});
  EXPECT_THAT(error_of("x"), HasSubstr("several endpoints are named x"));
}

TEST_F(TraceEndpointsThreads, WhatNobodyListensAtAnyMoreIsRemoved) {
  const auto runs = run("runs", "");
  const std::string file = path("rpcrdma/ended.7.sock");
  {
    const auto socket = ListeningSocket::open(make_runtime_folder().value(), {"ended", 7});
    std::filesystem::create_hard_link(file, path("kept"));
  }
  std::filesystem::rename(path("kept"), file);
  EXPECT_THAT(error_of(file), HasSubstr("the endpoint has ended"));
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_THAT(list(), SizeIs(1));
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_TRUE(std::filesystem::exists(runs->socket_path()));
}

// Files of a process that was killed before it listened. A live process may be about to listen.
TEST_F(TraceEndpointsThreads, WhatWasNotMadeReadyIsRemovedOfDeadProcessesOnly) {
  const auto runs = run("runs", "");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const std::string dead = path("rpcrdma/.x." + std::to_string(child) + ".sock");
  const std::string alive = path("rpcrdma/.x." + kProcess + ".sock");
  for (const std::string& file : {dead, alive, path("rpcrdma/other")}) {
    ASSERT_EQ(::mknod(file.c_str(), S_IFSOCK | 0600, 0), 0);
  }
  EXPECT_THAT(list(), SizeIs(1));
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(alive));
  EXPECT_TRUE(std::filesystem::exists(path("rpcrdma/other")));
}

TEST_F(TraceEndpointsThreads, OneThatHangsIsListedAllTheSame) {
  const auto socket = ListeningSocket::open(make_runtime_folder().value(), {"hangs", 7});
  const auto listed = list();
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0].name, "hangs");
  EXPECT_EQ(listed[0].process, 7U);
  EXPECT_EQ(listed[0].role, "");
  EXPECT_EQ(listed[0].since, 0);
}

// ----- Sockets that do not belong to an endpoint

TEST_F(TraceEndpointsThreads, HostileSocketsAreListedWithWhatIsWrong) {
  const auto good = run("good", "a server");
  const Sender floods("floods", head(), interface_again());
  const Sender other("other", std::vector<std::uint8_t>(64, 'x'), {});
  const Sender losses("losses", head(), event_block(make_event(300, 0, Loss{2, 1})));
  const Sender silent("silent", head(), {});
  const auto listed = list_endpoints(std::chrono::seconds(2)).value();
  ASSERT_THAT(listed, SizeIs(5));
  EXPECT_EQ(listed[0].name, "floods");
  EXPECT_EQ(listed[0].fault, "is not an endpoint: it sends more interfaces than an endpoint has");
  EXPECT_EQ(listed[1].name, "good");
  EXPECT_EQ(listed[1].role, "a server");
  EXPECT_EQ(listed[1].fault, "");
  EXPECT_EQ(listed[2].name, "losses");
  EXPECT_THAT(listed[2].fault,
              HasSubstr("is not an endpoint: the data is not an endpoint's event"));
  EXPECT_EQ(listed[3].name, "other");
  EXPECT_EQ(listed[3].fault, "is not an endpoint: it does not send pcapng");
  EXPECT_EQ(listed[4].name, "silent");
  EXPECT_EQ(listed[4].fault, "does not answer");
  EXPECT_EQ(listed[4].since, 0);
}

// One after the other they would take half a minute.
TEST_F(TraceEndpointsThreads, SilentOnesAreWaitedForTogether) {
  std::vector<ListeningSocket> sockets;
  for (std::uint32_t process = 1; process <= 120; ++process) {
    sockets.push_back(
        ListeningSocket::open(make_runtime_folder().value(), {"silent", process}).value());
  }
  const auto before = std::chrono::steady_clock::now();
  EXPECT_THAT(list(), SizeIs(120));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
}

TEST_F(TraceEndpointsThreads, NamesAndRolesHaveALimit) {
  Endpoint event;
  event.name_bytes = 5000;
  event.since = 1;
  const std::vector<std::uint8_t> payload(20'000, 'n');
  const Sender sender("long", joined(head(), event_block(make_event(0, 0, event, payload))), {});
  const auto listed = list();
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0].name, std::string(256, 'n'));
  EXPECT_EQ(listed[0].role, std::string(1024, 'n'));
}

TEST_F(TraceEndpointsThreads, WhatThisUserHasNotMadeIsPassedOver) {
  const auto good = run("good", "");
  const std::string folder = path("rpcrdma/");
  std::filesystem::create_symlink(good->socket_path(), folder + "link.1.sock");
  std::ofstream(folder + "file.1.sock") << "a file";
  const Sender injects("ok", head(), {});
  std::filesystem::rename(folder + "ok.7.sock", folder + "x}{value=y\n.7.sock");
  EXPECT_THAT(list(), SizeIs(1));
  EXPECT_THAT(find_endpoints().value(), SizeIs(1));
  EXPECT_TRUE(std::filesystem::exists(folder + "file.1.sock"));
  if (::geteuid() != 0) return;
  // Root can create a socket of another user.
  const Sender strangers("stranger", head(), {});
  ASSERT_EQ(::chown((folder + "stranger.7.sock").c_str(), 65534, 65534), 0);
  EXPECT_THAT(list(), SizeIs(1));
  EXPECT_THAT(find_endpoints().value(), SizeIs(1));
}

TEST_F(TraceEndpointsThreads, AFolderThatIsNotToBeTrustedIsNotRead) {
  ASSERT_EQ(::symlink("/tmp", path("rpcrdma").c_str()), 0);
  EXPECT_FALSE(list_endpoints());
  EXPECT_THAT(error_of("server"), HasSubstr("not a folder"));
}

}  // namespace
}  // namespace rpcrdma::trace

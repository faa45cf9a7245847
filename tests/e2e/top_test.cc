// `rpcrdma top` on a pseudo terminal, with an endpoint that this process simulates.
#include "support/terminal.h"
#include "support/trace_builder.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/live/hub.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class Top : public ::testing::Test {
 protected:
  Top() { ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
  ~Top() override { ::unsetenv("XDG_RUNTIME_DIR"); }

  void start() {
    auto hub = trace::Hub::start({.name = "nfsd", .role = "server on 192.0.2.1"});
    ASSERT_TRUE(hub) << hub.error().message;
    hub_ = std::move(*hub);
    ASSERT_TRUE(hub_->open_socket());
    tracer_ = hub_->add();
    const auto data = trace_reader::testing::plain_private_data();
    trace::Connection c = trace_reader::testing::plain_connection();
    c.sent_private_data = static_cast<std::uint16_t>(data.size());
    for (int i = 0; i < 3; ++i) {
      connections_.push_back(tracer_->new_connection());
      tracer_->emit(connections_.back(), 1, c, data, data);
    }
  }
  void wait_for_reader() const {
    while (!tracer_->listening()) std::this_thread::yield();
  }
  void emit_credits(std::uint32_t waiting) {
    trace::Credits c;
    c.requested = 64;
    c.granted = c.limit = 32;
    c.in_use = 31;
    c.waiting = waiting;
    tracer_->emit(connections_[0], 2, c);
  }
  static void expect_restored(const Terminal& t) {
    EXPECT_TRUE(t.modes_restored());
    EXPECT_THAT(t.all(), EndsWith("\033[?7h\033[?25h\033[?1049l"));
  }

  TemporaryFolder folder_;
  std::unique_ptr<trace::Hub> hub_;
  trace::Tracer* tracer_ = nullptr;
  std::vector<std::uint32_t> connections_;
};

TEST_F(Top, ShowsAnEndpointAndTakesKeys) {
  start();
  Terminal t({"top", "nfsd"});
  EXPECT_TRUE(t.wait_for("3 connections, 3 open")) << t.all();
  EXPECT_FALSE(t.modes_restored());
  EXPECT_TRUE(t.wait_for("nfsd: server on 192.0.2.1"));
  emit_credits(7);
  EXPECT_TRUE(t.wait_for("requested 64  granted 32  in use 31  waiting 7")) << t.screen();
  tracer_->emit(connections_[0], 3, trace::Error{},
                trace_reader::testing::bytes_of("no \033[2J memory"));
  EXPECT_TRUE(t.wait_for("no ?[2J memory"));
  t.type("j");
  EXPECT_TRUE(t.wait_for(" 2: client"));
  t.type("\033[B");
  EXPECT_TRUE(t.wait_for(" 3: client"));
  t.type("f");
  EXPECT_TRUE(t.wait_for("newest first"));
  t.type("f?");
  EXPECT_TRUE(t.wait_for("any key closes it"));
  t.type(" p");
  EXPECT_TRUE(t.wait_for("PAUSED"));
  t.type("p");
  t.resize(120, 40);
  EXPECT_TRUE(t.wait_for("maximum in each second"));
  t.type("q");
  EXPECT_EQ(t.finish(), 0);
  expect_restored(t);
}

TEST_F(Top, EndsAfterItsSeconds) {
  start();
  Terminal t({"top", "nfsd", "--seconds", "0.5"});
  EXPECT_TRUE(t.wait_for("3 connections, 3 open")) << t.all();
  EXPECT_EQ(t.finish(), 0);
  expect_restored(t);
}

TEST_F(Top, KeepsWhatAnEndpointThatVanishedReported) {
  start();
  Terminal t({"top"});
  EXPECT_TRUE(t.wait_for("3 open")) << t.all();
  emit_credits(0);
  EXPECT_TRUE(t.wait_for("31/32"));
  hub_->stop();
  EXPECT_TRUE(t.wait_for("nfsd killed?"));  // its connections are up
  EXPECT_THAT(t.screen(), HasSubstr("31/32"));
  EXPECT_THAT(t.screen(), HasSubstr("complete"));
  t.type("q");
  EXPECT_EQ(t.finish(), 0);
  expect_restored(t);
}

TEST_F(Top, EndpointsThatStartLaterAreTaken) {
  Terminal t({"top"});
  EXPECT_TRUE(t.wait_for("no running endpoint; waiting for one")) << t.all();
  start();
  EXPECT_TRUE(t.wait_for("3 connections, 3 open")) << t.screen();
  EXPECT_TRUE(t.wait_for("nfsd: server on 192.0.2.1"));
  auto other = trace::Hub::start({.name = "load", .role = "load of 192.0.2.1"});
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_TRUE((*other)->open_socket());
  EXPECT_TRUE(t.wait_for("2 endpoints: nfsd, load"));
  (*other)->stop();
  EXPECT_TRUE(t.wait_for("load has ended"));
  t.type("q");
  EXPECT_EQ(t.finish(), 0);
  expect_restored(t);
}

TEST_F(Top, SignalsGiveTheTerminalBack) {
  start();
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    Terminal t({"top"});
    EXPECT_TRUE(t.wait_for("3 open")) << t.all();
    if (number == SIGINT) {
      t.type("\003");
    } else {
      t.signal(number);
    }
    EXPECT_EQ(t.finish(), 0);
    expect_restored(t);
  }
}

TEST_F(Top, OnceIsPlainText) {
  start();
  std::thread emitter([this] {
    wait_for_reader();
    emit_credits(1);
    hub_->stop();
  });
  const Result r = run("RPCRDMA top " + hub_->socket_path() + " --once --seconds 90");
  emitter.join();
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("3 connections, 0 open"));
  EXPECT_THAT(r.out, HasSubstr("nfsd killed?"));
  EXPECT_THAT(r.out, HasSubstr("complete  emitted 4 = received 4 + lost 0"));
  EXPECT_THAT(r.out, HasSubstr("31/32"));
  EXPECT_EQ(r.out.find('\033'), std::string::npos);
}

TEST_F(Top, SaysWhyItCannot) {
  const Result none = run("RPCRDMA top --once");
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.err, ::geteuid() == 0 ? "rpcrdma: top: no endpoint is running\n"
                                       : "rpcrdma: top: no endpoint of this user is running\n");
  start();
  const Result no_terminal = run("RPCRDMA top nfsd");
  EXPECT_EQ(no_terminal.status, 2);
  EXPECT_EQ(no_terminal.out, "");
  EXPECT_THAT(no_terminal.err, HasSubstr("is not a terminal; use --once"));
  EXPECT_EQ(run("RPCRDMA top nobody --once").status, 2);
}

}  // namespace
}  // namespace rpcrdma::e2e

// The ends of the pump: with its endpoint, with Wireshark, by a signal. Each test runs in a process
// of its own, since a signal affects the whole process.
#include "pump.h"

#include "support/live_hub.h"

#include <array>
#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace rpcrdma::extcap {
namespace {

using base::FileDescriptor;
using ::testing::HasSubstr;

constexpr int kLongMs = 60'000;

class ExtcapPump : public trace::HubTest {
 protected:
  ExtcapPump() { EXPECT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0); }
  ~ExtcapPump() override {
    if (child_ > 0) ::kill(child_, SIGKILL);
  }

  // Copies from the hub's socket into the pipe.
  void start_pump() {
    const std::string socket = hub_->socket_path();
    child_ = ::fork();
    if (child_ != 0) return;
    ::alarm(100);
    const auto signals = take_signals();
    const auto from = trace::connect_endpoint(socket);
    const auto fifo = open_fifo(path("fifo"), signals->get(), kLongMs);
    if (fifo && fifo->get() < 0) ::_exit(7);
    ::_exit(fifo && pump(*from, *fifo, signals->get(), StreamEdit({})) ? 0 : 1);
  }
  [[nodiscard]] FileDescriptor open_reader() const {
    return FileDescriptor(::open(path("fifo").c_str(), O_RDONLY | O_CLOEXEC));
  }
  int finish() {
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  pid_t child_ = -1;
};

TEST_F(ExtcapPump, EndsWithItsEndpoint) {
  trace::Tracer& tracer = *start_with_socket().add();
  start_pump();
  trace::EventStream stream(open_reader());
  EXPECT_EQ(stream.next()->type(), trace::EventType::kEndpoint);
  emit(tracer, 1000);
  hub_->stop();
  stream.rest();
  EXPECT_EQ(finish(), 0);
  EXPECT_EQ(stream.audit.ring(1).received, 1000U);
  EXPECT_TRUE(stream.audit.is_complete());
  EXPECT_FALSE(stream.stats().cut_short);
}

TEST_F(ExtcapPump, EndsWithItsReaderThoughNothingComes) {
  start_with_socket();
  start_pump();
  {
    trace::EventStream stream(open_reader());
    EXPECT_EQ(stream.next()->type(), trace::EventType::kEndpoint);
  }
  EXPECT_EQ(finish(), 0);
}

TEST_F(ExtcapPump, EndsBySignalWithAWholeBlock) {
  for (const int signal : {SIGTERM, SIGINT}) {
    trace::Tracer& tracer = *start_with_socket().add();
    start_pump();
    trace::EventStream stream(open_reader());
    EXPECT_EQ(stream.next()->type(), trace::EventType::kEndpoint);
    emit(tracer, 10);
    stream.read_until(1, 10);
    ::kill(child_, signal);
    stream.rest();
    EXPECT_EQ(finish(), 0);
    EXPECT_FALSE(stream.stats().cut_short);
  }
}

TEST_F(ExtcapPump, EndsBySignalWhileNobodyReads) {
  start_with_socket();
  start_pump();
  ::kill(child_, SIGTERM);
  const int status = finish();
  EXPECT_TRUE(status == 7 || status == 128 + SIGTERM) << status;  // before it handles signals
}

// An endpoint with the maximum number of readers closes the connection at once.
TEST_F(ExtcapPump, AnEndpointThatSaysNothingIsAnError) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const FileDescriptor from(ends[0]);
  ::close(ends[1]);
  const FileDescriptor file(::open(path("file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const auto done = pump(from, file, -1, StreamEdit({}));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error(), HasSubstr("maximum number of readers"));
  EXPECT_EQ(std::filesystem::file_size(path("file")), 0U);
}

TEST_F(ExtcapPump, WhatIsNoStreamIsAnError) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const FileDescriptor from(ends[0]), to(ends[1]);
  ASSERT_EQ(::write(to.get(), "no pcapng at all", 16), 16);
  const FileDescriptor file(::open(path("file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_THAT(pump(from, file, -1, StreamEdit({})).error(),
              HasSubstr("other than a stream of events"));
}

TEST_F(ExtcapPump, AnEndpointThatIsSilentIsAnError) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const FileDescriptor from(ends[0]), to(ends[1]);
  const FileDescriptor file(::open(path("file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const auto done = pump(from, file, -1, StreamEdit({}), {.begin = std::chrono::milliseconds(1)});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), "it does not answer");
}

TEST_F(ExtcapPump, APipeThatNobodyReadsIsAnError) {
  const auto fifo = open_fifo(path("fifo"), -1, 1);
  ASSERT_FALSE(fifo);
  EXPECT_THAT(fifo.error(), HasSubstr("no process reads"));
  EXPECT_THAT(open_fifo(path("none"), -1, kLongMs).error(), HasSubstr("No such file"));
}

}  // namespace
}  // namespace rpcrdma::extcap

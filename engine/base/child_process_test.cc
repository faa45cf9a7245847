#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <rpcrdma/base/child_process.h>

namespace rpcrdma::base {
namespace {

std::string read_all(const FileDescriptor& from) {
  std::string text;
  std::array<char, 256> buffer{};
  for (;;) {
    const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
    if (n <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

int wait_for(ChildProcess& child) {
  for (;;) {
    if (const auto status = child.ended()) return *status;
    ::poll(nullptr, 0, 1);
  }
}

TEST(ChildProcess, HasAPipeToEachStream) {
  auto child = ChildProcess::start({"sh", "-c", "cat; echo error >&2; exit 3"});
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_EQ(::write(child->input.get(), "text", 4), 4);
  EXPECT_FALSE(child->ended());
  child->input.reset();
  EXPECT_EQ(read_all(child->output), "text");
  EXPECT_EQ(read_all(child->errors), "error\n");
  EXPECT_EQ(describe_wait_status(wait_for(*child)), "ended with status 3");
  child->signal(SIGKILL);  // nobody's
}

TEST(ChildProcess, PassesWordsUnchanged) {
  const std::string word = "a 'b' \"c\" $d\n\\";
  auto child = ChildProcess::start({"printf", "%s|", word, ""});
  ASSERT_TRUE(child);
  EXPECT_EQ(read_all(child->output), word + "||");
}

TEST(ChildProcess, AProgramThatIsNotThereIsAnError) {
  EXPECT_EQ(ChildProcess::start({"/nonexistent/program"}).error().message,
            "/nonexistent/program: No such file or directory");
  EXPECT_FALSE(ChildProcess::start({}));
}

TEST(ChildProcess, EndsWithItsOwnerAndItsGroup) {
  FileDescriptor output;
  pid_t id = -1;
  {
    auto child = ChildProcess::start({"sh", "-c", "sleep 1000 & echo begun; wait"});
    ASSERT_TRUE(child);
    std::array<char, 6> line{};
    ASSERT_EQ(::read(child->output.get(), line.data(), line.size()), 6);
    id = child->id();
    EXPECT_EQ(::getpgid(id), id);
    output = std::move(child->output);
  }
  EXPECT_EQ(read_all(output), "");  // `sleep` has ended, too: it held the other end
  EXPECT_EQ(::kill(id, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(ChildProcess, ASignalIsDescribed) {
  auto child = ChildProcess::start({"cat"});
  ASSERT_TRUE(child);
  child->signal(SIGTERM);
  EXPECT_EQ(describe_wait_status(wait_for(*child)), "was ended by signal 15 (Terminated)");
}

}  // namespace
}  // namespace rpcrdma::base

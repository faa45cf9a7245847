// Helper programs of all tempers: scripts beside the test program.
#include "helper_stream.h"

#include "kernel_trace.h"

#include <array>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rpcrdma::capture {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class HelperStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    name_ = "helper-for-test-" + std::to_string(::getpid());
    path_ = fs::read_symlink("/proc/self/exe").parent_path() / name_;
  }
  void TearDown() override { fs::remove(path_); }

  void script(const std::string& commands) {
    std::ofstream(path_) << "#!/bin/sh\n" << commands << "\n";
    fs::permissions(path_, fs::perms::owner_all);
  }
  static base::FileDescriptor file_of(const std::string& content) {
    base::FileDescriptor fd(::memfd_create("input", MFD_CLOEXEC));
    EXPECT_EQ(::write(fd.get(), content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    ::lseek(fd.get(), 0, SEEK_SET);
    return fd;
  }
  struct Read {
    std::string bytes, failure, damage;
  };
  static Read read_all(ByteStream& stream) {
    Read all;
    std::array<std::uint8_t, 1000> buffer{};
    for (;;) {
      const auto got = stream.read(buffer);
      if (!got) {
        all.failure = got.error().message;
        break;
      }
      if (*got == 0) break;
      all.bytes.append(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*got));
    }
    all.damage = stream.damage();
    return all;
  }
  Read run(const std::string& commands, const std::string& input = {}) {
    script(commands);
    auto stream = run_helper(name_, "a file", file_of(input));
    if (!stream) return {{}, stream.error().message, {}};
    return read_all(**stream);
  }

  std::string name_;
  fs::path path_;
};

TEST_F(HelperStreamTest, ConvertsAFile) {
  const Read r = run("tr a-z A-Z", "some bytes");
  EXPECT_EQ(r.bytes, "SOME BYTES");
  EXPECT_EQ(r.failure, "");
  EXPECT_EQ(r.damage, "");
}

TEST_F(HelperStreamTest, ConvertsAStream) {
  script("tr a-z A-Z");
  const std::string input(3'000'000, 'x');
  auto stream = run_helper(name_, "a file",
                           std::make_unique<SpanStream>(std::span(
                               reinterpret_cast<const std::uint8_t*>(input.data()), input.size())));
  ASSERT_TRUE(stream);
  EXPECT_EQ(read_all(**stream).bytes, std::string(3'000'000, 'X'));
}

TEST_F(HelperStreamTest, AFailureHasItsReason) {
  const Read r =
      run("printf begun; echo 'something else' >&2; echo 'a file: it is bad' >&2; exit 1");
  EXPECT_EQ(r.bytes, "begun");
  EXPECT_EQ(r.failure, "it is bad");
}

TEST_F(HelperStreamTest, AFailureWithoutAReason) {
  EXPECT_EQ(run("exit 3").failure, "reading it failed: " + name_ + " ended with status 3");
}

TEST_F(HelperStreamTest, ACrashIsOneLine) {
  const Read r = run("kill -SEGV $$");
  EXPECT_THAT(r.failure, HasSubstr(name_ + " was ended by signal 11"));
  EXPECT_THAT(run("kill -XCPU $$").failure, HasSubstr("takes too long"));
}

TEST_F(HelperStreamTest, ARemarkIsDamage) {
  EXPECT_EQ(run("echo 'a file: 3 lines are not understood' >&2").damage,
            "3 lines are not understood");
}

TEST_F(HelperStreamTest, MuchOnStandardErrorStopsNothing) {
  const Read r = run("yes 'a long line of complaint' | head -n 20000 >&2 2>/dev/null; printf end");
  EXPECT_EQ(r.bytes, "end");
  EXPECT_LT(r.damage.size(), 200U);
}

TEST_F(HelperStreamTest, ControlCharactersAreReplaced) {
  EXPECT_EQ(run("printf 'a file: \\033[1mbad\\n' >&2; exit 1").failure, "?[1mbad");
}

TEST_F(HelperStreamTest, AnAbandonedHelperIsEnded) {
  script("exec sleep 1000");
  auto stream = run_helper(name_, "a file", file_of({}));
  ASSERT_TRUE(stream);
  stream->reset();  // returns although the program would run on
}

TEST_F(HelperStreamTest, AnAbsentHelperIsNamed) {
  const auto stream = run_helper("no-such-helper", "a file", file_of({}));
  ASSERT_FALSE(stream);
  EXPECT_THAT(stream.error().message, HasSubstr("no-such-helper is missing"));
}

bool is_text(const std::string& text) {
  return is_trace_text({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

TEST(KernelTrace, RecognizesText) {
  EXPECT_TRUE(is_text("cpus=4\n   x-1 [000] 1.0: e: f"));
  EXPECT_TRUE(is_text("# tracer: nop\n#\n# entries"));
  EXPECT_TRUE(is_text("CPU:3 [LOST 12 EVENTS]\n"));
  EXPECT_TRUE(is_text("      nfsd-169   [000] .....    58.358193: svcrdma_post_send: cq_id=1\n"));
  EXPECT_TRUE(is_text(" kworker/0:1H-38    [000]    54.3: xprtrdma_reply: task\nmore"));
  EXPECT_FALSE(is_text(""));
  EXPECT_FALSE(is_text("hello - [x] world\n[000] a: b\n"));
  EXPECT_FALSE(is_text("cpus=many\n"));
  EXPECT_FALSE(is_text(std::string(512, '[')));
}

TEST(KernelTrace, RecognizesTraceDat) {
  const std::array<std::uint8_t, 12> magic{0x17, 0x08, 0x44, 't', 'r', 'a',
                                           'c',  'i',  'n',  'g', '7', 0};
  EXPECT_TRUE(is_trace_dat(magic));
  EXPECT_FALSE(is_trace_dat(std::span(magic).first(9)));
  EXPECT_FALSE(is_trace_dat(std::span(magic).subspan(1)));
}

}  // namespace
}  // namespace rpcrdma::capture

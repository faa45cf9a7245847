// What a confined process cannot do, and what it still can. Each case runs in a child process,
// since nothing is given back.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rpcrdma/base/confinement.h>

namespace rpcrdma::base {
namespace {

// Returns the exit status, or the negative number of the signal that ended the child.
int in_a_child(const std::function<int()>& what) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(what());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// The errno of a call that fails; 0 if it succeeds.
int error_of(long result) {
  return result >= 0 ? 0 : errno;
}

class ConfinedProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    const ConfinementSupport support = confinement_support();
    if (!support.system_calls) GTEST_SKIP() << support.why_not;
    std::string name = ::testing::TempDir() + "confinement.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) {
      for (const char* file : {"in", "out", "out.new", "other", "secret"}) {
        ::unlink((folder_ + "/" + file).c_str());
      }
      ::rmdir((folder_ + "/sub").c_str());
      ::rmdir(folder_.c_str());
    }
  }
  static int confined(Processes processes, const std::function<int()>& what) {
    return in_a_child([&] {
      if (!confine({.processes = processes, .files = false, .read = {}, .written = {}})
               .system_calls) {
        return 255;
      }
      return what();
    });
  }
  [[nodiscard]] std::string in_folder(const std::string& name) const {
    return folder_ + "/" + name;
  }
  void put(const std::string& name) const {
    std::FILE* const file = std::fopen(in_folder(name).c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs("text", file);
    std::fclose(file);
  }

  std::string folder_;
};

TEST_F(ConfinedProcess, ForbiddenCallsFail) {
  const std::vector<std::function<long()>> forbidden{
      [] { return static_cast<long>(::socket(AF_INET, SOCK_STREAM, 0)); },
      [] { return static_cast<long>(::socket(AF_UNIX, SOCK_STREAM, 0)); },
      [] { return static_cast<long>(::socket(AF_NETLINK, SOCK_RAW, 0)); },
      [] {
        std::array<int, 2> ends{};
        return static_cast<long>(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()));
      },
      [] { return static_cast<long>(::fork()); },
      [] { return ::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); },
      [] { return ::syscall(SYS_unshare, 0x10000000); },
      [] { return static_cast<long>(::kill(::getppid(), 0)); },
      [] { return ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0); },
      [] { return static_cast<long>(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); },
      [] {
        char byte = 0;
        const iovec vec{&byte, 1};
        return static_cast<long>(::process_vm_readv(::getppid(), &vec, 1, &vec, 1, 0));
      },
      [] { return ::syscall(SYS_bpf, 0, nullptr, 0); },
      [] { return ::syscall(SYS_io_uring_setup, 1, nullptr); },
      [] { return ::syscall(SYS_keyctl, 0, 0, 0, 0, 0); },
      [] { return static_cast<long>(::symlink("a", "b")); },
      [] { return static_cast<long>(::mknod("fifo", S_IFIFO | 0600, 0)); },
      [] {
        void* const page =
            ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return static_cast<long>(::mprotect(page, 4096, PROT_READ | PROT_EXEC));
      },
      [] {
        void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return page == MAP_FAILED ? -1L : 0L;
      },
  };
  for (const Processes processes : {Processes::kNone, Processes::kEnd}) {
    for (std::size_t i = 0; i < forbidden.size(); ++i) {
      // kEnd may end processes.
      const bool kill = i == 7;
      EXPECT_EQ(confined(processes, [&] { return error_of(forbidden[i]()); }),
                kill && processes == Processes::kEnd ? 0 : EPERM)
          << i;
    }
  }
}

TEST_F(ConfinedProcess, StartingAProgramOrTracingEndsTheProcess) {
  const auto execute = [] {
    ::execl("/bin/true", "true", nullptr);
    return 1;
  };
  EXPECT_EQ(confined(Processes::kNone, execute), -SIGSYS);
  EXPECT_EQ(confined(Processes::kEnd, execute), -SIGSYS);
  EXPECT_EQ(confined(Processes::kStart, execute), 0);
  const auto trace = [] {
    return error_of(::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr));
  };
  EXPECT_EQ(confined(Processes::kNone, trace), -SIGSYS);
  EXPECT_EQ(confined(Processes::kStart, trace), -SIGSYS);
}

TEST_F(ConfinedProcess, AHelperCanStillStartAndHasNoSockets) {
  EXPECT_EQ(confined(Processes::kStart,
                     [] {
                       const pid_t child = ::fork();
                       if (child == 0) {
                         ::_exit(error_of(::socket(AF_INET, SOCK_STREAM, 0)) == EPERM ? 7 : 8);
                       }
                       int status = 0;
                       ::waitpid(child, &status, 0);
                       return WEXITSTATUS(status);
                     }),
            7);
}

TEST_F(ConfinedProcess, LessCanFollow) {
  EXPECT_EQ(
      confined(Processes::kStart,
               [] {
                 if (::fork() == 0) ::_exit(0);
                 confine({.processes = Processes::kNone, .files = true, .read = {}, .written = {}});
                 return error_of(::fork());
               }),
      EPERM);
}

// Threads, memory, time, pipes, files.
TEST_F(ConfinedProcess, ADecoderStillWorks) {
  EXPECT_EQ(confined(Processes::kNone,
                     [&] {
                       int sum = 0;
                       std::thread([&] { sum = 1; }).join();
                       std::vector<char> large(std::size_t{64} << 20, 'x');
                       std::array<int, 2> ends{};
                       if (::pipe(ends.data()) != 0 || ::write(ends[1], large.data(), 1) != 1) {
                         return 2;
                       }
                       std::FILE* const file = std::fopen(in_folder("out").c_str(), "w");
                       if (file == nullptr || std::fputs("text", file) < 0) return 3;
                       if (std::fclose(file) != 0) return 4;
                       if (::rename(in_folder("out").c_str(), in_folder("other").c_str()) != 0) {
                         return 5;
                       }
                       return sum == 1 && std::thread::hardware_concurrency() > 0 ? 0 : 6;
                     }),
            0);
  EXPECT_EQ(confined(Processes::kNone,
                     [] {
                       ::prctl(PR_SET_NAME, "decoder");
                       std::abort();
                       return 0;
                     }),
            -SIGABRT);
}

// A thread that runs already is confined, too.
TEST_F(ConfinedProcess, AllThreadsAreConfined) {
  EXPECT_EQ(in_a_child([] {
              std::array<int, 2> go{};
              if (::pipe(go.data()) != 0) return 1;
              int error = -1;
              std::thread waiting([&] {
                char byte = 0;
                if (::read(go[0], &byte, 1) != 1) return;
                error = error_of(::socket(AF_INET, SOCK_STREAM, 0));
              });
              confine({.processes = Processes::kNone, .files = false, .read = {}, .written = {}});
              if (::write(go[1], "x", 1) != 1) return 2;
              waiting.join();
              return error;
            }),
            EPERM);
}

TEST_F(ConfinedProcess, OnlyItsOwnFilesAreOpened) {
  if (confinement_support().landlock == 0) GTEST_SKIP() << "the kernel has no Landlock";
  for (const char* file : {"in", "secret"}) put(file);
  ASSERT_EQ(::mkdir(in_folder("sub").c_str(), 0700), 0);
  const auto opened = [&](const std::string& path, int flags, std::vector<std::string> written) {
    return in_a_child([&] {
      if (!confine({.processes = Processes::kNone,
                    .files = true,
                    .read = {in_folder("in")},
                    .written = std::move(written)})
               .files) {
        return 255;
      }
      return error_of(::open(path.c_str(), flags, 0600));
    });
  };
  EXPECT_EQ(opened(in_folder("in"), O_RDONLY, {}), 0);
  EXPECT_EQ(opened(in_folder("secret"), O_RDONLY, {}), EACCES);
  EXPECT_EQ(opened(in_folder("in"), O_WRONLY, {}), EACCES);
  EXPECT_EQ(opened(in_folder("other"), O_WRONLY | O_CREAT, {}), EACCES);
  EXPECT_EQ(opened("/etc/passwd", O_RDONLY, {}), 0);
  EXPECT_EQ(opened("/dev/null", O_WRONLY, {}), 0);
  // An output may be written under another name first, in the same folder.
  EXPECT_EQ(opened(in_folder("out"), O_WRONLY | O_CREAT, {in_folder("out")}), 0);
  EXPECT_EQ(opened(in_folder("out.new"), O_WRONLY | O_CREAT, {in_folder("out")}), 0);
  EXPECT_EQ(opened(in_folder("sub/../other"), O_WRONLY | O_CREAT, {in_folder("sub")}), EACCES);
  EXPECT_EQ(opened(in_folder("sub/one"), O_WRONLY | O_CREAT, {in_folder("sub")}), 0);
  ::unlink(in_folder("sub/one").c_str());
  EXPECT_EQ(opened("/etc/passwd", O_WRONLY, {in_folder("out")}), EACCES);
}

}  // namespace
}  // namespace rpcrdma::base

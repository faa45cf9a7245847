#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <system_error>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif

#include <rpcrdma/base/confinement.h>
#include <rpcrdma/base/file_descriptor.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RPCRDMA_NO_CONFINEMENT "sanitizers use more system calls"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define RPCRDMA_NO_CONFINEMENT "sanitizers use more system calls"
#endif
#endif

#if defined(__x86_64__)
#define RPCRDMA_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define RPCRDMA_AUDIT_ARCH AUDIT_ARCH_AARCH64
#elif !defined(RPCRDMA_NO_CONFINEMENT)
#define RPCRDMA_NO_CONFINEMENT "not known for this processor"
#endif

namespace rpcrdma::base {

#ifdef RPCRDMA_NO_CONFINEMENT

Confined confine(const Confinement& /*to*/) {
  return {};
}

ConfinementSupport confinement_support() {
  return {false, RPCRDMA_NO_CONFINEMENT, 0};
}

#else

namespace {

// What a decoder needs: memory, threads, time, and files and pipes. Sockets can only be used if
// they exist. Old system calls are missing on some processors.
// clang-format off
constexpr std::array kAllowed{
    __NR_read, __NR_readv, __NR_pread64, __NR_preadv, __NR_write, __NR_writev, __NR_pwrite64,
    __NR_pwritev, __NR_lseek, __NR_close, __NR_close_range, __NR_fstat, __NR_newfstatat, __NR_statx,
    __NR_statfs, __NR_fstatfs, __NR_openat, __NR_faccessat, __NR_faccessat2, __NR_readlinkat,
    __NR_getdents64, __NR_getcwd, __NR_chdir, __NR_fchdir, __NR_ftruncate, __NR_fallocate,
    __NR_fsync, __NR_fdatasync, __NR_sync_file_range, __NR_fadvise64, __NR_readahead,
    __NR_renameat2, __NR_unlinkat, __NR_linkat, __NR_mkdirat, __NR_fchmod, __NR_fchmodat,
    __NR_umask, __NR_utimensat, __NR_flock, __NR_copy_file_range, __NR_sendfile, __NR_splice,
    __NR_dup, __NR_dup3, __NR_fcntl, __NR_pipe2, __NR_eventfd2, __NR_ppoll, __NR_pselect6,
    __NR_epoll_create1, __NR_epoll_ctl, __NR_epoll_pwait, __NR_sendto, __NR_recvfrom,
    __NR_shutdown, __NR_getsockopt,
    __NR_munmap, __NR_mremap, __NR_brk, __NR_madvise, __NR_mincore, __NR_membarrier,
    __NR_futex, __NR_set_robust_list, __NR_get_robust_list, __NR_rseq, __NR_sched_yield,
    __NR_sched_getaffinity, __NR_sched_setaffinity, __NR_getcpu, __NR_set_tid_address,
    __NR_gettid, __NR_getpid, __NR_getppid, __NR_getuid, __NR_geteuid, __NR_getgid, __NR_getegid,
    __NR_getpgid, __NR_getrusage, __NR_times, __NR_uname, __NR_sysinfo, __NR_getrandom,
    __NR_clock_gettime, __NR_clock_getres, __NR_clock_nanosleep, __NR_nanosleep,
    __NR_gettimeofday, __NR_setitimer, __NR_timerfd_create, __NR_timerfd_settime,
    __NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_rt_sigtimedwait,
    __NR_rt_sigsuspend, __NR_signalfd4, __NR_sigaltstack, __NR_restart_syscall, __NR_exit,
    __NR_exit_group,
    // To start helpers, until refuse_processes().
    __NR_clone, __NR_execve, __NR_socketpair, __NR_wait4, __NR_waitid, __NR_kill, __NR_tgkill,
    // For the next call of confine().
    __NR_seccomp,
#ifdef __NR_landlock_create_ruleset
    __NR_landlock_create_ruleset, __NR_landlock_add_rule, __NR_landlock_restrict_self,
#endif
#ifdef __NR_renameat
    __NR_renameat,
#endif
#ifdef __NR_open  // and others that AArch64 has not
    __NR_open, __NR_stat, __NR_lstat, __NR_access, __NR_readlink, __NR_rename, __NR_unlink,
    __NR_rmdir, __NR_link, __NR_mkdir, __NR_chmod, __NR_dup2, __NR_pipe, __NR_poll, __NR_select,
    __NR_epoll_wait, __NR_time, __NR_getpgrp, __NR_alarm, __NR_arch_prctl, __NR_creat, __NR_vfork,
#endif
};
// clang-format on

// A terminal's size and settings, and the amount of data that waits. TIOCSTI, which types into the
// terminal of the user, is not among them.
constexpr std::array<unsigned, 6> kControls{TCGETS,  TIOCGWINSZ, FIONREAD,
                                            FIOCLEX, FIONCLEX,   TIOCGPGRP};

// PR_SET_VMA, by which glibc names memory; in headers since Linux 5.17.
constexpr unsigned kNameOfMemory = 0x53564d41;

class Program {
 public:
  Program() {
    load(offsetof(seccomp_data, arch));
    instructions_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RPCRDMA_AUDIT_ARCH, 1, 0));
    end(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
  }
  // Allows these calls, found by bisection: the kernel runs a filter for every number when it is
  // installed.
  void allow(std::vector<std::uint32_t> numbers) {
    std::sort(numbers.begin(), numbers.end());
    std::vector<Range> ranges;
    for (const std::uint32_t n : numbers) {
      if (!ranges.empty() && n <= ranges.back().last + 1) {
        ranges.back().last = n;
      } else {
        ranges.push_back({n, n});
      }
    }
    std::vector<sock_filter> tree = bisect(ranges);
    for (std::size_t i = 0; i < tree.size(); ++i) {
      if (tree[i].code == (BPF_JMP | BPF_JA))
        tree[i].k = static_cast<std::uint32_t>(tree.size() - i - 1);
    }
    instructions_.insert(instructions_.end(), tree.begin(), tree.end());
  }
  void on(long number, std::uint32_t action) {
    instructions_.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1));
    end(action);
  }
  // Allows the call if one of its arguments, reduced to the bits of `mask`, is one of `values`.
  template <typename Values>
  void on_argument(long number, unsigned argument, std::uint32_t mask, const Values& values,
                   std::uint32_t otherwise) {
    const std::size_t body = 3 + 2 * values.size();
    instructions_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number),
                                     0, static_cast<std::uint8_t>(body)));
    // The lower half: both processors are little-endian.
    load(static_cast<std::uint32_t>(offsetof(seccomp_data, args) +
                                    argument * sizeof(std::uint64_t)));
    instructions_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    for (const auto value : values) on(static_cast<long>(value), SECCOMP_RET_ALLOW);
    end(otherwise);
  }
  void end(std::uint32_t action) { instructions_.push_back(BPF_STMT(BPF_RET | BPF_K, action)); }

  [[nodiscard]] bool install() {
    const sock_fprog program{static_cast<unsigned short>(instructions_.size()),
                             instructions_.data()};
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ==
           0;
  }

 private:
  struct Range {
    std::uint32_t first, last;
  };

  // Jumps without a condition lead to the end of the whole tree.
  static std::vector<sock_filter> bisect(std::span<const Range> ranges) {
    if (ranges.size() == 1) {
      return {BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, ranges[0].last, 2, 0),
              BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ranges[0].first, 0, 1),
              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), BPF_STMT(BPF_JMP | BPF_JA, 0)};
    }
    const std::size_t half = ranges.size() / 2;
    const std::vector<sock_filter> below = bisect(ranges.first(half));
    const std::vector<sock_filter> above = bisect(ranges.subspan(half));
    // A jump reaches 255 instructions: 100 ranges.
    std::vector<sock_filter> tree{BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ranges[half].first,
                                           static_cast<std::uint8_t>(below.size()), 0)};
    tree.insert(tree.end(), below.begin(), below.end());
    tree.insert(tree.end(), above.begin(), above.end());
    return tree;
  }

  void load(std::size_t offset) {
    instructions_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  }

  std::vector<sock_filter> instructions_;
};

constexpr std::uint32_t error(std::uint32_t number) {
  return SECCOMP_RET_ERRNO | number;
}

// Allows what a decoder needs, and to start a helper, for the time while files are opened.
bool allow_known_calls() {
  Program p;
  p.allow({kAllowed.begin(), kAllowed.end()});
  const std::array<unsigned, 1> none{0};
  // No code is made: it comes from files that exist, for a library that is loaded late.
  const std::array<unsigned, 3> not_both{0, PROT_WRITE, PROT_EXEC};
  p.on_argument(__NR_mmap, 2, PROT_WRITE | PROT_EXEC, not_both, error(EPERM));
  p.on_argument(__NR_mprotect, 2, PROT_EXEC, none, error(EPERM));
  p.on_argument(__NR_ioctl, 1, UINT32_MAX, kControls, error(EPERM));
  const std::array<unsigned, 4> controls{PR_SET_NAME, PR_GET_NAME, kNameOfMemory,
                                         PR_SET_NO_NEW_PRIVS};
  p.on_argument(__NR_prctl, 0, UINT32_MAX, controls, error(EPERM));
  // For this process only.
  p.on_argument(__NR_prlimit64, 0, UINT32_MAX, none, error(EPERM));
  // glibc makes threads with clone3(), whose flags a filter cannot read, unless it is missing.
  p.on(__NR_clone3, error(ENOSYS));
  p.on(__NR_ptrace, SECCOMP_RET_KILL_PROCESS);
  p.end(error(EPERM));
  return p.install();
}

// Takes processes away. A second filter, since the kernel obeys the stricter of both; it is short,
// because the kernel examines a filter for each system call when it is installed.
bool refuse_processes(Processes processes) {
  Program p;
  const std::array<unsigned, 1> thread{CLONE_THREAD};
  p.on_argument(__NR_clone, 0, CLONE_THREAD, thread, error(EPERM));
  // abort() signals its own thread.
  const std::array<unsigned, 1> self{static_cast<unsigned>(::getpid())};
  p.on_argument(__NR_tgkill, 0, UINT32_MAX, self, error(EPERM));
  p.on(__NR_execve, SECCOMP_RET_KILL_PROCESS);
  p.on(__NR_execveat, SECCOMP_RET_KILL_PROCESS);
#ifdef __NR_vfork
  p.on(__NR_vfork, error(EPERM));
#endif
  p.on(__NR_socketpair, error(EPERM));
  if (processes == Processes::kNone) {
    for (const long number : {__NR_wait4, __NR_waitid, __NR_kill}) p.on(number, error(EPERM));
  }
  p.end(SECCOMP_RET_ALLOW);
  return p.install();
}

bool filter_system_calls(Processes processes) {
  static const bool known_only = allow_known_calls();
  return known_only && (processes == Processes::kStart || refuse_processes(processes));
}

#if __has_include(<linux/landlock.h>) && defined(SYS_landlock_create_ruleset)

constexpr std::uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
// The rights on a file; the rest is for folders.
constexpr std::uint64_t kWriting = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr std::uint64_t kCreating = kReading | kWriting | LANDLOCK_ACCESS_FS_MAKE_REG |
                                    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                    LANDLOCK_ACCESS_FS_REMOVE_DIR;
// All of the first version, which every kernel with Landlock has.
constexpr std::uint64_t kAll = kCreating | LANDLOCK_ACCESS_FS_EXECUTE |
                               LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                               LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                               LANDLOCK_ACCESS_FS_MAKE_SYM;

int landlock_version() {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

class FileRules {
 public:
  FileRules() {
    landlock_ruleset_attr attributes{};
    attributes.handled_access_fs = kAll;
    set_ = FileDescriptor(static_cast<int>(
        ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  }
  // What does not exist, and what is in no file system, such as a pipe, needs no rule.
  void allow(const std::string& path, std::uint64_t access) {
    const FileDescriptor fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status {};
    if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0) return;
    landlock_path_beneath_attr rule{};
    rule.allowed_access = S_ISDIR(status.st_mode) ? access : access & kWriting;
    rule.parent_fd = fd.get();
    (void)::syscall(SYS_landlock_add_rule, set_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  }
  // It may be written under another name first, and may not exist yet.
  void allow_output(const std::string& path) {
    allow(path, kCreating);
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return;
    std::filesystem::path folder = std::filesystem::absolute(path, ignored).parent_path();
    while (!folder.empty() && !std::filesystem::is_directory(folder, ignored) &&
           folder != folder.root_path()) {
      folder = folder.parent_path();
    }
    allow(folder.string(), kCreating);
  }
  [[nodiscard]] bool enforce() const {
    return ::syscall(SYS_landlock_restrict_self, set_.get(), 0) == 0;
  }

 private:
  FileDescriptor set_;
};

bool confine_files(const Confinement& to) {
  if (landlock_version() == 0) return false;
  FileRules rules;
  // The system's own: libraries, time zones, locales, the number of processors.
  for (const char* const system : {"/usr", "/lib", "/lib64", "/etc", "/proc", "/sys"}) {
    rules.allow(system, kReading);
  }
  // Terminals and /dev/null.
  rules.allow("/dev", kReading | kWriting);
  for (const std::string& path : to.read) rules.allow(path, kReading);
  for (const std::string& path : to.written) rules.allow_output(path);
  return rules.enforce();
}

#else

int landlock_version() {
  return 0;
}

bool confine_files(const Confinement& /*to*/) {
  return false;
}

#endif

}  // namespace

Confined confine(const Confinement& to) {
  Confined done;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return done;
  // First, since the filter has no calls of Landlock.
  if (to.files && to.processes != Processes::kStart) done.files = confine_files(to);
  done.system_calls = filter_system_calls(to.processes);
  return done;
}

ConfinementSupport confinement_support() {
  // With a null filter the kernel fails with EFAULT, once it knows the operation.
  const bool known =
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, nullptr) != 0 &&
      errno == EFAULT;
  return {known, known ? std::string() : "the kernel has no seccomp filters", landlock_version()};
}

#endif  // RPCRDMA_NO_CONFINEMENT

}  // namespace rpcrdma::base

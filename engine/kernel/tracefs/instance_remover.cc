#include "instance_remover.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpcrdma::kernel {
namespace {

// The instance is busy until the files in it are closed, which the end of the user's process does
// in any order.
void remove_instance(const char* path) {
  constexpr int kTries = 100;
  constexpr timespec kPause{0, 20'000'000};
  for (int i = 0; i < kTries; ++i) {
    if (::rmdir(path) == 0 || errno != EBUSY) return;
    ::nanosleep(&kPause, nullptr);
  }
}

[[noreturn]] void wait_and_remove(int alive, const char* path) {
  // An interrupt is for the user, whose end it causes.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  (void)::setsid();
  (void)::prctl(PR_SET_NAME, "rpcrdma-tracefs");
  if (::dup2(alive, 0) == 0) (void)::close_range(1, ~0U, 0);
  char byte = 0;
  while (::read(0, &byte, 1) < 0 && errno == EINTR) {
  }
  remove_instance(path);
  ::_exit(0);
}

}  // namespace

InstanceRemover::InstanceRemover(std::string path) : path_(std::move(path)) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  base::FileDescriptor wait(ends[0]);
  alive_ = base::FileDescriptor(ends[1]);
  child_ = ::fork();
  if (child_ == 0) {
    alive_.reset();
    wait_and_remove(wait.get(), path_.c_str());
  }
}

InstanceRemover::~InstanceRemover() {
  remove();
}

void InstanceRemover::remove() {
  alive_.reset();
  if (child_ > 0) {
    while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  } else if (!path_.empty()) {
    remove_instance(path_.c_str());
  }
  child_ = -1;
  path_.clear();
}

}  // namespace rpcrdma::kernel

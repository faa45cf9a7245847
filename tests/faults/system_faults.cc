// Preloaded into a program: makes the system fail it.
//
//   RPCRDMA_TEST_THREADS=N   only the first N threads can be started
//   RPCRDMA_TEST_CLOCKS=FILE two numbers of 64 bits in host order: nanoseconds that CLOCK_REALTIME
//                            and CLOCK_MONOTONIC are ahead. They may change at any time
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

struct Ahead {
  std::atomic<std::int64_t> wall, monotonic;
};

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

const Ahead* clocks() {
  static const Ahead* const mapped = []() -> const Ahead* {
    const char* const file = std::getenv("RPCRDMA_TEST_CLOCKS");
    if (file == nullptr) return nullptr;
    const int fd = ::open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return nullptr;
    void* const at = ::mmap(nullptr, sizeof(Ahead), PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    return at == MAP_FAILED ? nullptr : static_cast<const Ahead*>(at);
  }();
  return mapped;
}

std::int64_t ahead(clockid_t clock) {
  const Ahead* const by = clocks();
  if (by == nullptr) return 0;
  if (clock == CLOCK_REALTIME) return by->wall;
  return clock == CLOCK_MONOTONIC ? by->monotonic.load() : 0;
}

timespec shifted(const timespec& time, std::int64_t by) {
  const std::int64_t ns = time.tv_sec * kSecond + time.tv_nsec + by;
  return {ns / kSecond, ns % kSecond};
}

}  // namespace

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) {
  static auto* const real = next<decltype(pthread_create)>("pthread_create");
  static const char* const most = std::getenv("RPCRDMA_TEST_THREADS");
  static std::atomic<long> started = 0;
  if (most != nullptr && started++ >= std::atol(most)) return EAGAIN;
  return real(thread, attributes, run, argument);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const real = next<decltype(clock_gettime)>("clock_gettime");
  const int result = real(clock, time);
  if (result == 0) *time = shifted(*time, ahead(clock));
  return result;
}

// These wait until a time of the shifted clocks.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  static auto* const real = next<decltype(pthread_cond_clockwait)>("pthread_cond_clockwait");
  const timespec real_time = shifted(*until, -ahead(clock));
  return real(condition, mutex, clock, &real_time);
}

// So does a timer with an absolute time.
int timerfd_settime(int fd, int flags, const itimerspec* when, itimerspec* before) noexcept {
  static auto* const real = next<decltype(timerfd_settime)>("timerfd_settime");
  itimerspec real_time = *when;
  if ((flags & TFD_TIMER_ABSTIME) != 0 && (when->it_value.tv_sec | when->it_value.tv_nsec) != 0) {
    real_time.it_value = shifted(when->it_value, -ahead(CLOCK_MONOTONIC));
    if (real_time.it_value.tv_sec < 0) real_time.it_value = {0, 1};
  }
  return real(fd, flags, &real_time, before);
}

}  // extern "C"

#include "interrupt.h"

#include <array>
#include <atomic>
#include <csignal>

namespace rpcrdma::cli {

namespace {

constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> interrupted{false};
std::span<service::Loop* const> loops_to_wake;

void on_signal(int) {
  interrupted.store(true);
  for (service::Loop* loop : loops_to_wake) loop->wake();
}

void set_handlers(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt(std::span<service::Loop* const> loops) {
  loops_to_wake = loops;
  interrupted.store(false);
  set_handlers(on_signal);
}

Interrupt::~Interrupt() {
  set_handlers(SIG_DFL);
  loops_to_wake = {};
}

void Interrupt::request() {
  on_signal(0);
}

bool Interrupt::came() {
  return interrupted.load();
}

}  // namespace rpcrdma::cli

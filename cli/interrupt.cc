#include "interrupt.h"

#include "last_words.h"

#include <array>
#include <atomic>
#include <csignal>

namespace rpcrdma::cli {

namespace {

constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> interrupted{false};
std::span<service::Loop* const> loops_to_wake;

// Ends the program as the signal does by default.
void on_second_signal(int number) {
  LastWords::say();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void on_signal(int number) {
  interrupted.store(true);
  for (service::Loop* loop : loops_to_wake) loop->wake();
  if (number != 0) std::signal(number, on_second_signal);
}

void set_handlers(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
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

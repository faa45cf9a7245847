#include "service_signals.h"

#include <atomic>
#include <csignal>

namespace rpcrdma::cli {

namespace {

std::atomic<bool> reload_asked{false}, rotate_asked{false};
std::span<service::Loop* const> signalled_loops;
struct sigaction hangup_before {};
bool has_hangup = false;

void note_request(int signal) {
  (signal == SIGHUP ? reload_asked : rotate_asked).store(true);
  for (service::Loop* const loop : signalled_loops) loop->wake();
}

}  // namespace

ServiceSignals::ServiceSignals(std::span<service::Loop* const> loops, bool reload) {
  signalled_loops = loops;
  reload_asked.store(false);
  rotate_asked.store(false);
  has_hangup = reload;
  struct sigaction action {};
  action.sa_handler = note_request;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &action, nullptr);
  if (reload) ::sigaction(SIGHUP, &action, &hangup_before);
}

ServiceSignals::~ServiceSignals() {
  // A late request must not end the program.
  std::signal(SIGUSR1, SIG_IGN);
  if (has_hangup) ::sigaction(SIGHUP, &hangup_before, nullptr);
  signalled_loops = {};
}

bool ServiceSignals::take_reload() {
  return reload_asked.exchange(false);
}

bool ServiceSignals::take_rotate() {
  return rotate_asked.exchange(false);
}

}  // namespace rpcrdma::cli

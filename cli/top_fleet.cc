#include "top_fleet.h"

#include "commands.h"
#include "fleet_json.h"
#include "fleet_watch.h"
#include "input.h"
#include "screen.h"
#include "terminal.h"
#include "terminal_signals.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/top/fleet_draw.h>

namespace rpcrdma::cli {

namespace {

constexpr std::int64_t kRedraw = 250 * base::kMillisecond;
// Agents send each second, and rates need two summaries.
constexpr double kOnce = 3;

class TopFleet {
 public:
  explicit TopFleet(std::unique_ptr<FleetWatch> watch)
      : watch_(std::move(watch)), utf8_(utf8_wanted()) {}

  void run_live(std::int64_t end);
  void run_once(std::int64_t end);
  [[nodiscard]] top::FleetShown shown() const { return watch_->shown(); }

 private:
  void wait(std::int64_t until_ns, Screen* screen);
  void signal(int number, Screen* screen);
  void keys();

  std::unique_ptr<FleetWatch> watch_;
  bool utf8_;
  top::FleetView view_;
  top::FleetShown shown_;
  top::KeyReader reader_;
  bool changed_ = true;  // set by user input
  bool stopped_ = false;
};

void TopFleet::signal(int number, Screen* screen) {
  if (number == SIGTSTP) {
    if (screen != nullptr) screen->leave();
    ::raise(SIGSTOP);
    if (screen != nullptr) screen->enter();
    changed_ = true;
  } else if (number == SIGWINCH) {
    if (screen != nullptr) screen->forget();
    changed_ = true;
  } else {
    stopped_ = true;
  }
}

void TopFleet::keys() {
  std::array<char, 256> bytes;
  const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {  // the terminal is gone
    stopped_ = true;
    return;
  }
  for (const top::Key key : reader_.add({bytes.data(), static_cast<std::size_t>(n)})) {
    top::press(view_, key, shown_);
    changed_ = true;
  }
}

void TopFleet::wait(std::int64_t until_ns, Screen* screen) {
  std::vector<pollfd> fds;
  fds.push_back({TerminalSignals::fd(), POLLIN, 0});
  fds.push_back({screen != nullptr ? STDIN_FILENO : -1, POLLIN, 0});
  watch_->add_descriptors(fds);
  const std::int64_t left = until_ns - base::monotonic_ns();
  const auto timeout =
      left <= 0 ? 0 : static_cast<int>((left + base::kMillisecond - 1) / base::kMillisecond);
  if (::poll(fds.data(), fds.size(), timeout) < 0) return;
  if (fds[0].revents != 0) {
    while (const int number = TerminalSignals::take()) signal(number, screen);
  }
  if (fds[1].revents != 0) keys();
  watch_->take();
}

void TopFleet::run_live(std::int64_t end) {
  const TerminalSignals signals;
  Screen screen;
  std::int64_t next = 0;
  while (!view_.quit && !stopped_) {
    const std::int64_t now = base::monotonic_ns();
    if (now >= end) break;
    if (changed_ || now >= next) {
      if (!view_.paused) shown_ = watch_->shown();
      changed_ = false;
      // While the terminal accepts no output, the user may want to quit.
      if (!screen.show(top::draw(shown_, view_, Screen::size(), utf8_)) && errno != EINTR) break;
      next = now + kRedraw;
    }
    wait(std::min(next, end), &screen);
  }
}

void TopFleet::run_once(std::int64_t end) {
  const TerminalSignals signals;
  while (!stopped_ && base::monotonic_ns() < end) {
    wait(std::min(end, base::monotonic_ns() + kRedraw), nullptr);
  }
}

}  // namespace

int run_top_fleet(const TopFleetOptions& options) {
  const bool once = options.once || options.json;
  if (!once) {
    if (const char* why = why_no_screen()) {
      complain(fmt::format("top: {}; use --once to print the display once", why));
      return kUnreadable;
    }
  }
  const auto bus = parse_bus(options.bus, "rpcrdma top");
  if (!bus) {
    complain("top: " + bus.error().message);
    return kUnreadable;
  }
  auto watch = FleetWatch::start(*bus, true);
  if (!watch) {
    complain("top: " + watch.error().message);
    return kUnreadable;
  }
  TopFleet top(std::move(*watch));
  const auto in = [&](double seconds) {
    return base::monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
  };
  if (!once) {
    top.run_live(options.seconds ? in(*options.seconds) : std::numeric_limits<std::int64_t>::max());
    return kOk;
  }
  top.run_once(in(options.seconds.value_or(kOnce)));
  const top::FleetShown shown = top.shown();
  if (options.json) {
    fmt::print("{}\n", fleet_json(shown));
    return kOk;
  }
  for (const top::Line& line : top::draw_plain(shown, terminal_width(), utf8_wanted())) {
    fmt::print("{}\n", top::plain(line));
  }
  return kOk;
}

}  // namespace rpcrdma::cli

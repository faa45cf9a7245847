#include "input.h"

#include "huge_heap.h"
#include "log.h"
#include "progress.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/session/align.h>

namespace rpcrdma::cli {

namespace {

std::mutex lines_mutex;
TakeLine lines_go_to;
thread_local HeldComplaints* held = nullptr;

void say_line(const std::string& text, bool is_fault) {
  const std::scoped_lock lock(lines_mutex);
  const std::string line = plot::escape_terminal(text);
  if (lines_go_to) return lines_go_to(line, is_fault);
  const LogLevel level = is_fault ? LogLevel::kError : LogLevel::kInfo;
  fmt::print(stderr, "{}rpcrdma: {}\n", is_journal(STDERR_FILENO) ? journal_prefix(level) : "",
             line);
}

}  // namespace

void complain(const std::string& text) {
  if (held != nullptr) return held->lines_.push_back(text);
  say_line(text, true);
}

HeldComplaints::HeldComplaints() {
  held = this;
}

HeldComplaints::~HeldComplaints() {
  held = nullptr;
  for (const std::string& line : lines_) complain(line);
}

std::string HeldComplaints::take_last(std::string_view command, std::string_view unknown) {
  if (lines_.empty()) return std::string(unknown);
  std::string text = std::move(lines_.back());
  lines_.pop_back();
  const std::string prefix = fmt::format("{}: ", command);
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

void inform(const std::string& text) {
  say_line(text, false);
}

void complain_to(TakeLine take) {
  const std::scoped_lock lock(lines_mutex);
  lines_go_to = std::move(take);
}

command_line::Option& add_files(command_line::Command& command, std::vector<std::string>& paths) {
  return command.argument("FILE", paths,
                          "Capture files, merged into one by time; - for standard input");
}

std::unique_ptr<capture::Source> open_input(const std::vector<std::string>& paths) {
  auto source = session::open_aligned(paths);
  if (!source) {
    complain(source.error().message);
    return nullptr;
  }
  // The size of a pipe is unknown.
  constexpr std::uint64_t kLargeInput = std::uint64_t{4} << 20;
  const std::uint64_t bytes = (*source)->stats().bytes_total;
  if (bytes == 0 || bytes >= kLargeInput) use_huge_pages();
  return std::move(*source);
}

bool run_pipeline(session::Pipeline& pipeline, capture::Source& source,
                  const std::vector<std::string>& paths, unsigned jobs) {
  {
    Progress progress;
    const auto done = pipeline.run(
        source, [&](const capture::SourceStats& stats) { progress.tick(stats); },
        jobs != 0 ? jobs : std::thread::hardware_concurrency());
    if (!done) {
      complain(done.error().message);
      return false;
    }
  }
  pipeline.finish();
  const capture::SourceStats& stats = source.stats();
  // With several files, the damage text names the damaged ones.
  if (!stats.note.empty()) {
    complain(paths.size() == 1 ? fmt::format("note: {}: {}", paths.front(), stats.note)
                               : fmt::format("note: {}", stats.note));
  }
  if (!stats.damage.empty()) {
    complain(paths.size() == 1 ? fmt::format("warning: {}: {}", paths.front(), stats.damage)
                               : fmt::format("warning: {}", stats.damage));
  }
  return true;
}

void add_profile(command_line::Command& command, rules::Profile& profile) {
  command
      .option(
          "--profile",
          [&profile](const std::string& name) {
            profile = name.ends_with("5666") ? rules::Profile::k5666 : rules::Profile::k8166;
          },
          "Specification to check against: RFC 8166 (the default) or RFC 5666")
      .one_of({"8166", "5666", "rfc8166", "rfc5666"})
      .value("RFC");
}

void add_icrc(command_line::Command& command, bool& no_icrc) {
  command.flag(
      "--no-icrc", no_icrc,
      "Do not verify ICRCs: for devices that do not compute them, and for packets that a tool "
      "rewrote");
}

void add_dialect(command_line::Command& command, std::optional<wire::Dialect>& dialect) {
  std::vector<std::string> names{"auto"};
  for (std::size_t i = 0; i < wire::kDialects; ++i) {
    names.emplace_back(wire::dialect_name(static_cast<wire::Dialect>(i)));
  }
  command
      .option(
          "--v2-dialect",
          [&dialect](const std::string& name) {
            dialect.reset();
            for (std::size_t i = 0; i < wire::kDialects; ++i) {
              const auto d = static_cast<wire::Dialect>(i);
              if (name == wire::dialect_name(d)) dialect = d;
            }
          },
          "Draft of RPC-over-RDMA version 2 to decode by; auto (the default): detected from each "
          "connection's messages, else draft-02")
      .one_of(names)
      .value("NAME");
}

namespace {

// Reads "4790" or "4790,4800". Nothing: that is no list of ports.
std::optional<std::vector<std::uint16_t>> ports_of(std::string_view text) {
  std::vector<std::uint16_t> ports;
  while (true) {
    std::uint16_t port = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, port);
    if (error != std::errc() || port == 0) return std::nullopt;
    ports.push_back(port);
    if (at == end) return ports;
    if (*at != ',') return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
  }
}

}  // namespace

void add_vxlan_ports(command_line::Command& command) {
  static constexpr std::size_t kMost =
      std::tuple_size_v<decltype(capture::LinkOptions::vxlan_ports)>;
  command
      .option(
          "--vxlan-port",
          [](const std::string& text) {
            const auto ports = ports_of(text);
            if (!ports || ports->size() > kMost) return;
            std::copy(ports->begin(), ports->end(), capture::link_options.vxlan_ports.begin());
          },
          "UDP ports that carry VXLAN, besides 4789 and 8472")
      .check([](const std::string& text) {
        const auto ports = ports_of(text);
        return ports && ports->size() <= kMost
                   ? std::string()
                   : fmt::format("{} is not one to {} ports, separated by commas", text, kMost);
      })
      .value("PORT,...");
}

void add_jobs(command_line::Command& command, unsigned& jobs) {
  command.option("-j,--jobs", jobs, "Maximum number of threads (as many as there are cores)")
      .value("N");
}

}  // namespace rpcrdma::cli

// rpcrdma capture: captures from an interface, prints and records.
#include "commands.h"
#include "input.h"
#include "live_view.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/parse.h>
#include <rpcrdma/base/pcapng/recorder.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/program/privileges.h>
#include <rpcrdma/program/ring_options.h>

namespace rpcrdma::cli {

namespace {

constexpr auto kStatusInterval =
    std::chrono::seconds(1);  // between updates of the status on stderr

struct CaptureOptions {
  bool list = false;
  capture::LiveOptions live;
  PrintOptions print;
  std::string user;
  // When to stop.
  std::uint64_t count = 0;
  std::string duration;
  std::string max_bytes;
  // Where to write.
  std::string write;
  bool print_too = false;
  RingText ring;
};

// Options after parsing.
struct Limits {
  std::optional<std::chrono::steady_clock::duration> duration;
  std::optional<std::uint64_t> bytes;
  base::RingOptions ring;
};

std::optional<Limits> parse(const CaptureOptions& options) {
  Limits limits;
  bool ok = true;
  const auto refuse = [&](const std::string& why) {
    complain("capture: " + why);
    ok = false;
  };
  const auto size = [&](const char* name, const std::string& text) {
    const auto bytes = text.empty() ? std::nullopt : base::parse_size(text);
    if (!text.empty() && !bytes) {
      refuse(fmt::format("{} {}: not a size; give bytes, or a size such as 500k, 64M, 1GiB", name,
                         text));
    }
    return bytes;
  };
  const auto duration = [&](const char* name, const std::string& text) {
    const auto ns = text.empty() ? std::nullopt : base::parse_duration(text);
    if (!text.empty() && !ns) {
      refuse(fmt::format("{} {}: not a duration; give seconds, or a duration such as 500ms, 5m, 1h",
                         name, text));
    }
    return ns;
  };
  if (const auto ns = duration("--duration", options.duration)) {
    limits.duration = std::chrono::nanoseconds(*ns);
  }
  limits.bytes = size("--max-bytes", options.max_bytes);
  if (options.live.interface.empty()) refuse("give an interface with -i (-D lists them)");
  const auto ring = parse_ring(options.ring, kWrittenRing, !options.write.empty());
  if (ok && !ring) refuse(ring.error());
  limits.ring = ring.value_or(base::RingOptions{});
  const PrintOptions& print = options.print;
  const bool selects = !print.filter.empty() || !print.xid.empty() || !print.connections.empty() ||
                       !print.types.empty() || !print.from.empty() || !print.to.empty();
  if (!options.write.empty() && !options.print_too && selects) {
    refuse(
        "-w without --print writes all captured packets; options that select messages need "
        "--print, and -f selects packets");
  }
  if (options.write == "-" && options.print_too) {
    refuse("-w - --print: both write to standard output");
  }
  if (!ok) return std::nullopt;
  return limits;
}

int list_interfaces() {
  const auto found = capture::list_interfaces();
  if (!found) {
    complain(found.error().message);
    return kUnreadable;
  }
  for (const capture::ListedInterface& i : *found) {
    fmt::print("{}{}{}\n", plot::escape_terminal(i.name), i.description.empty() ? "" : "\t",
               plot::escape_terminal(i.description));
  }
  return kOk;
}

capture::LiveSource* live_source = nullptr;

void stop_source(int) {
  if (live_source != nullptr) live_source->stop();
}

// Ends the capture on the first SIGINT, SIGTERM or SIGHUP; a second one ends the program.
class StopSourceBySignal {
 public:
  explicit StopSourceBySignal(capture::LiveSource& source) {
    live_source = &source;
    struct sigaction action {};
    action.sa_handler = stop_source;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  }
  StopSourceBySignal(const StopSourceBySignal&) = delete;
  StopSourceBySignal& operator=(const StopSourceBySignal&) = delete;
  ~StopSourceBySignal() { live_source = nullptr; }
};

// Keeps the user at the terminal informed: shows how much was recorded if nothing is printed, and
// otherwise only warns when packets are dropped.
class Status {
 public:
  Status(const capture::LiveSource& source, const base::Recorder* recorder, bool counts)
      : source_(source),
        recorder_(recorder),
        terminal_(isatty(STDERR_FILENO) == 1),
        counts_(counts) {}

  void tick() {
    if (!terminal_) return;
    const capture::SourceStats& stats = source_.stats();
    if (counts_) {
      fmt::print(stderr, "\r\033[K{}: {} packets, {} dropped",
                 plot::escape_terminal(recorder_->file()), stats.frames, stats.dropped);
      std::fflush(stderr);
    } else if (stats.dropped > recorded_) {
      complain(
          fmt::format("warning: the kernel dropped {} packets; use a narrower filter (-f), a "
                      "larger buffer (-B) or -w without --print",
                      stats.dropped));
      recorded_ = stats.dropped;
    }
  }

  void clear() const {
    if (terminal_ && counts_) std::fputs("\r\033[K", stderr);
  }

 private:
  const capture::LiveSource& source_;
  const base::Recorder* recorder_;
  bool terminal_;
  bool counts_;
  std::uint64_t recorded_ = 0;
};

// Reading the clock for each frame would take 3 % of the time at high rates.
class Pace {
 public:
  // Returns true for the first frame, for one of 64, and for one whose time is a millisecond from
  // that of the last frame for which it returned true.
  bool due(const capture::Frame& frame) {
    constexpr std::int64_t kApart = 1'000'000;
    if (frames_++ % 64 != 0 && frame.time_ns - last_ns_ < kApart &&
        last_ns_ - frame.time_ns < kApart) {
      return false;
    }
    last_ns_ = frame.time_ns;
    return true;
  }

 private:
  std::uint64_t frames_ = 0;
  std::int64_t last_ns_ = 0;
};

class Capture {
 public:
  Capture(const CaptureOptions& options, const Limits& limits, capture::LiveSource& source,
          base::Recorder* recorder, LiveView* view)
      : options_(options), limits_(limits), source_(source), recorder_(recorder), view_(view) {}

  capture::Expected<void> run() {
    using Polled = capture::LiveSource::Polled;
    const StopSourceBySignal stop(source_);
    Status status(source_, recorder_, view_ == nullptr);
    std::chrono::steady_clock::time_point end =
        limits_.duration ? std::chrono::steady_clock::now() + *limits_.duration
                         : std::chrono::steady_clock::time_point::max();
    std::chrono::steady_clock::time_point tick = std::chrono::steady_clock::now() + kStatusInterval;
    std::uint64_t bytes = 0;
    std::chrono::steady_clock::time_point now{};
    Pace pace;
    capture::Frame frame;
    capture::Expected<void> result;
    while (result) {
      const auto polled = source_.poll(frame);
      if (!polled) {
        result = tl::unexpected(polled.error());
        break;
      }
      if (*polled == Polled::kStopped) break;
      if (*polled == Polled::kNothing || pace.due(frame)) now = std::chrono::steady_clock::now();
      // Frames that arrive after the end are not part of the capture; those before it are.
      if (now >= end) {
        end = std::chrono::steady_clock::time_point::max();
        source_.stop();
      }
      if (now >= tick) {
        tick = now + kStatusInterval;
        status.tick();
        if (view_ != nullptr && *polled == Polled::kNothing) view_->time(base::wall_clock_ns());
      }
      if (*polled == Polled::kNothing) {
        if (recorder_ != nullptr) result = recorder_->flush();
        continue;
      }
      result = take(frame);
      bytes += frame.data.size();
      if (frame.number == options_.count || (limits_.bytes && bytes >= *limits_.bytes)) break;
      // The reader of stdout has exited (SIGPIPE is ignored while a file is written).
      if (view_ != nullptr && std::ferror(stdout) != 0) break;
    }
    status.clear();
    if (view_ != nullptr) view_->finish(source_.stats().dropped);
    if (recorder_ != nullptr) {
      // Also after an error, for example when the interface disappeared.
      const auto finished = recorder_->finish(base::wall_clock_ns());
      if (result) result = finished;
    }
    return result;
  }

 private:
  capture::Expected<void> take(const capture::Frame& frame) {
    capture::Expected<void> result;
    if (recorder_ != nullptr) result = recorder_->write(frame);
    if (view_ != nullptr) view_->frame(frame);
    return result;
  }

  const CaptureOptions& options_;
  const Limits& limits_;
  capture::LiveSource& source_;
  base::Recorder* recorder_;
  LiveView* view_;
};

int refused(const capture::Error& error) {
  complain(error.message);
  return kUnreadable;
}

// What remains of root's privileges once the interface is open.
struct Rights {
  std::optional<Identity> become;  // nothing: stays who it is
  bool chosen = false;             // by the user, or by sudo
  bool limited = false;            // as root, which stays: without capabilities
  KeptRights kept = KeptRights::kNone;
  bool open_first = false;  // the file that is written
};

// Whether that user can create the file, or replace it.
bool may_write_as(const Identity& identity, const std::string& path) {
  const EffectiveUser as(identity);
  std::error_code ignored;
  const std::string folder = std::filesystem::absolute(path, ignored).parent_path().string();
  return ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0 &&
         (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0 || errno == ENOENT);
}

base::Expected<Rights> rights_after_opening(const CaptureOptions& options, bool ring) {
  const auto identity = identity_after_opening(options.user);
  if (!identity) return tl::unexpected(identity.error());
  Rights rights;
  rights.become = *identity;
  // Files are created as that user, who then owns them.
  rights.chosen = identity->has_value() || !options.user.empty();
  if (rights.chosen || ::geteuid() != 0) return rights;
  rights.become = default_identity();
  const bool writes = !options.write.empty() && options.write != "-";
  if (!writes || (rights.become && may_write_as(*rights.become, options.write))) {
    rights.limited = !rights.become;
    return rights;
  }
  // The folder is root's, or another user's. One file can be opened first; a ring creates files
  // later, for which root stays.
  rights.open_first = true;
  if (ring) rights.become.reset();
  rights.limited = !rights.become;
  if (ring) rights.kept = KeptRights::kFiles;
  return rights;
}

base::Expected<void> give_up(const Rights& rights) {
  if (!rights.limited) {
    const auto given_up = give_up_privileges(rights.become);
    if (given_up && rights.become) {
      inform(
          fmt::format("runs as user {} from here (--user root stays root)", rights.become->user));
    }
    // In a container, the default user may not exist.
    if (given_up || rights.chosen || !rights.become) return given_up;
  }
  if (const auto limited = limit_root(rights.kept); !limited) return limited;
  inform(rights.kept == KeptRights::kFiles
             ? "stays root to create the files of the ring, without other capabilities (--user "
               "NAME becomes that user)"
             : "stays root without capabilities (--user NAME becomes that user)");
  return {};
}

std::string as_whom(const Rights& rights) {
  if (!rights.become) return {};
  return fmt::format(" (written as user {} after dropping root privileges; --user root keeps them)",
                     rights.become->user);
}

int capture_live(const CaptureOptions& options) {
  if (options.list) return list_interfaces();
  const auto limits = parse(options);
  if (!limits) return kUnreadable;
  std::unique_ptr<LiveView> view;
  if (options.write.empty() || options.print_too) {
    auto printer = make_printer(options.print, "capture");
    if (!printer) return kUnreadable;
    view = std::make_unique<LiveView>(std::move(printer));
  }
  const auto rights = rights_after_opening(options, limits->ring.on());
  if (!rights) return refused(rights.error());

  const auto source = capture::open_live(options.live);
  if (!source) return refused(source.error());
  std::unique_ptr<base::Recorder> recorder;
  const auto open_output = [&]() -> base::Expected<void> {
    if (options.write.empty()) return {};
    auto opened = base::open_recorder({.path = options.write,
                                       .ring = limits->ring,
                                       .interface = (*source)->interface(),
                                       .dropped = [&] { return (*source)->stats().dropped; }},
                                      base::wall_clock_ns());
    if (!opened) return tl::unexpected(opened.error());
    recorder = std::move(*opened);
    std::signal(SIGPIPE, SIG_IGN);
    return {};
  };
  if (rights->open_first) {
    if (const auto opened = open_output(); !opened) return refused(opened.error());
  }
  if (const auto given_up = give_up(*rights); !given_up) return refused(given_up.error());
  if (!rights->open_first) {
    if (const auto opened = open_output(); !opened) {
      return refused({opened.error().message + as_whom(*rights)});
    }
  }

  complain(fmt::format("listening on {}, Ctrl-C ends", options.live.interface));
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto result = Capture(options, *limits, **source, recorder.get(), view.get()).run();
  if (!result) complain(result.error().message);
  const capture::SourceStats& stats = (*source)->stats();
  fmt::print(stderr, "rpcrdma: {} packets captured, {} dropped by the kernel\n", stats.frames,
             stats.dropped);
  return result ? kOk : kUnreadable;
}

}  // namespace

Run add_capture(command_line::Command& command) {
  auto options = std::make_shared<CaptureOptions>();
  command.flag("-D,--list-interfaces", options->list,
               "List the interfaces that can be captured from");
  command
      .option("-i,--interface", options->live.interface,
              "Interface to capture from, \"any\", or an RDMA device")
      .value("INTERFACE");
  command_line::Option& filter =
      command
          .option("-f,--capture-filter", options->live.filter,
                  "Capture filter in tcpdump syntax, \"\" for none (RoCEv1 and RoCEv2)")
          .value("FILTER");
  command
      .flag("--tunnels", options->live.tunnels,
            "Without -f: also capture what RoCE can be in: VXLAN, GENEVE, GRE, ERSPAN, MPLS and "
            "other tunnels, and IP fragments")
      .excludes(filter);
  add_vxlan_ports(command);
  command.option("-s,--snaplen", options->live.snaplen, "Bytes to keep of each packet (all)")
      .value("BYTES");
  command.flag(
      "--headers", options->live.headers,
      "Keep messages whole, but only 256 bytes of each packet with data of RDMA Writes and "
      "Reads");
  command
      .option("-B,--buffer-size", options->live.buffer_mib,
              "Size of the kernel's capture buffer in MiB (64)")
      .value("MIB");
  command.flag("-p,--promiscuous", options->live.promiscuous,
               "Also capture packets that are not addressed to this machine, as on a mirror port");
  command.option("-c,--count", options->count, "Stop after this many packets").value("N");
  command.option("--duration", options->duration, "Stop after this time: seconds, or 500ms, 5m, 1h")
      .value("DURATION");
  command
      .option("--max-bytes", options->max_bytes,
              "Stop after this many bytes of packets: a number, or 500k, 64M, 1GiB")
      .value("SIZE");
  command
      .option("-w,--write", options->write,
              "Write the packets to this pcapng file, - for standard output")
      .value("FILE");
  command.flag("--print", options->print_too, "With -w: also print the messages");
  add_ring_options(command, options->ring, kWrittenRing);
  command
      .option("--user", options->user,
              "When run as root: switch to this user once the interface is open (the user who "
              "called sudo; else the user rpcrdma or tcpdump, if there is one)")
      .value("USER");
  add_print_options(command, options->print);
  add_icrc(command, options->print.no_icrc);
  command.example("rpcrdma capture -i eth0 -w nfs.pcapng --print",
                  "Record and print the messages.");
  command.example("rpcrdma capture -i eth0 -w /var/tmp/nfs.pcapng --ring-size 100M --ring-files 20",
                  "Keep the last 2 GB, in files of 100 MB.");
  command.example("rpcrdma capture -i eth0 -w - | wireshark -k -i -", "Watch live in Wireshark.");
  return [options, filter = &filter] {
    options->live.only_roce = !filter->given();
    return capture_live(*options);
  };
}

}  // namespace rpcrdma::cli

// rpcrdma attach: streams the messages or packets of a running endpoint.
#include "commands.h"
#include "endpoint_reader.h"
#include "input.h"
#include "live_view.h"
#include "output_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/pcapng/block_file.h>
#include <rpcrdma/base/pcapng/read_blocks.h>
#include <rpcrdma/base/pcapng/whole_blocks.h>
#include <rpcrdma/capture/live_stream.h>
#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/live/stream_check.h>
#include <rpcrdma/live/stream_file.h>
#include <rpcrdma/live/stream_reader.h>
#include <rpcrdma/program/ring_options.h>
#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace_reader/stream_end.h>

namespace rpcrdma::cli {

namespace {

using base::FileDescriptor;
namespace pcapng = base::pcapng;

struct AttachOptions {
  std::string endpoint;
  bool packets = false;
  std::string write;
  RingText ring;
  PrintOptions print;
  kernel_endpoint::FilterText kernel;
};

volatile std::sig_atomic_t stream_fd = -1;
volatile std::sig_atomic_t stopped = 0;

// Stops receiving from the endpoint; data already received is still read.
void stop_stream(int) {
  stopped = 1;
  ::shutdown(stream_fd, SHUT_RD);
}

// Ends the stream on the first SIGINT, SIGTERM or SIGHUP; a second one ends the program.
class StopStreamBySignal {
 public:
  explicit StopStreamBySignal(int fd) {
    stream_fd = fd;
    struct sigaction action {};
    action.sa_handler = stop_stream;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  }
  StopStreamBySignal(const StopStreamBySignal&) = delete;
  StopStreamBySignal& operator=(const StopStreamBySignal&) = delete;
  ~StopStreamBySignal() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  }
};

// Reports that recording has started: events from now on are received, or counted as lost.
void say_attached(const AttachOptions& options) {
  complain(fmt::format("attached to {}, Ctrl-C ends", options.endpoint));
}

int refused(const std::string& why) {
  complain(why);
  return kUnreadable;
}

// Returns the start of the last line; empty when the user stopped. `in_order`: the stream shows
// that the endpoint closed its connections.
std::string ended_text(const AttachOptions& options, bool in_order) {
  if (stopped != 0) return {};
  return options.endpoint +
         (in_order ? " ended; " : " ended without closing its connections (killed?); ");
}

// Checks the blocks of a stream: whether an endpoint sent them, and how many events or packets this
// reader lost. Loss events count lost events per ring, interface statistics count lost packets;
// both are running totals, so the latest value holds.
class Kept {
 public:
  explicit Kept(bool packets) : of_packets_(packets) {}

  // `blocks`: complete blocks. Returns those before the first block that no endpoint sends; why()
  // then says what is wrong with it.
  [[nodiscard]] std::span<const std::uint8_t> add(std::span<const std::uint8_t> blocks) {
    auto rest = blocks;
    std::size_t good = 0;
    while (why_ == nullptr && !rest.empty()) {
      const pcapng::Block block = pcapng::take_block(rest);
      if (block.type == pcapng::kEnhancedPacket) ++came_;
      if (block.type == pcapng::kEnhancedPacket && !of_packets_) event(block.bytes);
      if (block.type == pcapng::kInterfaceStatistics && of_packets_) statistics(block.bytes);
      if (why_ == nullptr) good += block.bytes.size();
    }
    return blocks.first(good);
  }
  // Returns null, or the reason, worded as the end of a sentence.
  [[nodiscard]] const char* why() const { return why_; }
  [[nodiscard]] std::uint64_t lost() const {
    std::uint64_t sum = packets_;
    for (const auto& [ring, lost] : events_) sum += lost;
    return sum;
  }
  [[nodiscard]] const trace_reader::StreamEnd& end() const { return end_; }

  // Returns the statistics for a file to which `written` of the received packets were written.
  [[nodiscard]] base::PcapngBlocks::Statistics statistics(std::uint64_t written) const {
    return {.last_ns = base::wall_clock_ns(),
            .received = came_ + packets_,
            .dropped = came_ - written + packets_,
            .by_interface = true};
  }

 private:
  void event(std::span<const std::uint8_t> block) {
    const auto packet = pcapng::read_packet(block);
    const auto view = check_.take(packet ? packet->data : std::span<const std::uint8_t>());
    if (!view) {
      why_ = view.error();
      return;
    }
    if (const auto loss = trace::read_event<trace::Loss>(*view)) {
      events_[view->header.ring] = loss->lost;
    }
    end_.take(*view);
  }
  void statistics(std::span<const std::uint8_t> block) {
    pcapng::read_options(block, pcapng::kStatisticsOptionsAt,
                         [this](std::uint16_t code, std::span<const std::uint8_t> value) {
                           if (code == pcapng::kIsbIfdrop && value.size() == sizeof packets_) {
                             std::memcpy(&packets_, value.data(), sizeof packets_);
                           }
                         });
  }

  const bool of_packets_;
  trace::StreamCheck check_;
  const char* why_ = nullptr;
  trace_reader::StreamEnd end_;
  std::uint64_t came_ = 0;
  std::map<std::uint32_t, std::uint64_t> events_;  // by ring
  std::uint64_t packets_ = 0;
};

using Deadline = std::optional<base::WholeBlocks::Clock::time_point>;

// Waits until data arrives or the deadline passes.
void wait_for(int fd, const Deadline& deadline) {
  using std::chrono::milliseconds;
  int bound = -1;
  if (deadline) {
    const auto left =
        std::chrono::ceil<milliseconds>(*deadline - base::WholeBlocks::Clock::now()).count();
    bound = static_cast<int>(std::clamp<milliseconds::rep>(left, 0, INT_MAX));
  }
  pollfd wait{fd, POLLIN, 0};
  ::poll(&wait, 1, bound);
}

// Writes the stream to a file as it arrives.
int keep(const AttachOptions& options, const FileDescriptor& from) {
  const bool standard = options.write == "-";
  FileDescriptor to(standard ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                             : ::open(options.write.c_str(),
                                      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, base::kFileMode));
  const std::string name = standard ? "standard output" : options.write;
  if (to.get() < 0) return refused(fmt::format("{}: {}", name, std::strerror(errno)));
  std::signal(SIGPIPE, SIG_IGN);
  base::BlockFile file(std::move(to));
  base::WholeBlocks blocks;
  std::array<std::uint8_t, std::size_t{64} << 10> buffer;
  std::uint64_t written = 0;
  Kept kept(options.packets);
  while (!blocks.broken() && kept.why() == nullptr) {
    wait_for(from.get(), blocks.deadline());
    const ssize_t n = ::recv(from.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
      blocks.expire(base::WholeBlocks::Clock::now());
      continue;
    }
    if (n < 0) return refused(fmt::format("{}: {}", options.endpoint, std::strerror(errno)));
    if (n == 0) break;
    const auto whole = kept.add(blocks.add(std::span(buffer).first(static_cast<std::size_t>(n))));
    blocks.expire(base::WholeBlocks::Clock::now());
    if (const int why = file.write(whole); why != 0) {
      // The reader of standard output has exited.
      if (standard && why == EPIPE) return kOk;
      file.end_full([&] { return kept.statistics(file.packets()); });
      return refused(fmt::format("{}: cannot write: {}", name, std::strerror(why)));
    }
    if (written == 0 && !whole.empty()) say_attached(options);
    written += whole.size();
  }
  const char* const why = kept.why() != nullptr ? kept.why() : blocks.why();
  const bool dropped = *why != '\0';
  if (dropped && written == 0) return refused(fmt::format("{}: {}", options.endpoint, why));
  complain(fmt::format("{}{} bytes written, {} {} lost",
                       dropped ? "" : ended_text(options, kept.end().in_order()), written,
                       kept.lost(), options.packets ? "packets" : "events"));
  if (dropped) return refused(fmt::format("{}: {}", options.endpoint, why));
  return kOk;
}

// Parses the stream into events, because each file of a ring starts with the endpoint's name and a
// state snapshot.
int keep_ring(const AttachOptions& options, const base::RingOptions& ring, FileDescriptor from) {
  const auto file =
      trace::StreamFile::open(options.write, ring, options.endpoint, base::wall_clock_ns());
  if (!file) return refused(file.error().message);
  capture::LiveStream stream(std::move(from), trace::live_check());
  capture::Expected<void> written;
  bool attached = false;
  trace_reader::StreamEnd end;
  while (written && stream.fd() >= 0) {
    wait_for(stream.fd(), stream.deadline());
    stream.read([&](const capture::Frame& frame) {
      if (written) written = (*file)->write(frame);
      end.frame(frame.data);
      if (!std::exchange(attached, true)) say_attached(options);
    });
    stream.expire();
    if (written) written = (*file)->flush();
  }
  // Also after an invalid event: the events before it are valid.
  const auto finished = (*file)->finish(base::wall_clock_ns());
  if (written) written = finished;
  complain(fmt::format("{}{} events written, {} lost: {}",
                       written ? ended_text(options, end.in_order()) : std::string(),
                       (*file)->events(), (*file)->lost(), (*file)->file()));
  if (!written) return refused(fmt::format("{}: {}", options.endpoint, written.error().message));
  if (!stream.why().empty()) return refused(fmt::format("{}: {}", options.endpoint, stream.why()));
  return kOk;
}

// Passes frames on until the stream ends. A thread of its own receives, so that the endpoint's
// queue is emptied at once, however long the frames take; output is written when no more bytes
// wait.
void read_frames(capture::LiveStream& stream,
                 const std::function<void(const capture::Frame&)>& take) {
  const auto reader = trace::StreamReader::start(stream.fd());
  if (!reader) return stream.end(reader.error().message);
  std::vector<std::uint8_t> bytes;
  while (stream.fd() >= 0) {
    (*reader)->take(bytes, stream.deadline());
    stream.add(bytes, take);
    flush_stdout();
    if (bytes.empty() && (*reader)->ended()) {
      stream.end((*reader)->error() != 0 ? std::strerror((*reader)->error()) : "");
    }
    stream.expire();
  }
}

int show(const AttachOptions& options, FileDescriptor from, LiveView& view) {
  // A line is written when the events that came with it were read, not by a system call of its own.
  (void)buffered_stdout();
  capture::LiveStream stream(std::move(from), trace::live_check());
  trace_reader::StreamEnd end;
  read_frames(stream, [&](const capture::Frame& frame) {
    if (frame.number == 1) say_attached(options);
    if (!options.packets) end.frame(frame.data);
    view.frame(frame);
  });
  view.finish(options.packets ? stream.dropped() : 0);
  if (stopped == 0 && stream.cut_short()) {
    complain(fmt::format("warning: {}: the stream ended inside a block", options.endpoint));
  }
  const std::string ended = stream.why().empty() ? ended_text(options, end.in_order()) : "";
  if (options.packets) {
    complain(fmt::format("{}{} packets, {} lost", ended, stream.frames(), stream.dropped()));
  } else {
    const trace_reader::ReaderStats events = view.events();
    complain(
        fmt::format("{}{} events, {} lost", ended, events.events, events.lost + events.missing));
  }
  if (!stream.why().empty()) return refused(fmt::format("{}: {}", options.endpoint, stream.why()));
  return kOk;
}

// `view`: null to write the stream.
int read_stream(const AttachOptions& options, const base::RingOptions& ring, FileDescriptor stream,
                LiveView* view) {
  const StopStreamBySignal stop(stream.get());
  if (view != nullptr) return show(options, std::move(stream), *view);
  return ring.on() ? keep_ring(options, ring, std::move(stream)) : keep(options, stream);
}

int attach(AttachOptions options) {
  options.packets |= trace::is_packet_socket(options.endpoint);
  const PrintOptions& print = options.print;
  const bool selects = !print.filter.empty() || !print.xid.empty() || !print.connections.empty() ||
                       !print.types.empty() || !print.from.empty() || !print.to.empty() ||
                       print.json || print.verbose || print.hex || print.events;
  if (!options.write.empty() && selects) {
    return refused(
        "attach: -w writes the whole stream and prints nothing; options that select or format "
        "messages cannot be used with it");
  }
  const auto ring = parse_ring(options.ring, kWrittenRing, !options.write.empty());
  if (!ring) return refused("attach: " + ring.error());
  if (options.packets && ring->on()) {
    return refused("attach: --packets writes one file; it cannot be used with ring options");
  }
  std::unique_ptr<LiveView> view;
  if (options.write.empty()) {
    auto printer = make_printer(print, "attach");
    if (!printer) return kUnreadable;
    view = std::make_unique<LiveView>(std::move(printer));
  }
  if (options.packets) {
    if (options.kernel.any()) {
      return refused("attach: --packets streams packets, and the kernel has none to select from");
    }
    auto stream = trace::connect_packets(options.endpoint);
    if (!stream) return refused(stream.error().message);
    return read_stream(options, *ring, std::move(*stream), view.get());
  }
  // The user of a wrong option should not wait until the kernel is traced.
  if (const auto plan = kernel_endpoint::parse({.filter = options.kernel}); !plan) {
    return refused("attach: " + plan.error().message);
  }
  EndpointReader reader(options.kernel, false);
  auto stream = reader.connect(options.endpoint);
  if (!stream) return refused(stream.error().message);
  reader.print();
  const int status = read_stream(options, *ring, std::move(*stream), view.get());
  reader.end();
  return status;
}

}  // namespace

Run add_attach(command_line::Command& command) {
  auto options = std::make_shared<AttachOptions>();
  command
      .argument(
          "ENDPOINT", options->endpoint,
          "Name or process ID as listed by `rpcrdma ls`, or path of the endpoint's socket; "
          "kernel: Linux's own NFS/RDMA, traced from now on if it is not yet (docs/kernel.md)")
      .value("ENDPOINT")
      .required();
  command.flag("--packets", options->packets,
               "Stream raw packets instead of trace events (soft fabric only)");
  command
      .option("-w,--write", options->write,
              "Write the stream to this pcapng file instead of printing messages; - for standard "
              "output")
      .value("FILE");
  add_ring_options(command, options->ring, kWrittenRing);
  add_print_options(command, options->print);
  kernel_endpoint::add_filter_options(command, options->kernel, "Endpoint kernel, if started: ");
  command.example("rpcrdma attach server -Y 'rpcrdma.latency > 1ms'",
                  "Print the slow Calls of the endpoint \"server\" as they happen.");
  command.example("sudo rpcrdma attach kernel --slower 10ms",
                  "Print the slow Calls of this machine's own NFS/RDMA client and server.");
  command.example("ssh host rpcrdma attach server -w - | rpcrdma decode -",
                  "Watch an endpoint on another machine.");
  command.example("rpcrdma attach server -w - | wireshark -k -i -", "Watch live in Wireshark.");
  command.example("rpcrdma attach server -w server.pcapng --ring-size 100M --ring-files 20",
                  "Record continuously, keeping the newest 2 GB.");
  return [options] { return attach(*options); };
}

}  // namespace rpcrdma::cli

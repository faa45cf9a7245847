// rpcrdma attach
#include "commands.h"
#include "input.h"
#include "live_view.h"
#include "ring_options.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/capture/block_file.h>
#include <rpcrdma/capture/live_stream.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/capture/whole_blocks.h>
#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace/upper_pdu.h>
#include <rpcrdma/trace_live/endpoints.h>
#include <rpcrdma/trace_live/stream_file.h>

namespace rpcrdma::cli {

namespace {

using capture::FileDescriptor;

struct Options {
  std::string endpoint;
  bool packets = false;
  std::string write;
  RingText ring;
  PrintOptions print;
};

volatile std::sig_atomic_t stream_fd = -1;
volatile std::sig_atomic_t stopped = 0;

// Nothing more comes from the endpoint then; what has come is still read.
void on_interrupt(int) {
  stopped = 1;
  ::shutdown(stream_fd, SHUT_RD);
}

// Ends the stream by SIGINT, SIGTERM and SIGHUP, the first time; a second one ends the program.
class StopBySignal {
 public:
  explicit StopBySignal(int fd) {
    stream_fd = fd;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  }
  StopBySignal(const StopBySignal&) = delete;
  StopBySignal& operator=(const StopBySignal&) = delete;
  ~StopBySignal() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  }
};

// Of what the endpoint tells from now on nothing is missing.
void say_attached(const Options& options) {
  fmt::print(stderr, "rpcrdma: attached to {}, Ctrl-C ends\n", options.endpoint);
}

int refused(const std::string& why) {
  complain(why);
  return kUnreadable;
}

std::int64_t now_ns() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// What whole blocks tell of what was lost to the reader: Loss events do, each of its thread's ring,
// and of packets the interface's statistics, whose latest hold.
class ToldLoss {
 public:
  void add(std::span<const std::uint8_t> blocks) {
    while (blocks.size() >= kShortestBlock) {
      const std::span<const std::uint8_t> block =
          blocks.first(std::min<std::size_t>(word(blocks, 4), blocks.size()));
      if (word(block, 0) == kEnhancedPacket) ++came_;
      if (word(block, 0) == kEnhancedPacket) event(block);
      if (word(block, 0) == kInterfaceStatistics) statistics(block);
      blocks = blocks.subspan(block.size());
    }
  }
  [[nodiscard]] std::uint64_t lost() const {
    std::uint64_t sum = packets_;
    for (const auto& [ring, lost] : events_) sum += lost;
    return sum;
  }

  // Of a file that has so many of the packets that came.
  [[nodiscard]] capture::PcapngBlocks::Statistics statistics(std::uint64_t written) const {
    return {.last_ns = now_ns(),
            .received = came_ + packets_,
            .dropped = came_ - written + packets_,
            .by_interface = true};
  }

 private:
  static constexpr std::size_t kShortestBlock = 12;
  // draft-ietf-opsawg-pcapng, sections 4.3 and 4.6.
  static constexpr std::uint32_t kInterfaceStatistics = 5, kEnhancedPacket = 6;
  static constexpr std::size_t kPacketLengthAt = 20, kPacketAt = 28, kOptionsAt = 20;
  static constexpr std::uint16_t kIfDrop = 5;

  template <typename T>
  static T number(std::span<const std::uint8_t> bytes, std::size_t at) {
    T value = 0;
    if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }
  static std::uint32_t word(std::span<const std::uint8_t> bytes, std::size_t at) {
    return number<std::uint32_t>(bytes, at);
  }

  void event(std::span<const std::uint8_t> block) {
    if (block.size() < kPacketAt) return;
    const auto data = block.subspan(kPacketAt);
    const auto event = trace::event_in_pdu(
        data.first(std::min<std::size_t>(word(block, kPacketLengthAt), data.size())));
    const auto view = event ? trace::view_event(*event) : std::nullopt;
    const auto loss = view ? trace::read_event<trace::Loss>(*view) : std::nullopt;
    if (loss) events_[view->header.ring] = loss->lost;
  }
  void statistics(std::span<const std::uint8_t> block) {
    for (std::size_t at = kOptionsAt; at + 4 <= block.size();) {
      const auto code = number<std::uint16_t>(block, at);
      const std::size_t length = number<std::uint16_t>(block, at + 2);
      if (code == 0) return;
      if (code == kIfDrop) packets_ = number<std::uint64_t>(block, at + 4);
      at += 4 + (length + 3) / 4 * 4;
    }
  }

  std::uint64_t came_ = 0;
  std::map<std::uint32_t, std::uint64_t> events_;  // by ring
  std::uint64_t packets_ = 0;
};

// Writes the stream as it comes.
int keep(const Options& options, const FileDescriptor& from) {
  const bool standard = options.write == "-";
  constexpr mode_t kOnlyTheUser = 0600;
  FileDescriptor to(standard ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                             : ::open(options.write.c_str(),
                                      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kOnlyTheUser));
  const std::string name = standard ? "standard output" : options.write;
  if (to.get() < 0) return refused(fmt::format("{}: {}", name, std::strerror(errno)));
  std::signal(SIGPIPE, SIG_IGN);
  capture::BlockFile file(std::move(to));
  capture::WholeBlocks blocks;
  std::array<std::uint8_t, std::size_t{64} << 10> buffer;
  std::uint64_t written = 0;
  ToldLoss loss;
  while (!blocks.broken()) {
    const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return refused(fmt::format("{}: {}", options.endpoint, std::strerror(errno)));
    if (n == 0) break;
    const auto whole = blocks.add(std::span(buffer).first(static_cast<std::size_t>(n)));
    loss.add(whole);
    if (const int why = file.write(whole); why != 0) {
      // Whom it was for has gone.
      if (standard && why == EPIPE) return kOk;
      file.end_full([&] { return loss.statistics(file.packets()); });
      return refused(fmt::format("{}: cannot write: {}", name, std::strerror(why)));
    }
    if (written == 0 && !whole.empty()) say_attached(options);
    written += whole.size();
  }
  if (blocks.broken()) return refused(options.endpoint + ": what comes from it is no pcapng");
  fmt::print(stderr, "rpcrdma: {}{} bytes written, {} {} lost\n",
             stopped != 0 ? "" : options.endpoint + " has ended; ", written, loss.lost(),
             options.packets ? "packets" : "events");
  return kOk;
}

// Each file of a ring says who tells and what stands, so the stream is taken apart.
int keep_ring(const Options& options, const capture::RingOptions& ring, FileDescriptor from) {
  const auto file = trace::StreamFile::open(options.write, ring, options.endpoint, now_ns());
  if (!file) return refused(file.error().message);
  capture::LiveStream stream(std::move(from));
  capture::Expected<void> written;
  bool attached = false;
  while (written && stream.fd() >= 0) {
    pollfd wait{stream.fd(), POLLIN, 0};
    if (::poll(&wait, 1, -1) <= 0) continue;
    stream.read([&](const capture::Frame& frame) {
      if (written) written = (*file)->write(frame);
      if (!std::exchange(attached, true)) say_attached(options);
    });
    if (written) written = (*file)->flush();
  }
  // Also where an event could not be taken: those before it could.
  const auto finished = (*file)->finish(now_ns());
  if (written) written = finished;
  fmt::print(stderr, "rpcrdma: {}{} events written, {} lost: {}\n",
             stopped != 0 || !written ? "" : options.endpoint + " has ended; ", (*file)->events(),
             (*file)->lost(), (*file)->file());
  if (!written) return refused(fmt::format("{}: {}", options.endpoint, written.error().message));
  if (!stream.why().empty()) return refused(fmt::format("{}: {}", options.endpoint, stream.why()));
  return kOk;
}

int show(const Options& options, FileDescriptor from, LiveView& view) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto source = capture::open_descriptor(std::move(from), options.endpoint);
  if (!source) return stopped != 0 ? kOk : refused(source.error().message);
  capture::Frame frame;
  int status = kOk;
  for (;;) {
    const auto more = (*source)->next(frame);
    if (!more) status = refused(more.error().message);
    if (!more || !*more) break;
    if (frame.number == 1) say_attached(options);
    view.frame(frame);
  }
  const capture::SourceStats& stats = (*source)->stats();
  view.finish(options.packets ? stats.dropped : 0);
  if (stopped == 0 && !stats.damage.empty()) {
    complain(fmt::format("warning: {}: {}", options.endpoint, stats.damage));
  }
  const std::string ended = stopped != 0 ? "" : options.endpoint + " has ended; ";
  if (options.packets) {
    fmt::print(stderr, "rpcrdma: {}{} packets, {} lost\n", ended, stats.frames, stats.dropped);
  } else {
    const trace_reader::ReaderStats events = view.events();
    fmt::print(stderr, "rpcrdma: {}{} events, {} lost\n", ended, events.events,
               events.lost + events.missing);
  }
  return status;
}

int attach(Options options) {
  options.packets |= trace::is_packet_socket(options.endpoint);
  const PrintOptions& print = options.print;
  const bool selects = !print.filter.empty() || !print.xid.empty() || !print.connections.empty() ||
                       !print.types.empty() || !print.from.empty() || !print.to.empty() ||
                       print.json || print.verbose || print.hex || print.events;
  if (!options.write.empty() && selects) {
    return refused(
        "attach: -w keeps all that comes, and prints nothing: no options of what is printed go "
        "with it");
  }
  const auto ring = parse_ring(options.ring, kWrittenRing, !options.write.empty());
  if (!ring) return refused("attach: " + ring.error());
  if (options.packets && ring->on()) {
    return refused("attach: --packets goes into one file, and into no ring of files");
  }
  std::unique_ptr<LiveView> view;
  if (options.write.empty()) {
    auto printer = make_printer(print, "attach");
    if (!printer) return kUnreadable;
    view = std::make_unique<LiveView>(std::move(printer));
  }
  auto stream = options.packets ? trace::connect_packets(options.endpoint)
                                : trace::connect_endpoint(options.endpoint);
  if (!stream) return refused(stream.error().message);
  const StopBySignal stop(stream->get());
  if (view) return show(options, std::move(*stream), *view);
  return ring->on() ? keep_ring(options, *ring, std::move(*stream)) : keep(options, *stream);
}

}  // namespace

Run add_attach(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("ENDPOINT", options->endpoint,
                 "Its name or process, as `rpcrdma ls` lists them, or the path of its socket")
      ->type_name("ENDPOINT")
      ->required();
  app.add_flag("--packets", options->packets,
               "The packets of an endpoint over soft, and not what it tells of itself");
  app.add_option("-w,--write", options->write,
                 "Print nothing, and keep what comes in this pcapng file, - for standard output")
      ->type_name("FILE");
  add_ring_options(app, options->ring, kWrittenRing);
  add_print_options(app, options->print);
  return [options] { return attach(*options); };
}

}  // namespace rpcrdma::cli

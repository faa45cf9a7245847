#include "event_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/trace_dat/convert.h>
#include <rpcrdma/trace_dat/trace_dat.h>
#include <rpcrdma/tracepoints/text_line.h>
#include <rpcrdma/tracepoints/translator.h>

namespace rpcrdma::trace_dat {
namespace {

using base::fail;
using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kHeadBytes = 64;
constexpr std::size_t kMostPiped = std::size_t{1} << 30;  // of a trace.dat that is no regular file
constexpr std::size_t kAtOnce = std::size_t{256} << 10;
// Limits for text that has had no line of an event.
constexpr std::uint64_t kMostForeignLines = 100'000;
constexpr std::uint64_t kMostForeignBytes = std::uint64_t{64} << 20;

// Returns bytes read, 0 at the end, -1 after an error.
ssize_t read_some(int fd, std::uint8_t* to, std::size_t size) {
  ssize_t n = 0;
  do {
    n = ::read(fd, to, size);
  } while (n < 0 && errno == EINTR);
  return n;
}

class Mapping {
 public:
  Mapping(void* at, std::size_t size) : at_(at), size_(size) {}
  ~Mapping() {
    if (at_ != MAP_FAILED) ::munmap(at_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] bool ok() const { return at_ != MAP_FAILED; }
  [[nodiscard]] Bytes bytes() const { return {static_cast<const std::uint8_t*>(at_), size_}; }

 private:
  void* at_;
  std::size_t size_;
};

base::Expected<std::string> remark_of(const tracepoints::Translator& translator,
                                      const EventStream& stream, std::uint64_t not_understood) {
  // A reader that has exited got what it wanted.
  if (stream.error() == EPIPE) return std::string{};
  if (stream.error() != 0) {
    return fail(std::string("cannot write: ") + std::strerror(stream.error()));
  }
  std::string text;
  const auto add = [&text](const std::string& sentence) {
    text += text.empty() ? sentence : "; " + sentence;
  };
  if (stream.events() == 0) {
    add("it holds no events of NFS/RDMA: record with trace-cmd record -e rpcrdma -e sunrpc -e "
        "rdma_core");
  }
  if (not_understood != 0) add(fmt::format("{} lines are not understood", not_understood));
  if (translator.unplaced() != 0) {
    add(fmt::format("{} messages are left out: there are too many connections",
                    translator.unplaced()));
  }
  return text;
}

base::Expected<std::string> convert_dat(Bytes file, int output, const std::string& name) {
  const auto dat = read_trace_dat(file);
  if (!dat) return tl::unexpected(dat.error());
  EventStream::Origin origin;
  origin.name = dat->host.empty() ? name : dat->host;
  origin.role = dat->kernel.empty() ? "Linux" : "Linux " + dat->kernel;
  origin.process = static_cast<std::uint32_t>(dat->trace_id);
  origin.wall_offset = dat->clock.has_wall ? dat->clock.wall_offset : 0;
  EventStream stream(output, std::move(origin));
  tracepoints::Translator translator(stream);
  const auto visited = visit_records(
      *dat, {.record = [&](const tracepoints::Record& r) { translator.take(r); },
             .lost = [&](std::uint32_t, std::uint64_t count) { translator.lost(count); }});
  translator.finish();
  stream.finish();
  if (!visited) return tl::unexpected(visited.error());
  return remark_of(translator, stream, 0);
}

// A pipe has no random access: the file is collected first.
base::Expected<std::string> convert_dat_stream(int input, std::vector<std::uint8_t> start,
                                               int output, const std::string& name) {
  std::vector<std::uint8_t> all = std::move(start);
  std::size_t filled = all.size();
  bool head_checked = false;
  for (;;) {
    if (filled == all.size()) all.resize(std::max(2 * filled, kAtOnce));
    const ssize_t n = read_some(input, all.data() + filled, all.size() - filled);
    if (n < 0) return fail(std::strerror(errno));
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
    if (!head_checked && filled >= kHeadBytes) {
      head_checked = true;
      if (const auto ok = check_head(Bytes(all).first(filled)); !ok) {
        return tl::unexpected(ok.error());
      }
    }
    if (filled >= kMostPiped) return fail("it is too large for a pipe: decompress it to a file");
  }
  return convert_dat(Bytes(all).first(filled), output, name);
}

// Lines may come from a running kernel: each read is passed on at once.
base::Expected<std::string> convert_text(int input, std::vector<std::uint8_t> start, int output,
                                         const std::string& name) {
  EventStream stream(output, {.name = name, .role = "Linux", .process = 0, .wall_offset = 0});
  tracepoints::Translator translator(stream);
  std::uint64_t not_understood = 0, lines = 0;
  const auto take = [&](std::string_view line) {
    tracepoints::Record record;
    std::uint64_t lost = 0;
    ++lines;
    switch (tracepoints::read_line(line, record, lost)) {
      case tracepoints::Line::kRecord:
        translator.take(record);
        break;
      case tracepoints::Line::kLost:
        translator.lost(lost);
        break;
      case tracepoints::Line::kUnknown:
        ++not_understood;
        break;
      case tracepoints::Line::kOther:
        break;
    }
  };
  std::vector<std::uint8_t> buffer = std::move(start);
  std::size_t filled = buffer.size();
  buffer.resize(kAtOnce);
  bool too_long = false, is_trace = false;
  std::uint64_t bytes = 0;
  for (bool more = true; more;) {
    if (filled == buffer.size()) {
      // A line without an end.
      filled = 0;
      not_understood += too_long ? 0 : 1;
      too_long = true;
    }
    const ssize_t n = read_some(input, buffer.data() + filled, buffer.size() - filled);
    if (n < 0) return fail(std::strerror(errno));
    more = n > 0;
    bytes += static_cast<std::uint64_t>(n);
    filled += static_cast<std::size_t>(n);
    std::string_view rest(reinterpret_cast<const char*>(buffer.data()), filled);
    for (;;) {
      const std::size_t end = rest.find('\n');
      if (end == std::string_view::npos) break;
      if (!too_long) take(rest.substr(0, end));
      too_long = false;
      rest.remove_prefix(end + 1);
    }
    if (!more && !rest.empty() && !too_long) take(rest);
    std::memmove(buffer.data(), rest.data(), rest.size());
    filled = rest.size();
    is_trace |= not_understood < lines;
    if (!is_trace && (not_understood > kMostForeignLines || bytes > kMostForeignBytes)) break;
    stream.flush();
    if (stream.broken()) break;
  }
  translator.finish();
  if (!is_trace && !stream.broken()) {
    return fail("it is neither a trace.dat nor the text of trace-cmd report or trace_pipe");
  }
  stream.finish();
  return remark_of(translator, stream, not_understood);
}

}  // namespace

base::Expected<std::string> convert(int input, int output, const std::string& name) {
  struct stat status {};
  if (::fstat(input, &status) != 0) return fail(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return fail(std::strerror(EISDIR));
  constexpr std::size_t kStartBytes = 16;
  std::vector<std::uint8_t> start(kStartBytes);
  std::size_t filled = 0;
  while (filled < start.size()) {
    const ssize_t n = read_some(input, start.data() + filled, start.size() - filled);
    if (n < 0) return fail(std::strerror(errno));
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  start.resize(filled);
  if (start.empty()) return fail("the file is empty");
  if (!is_trace_dat(start)) return convert_text(input, std::move(start), output, name);
  if (S_ISREG(status.st_mode)) {
    const auto size = static_cast<std::size_t>(status.st_size);
    const Mapping file(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, input, 0), size);
    if (!file.ok()) return fail(std::strerror(errno));
    return convert_dat(file.bytes(), output, name);
  }
  return convert_dat_stream(input, std::move(start), output, name);
}

}  // namespace rpcrdma::trace_dat

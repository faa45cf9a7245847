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

constexpr std::size_t kMostPiped = std::size_t{4} << 30;  // of a trace.dat that is no regular file
constexpr std::size_t kAtOnce = std::size_t{256} << 10;

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

std::string remark_of(const tracepoints::Translator& translator, const EventStream& stream,
                      std::uint64_t not_understood) {
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
    add(fmt::format("{} messages belong to no connection that the trace shows",
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

// Lines may come from a running kernel: each read is passed on at once.
base::Expected<std::string> convert_text(int input, std::vector<std::uint8_t> start, int output,
                                         const std::string& name) {
  EventStream stream(output, {.name = name, .role = "Linux", .process = 0, .wall_offset = 0});
  tracepoints::Translator translator(stream);
  std::uint64_t not_understood = 0, records = 0, lines = 0;
  const auto take = [&](std::string_view line) {
    tracepoints::Record record;
    std::uint64_t lost = 0;
    ++lines;
    switch (tracepoints::read_line(line, record, lost)) {
      case tracepoints::Line::kRecord:
        ++records;
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
  bool too_long = false;
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
    stream.flush();
    if (stream.broken()) return std::string{};
  }
  translator.finish();
  if (records == 0 && not_understood != 0 && not_understood * 2 >= lines) {
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
  std::vector<std::uint8_t> all = std::move(start);
  for (;;) {
    if (all.size() >= kMostPiped)
      return fail("it is too large for a pipe: decompress it to a file");
    const std::size_t before = all.size();
    all.resize(before + std::max(kAtOnce, std::min(before, kMostPiped / 16)));
    const ssize_t n = read_some(input, all.data() + before, all.size() - before);
    if (n < 0) return fail(std::strerror(errno));
    all.resize(before + static_cast<std::size_t>(n));
    if (n == 0) break;
  }
  return convert_dat(all, output, name);
}

}  // namespace rpcrdma::trace_dat

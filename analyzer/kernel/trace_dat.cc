#include "inflate_section.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include <rpcrdma/base/byte_order.h>
#include <rpcrdma/trace_dat/trace_dat.h>

namespace rpcrdma::trace_dat {
namespace {

using base::fail;
using Bytes = std::span<const std::uint8_t>;

constexpr std::array<std::uint8_t, 10> kMagic{0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
constexpr std::size_t kMostCpus = 65536;  // over all buffers
constexpr std::size_t kMostOptionSections = 4096;
constexpr std::uint32_t kLeastPage = 64;
constexpr std::uint32_t kMostPage = 16U << 20U;

// Options of both versions.
enum Option : std::uint16_t {
  kDone = 0,
  kDate = 1,
  kCpuStat = 2,
  kBuffer = 3,
  kTraceClock = 4,
  kUname = 5,
  kOffset = 7,
  kTraceId = 11,
  kTsc2Nsec = 14,
  kHeaderInfo = 16,
  kEventFormats = 18,
};

// Reads values in order. Once the file ends within a value, all values are 0 or empty.
class Cursor {
 public:
  Cursor(Bytes bytes, base::ByteOrder order) : bytes_(bytes), order_(order) {}

  void set_order(base::ByteOrder order) { order_ = order; }
  Bytes take(std::uint64_t size) {
    if (size > bytes_.size()) {
      cut_short_ = true;
      bytes_ = {};
      return {};
    }
    const Bytes taken = bytes_.first(static_cast<std::size_t>(size));
    bytes_ = bytes_.subspan(static_cast<std::size_t>(size));
    return taken;
  }
  std::uint8_t u8() {
    const Bytes b = take(1);
    return b.empty() ? std::uint8_t{0} : b[0];
  }
  std::uint16_t u16() {
    const Bytes b = take(2);
    return b.empty() ? std::uint16_t{0} : order_.u16(b.data());
  }
  std::uint32_t u32() {
    const Bytes b = take(4);
    return b.empty() ? 0 : order_.u32(b.data());
  }
  std::uint64_t u64() {
    const Bytes b = take(8);
    return b.empty() ? 0 : order_.u64(b.data());
  }
  std::string_view text(std::uint64_t size) {
    const Bytes b = take(size);
    return {reinterpret_cast<const char*>(b.data()), b.size()};
  }
  // Up to a NUL, which it skips.
  std::string_view word() {
    const auto nul = std::find(bytes_.begin(), bytes_.end(), 0);
    if (nul == bytes_.end()) {
      cut_short_ = true;
      bytes_ = {};
      return {};
    }
    const auto size = static_cast<std::size_t>(nul - bytes_.begin());
    const std::string_view found = text(size);
    (void)take(1);
    return found;
  }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] bool cut_short() const { return cut_short_; }

 private:
  Bytes bytes_;
  base::ByteOrder order_;
  bool cut_short_ = false;
};

tl::unexpected<base::Error> ends_in_tables() {
  return fail("the file is truncated: it ends before the tables that locate its events");
}

std::string_view until_nul(Bytes bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

// A number with an optional sign and 0x.
std::int64_t signed_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return static_cast<std::int64_t>(negative ? ~value + 1 : value);
}

// "mono", of "local global counter [mono] boot".
std::string chosen_clock(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return std::string(text.substr(open + 1, std::min<std::size_t>(close - open - 1, 64)));
}

std::uint64_t statistic(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return 0;
  std::uint64_t value = 0;
  const std::string_view number = text.substr(at + name.size());
  std::from_chars(number.data(), number.data() + number.size(), value);
  return value;
}

class Reader {
 public:
  explicit Reader(Bytes file) : file_(file) {}

  base::Expected<TraceDat> read();
  // Reads what both versions begin with.
  base::Expected<void> begin(Cursor& at);

 private:
  base::Expected<void> version6(Cursor& at);
  base::Expected<void> version7(Cursor& at);
  base::Expected<void> header_info(Cursor& at);
  void event_formats(Cursor& at);
  void option(std::uint16_t id, Bytes data);
  void uname(std::string_view text);
  base::Expected<void> cpu_table(Cursor& at, std::uint32_t cpus);
  base::Expected<void> add_cpu(std::uint32_t cpu, std::uint64_t offset, std::uint64_t size,
                               bool compressed, std::uint32_t page_bytes);
  base::Expected<void> buffer7(Bytes data);
  // The content of a section of version 7, which lives until the next call if it is compressed.
  base::Expected<Bytes> section(std::uint64_t offset, std::uint16_t id);
  Cursor at_offset(std::uint64_t offset) const {
    return {offset < file_.size() ? file_.subspan(static_cast<std::size_t>(offset)) : Bytes{},
            order_};
  }

  Bytes file_;
  TraceDat dat_;
  base::ByteOrder order_;
  std::uint32_t page_bytes_ = 0;
  std::string compression_;
  std::vector<std::uint8_t> inflated_;
  std::vector<std::uint64_t> buffers6_;
};

base::Expected<TraceDat> Reader::read() {
  Cursor at(file_, order_);
  if (const auto ok = begin(at); !ok) return tl::unexpected(ok.error());
  const auto ok = dat_.version == 6 ? version6(at) : version7(at);
  if (!ok) return tl::unexpected(ok.error());
  if (dat_.cpus.empty()) return fail("it has no pages of events");
  return std::move(dat_);
}

base::Expected<void> Reader::begin(Cursor& at) {
  (void)at.take(kMagic.size());
  const std::string_view version = at.word();
  if (at.cut_short()) return ends_in_tables();
  dat_.version = static_cast<unsigned>(signed_number(version.substr(0, 8)));
  if (dat_.version != 6 && dat_.version != 7) {
    return fail(
        fmt::format("version {} of trace.dat is not supported, only 6 and 7", dat_.version));
  }
  const std::uint8_t endian = at.u8();
  if (at.cut_short()) return ends_in_tables();
  if (endian > 1) return fail("its byte order is invalid");
  order_ = {.swapped = endian == 1};
  dat_.layout.order = order_;
  dat_.layout.big_endian = endian == 1;
  dat_.formats = tracepoints::Layouts(order_);
  (void)at.u8();  // the size of a long in user space
  at.set_order(order_);
  page_bytes_ = at.u32();
  if (at.cut_short()) return ends_in_tables();
  if (page_bytes_ < kLeastPage || page_bytes_ > kMostPage) {
    return fail(fmt::format("its page size of {} bytes is invalid", page_bytes_));
  }
  return {};
}

base::Expected<void> Reader::header_info(Cursor& at) {
  const std::string_view page = at.word();
  if (at.cut_short()) return ends_in_tables();
  if (page != "header_page") return fail("the description of its pages is missing");
  const std::string_view layout = at.text(at.u64());
  if (at.cut_short()) return ends_in_tables();
  if (!dat_.layout.take(layout)) return fail("the description of its pages is invalid");
  if (at.word() != "header_event") return fail("the description of its records is missing");
  (void)at.take(at.u64());
  if (at.cut_short()) return ends_in_tables();
  return {};
}

void Reader::event_formats(Cursor& at) {
  const std::uint32_t systems = at.u32();
  for (std::uint32_t s = 0; s < systems && !at.cut_short(); ++s) {
    (void)at.word();
    const std::uint32_t events = at.u32();
    for (std::uint32_t e = 0; e < events && !at.cut_short(); ++e) {
      dat_.formats.add(at.text(at.u64()));
    }
  }
}

void Reader::uname(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  const auto word = [&text] {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view taken = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return taken;
  };
  (void)word();  // "Linux"
  dat_.host = word().substr(0, kLongest);
  if (dat_.host == "(none)") dat_.host.clear();
  dat_.kernel = word().substr(0, kLongest);
}

void Reader::option(std::uint16_t id, Bytes data) {
  switch (id) {
    case kDate:  // microseconds
      dat_.clock.has_wall = true;
      dat_.clock.wall_offset = static_cast<std::int64_t>(
          static_cast<std::uint64_t>(signed_number(until_nul(data))) * 1000U);
      break;
    case kOffset:
      dat_.clock.offset = signed_number(until_nul(data));
      break;
    case kCpuStat: {
      const std::string_view text = until_nul(data);
      dat_.lost += statistic(text, "\noverrun: ") + statistic(text, "dropped events: ");
      break;
    }
    case kTraceClock:
      dat_.clock.name = chosen_clock(until_nul(data));
      break;
    case kUname:
      uname(until_nul(data));
      break;
    case kTraceId:
      if (data.size() >= 8) dat_.trace_id = order_.u64(data.data());
      break;
    case kTsc2Nsec:
      if (data.size() >= 8) {
        dat_.clock.mult = order_.u32(data.data());
        dat_.clock.shift = order_.u32(data.data() + 4);
      }
      break;
    default:
      break;
  }
}

base::Expected<void> Reader::add_cpu(std::uint32_t cpu, std::uint64_t offset, std::uint64_t size,
                                     bool compressed, std::uint32_t page_bytes) {
  if (size == 0) return {};
  if (dat_.cpus.size() >= kMostCpus) {
    return fail(fmt::format("it has pages of more than {} CPUs", kMostCpus));
  }
  if (page_bytes < kLeastPage || page_bytes > kMostPage) {
    return fail(fmt::format("its page size of {} bytes is invalid", page_bytes));
  }
  CpuPages pages{dat_.buffers, cpu, page_bytes, compressed, {}};
  if (offset < file_.size()) pages.data = file_.subspan(static_cast<std::size_t>(offset));
  // The size of compressed pages does not count all of their headers, so their chunks decide.
  if (size > pages.data.size()) {
    dat_.cut_short = true;
  } else if (!compressed) {
    pages.data = pages.data.first(static_cast<std::size_t>(size));
  }
  dat_.cpus.push_back(pages);
  return {};
}

base::Expected<void> Reader::cpu_table(Cursor& at, std::uint32_t cpus) {
  ++dat_.buffers;
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
    const std::uint64_t offset = at.u64();
    const std::uint64_t size = at.u64();
    if (at.cut_short()) return ends_in_tables();
    if (const auto ok = add_cpu(cpu, offset, size, false, page_bytes_); !ok) return ok;
  }
  return {};
}

base::Expected<void> Reader::version6(Cursor& at) {
  if (const auto ok = header_info(at); !ok) return ok;
  const std::uint32_t ftrace = at.u32();
  for (std::uint32_t i = 0; i < ftrace && !at.cut_short(); ++i) (void)at.take(at.u64());
  event_formats(at);
  (void)at.take(at.u32());  // symbols
  (void)at.take(at.u32());  // formats of trace_printk()
  (void)at.take(at.u64());  // command lines
  const std::uint32_t cpus = at.u32();
  constexpr std::size_t kKindBytes = 10;
  std::string_view kind = until_nul(at.take(kKindBytes));
  if (kind.starts_with("options")) {
    for (;;) {
      const std::uint16_t id = at.u16();
      if (id == kDone || at.cut_short()) break;
      const Bytes data = at.take(at.u32());
      if (id == kBuffer && data.size() >= 8 && buffers6_.size() < kMostCpus) {
        buffers6_.push_back(order_.u64(data.data()));
      } else {
        option(id, data);
      }
    }
    kind = until_nul(at.take(kKindBytes));
  }
  if (at.cut_short()) return ends_in_tables();
  if (kind.starts_with("latency")) {
    return fail("it holds the text of a latency tracer, not records of events");
  }
  if (!kind.starts_with("flyrecord")) return fail("the table of its pages is missing");
  if (const auto ok = cpu_table(at, cpus); !ok) return ok;
  for (const std::uint64_t offset : buffers6_) {
    Cursor buffer = at_offset(offset);
    kind = until_nul(buffer.take(kKindBytes));
    if (buffer.cut_short()) return ends_in_tables();
    if (!kind.starts_with("flyrecord")) return fail("the table of a buffer's pages is missing");
    if (const auto ok = cpu_table(buffer, cpus); !ok) return ok;
  }
  return {};
}

base::Expected<Bytes> Reader::section(std::uint64_t offset, std::uint16_t id) {
  Cursor at = at_offset(offset);
  const std::uint16_t found = at.u16();
  if (at.cut_short()) return ends_in_tables();
  if (found != id) return fail(fmt::format("a section has the number {} instead of {}", found, id));
  constexpr std::uint16_t kCompressed = 1;
  const bool compressed = (at.u16() & kCompressed) != 0;
  (void)at.u32();  // its description
  const std::uint64_t size = at.u64();
  const std::uint32_t stored = compressed ? at.u32() : 0;
  const std::uint32_t whole = compressed ? at.u32() : 0;
  const Bytes content = at.take(compressed ? stored : size);
  if (at.cut_short()) return ends_in_tables();
  if (!compressed) return content;
  if (const auto ok = inflate_section(compression_, content, whole, inflated_); !ok) {
    return tl::unexpected(ok.error());
  }
  return Bytes(inflated_);
}

base::Expected<void> Reader::buffer7(Bytes data) {
  Cursor at(data, order_);
  const std::uint64_t section_at = at.u64();
  (void)at.word();  // its name
  const std::string_view clock = at.word();
  if (dat_.clock.name.empty()) dat_.clock.name = clock.substr(0, 64);
  const std::uint32_t page_bytes = at.u32();
  const std::uint32_t cpus = at.u32();
  Cursor head = at_offset(section_at);
  (void)head.u16();
  constexpr std::uint16_t kCompressed = 1;
  const bool compressed = (head.u16() & kCompressed) != 0;
  ++dat_.buffers;
  for (std::uint32_t i = 0; i < cpus; ++i) {
    const std::uint32_t cpu = at.u32();
    const std::uint64_t offset = at.u64();
    const std::uint64_t size = at.u64();
    if (at.cut_short()) return fail("the table of a buffer's pages is cut short");
    if (const auto ok = add_cpu(cpu, offset, size, compressed, page_bytes); !ok) return ok;
  }
  return {};
}

base::Expected<void> Reader::version7(Cursor& at) {
  compression_ = at.word().substr(0, 64);
  (void)at.word();  // its version
  std::uint64_t next = at.u64();
  if (at.cut_short()) return ends_in_tables();
  std::uint64_t header_info_at = 0, formats_at = 0;
  for (std::size_t sections = 0; next != 0; ++sections) {
    if (sections >= kMostOptionSections) return fail("its sections of options have no end");
    const auto options = section(next, 0);
    if (!options) return tl::unexpected(options.error());
    Cursor list(*options, order_);
    next = 0;
    while (!list.empty()) {
      const std::uint16_t id = list.u16();
      const Bytes data = list.take(list.u32());
      if (id == kDone) {
        if (data.size() >= 8) next = order_.u64(data.data());
        break;
      }
      if (id == kHeaderInfo && data.size() >= 8) {
        header_info_at = order_.u64(data.data());
      } else if (id == kEventFormats && data.size() >= 8) {
        formats_at = order_.u64(data.data());
      } else if (id == kBuffer) {
        if (const auto ok = buffer7(data); !ok) return ok;
      } else {
        option(id, data);
      }
    }
  }
  if (header_info_at == 0 || formats_at == 0) return fail("the formats of its events are missing");
  const auto info = section(header_info_at, kHeaderInfo);
  if (!info) return tl::unexpected(info.error());
  Cursor pages(*info, order_);
  if (const auto ok = header_info(pages); !ok) return ok;
  const auto formats = section(formats_at, kEventFormats);
  if (!formats) return tl::unexpected(formats.error());
  Cursor events(*formats, order_);
  event_formats(events);
  const bool compressed =
      std::any_of(dat_.cpus.begin(), dat_.cpus.end(), [](const auto& c) { return c.compressed; });
  if (compressed && !knows_compression(compression_)) {
    return fail(unknown_compression(compression_));
  }
  return {};
}

}  // namespace

bool is_trace_dat(Bytes start) {
  return start.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), start.begin());
}

// As trace-cmd does it: the offset beside the factors is not used.
std::int64_t Clock::ns(std::uint64_t time) const {
  if (mult != 0 && shift < 64) {
    const unsigned __int128 scaled = static_cast<unsigned __int128>(time) * mult >> shift;
    time = static_cast<std::uint64_t>(scaled);
  }
  const std::uint64_t moved = time + static_cast<std::uint64_t>(offset);
  return moved > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(moved);
}

base::Expected<void> check_head(Bytes start) {
  Cursor at(start, {});
  return Reader(start).begin(at);
}

base::Expected<TraceDat> read_trace_dat(Bytes file) {
  if (!is_trace_dat(file)) return fail("it is no trace.dat");
  return Reader(file).read();
}

}  // namespace rpcrdma::trace_dat

// Reads trace.dat, the files of trace-cmd: versions 6 and 7, as trace-cmd.dat.v6(5) and
// trace-cmd.dat.v7(5) describe them. The whole file is in memory, and untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/tracepoints/layouts.h>
#include <rpcrdma/tracepoints/record.h>
#include <rpcrdma/tracepoints/ring_page.h>

namespace rpcrdma::trace_dat {

// Begins with the magic of a trace.dat.
[[nodiscard]] bool is_trace_dat(std::span<const std::uint8_t> start);

// The pages of one CPU in one buffer.
struct CpuPages {
  std::size_t buffer = 0;
  std::uint32_t cpu = 0;
  std::uint32_t page_bytes = 0;
  bool compressed = false;
  std::span<const std::uint8_t> data;  // pages, or chunks of compressed pages
};

// How times of the trace become ns: mult and shift convert cycles, then `offset` is added.
struct Clock {
  std::string name;  // "mono", "local", "x86-tsc"; empty if unknown
  std::uint32_t mult = 0, shift = 0;
  std::int64_t offset = 0;
  // Added to get the wall-clock time, if the recorder stored it (trace-cmd record --date).
  bool has_wall = false;
  std::int64_t wall_offset = 0;

  [[nodiscard]] std::int64_t ns(std::uint64_t time) const;
};

struct TraceDat {
  unsigned version = 0;
  tracepoints::PageLayout layout;
  tracepoints::Layouts formats;
  std::vector<CpuPages> cpus;  // of all buffers
  std::size_t buffers = 0;
  Clock clock;
  std::string host;    // name of the traced machine
  std::string kernel;  // "6.1.0-56-amd64"
  std::uint64_t trace_id = 0;
  std::uint64_t lost = 0;  // as the kernel's statistics of all CPUs say
  bool cut_short = false;  // pages are missing at the end of the file
};

// Checks what is in the first 64 bytes, before the rest of the file is there.
[[nodiscard]] base::Expected<void> check_head(std::span<const std::uint8_t> start);

// Reads everything but the pages. Errors: why it cannot be read.
[[nodiscard]] base::Expected<TraceDat> read_trace_dat(std::span<const std::uint8_t> file);

// Visits the records of all CPUs in order of time. `lost` is called where the kernel overwrote or
// dropped records. Error: pages are damaged; the records before them were visited.
struct Visitor {
  std::function<void(const tracepoints::Record&)> record;
  std::function<void(std::uint32_t cpu, std::uint64_t count)> lost;
};
[[nodiscard]] base::Expected<void> visit_records(const TraceDat& file, const Visitor& visitor);

}  // namespace rpcrdma::trace_dat

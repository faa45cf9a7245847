#include "tail.h"

#include <algorithm>
#include <new>
#include <utility>

#include <sys/stat.h>

#include <rpcrdma/base/out_of_memory.h>
#include <rpcrdma/batch/scan.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/report/analysis.h>

namespace rpcrdma::batch {

namespace {

constexpr std::uint64_t kSmallFile = std::uint64_t{1} << 20;  // bytes; read to its end

void note_pairs(const report::Report& report, Scan& scan) {
  for (const report::Connection& c : report.connections) {
    const auto& [a, b] = std::minmax(c.side[0].address, c.side[1].address);
    scan.pairs.insert(a + " " + b);
  }
}

}  // namespace

Scan scan_file(const std::string& path, std::uint32_t head) {
  Scan scan;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && status.st_size == 0) {
    scan.empty = true;
    return scan;
  }
  const auto source = capture::open_file(path);
  if (!source) {
    if (base::is_out_of_memory(source.error())) throw std::bad_alloc();
    const std::string prefix = path + ": ";
    scan.unreadable = source.error().message;
    if (scan.unreadable.starts_with(prefix)) scan.unreadable.erase(0, prefix.size());
    return scan;
  }
  report::Analysis analysis({.model = {.check_icrc = false}});
  capture::Frame frame;
  std::uint64_t frames = 0;
  // An error in the middle is found again, and listed, by the analysis.
  for (;;) {
    const auto more = (*source)->next(frame);
    if (!more && base::is_out_of_memory(more.error())) throw std::bad_alloc();
    if (!more || !*more) break;
    if (frames == 0) scan.first_ns = scan.last_ns = frame.time_ns;
    scan.last_ns = std::max(scan.last_ns, frame.time_ns);
    ++frames;
    if (head == 0 || frames <= head) analysis.pipeline().frame(frame);
    if (frames == head && static_cast<std::uint64_t>(status.st_size) > kSmallFile) {
      if (const auto last = last_time(path, scan.first_ns)) {
        scan.last_ns = std::max(scan.last_ns, *last);
        break;
      }
    }
  }
  scan.frames = frames != 0;
  analysis.pipeline().finish();
  analysis.finish((*source)->stats());
  note_pairs(analysis.report(), scan);
  return scan;
}

}  // namespace rpcrdma::batch

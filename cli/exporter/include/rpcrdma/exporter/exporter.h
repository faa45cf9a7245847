// The metrics of this host's NFS/RDMA, read anew from procfs and sysfs at each scrape
// (docs/exporter.md).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <rpcrdma/metrics/text_writer.h>

namespace rpcrdma::exporter {

struct Options {
  std::string proc = "/proc";
  std::string sys = "/sys";
  // One line for people each time that a source becomes readable or unreadable; may be empty.
  std::function<void(const std::string&)> log = {};
};

class Exporter {
 public:
  explicit Exporter(Options options) : options_(std::move(options)) {}

  // Reads all sources and writes their metrics. For one thread at a time.
  void write(metrics::TextWriter& to);

 private:
  void note(std::size_t source, const std::string& why);

  Options options_;
  // For each source, in the order of reading: why it could not be read; empty: it could.
  std::array<std::optional<std::string>, 5> faults_;
};

}  // namespace rpcrdma::exporter

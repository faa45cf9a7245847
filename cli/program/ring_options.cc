#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/program/ring_options.h>

namespace rpcrdma::cli {

void add_ring_options(command_line::Command& command, RingText& text, const RingNames& names) {
  const auto name = [&](const char* what) { return fmt::format("{}-{}", names.prefix, what); };
  const auto with = [&](const char* what) { return fmt::format("With {}: {}", names.file, what); };
  command.option(name("files"), text.files, with("keep only this many files, the newest"))
      .value("N");
  command.option(name("size"), text.size, with("start a new file when one reaches this size"))
      .value("SIZE");
  command.option(name("time"), text.time, with("start a new file after this time"))
      .value("DURATION");
}

tl::expected<base::RingOptions, std::string> parse_ring(const RingText& text,
                                                        const RingNames& names, bool written) {
  base::RingOptions ring;
  ring.files = text.files;
  if (!text.size.empty()) {
    const auto bytes = base::parse_size(text.size);
    if (!bytes) {
      return tl::unexpected(
          fmt::format("{}-size {}: not a size; give bytes, or a size such as 500k, 64M, 1GiB",
                      names.prefix, text.size));
    }
    ring.file_bytes = *bytes;
  }
  if (!text.time.empty()) {
    const auto ns = base::parse_duration(text.time);
    if (!ns) {
      return tl::unexpected(fmt::format(
          "{}-time {}: not a duration; give seconds, or a duration such as 500ms, 5m, 1h",
          names.prefix, text.time));
    }
    ring.file_ns = *ns;
  }
  if (!written && (ring.on() || ring.files != 0)) {
    return tl::unexpected(fmt::format("a ring of files needs a file name: {} FILE", names.file));
  }
  if (ring.files != 0 && !ring.on()) {
    return tl::unexpected(
        fmt::format("{0}-files: also give {0}-size or {0}-time, which end a file", names.prefix));
  }
  return ring;
}

}  // namespace rpcrdma::cli

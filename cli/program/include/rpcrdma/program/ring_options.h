// Options for writing a ring of files: when a file is full, and how many are kept.
#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

#include <rpcrdma/base/pcapng/recorder.h>
#include <rpcrdma/command_line/command.h>

namespace rpcrdma::cli {

struct RingText {
  std::uint32_t files = 0;
  std::string size;
  std::string time;
};

// The options' names: `prefix` "--ring" makes --ring-files, and so on; `file` is the option that
// names the output.
struct RingNames {
  const char* prefix;
  const char* file;
};
inline constexpr RingNames kWrittenRing{"--ring", "-w"};
inline constexpr RingNames kRecordedRing{"--record", "--record"};

void add_ring_options(command_line::Command& command, RingText& text, const RingNames& names);

// `written`: whether there is any output. Returns the options, or in one sentence why they are
// invalid.
[[nodiscard]] tl::expected<base::RingOptions, std::string> parse_ring(const RingText& text,
                                                                      const RingNames& names,
                                                                      bool written);

}  // namespace rpcrdma::cli

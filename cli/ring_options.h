// The options of who writes a ring of files: when a file is full, and how many are kept.
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

// How they are called: `prefix` "--ring" makes --ring-files, and so on; `file` is the option that
// names what is written.
struct RingNames {
  const char* prefix;
  const char* file;
};
inline constexpr RingNames kWrittenRing{"--ring", "-w"};
inline constexpr RingNames kRecordedRing{"--record", "--record"};

void add_ring_options(command_line::Command& command, RingText& text, const RingNames& names);

// `written`: something is written at all. On what makes no sense why, in one sentence.
[[nodiscard]] tl::expected<base::RingOptions, std::string> parse_ring(const RingText& text,
                                                                      const RingNames& names,
                                                                      bool written);

}  // namespace rpcrdma::cli

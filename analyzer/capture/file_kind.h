// What a file is that is no capture, for the message that says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rpcrdma::capture {

// Bytes from the start that tell kinds apart; fewer do when the file has no more.
inline constexpr std::size_t kKindBytes = 512;

// "an ELF program", "plain text", "a file that begins 7f 00 01 02".
[[nodiscard]] std::string file_kind(std::span<const std::uint8_t> start);

enum class Compression : std::uint8_t { kNone, kGzip, kZstd };
inline constexpr std::size_t kCompressionBytes = 4;
[[nodiscard]] Compression compression(std::span<const std::uint8_t> start);

}  // namespace rpcrdma::capture

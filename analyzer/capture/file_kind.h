// Names the kind of a file that is not a capture, for the error message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rpcrdma::capture {

// Bytes at the start of a file that suffice to distinguish kinds; a shorter file is passed whole.
inline constexpr std::size_t kKindBytes = 512;

// "an ELF program", "plain text", "a file that begins 7f 00 01 02".
[[nodiscard]] std::string file_kind(std::span<const std::uint8_t> start);

enum class Compression : std::uint8_t { kNone, kGzip, kZstd };
inline constexpr std::size_t kCompressionBytes = 4;
[[nodiscard]] Compression compression(std::span<const std::uint8_t> start);

}  // namespace rpcrdma::capture

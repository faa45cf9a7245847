// The error that a decoder returns for bytes that the specification does not allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <tl/expected.hpp>

namespace rpcrdma::wire {

enum class Errc : std::uint8_t {
  kTruncated,    // the bytes end before the item does
  kBadValue,     // a field holds a value that its specification does not name
  kTooLong,      // a count or length exceeds what the specification or the message allows
  kUnsupported,  // a protocol version that this library does not support
  kNoSpace,      // encode only: the output span is too small
};

// Trivially copyable and made of static strings, so that hostile bytes cost a decoder no
// allocation. `offset` is in bytes from the start of the decoded span: the offset of the field with
// the bad value, or of the first incomplete item (kTruncated).
struct DecodeError {
  Errc code = Errc::kTruncated;
  std::uint32_t offset = 0;
  const char* rule = "";  // the broken rule: an ID such as "HDR-06", or a section such as
                          // "IBA 9.2"; empty where the fault is the caller's (kNoSpace)
  const char* what = "";  // one clause of text for a user, without a full stop
};

template <typename T>
using Result = tl::expected<T, DecodeError>;

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

// "offset 12: message type is not one of 0..4 (HDR-05)"
[[nodiscard]] std::string describe(const DecodeError& error);

[[nodiscard]] inline tl::unexpected<DecodeError> fail(Errc code, std::size_t offset,
                                                      const char* rule, const char* what) {
  return tl::unexpected(DecodeError{code, static_cast<std::uint32_t>(offset), rule, what});
}

}  // namespace rpcrdma::wire

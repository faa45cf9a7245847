#include <fmt/core.h>

#include <rpcrdma/fabric/rejection.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::fabric {
namespace {

constexpr std::uint16_t kInvalidServiceId = 8;

// Returns the printable text at the start of `words`.
std::string text_of(std::uint16_t reason, std::span<const std::uint8_t> words) {
  std::string text;
  for (const std::uint8_t c : words) {
    if (c < 0x20 || c > 0x7e) break;
    text += static_cast<char>(c);
  }
  if (text.empty() && reason == kInvalidServiceId) return "no listener on that port";
  return text;
}

}  // namespace

std::string rejection(std::uint16_t reason, std::span<const std::uint8_t> words) {
  const std::string text = text_of(reason, words);
  return fmt::format("reason {} ({}){}{}", reason, wire::cm_rej_reason(reason),
                     text.empty() ? "" : ": ", text);
}

}  // namespace rpcrdma::fabric

#include "rejection.h"

#include <fmt/format.h>

#include <rpcrdma/wire/cm.h>

namespace rpcrdma::service {
namespace {

constexpr std::uint16_t kInvalidServiceId = 8;

// What the peer says, as far as a person can read it.
std::string words_of(const fabric::Event& event) {
  std::string text;
  for (const std::uint8_t c : event.private_data) {
    if (c < 0x20 || c > 0x7e) break;
    text += static_cast<char>(c);
  }
  if (text.empty() && event.reject_reason == kInvalidServiceId) {
    return "nobody listens on that port";
  }
  return text;
}

}  // namespace

std::string rejection(const fabric::Event& event) {
  const std::string words = words_of(event);
  return fmt::format("reason {} ({}){}{}", event.reject_reason,
                     wire::cm_rej_reason(event.reject_reason), words.empty() ? "" : ": ", words);
}

}  // namespace rpcrdma::service

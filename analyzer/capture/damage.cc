#include "damage.h"

namespace rpcrdma::capture {

void Damage::skipped(std::uint64_t offset, const std::string& reason, std::uint64_t bytes) {
  if (places_++ == 0) first_ = reason + " at offset " + std::to_string(offset);
  bytes_ += bytes;
}

void Damage::stopped(const std::string& reason) {
  last_ = reason;
}

std::string Damage::text() const {
  std::string text;
  if (places_ != 0) {
    text = first_ + "; " + std::to_string(bytes_) + " bytes skipped";
    if (places_ > 1) text += " there and in " + std::to_string(places_ - 1) + " more places";
  }
  if (!text.empty() && !last_.empty()) text += "; ";
  return text + last_;
}

}  // namespace rpcrdma::capture

#include "checksum.h"

#include "crc32c_tables.h"

#include <algorithm>

#include <isa-l/crc.h>

#include <rpcrdma/wire/end_isal.h>

namespace rpcrdma::service {
namespace {

// crc32_iscsi() takes its length as an int.
constexpr std::size_t kCrcStep = 1U << 30;

// Whether ISA-L has a fast routine for this processor.
bool has_instruction() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2");
#else
  return true;
#endif
}

}  // namespace

void Checksum::add(wire::Bytes bytes) {
  if (!has_instruction()) {
    crc_ = crc32c_by_tables(bytes, crc_);
    return;
  }
  while (!bytes.empty()) {
    const std::size_t step = std::min(bytes.size(), kCrcStep);
    // The function only reads; its parameter is not const.
    crc_ = crc32_iscsi(const_cast<unsigned char*>(bytes.data()), static_cast<int>(step), crc_);
    bytes = bytes.subspan(step);
  }
  wire::end_isal();
}

}  // namespace rpcrdma::service

#include <climits>

#include <isa-l/crc.h>

#include <rpcrdma/wire/crc32c.h>
#include <rpcrdma/wire/end_isal.h>

namespace rpcrdma::wire {

std::uint32_t crc32c(Bytes bytes) {
  if (bytes.empty() || bytes.size() > INT_MAX) return 0;
  // ISA-L takes a pointer to mutable bytes and only reads them.
  auto* const begin = const_cast<std::uint8_t*>(bytes.data());  // NOLINT
  const std::uint32_t crc = ~crc32_iscsi(begin, static_cast<int>(bytes.size()), ~0U);
  end_isal();
  return crc;
}

}  // namespace rpcrdma::wire

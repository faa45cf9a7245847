#include <algorithm>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::wire {

Result<PrivateData> decode_private_data(Bytes data) {
  if (data.size() < kPrivateDataBytes) {
    return fail(Errc::kTruncated, data.size() < 4 ? 0 : data.size(), "CMP-02",
                "private data is shorter than 8 bytes");
  }
  if (load_be32(data.data()) != kPrivateDataMagic) {
    return fail(Errc::kBadValue, 0, "CMP-01", "magic number is not 0xf6ab0e18");
  }
  if (data[4] != 1) return fail(Errc::kUnsupported, 4, "CMP-02", "format version is not 1");
  return PrivateData{data[4], data[5], data[6], data[7]};
}

std::array<std::uint8_t, kPrivateDataBytes> encode_private_data(const PrivateData& d) {
  std::array<std::uint8_t, kPrivateDataBytes> out{};
  store_be32(out.data(), kPrivateDataMagic);
  out[4] = d.version;
  out[5] = d.flags;
  out[6] = d.send_code;
  out[7] = d.recv_code;
  return out;
}

std::uint8_t inline_size_code(std::uint32_t bytes) {
  return static_cast<std::uint8_t>(std::clamp(bytes / 1024U, 1U, 256U) - 1);
}

}  // namespace rpcrdma::wire

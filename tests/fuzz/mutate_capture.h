// Mutations for fuzzers of whole captures: what is changed lies mostly behind the link layer, and
// lengths and the ICRC are mended mostly, since packets that do not fit or have a wrong ICRC are
// dropped before the deeper code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rpcrdma::fuzz {

// As LLVMFuzzerCustomMutator: changes `data` in place, up to `max_size` bytes. Captures that are no
// little-endian pcap files are left to libFuzzer's own mutations.
std::size_t mutate_capture(std::uint8_t* data, std::size_t size, std::size_t max_size,
                           unsigned seed);

}  // namespace rpcrdma::fuzz

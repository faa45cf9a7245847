// Mutations for fuzzers of whole captures: most changes are behind the link layer, and most are
// followed by corrections of lengths and the ICRC, since inconsistent packets are dropped before
// the deeper code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rpcrdma::fuzz {

// The interface of LLVMFuzzerCustomMutator: changes `data` in place, up to `max_size` bytes.
// Captures other than little-endian pcap files are left to libFuzzer's own mutations.
std::size_t mutate_capture(std::uint8_t* data, std::size_t size, std::size_t max_size,
                           unsigned seed);

}  // namespace rpcrdma::fuzz

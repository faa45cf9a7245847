// Finds the time of the last frame of a capture file from the end of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rpcrdma::batch {

// Only of pcap and pcapng files that are not compressed, and whose end is found to be whole or to
// lack a part of the last record. Nothing: read the file. `first_ns`: the time of its first frame,
// which records at the end cannot precede by much.
[[nodiscard]] std::optional<std::int64_t> last_time(const std::string& path, std::int64_t first_ns);

}  // namespace rpcrdma::batch

#include "memory_option.h"

#include "input.h"

#include <algorithm>

#include <fmt/format.h>

#include <rpcrdma/base/machine_memory.h>
#include <rpcrdma/base/parse.h>
#include <rpcrdma/base/quantity.h>

namespace rpcrdma::cli {
namespace {

// The program's own data takes two of them, and Calls need memory for other things, too.
constexpr std::uint64_t kBulksInMemory = 8;
// What a connection takes outside the pool: queues, tables, buffers for headers.
constexpr std::uint64_t kConnectionBytes = 32U << 10;
constexpr std::uint64_t kPartOfMachine = 4;
constexpr std::uint64_t kMostByDefault = 4ULL << 30;
constexpr std::uint64_t kNotKnown = 1ULL << 30;

// `machine`: bytes of the machine or control group; 0: not known.
std::uint64_t default_memory(std::uint64_t machine) {
  return machine == 0 ? kNotKnown : std::min(machine / kPartOfMachine, kMostByDefault);
}

}  // namespace

std::optional<std::uint64_t> pool_limit(const std::string& text, const MemoryNeeds& needs,
                                        const char* command) {
  const std::uint64_t outside = needs.drc_bytes + needs.connections * kConnectionBytes;
  const std::uint64_t least = outside + kBulksInMemory * needs.max_bulk;
  if (text.empty()) {
    return std::max(default_memory(base::machine_memory()), least) - outside;
  }
  const auto bytes = base::parse_size(text);
  if (!bytes) {
    complain(fmt::format("{}: --max-memory {}: not a size; give bytes, or a size such as 512Mi, 4G",
                         command, text));
    return std::nullopt;
  }
  if (*bytes < least) {
    constexpr std::uint64_t kMebibyte = 1U << 20;
    complain(fmt::format(
        "{}: --max-memory {}: too little for --max-bulk {}, --max-connections and --drc-bytes; "
        "give "
        "at least {}Mi",
        command, text, base::format_bytes(needs.max_bulk), (least + kMebibyte - 1) / kMebibyte));
    return std::nullopt;
  }
  return *bytes - outside;
}

}  // namespace rpcrdma::cli

// A process's share of the units.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <rpcrdma/base/error.h>

namespace rpcrdma::batch {

// The k-th of n shares, from 1.
struct Shard {
  std::uint32_t k = 1;
  std::uint32_t n = 1;
  friend bool operator==(const Shard&, const Shard&) = default;
};

// The value of an environment variable; nothing: it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

// "3/8", or "auto": the task of a Slurm array, the rank of Open MPI or another PMI, or the task of
// srun, from their environment variables. A rank within a task of an array has a share of the
// task's share. The error is a sentence.
[[nodiscard]] base::Expected<Shard> parse_shard(std::string_view text,
                                                const Environment& environment);

}  // namespace rpcrdma::batch

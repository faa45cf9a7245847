#include <array>

#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/batch/shard.h>

namespace rpcrdma::batch {

namespace {

struct RankNames {
  const char* rank;  // from 0
  const char* size;
};
constexpr std::array<RankNames, 4> kRanks{{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMIX_RANK", "PMIX_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"}}};

std::optional<std::uint32_t> number(const Environment& environment, const char* name) {
  const auto text = environment(name);
  return text ? base::parse_u32(*text) : std::nullopt;
}

std::optional<Shard> array_task(const Environment& environment) {
  const auto id = number(environment, "SLURM_ARRAY_TASK_ID");
  const auto first = number(environment, "SLURM_ARRAY_TASK_MIN");
  const auto last = number(environment, "SLURM_ARRAY_TASK_MAX");
  const auto count = number(environment, "SLURM_ARRAY_TASK_COUNT");
  if (!id || !first || !last || !count || *count == 0 || *id < *first || *last < *first) {
    return std::nullopt;
  }
  // The numbers of an array may have a step, as in 0-30:10.
  const std::uint32_t step = *count == 1 ? 1 : (*last - *first) / (*count - 1);
  const std::uint32_t k = (*id - *first) / std::max(step, 1U);
  return k < *count ? std::optional(Shard{k + 1, *count}) : std::nullopt;
}

std::optional<Shard> rank(const Environment& environment) {
  for (const RankNames& names : kRanks) {
    const auto r = number(environment, names.rank);
    // A script of sbatch has these variables too, and is no task of srun.
    if (std::string_view(names.rank) == "SLURM_PROCID" && !environment("SLURM_STEP_ID")) continue;
    const auto size = number(environment, names.size);
    if (r && size && *r < *size) return Shard{*r + 1, *size};
  }
  return std::nullopt;
}

}  // namespace

base::Expected<Shard> parse_shard(std::string_view text, const Environment& environment) {
  if (text == "auto") {
    const auto task = array_task(environment);
    const auto inner = rank(environment);
    if (!task && !inner) {
      return base::fail(
          "auto: neither a task of Slurm nor a rank of MPI: its environment variables are not set");
    }
    const Shard outer = task.value_or(Shard{});
    const Shard within = inner.value_or(Shard{});
    if (outer.n > UINT32_MAX / within.n) return base::fail("auto: too many tasks");
    return Shard{(outer.k - 1) * within.n + within.k, outer.n * within.n};
  }
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto k = base::parse_u32(std::string(text.substr(0, slash)));
    const auto n = base::parse_u32(std::string(text.substr(slash + 1)));
    if (k && n && *k >= 1 && *k <= *n) return Shard{*k, *n};
  }
  return base::fail(fmt::format("\"{}\" is not a share such as 3/8", text));
}

}  // namespace rpcrdma::batch

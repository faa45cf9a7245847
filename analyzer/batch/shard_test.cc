#include <map>

#include <gtest/gtest.h>

#include <rpcrdma/batch/shard.h>

namespace rpcrdma::batch {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Shard> shard(const std::string& text, const Variables& variables = {}) {
  const auto parsed = parse_shard(text, [&](const char* name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  });
  if (!parsed) return std::nullopt;
  return *parsed;
}

TEST(ShardOf, Text) {
  EXPECT_EQ(shard("1/1"), (Shard{1, 1}));
  EXPECT_EQ(shard("3/8"), (Shard{3, 8}));
  for (const char* wrong :
       {"", "3", "0/8", "9/8", "3/", "/8", "-1/8", "1/2/3", "a/b", "1/99999999999"}) {
    EXPECT_EQ(shard(wrong), std::nullopt) << wrong;
  }
}

TEST(ShardOf, ARankOfMpi) {
  EXPECT_EQ(shard("auto", {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}),
            (Shard{3, 4}));
  EXPECT_EQ(shard("auto", {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}), (Shard{1, 4}));
  EXPECT_EQ(shard("auto", {{"OMPI_COMM_WORLD_RANK", "4"}, {"OMPI_COMM_WORLD_SIZE", "4"}}),
            std::nullopt);
  EXPECT_EQ(shard("auto"), std::nullopt);
}

Variables task(const char* id, const char* first, const char* last, const char* count) {
  return {{"SLURM_ARRAY_TASK_ID", id},
          {"SLURM_ARRAY_TASK_MIN", first},
          {"SLURM_ARRAY_TASK_MAX", last},
          {"SLURM_ARRAY_TASK_COUNT", count}};
}

TEST(ShardOf, ATaskOfASlurmArray) {
  EXPECT_EQ(shard("auto", task("3", "1", "5", "5")), (Shard{3, 5}));
  EXPECT_EQ(shard("auto", task("20", "0", "30", "4")), (Shard{3, 4}));  // 0-30:10
  EXPECT_EQ(shard("auto", task("7", "7", "7", "1")), (Shard{1, 1}));
  EXPECT_EQ(shard("auto", task("7", "7", "7", "0")), std::nullopt);
  EXPECT_EQ(shard("auto", task("9", "1", "5", "5")), std::nullopt);
}

TEST(ShardOf, ATaskOfSrunInATaskOfAnArray) {
  Variables variables = task("2", "1", "3", "3");
  variables["SLURM_PROCID"] = "1";
  variables["SLURM_NTASKS"] = "4";
  // The script of the array's task, which is one process.
  EXPECT_EQ(shard("auto", variables), (Shard{2, 3}));
  variables["SLURM_STEP_ID"] = "0";
  EXPECT_EQ(shard("auto", variables), (Shard{6, 12}));
}

// Each unit is in exactly one share.
TEST(ShardOf, AnArrayCoversAll) {
  std::vector<bool> seen(5 * 3);
  for (int t = 1; t <= 5; ++t) {
    for (int r = 0; r < 3; ++r) {
      Variables variables = task(std::to_string(t).c_str(), "1", "5", "5");
      variables["PMIX_RANK"] = std::to_string(r);
      variables["PMIX_SIZE"] = "3";
      const auto s = shard("auto", variables);
      ASSERT_TRUE(s);
      ASSERT_EQ(s->n, 15U);
      EXPECT_FALSE(seen[s->k - 1]);
      seen[s->k - 1] = true;
    }
  }
}

}  // namespace
}  // namespace rpcrdma::batch

#include <fmt/core.h>

#include <rpcrdma/batch_run/runner.h>

namespace rpcrdma::batch_run {

namespace {

using Words = std::vector<std::string>;

Words share_of(const RunOptions& o, const std::string& shard) {
  Words words{o.program, "analyze-many", "--out", o.folder, "--shard", shard};
  if (o.threads != 0) {
    words.emplace_back("--threads");
    words.push_back(std::to_string(o.threads));
  }
  return words;
}

std::string shell_line(const Words& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += shell_word(word);
  }
  return line;
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

Words slurm_array(const RunOptions& o) {
  Words words{"sbatch",
              "--wait",
              "--parsable",
              "--job-name=rpcrdma",
              fmt::format("--array=1-{}", o.shards),
              fmt::format("--output={}/logs/slurm-%a.log", o.folder)};
  append(words, o.arguments);
  words.push_back("--wrap=exec " + shell_line(share_of(o, "auto")));
  return words;
}

Words slurm_step(const RunOptions& o) {
  Words words{"srun", fmt::format("--ntasks={}", o.shards)};
  append(words, o.arguments);
  append(words, share_of(o, "auto"));
  return words;
}

Words mpi_ranks(const RunOptions& o) {
  Words words{"mpirun"};
  if (o.shards_given) append(words, {"-np", std::to_string(o.shards)});
  if (!o.hosts.empty()) append(words, {"--host", o.hosts});
  append(words, o.arguments);
  append(words, share_of(o, "auto"));
  return words;
}

Words parallel_jobs(const RunOptions& o) {
  Words words{"parallel", "--will-cite"};
  if (!o.hosts.empty()) append(words, {"--sshlogin", o.hosts});
  append(words, o.arguments);
  // Its place for the argument is in a word of the shell.
  words.push_back(shell_line(share_of(o, "SHARE")));
  std::string& line = words.back();
  line.replace(line.find("SHARE", line.rfind("--shard")), 5, fmt::format("{{}}/{}", o.shards));
  words.emplace_back(":::");
  for (std::uint32_t k = 1; k <= o.shards; ++k) words.push_back(std::to_string(k));
  return words;
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  quoted += '\'';
  return quoted;
}

std::vector<std::vector<std::string>> command_lines(const RunOptions& options) {
  switch (options.runner) {
    case Runner::kSlurm:
      return {slurm_array(options)};
    case Runner::kSrun:
      return {slurm_step(options)};
    case Runner::kMpi:
      return {mpi_ranks(options)};
    case Runner::kParallel:
      return {parallel_jobs(options)};
    case Runner::kLocal:
      break;
  }
  std::vector<Words> lines;
  for (std::uint32_t k = 1; k <= options.shards; ++k) {
    lines.push_back(share_of(options, fmt::format("{}/{}", k, options.shards)));
  }
  return lines;
}

}  // namespace rpcrdma::batch_run

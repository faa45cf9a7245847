// Runs the shares of a batch as processes: on this machine, as an array job of Slurm, as ranks of
// MPI, or by GNU parallel over ssh. Each process is `rpcrdma analyze-many --out DIR --shard K/N`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rpcrdma::batch_run {

enum class Runner : std::uint8_t { kLocal, kSlurm, kSrun, kMpi, kParallel };

struct RunOptions {
  Runner runner = Runner::kLocal;
  std::uint32_t shards = 1;
  bool shards_given = false;           // by the user; else MPI takes all slots
  std::uint32_t threads = 0;           // of each process; 0: as it finds best
  std::string hosts;                   // "a,b", of MPI and GNU parallel; empty: theirs
  std::vector<std::string> arguments;  // of sbatch, srun, mpirun or parallel
  std::string program;                 // rpcrdma, as a path on all machines
  std::string folder;                  // DIR, absolute
};

// The command lines that run all shares: one for each local process, else one.
[[nodiscard]] std::vector<std::vector<std::string>> command_lines(const RunOptions& options);

// Quotes a word for a shell.
[[nodiscard]] std::string shell_word(const std::string& word);

// What the processes said.
struct Said {
  std::vector<std::string> lines;  // of standard output and error; the last ones of each process
  std::string ended_badly;         // how a process ended that says nothing; empty: none did
};

// Runs the command lines at the same time and waits for their end. `tick`: called several times a
// second. The processes end when this one does.
[[nodiscard]] Said run_all(const std::vector<std::vector<std::string>>& lines,
                           const std::function<void()>& tick);

}  // namespace rpcrdma::batch_run

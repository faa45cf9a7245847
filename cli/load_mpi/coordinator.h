// Rank 0's view of the job: gives the ranks their work, keeps what they report, and notices those
// that do not report any more.
#pragma once

#include "channel.h"
#include "load/options.h"
#include "load/output.h"
#include "messages.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/whole_file.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/load_ranks/clock.h>
#include <rpcrdma/load_ranks/gather.h>
#include <rpcrdma/load_ranks/pattern.h>
#include <rpcrdma/load_ranks/report.h>

namespace rpcrdma::load_mpi {

struct CoordinatorOptions {
  load_ranks::Pattern pattern = load_ranks::Pattern::kManyToOne;
  // A rank that reports nothing for this time is stuck.
  fabric::Time patience = 5 * fabric::kSecond;
  // Results are collected for this time after the launcher's signal; see collect_before_kill().
  fabric::Time collect_after_signal = 400 * fabric::kMillisecond;
};

// For the results of ranks that live, if a job ends early.
inline constexpr fabric::Time kCollect = 2 * fabric::kSecond;

// How the job ended.
struct Outcome {
  int status = 0;
  // Some ranks cannot end by themselves: MPI_Abort() ends them.
  bool abort = false;
};

class Coordinator {
 public:
  // `load`, `output` and `channel` outlive it. `file`: for the report; nothing: standard output.
  Coordinator(Channel& channel, const cli::LoadOptions& load, cli::LoadOutput& output,
              CoordinatorOptions options, std::optional<base::WholeFile> file);

  void on(const Message& message, fabric::Time now);
  void on_reduced(const base::Expected<std::vector<std::uint8_t>>& bytes, fabric::Time now);
  // Call it every few milliseconds at least.
  void poll(fabric::Time now);
  // The launcher or the user ends the job. The launcher kills all ranks soon after.
  void interrupt(fabric::Time now);

  // When the job has ended and its report was printed.
  [[nodiscard]] const std::optional<Outcome>& outcome() const { return outcome_; }

 private:
  enum class Phase : std::uint8_t {
    kGreeting,    // until all said hello
    kServing,     // until all servers listen
    kConnecting,  // until all connections are established
    kTiming,      // until all clocks are known
    kLoading,     // until all are done
    kReducing,    // until the results are reduced
    kCollecting,  // the job ends early: until those that live have sent their results
    kOver,
  };
  struct Rank {
    Hello hello;
    bool greeted = false;
    bool answered = false;  // in this phase
    std::string problem;
    fabric::Time heard = 0;
    bool pinged = false;  // whose clock is being read
    unsigned pongs = 0;
    load_ranks::OffsetEstimate estimate;
    std::uint64_t bytes = 0;  // of its result
    bool lost = false;
  };

  // Ranks in words: "rank 2 (h3)", "ranks 1-3 (h2, h3, h4)".
  [[nodiscard]] std::string names(const std::vector<std::uint32_t>& ranks) const;
  [[nodiscard]] bool all_answered() const;
  void enter(Phase phase, fabric::Time now);
  void send_all(Kind kind, const std::string& bytes = {});
  void answer(Rank& rank, const std::string& problem);

  void plan(fabric::Time now);
  void begin_round(fabric::Time now);
  void ping_some(fabric::Time now);
  [[nodiscard]] std::vector<std::string> server_texts(const std::vector<std::string>& servers);
  void start_round(fabric::Time now);
  void take_tick(const Message& message, fabric::Time now);
  void write_seconds(bool all);
  void reduce(fabric::Time now);
  void round_over(fabric::Time now);
  void check_silence(fabric::Time now);
  // Ends the job since ranks cannot take part: prints one line for each different problem.
  void refuse();
  void refuse_all(const std::string& problem);
  // Ends the job early. `wait`: for results, at most.
  void collect(fabric::Time now, fabric::Time wait);
  void ask_for_results(fabric::Time now);
  void name_missing();
  void finish_early();
  // Writes the report. `early`: mpirun may be ending the job. Returns the exit status.
  [[nodiscard]] int report(bool early);

  Channel& channel_;
  const cli::LoadOptions& load_;
  cli::LoadOutput& output_;
  CoordinatorOptions options_;

  std::vector<Rank> ranks_;
  Phase phase_ = Phase::kGreeting;
  fabric::Time entered_ = 0;   // the phase
  fabric::Time deadline_ = 0;  // of the phases that have one
  fabric::Time ask_at_ = 0;    // when to ask for results; 0: was done
  bool interrupted_ = false;

  load_ranks::Schedule schedule_;
  std::optional<cli::LoadPlan> plan_;
  std::map<std::vector<std::string>, std::vector<std::string>> texts_;  // server_texts()
  std::uint32_t round_ = 0;
  load_ranks::Gather gather_;
  load_ranks::WholeSetup setup_;
  fabric::Time first_start_ = 0;   // of the first round
  fabric::Time start_ = 0;         // of this round
  std::uint64_t next_second_ = 0;  // of this round, to write
  std::uint64_t seconds_ = 0;      // of this round, that a rank has reported
  fabric::Time elapsed_ = 0;       // of this round, until the latest tick
  load::Interval interval_;        // seconds that were not written yet
  bool reader_gone_ = false;       // of standard output
  std::optional<base::WholeFile> file_;
  std::optional<Outcome> outcome_;
};

}  // namespace rpcrdma::load_mpi

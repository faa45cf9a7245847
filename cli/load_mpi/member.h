// What a rank does, rank 0 included: the work that rank 0 gives it.
#pragma once

#include "channel.h"
#include "load/round_run.h"
#include "load/server_child.h"
#include "messages.h"
#include "reduce.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::load_mpi {

struct MemberOptions {
  // Arguments of `rpcrdma serve`, in case that this rank serves.
  std::vector<std::string> serve;
  // If nothing comes from rank 0 for this time, it is stuck.
  fabric::Time patience = 5 * fabric::kSecond;
};

class Member {
 public:
  // `load` and `channel` outlive it. Says hello to rank 0.
  Member(Channel& channel, const cli::LoadOptions& load, MemberOptions options, const Hello& hello);

  void on(const Message& message, fabric::Time now);
  // Call it every few milliseconds at least.
  void poll(fabric::Time now);
  // The launcher or the user ends the job: stops, and sends the result.
  void interrupt();

  // Whether rank 0 said that the job is complete.
  [[nodiscard]] bool ended() const { return ended_; }
  // Whether rank 0 is stuck or dead.
  [[nodiscard]] bool forsaken(fabric::Time now) const;
  // Whether this rank has given its result because the job ends early: rank 0 may already be gone.
  [[nodiscard]] bool gave_result() const { return collected_; }
  // At rank 0: the reduced results of a round, once.
  [[nodiscard]] std::optional<base::Expected<std::vector<std::uint8_t>>> take_reduced();

 private:
  void begin_round(const Message& message);
  void poll_server();
  void poll_round(fabric::Time now);
  void keep(const load_ranks::Results& results);
  void collect();
  void send_beat(fabric::Time now, std::string bytes);

  Channel& channel_;
  const cli::LoadOptions& load_;
  MemberOptions options_;
  Hello hello_;

  std::optional<cli::ServerChild> server_;
  bool serving_ = false;  // kServing was sent

  std::uint32_t round_ = 0;
  std::unique_ptr<cli::RoundRun> run_;
  bool ready_ = false;      // kReady was sent
  bool loading_ = false;    // from kStart to the result
  bool collected_ = false;  // the result was sent by itself
  bool stopping_ = false;
  std::optional<std::vector<std::uint8_t>> result_;  // encoded, of the round, until it is reduced

  std::unique_ptr<Reduction> reduction_;
  std::optional<base::Expected<std::vector<std::uint8_t>>> reduced_;

  fabric::Time beat_ = 0;    // the last one
  fabric::Time ticked_ = 0;  // the last tick
  fabric::Time polled_ = 0;
  fabric::Time heard_ = 0;  // rank 0
  bool ended_ = false;
};

}  // namespace rpcrdma::load_mpi

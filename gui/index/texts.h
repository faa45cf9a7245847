// What Calls ask for and how they end, each kept once and named by a number. The caches in front of
// both tables answer nearly every lookup: each message takes one or two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <rpcrdma/index/row.h>

namespace rpcrdma::index {

class Texts {
 public:
  // As in MessageRow. 0 also for texts beyond the limit.
  [[nodiscard]] std::uint32_t procedure_of(const model::RpcInfo& rpc);
  [[nodiscard]] std::uint32_t outcome_of(const model::RpcInfo& rpc);
  // Appends those that are new since the last call.
  void put(std::vector<ProcedureText>& procedures, std::vector<Outcome>& outcomes);

 private:
  static constexpr std::size_t kRecent = 64;
  static constexpr std::size_t kOperations = 10;  // a procedure with more is not cached
  struct Procedure {
    std::uint32_t program = 0, version = 0, procedure = 0, announced = 0, minor = 0, kept = 0;
    std::array<std::uint32_t, kOperations> op{};
    std::uint32_t number = 0;  // 0: none
  };
  struct Ending {
    model::RpcInfo rpc;
    std::uint32_t number = 0;
  };

  [[nodiscard]] std::uint32_t find_procedure(const model::RpcInfo& rpc);
  [[nodiscard]] std::uint32_t find_outcome(const model::RpcInfo& rpc);

  std::array<Procedure, kRecent> recent_procedures_{};
  std::vector<Ending> recent_outcomes_{kRecent};
  std::unordered_map<std::string, std::uint32_t> procedures_, outcomes_;
  std::string draft_;
  std::vector<ProcedureText> new_procedures_;
  std::vector<Outcome> new_outcomes_;
};

}  // namespace rpcrdma::index

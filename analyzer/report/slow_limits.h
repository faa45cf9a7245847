// Counts Calls above the limits of the user, by connection.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <rpcrdma/report/report.h>
#include <rpcrdma/session/context.h>

namespace rpcrdma::report {

class SlowLimits {
 public:
  explicit SlowLimits(std::vector<SlowLimit> limits);

  [[nodiscard]] bool empty() const { return limits_.empty(); }
  // Counts a Call that took `ns`, or waited for as long in vain. `name`: of its procedure.
  void count(const model::Message& call, const ProcedureKey& key, const std::string& label,
             std::int64_t ns, bool answered);
  // Adds what has been counted so far.
  void add_to(Timing& to, const session::Context& context) const;

 private:
  [[nodiscard]] const std::vector<std::uint8_t>& limits_of(const ProcedureKey& key,
                                                           const std::string& label);

  std::vector<SlowLimit> limits_;
  std::map<ProcedureKey, std::vector<std::uint8_t>> of_procedure_;  // indices of limits
  std::map<std::pair<std::uint32_t, std::uint8_t>, LimitedCalls> counts_;
  std::uint64_t omitted_ = 0;
};

}  // namespace rpcrdma::report

#include <algorithm>

#include <rpcrdma/service/program.h>

namespace rpcrdma::service {

Program::Program(std::uint32_t number, std::uint32_t version, std::string name,
                 std::vector<Procedure> procedures)
    : number_(number),
      version_(version),
      name_(std::move(name)),
      procedures_(std::move(procedures)) {
  const auto is_null = [](const Procedure& p) { return p.number == 0; };
  if (std::none_of(procedures_.begin(), procedures_.end(), is_null)) {
    procedures_.push_back({0, "NULL", [](Call& call) { call.reply({}); }, {}, true});
  }
  std::sort(procedures_.begin(), procedures_.end(),
            [](const Procedure& a, const Procedure& b) { return a.number < b.number; });
  durations_.resize(procedures_.size());
}

void Program::count(const Procedure& procedure, fabric::Time duration) {
  durations_[static_cast<std::size_t>(&procedure - procedures_.data())].add(duration);
}

const Procedure* Program::find(std::uint32_t procedure) const {
  // Most tables have no gaps.
  if (procedure < procedures_.size() && procedures_[procedure].number == procedure) {
    return &procedures_[procedure];
  }
  const auto at =
      std::lower_bound(procedures_.begin(), procedures_.end(), procedure,
                       [](const Procedure& p, std::uint32_t n) { return p.number < n; });
  return at != procedures_.end() && at->number == procedure ? &*at : nullptr;
}

}  // namespace rpcrdma::service

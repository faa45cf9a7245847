#include <string>
#include <utility>

#include <rpcrdma/session/session.h>

namespace rpcrdma::session {

// The model calls the observers, and the checker, which is one of them, queries the model. So the
// model refers to a list that is filled once the checker exists.
Session::Session(Options options, Observers observers)
    : pipeline_(observers_, options.model, std::move(observers.events), options.join_views),
      context_{&pipeline_.connections(), &pipeline_.model()} {
  for (model::Observer* observer : observers.before_rules) observers_.add(*observer);
  if (options.rules) {
    rules_.emplace(std::move(*options.rules), pipeline_.connections(), pipeline_.model());
    observers_.add(rules_->checker);
  }
  for (model::Observer* observer : observers.after_rules) observers_.add(*observer);
}

void Session::finish_rules(std::uint64_t dropped) {
  if (dropped != 0) {
    rules_->findings.add(rules::RuleId::kCapture, {}, [dropped] {
      return std::to_string(dropped) + " packets were dropped while capturing";
    });
  }
  rules_->checker.finish();
}

}  // namespace rpcrdma::session

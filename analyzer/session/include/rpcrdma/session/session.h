// One reading of a capture, of a recording or of live endpoints: the pipeline, the model and the
// rules, wired together. Every command, the GUI, the timelines and the Wireshark plugin construct
// one and add their observers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <rpcrdma/rules/checker.h>
#include <rpcrdma/rules/findings.h>
#include <rpcrdma/session/context.h>
#include <rpcrdma/session/pipeline.h>

namespace rpcrdma::session {

struct Options {
  model::ModelOptions model = {};
  // Empty: no message is checked, and there are no findings.
  std::optional<rules::Findings::Options> rules = std::nullopt;
  // Follow one view of a connection that several sources show. False: each is one of its own.
  bool join_views = true;
};

// All observers must outlive the session. They are called in the order of the lists.
struct Observers {
  // Called with each event before the rules are: findings on the event come later.
  std::vector<model::Observer*> before_rules = {};
  // Called with each event after the rules: most findings on the event came before.
  std::vector<model::Observer*> after_rules = {};
  // Called with the trace events of endpoints.
  std::vector<trace_reader::Observer*> events = {};
};

class Session {
 public:
  // Calls no observer: they may be under construction themselves.
  explicit Session(Options options, Observers observers = {});
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Reads frames. Its finish() ends the connections; then comes finish_rules().
  [[nodiscard]] Pipeline& pipeline() { return pipeline_; }
  [[nodiscard]] const Pipeline& pipeline() const { return pipeline_; }
  [[nodiscard]] const Context& context() const { return context_; }

  // These five need Options::rules.
  [[nodiscard]] rules::Findings& findings() { return rules_->findings; }
  [[nodiscard]] const rules::Findings& findings() const { return rules_->findings; }
  [[nodiscard]] rules::Checker& checker() { return rules_->checker; }
  [[nodiscard]] const rules::Checker& checker() const { return rules_->checker; }
  // Call once, after Pipeline::finish(): decides pending findings. `dropped` packets were lost
  // while capturing, which becomes a finding of its own.
  void finish_rules(std::uint64_t dropped = 0);

 private:
  struct Rules {
    Rules(rules::Findings::Options options, const roce::Connections& connections,
          const model::Model& model)
        : findings(std::move(options), connections, model), checker(findings, connections, model) {}

    rules::Findings findings;
    rules::Checker checker;
  };

  model::ObserverList observers_;
  Pipeline pipeline_;
  Context context_;
  std::optional<Rules> rules_;
};

}  // namespace rpcrdma::session

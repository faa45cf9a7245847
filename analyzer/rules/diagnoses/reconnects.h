// Compares a connection's Calls with its predecessor's, and keeps its own for its successor.
#pragma once

#include <deque>
#include <memory>

#include <rpcrdma/rules/findings.h>
#include <rpcrdma/rules/sent_again.h>

namespace rpcrdma::rules {

class Succession {
 public:
  void ended(const model::Call& call, const model::Message* answer);
  // Notes a Call of the client. `before`: connections that ended, newest last.
  // Returns whether the predecessor had it already.
  bool called(const FirstCall& call, const roce::Connection& connection, int client,
              const std::deque<std::shared_ptr<const Departed>>& before);
  // Returns whether the client has sent no Call yet.
  [[nodiscard]] bool begins() const { return !successor_.called_before(); }
  // Returns whether the next Call may be one of the predecessor's.
  [[nodiscard]] bool looks() const { return successor_.looks(); }
  void report(Findings& findings, const roce::Connection& connection) const;
  [[nodiscard]] std::shared_ptr<const Departed> depart(const roce::Connection& connection,
                                                       int client, bool broken);

 private:
  Successor successor_;
  std::unique_ptr<Departed> own_;  // allocated with the first Call to keep
};

}  // namespace rpcrdma::rules

// What a connection takes over from the one before it, and leaves to the one behind it.
#pragma once

#include <deque>
#include <memory>

#include <rpcrdma/rules/findings.h>
#include <rpcrdma/rules/sent_again.h>

namespace rpcrdma::rules {

class Succession {
 public:
  void ended(const model::Call& call, const model::Message* answer);
  // A Call of the client. `before`: connections that ended, newest last.
  // Gives whether the connection before this one had it already.
  bool called(const FirstCall& call, const roce::Connection& connection, int client,
              const std::deque<std::shared_ptr<const Departed>>& before);
  // No Call of the client came yet.
  [[nodiscard]] bool begins() const { return !successor_.called_before(); }
  // The next one may be one of the connection before this.
  [[nodiscard]] bool looks() const { return successor_.looks(); }
  void report(Findings& findings, const roce::Connection& connection) const;
  [[nodiscard]] std::shared_ptr<const Departed> depart(const roce::Connection& connection,
                                                       int client, bool broken);

 private:
  Successor successor_;
  std::unique_ptr<Departed> own_;  // made when there is something to remember
};

}  // namespace rpcrdma::rules

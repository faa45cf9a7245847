// Reports Calls that were refused, or that ended with a faulty status: the reason, their share, and
// how they differ from answered Calls. A finding is added with the first of a kind, and its numbers
// are kept up to date while the connection lasts.
#pragma once

#include "probes.h"

#include <memory>

#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/roce/connections.h>
#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

class RefusedCalls {
 public:
  RefusedCalls(Findings& findings, const roce::Connections& connections, const model::Model& model);
  ~RefusedCalls();
  RefusedCalls(const RefusedCalls&) = delete;
  RefusedCalls& operator=(const RefusedCalls&) = delete;

  void answered(const model::Call& call, const model::Message& answer);
  // A Call ended without a Reply: its connection closed, or the capture ended.
  void unanswered(const model::Call& call);
  // Two directions turned out to be one connection: neither has matched Calls and answers.
  void merge(const roce::Connection& into, const roce::Connection& from);
  void close(const roce::Connection& connection);
  // Called before the connection is evicted: reports the refusals that are still held.
  void evict(const roce::Connection& connection);
  void finish();

 private:
  struct Procedure;
  struct Kind;
  struct OfConnection;

  void refused(OfConnection& c, Procedure& procedure, const model::Call& call,
               const model::Message& answer, const Refusal& refusal);
  void succeeded(OfConnection& c, Procedure& procedure, const model::Call& call,
                 const model::Message& answer);
  void note_status(Procedure& procedure, const model::Call& call, const model::Message& answer);
  void report(const Probe& refused, std::uint64_t message, bool suspect,
              const char* unsure = nullptr);
  void report(const std::vector<Probe>& refused);

  Findings& findings_;
  const roce::Connections& connections_;
  const model::Model& model_;
  roce::ByConnection<OfConnection> open_;
  Probes probes_;
};

}  // namespace rpcrdma::rules

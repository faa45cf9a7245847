// Calls that were answered and not executed, or executed in vain: what refused them, how many of
// how many, and what they have that answered ones have not. A finding comes with the first of a
// kind and keeps its numbers up to date, so it is there while the connection lasts.
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
  // Two directions turned out to be one connection: no answer was joined to a Call in either.
  void merge(const roce::Connection& into, const roce::Connection& from);
  void close(const roce::Connection& connection);
  // The last moment at which it can be asked for.
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
  void report(const Probe& refused, std::uint64_t message, bool suspect);
  void report(const std::vector<Probe>& refused);

  Findings& findings_;
  const roce::Connections& connections_;
  const model::Model& model_;
  roce::ByConnection<OfConnection> open_;
  Probes probes_;
};

}  // namespace rpcrdma::rules

// What every check gets: the message or operation, where it belongs, and where to say what is
// wrong. A check is a small function; the groups of them are called by checker.cc.
#pragma once

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

struct Scene {
  Findings& findings;
  const roce::Connection& connection;
  const model::ConnectionModel& model;
  bool reverse = false;  // the message is of the reverse direction
};

// header_checks.cc: one message on its own.
void check_header(const model::Message& m, const Scene& scene);

}  // namespace rpcrdma::rules

// What RPCSEC_GSS costs: with integrity or privacy (krb5i, krb5p) arguments and results are one
// opaque, so no item of them can be placed directly.
#pragma once

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

class GssCost {
 public:
  // Notes an answered Call of the forward direction.
  void note(const model::Call& call, const model::Message& reply);
  // Called when the connection closes. `client`: the side that chooses the security flavor.
  void report(Findings& findings, const roce::Connection& connection, int client) const;

 private:
  void note_chunks(const model::Call& call, const model::Message& reply);

  std::uint64_t calls_ = 0;
  std::uint64_t integrity_ = 0, privacy_ = 0;  // Calls
  std::uint64_t first_frame_ = 0, last_frame_ = 0;
  std::uint64_t inline_ = 0, read_ = 0, written_ = 0;  // bytes; of long Calls, of long Replies
  // Calls that move an item in a chunk of its own nevertheless.
  std::uint64_t reduced_calls_ = 0, reduced_replies_ = 0;
  std::uint64_t reduced_call_ = 0, reduced_reply_ = 0;  // frame of the first
};

}  // namespace rpcrdma::rules

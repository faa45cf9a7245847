// Finds deliberate behaviour of known implementations that looks like a fault.
#pragma once

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

class ImplementationQuirks {
 public:
  void call(const model::Message& m);
  void answered(const model::Call& call, const model::Message& reply,
                const model::InlineThresholds& thresholds);
  void report(Findings& findings, const roce::Connection& connection, int client) const;

 private:
  std::uint64_t short_by_chunk_ = 0;  // Replies that would fit inline, sent through a Reply chunk
  std::uint64_t short_inline_ = 0;    // ... sent inline although a Reply chunk was offered
  std::uint64_t short_frame_ = 0;
  std::uint64_t pads_ = 0;  // Write chunks with a segment for roundup alone
  std::uint64_t pad_frame_ = 0;
  std::uint64_t offsets_ = 0, xid_offsets_ = 0;  // Calls with segments; with the XID in them
  std::uint64_t xid_frame_ = 0;
  std::uint64_t grants_ = 0;  // Replies, all with the same grant
  std::uint32_t grant_ = 0, asked_ = 0;
  bool grant_changed_ = false;
  std::uint64_t grant_frame_ = 0;
};

}  // namespace rpcrdma::rules

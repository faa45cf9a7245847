// Finds requesters that register many small segments for each Call.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

class Registrations {
 public:
  void note(const model::Message& call);
  void report(Findings& findings, const roce::Connection& connection, int requester) const;

 private:
  std::uint64_t calls_ = 0;  // with segments
  std::uint64_t handles_ = 0;
  std::uint64_t again_ = 0;  // handles that a recent Call used, too
  std::uint64_t bytes_ = 0;
  std::uint64_t first_frame_ = 0, last_frame_ = 0;
  // Recent handles, hashed: a newer one replaces an older one in its place. Null before the first
  // handle, and as soon as one was reused, since there is no finding then.
  std::unique_ptr<std::array<std::uint32_t, 256>> recent_;
};

}  // namespace rpcrdma::rules

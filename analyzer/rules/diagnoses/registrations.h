// How a requester registers the memory that it offers.
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
  std::uint64_t again_ = 0;  // handles that a recent Call had too
  std::uint64_t bytes_ = 0;
  std::uint64_t first_frame_ = 0, last_frame_ = 0;
  // Recent handles, each at one place: a newer one takes an older one's. Null before the first, and
  // as soon as one was used again, since nothing is found then.
  std::unique_ptr<std::array<std::uint32_t, 256>> recent_;
};

}  // namespace rpcrdma::rules

// Calls that come again on a connection which took another one's place.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

// What is remembered of a connection for the one that follows it: bounded.
struct Departed {
  struct Call {
    std::uint32_t xid = 0;
    std::uint32_t program = 0, procedure = 0;
    std::uint64_t digest = 0;  // model::Call::digest; 0: what comes again may differ, or not known
    std::uint32_t reply_psn = 0;
    bool reply_psn_known = false;
    bool acknowledged = false;  // its Reply, by its requester
  };
  std::uint32_t connection = 0;  // index
  std::int64_t end_ns = 0;
  bool broken = false;                      // it did not end by the peers' will
  std::array<capture::Address, 2> address;  // of client and server
  std::vector<Call> unanswered;
  std::vector<Call> answered;  // the latest ones, as a ring
  std::size_t oldest = 0;      // in the ring
};

// Of one connection: what it leaves behind, and what it took over.
class Succession {
 public:
  void ended(const model::Call& call, const model::Message* answer);
  // A Call of the client. `before`: connections that ended, newest last.
  // Gives whether the connection before this one had it already.
  bool called(const model::Call& call, const roce::Connection& connection, int client,
              const std::deque<std::shared_ptr<const Departed>>& before);
  void tell(Findings& findings, const roce::Connection& connection) const;
  [[nodiscard]] std::shared_ptr<const Departed> depart(const roce::Connection& connection,
                                                       int client, bool broken);

 private:
  struct Taken {
    std::uint64_t calls = 0;
    std::uint64_t first_frame = 0, last_frame = 0;
    std::uint32_t first_xid = 0;
    std::uint64_t acknowledged = 0;  // of `calls`
    void add(const model::Message& call);
  };

  std::uint64_t calls_ = 0;
  std::int64_t first_ns_ = 0;
  std::shared_ptr<const Departed> predecessor_;
  Taken again_, answered_twice_;
  std::unique_ptr<Departed> own_;  // made when there is something to remember
};

}  // namespace rpcrdma::rules

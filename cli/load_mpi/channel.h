// Messages between the ranks of a job. No function waits for a peer: a rank that has died or was
// stopped must not block another one.
//
// All of it is for one thread, that which called MPI_Init_thread().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <mpi.h>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::load_mpi {

// What a message is for: MPI's tag.
enum class Kind : int {
  // To rank 0:
  kHello,    // who I am, and whether I can take part
  kServing,  // the server listens; or why not
  kReady,    // connected for a round; or why not
  kPong,     // my clock
  kBeat,     // I am alive; with a tick: what I did in a second
  kDone,     // a round is over, and so long is my result
  kResult,   // my result
  // From rank 0:
  kServe,    // run a server
  kWork,     // what to do in a round
  kPing,     // asks for kPong
  kStart,    // when to start
  kReduce,   // join the reduction of the results
  kCollect,  // stop, and send the result
  kAlive,    // rank 0 is alive
  kEnd,      // the job is complete
};
inline constexpr int kKinds = static_cast<int>(Kind::kEnd) + 1;

struct Message {
  int from = 0;
  Kind kind = Kind::kHello;
  std::string bytes;
};

class Channel {
 public:
  // For all ranks. A collective call, as MPI_Init_thread() is.
  Channel();
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }

  // Sends to a rank, also to this one. Messages to one rank arrive in order.
  void send(int to, Kind kind, std::string bytes = {});
  // Messages to this rank that MPI still holds: many if it does not receive.
  [[nodiscard]] std::size_t unsent(int to) const;
  // Returns the next message; nothing if none has arrived completely.
  [[nodiscard]] std::optional<Message> receive();
  // Waits until all messages have been handed to the network, or until `deadline`
  // (CLOCK_MONOTONIC).
  void flush(fabric::Time deadline);

 private:
  // Longer messages are none of ours; they are dropped.
  static constexpr int kLongest = 256 << 20;

  struct Outgoing {
    int to = 0;
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Incoming {
    Message message;
    MPI_Request request = MPI_REQUEST_NULL;
    bool complete = false;
  };

  void progress();

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  // Neither moves in memory while MPI uses it.
  std::deque<std::unique_ptr<Outgoing>> outgoing_;
  std::vector<std::deque<std::unique_ptr<Incoming>>> incoming_;  // by source
  std::size_t pending_ = 0;                                      // in incoming_
  std::size_t next_source_ = 0;
};

}  // namespace rpcrdma::load_mpi

// What a timeline is made of, told to the writer of one format.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include <rpcrdma/model/call.h>
#include <rpcrdma/model/message.h>
#include <rpcrdma/roce/listener.h>
#include <rpcrdma/rules/findings.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::timeline {

// Takes text as it is made.
using Write = std::function<void(std::string_view)>;

// IDs of connections count from 1, as in every output.
[[nodiscard]] inline std::uint32_t id_of(const roce::Connection& connection) {
  return connection.index + 1;
}

// Where a message belongs, under the connection that it is of now.
struct Origin {
  std::uint32_t connection = 0;  // its index
  std::uint8_t sender = 0;       // side
  std::uint8_t caller = 0;       // the side whose Call this is or answers
  bool reverse = false;          // the caller is the RPC server

  [[nodiscard]] std::uint32_t id() const { return connection + 1; }
};

// Who saw what is told: somebody in the network, or one of the two endpoints of a recording.
enum class Vantage : std::uint8_t { kNetwork, kClient, kServer };

// A Call that is over.
struct EndedCall {
  const model::Call& call;
  const model::Message* answer;  // null: none came
  Origin origin;                 // of the Call
  std::int64_t end_ns;           // when the answer was complete, or what else ended it
};

// What is wrong, and where it shows.
struct Found {
  const rules::Occurrence& occurrence;
  std::uint32_t connection_id;  // 0: none in particular
  const char* role;             // of the peer at fault: "client", "server"; null: not known
  std::int64_t time_ns;         // of the message or packet in which it is seen
};

// Each hook is told when it is known, so times rise but for what is found out later: findings, and
// operations whose end shows with the next one. References are valid during the call, a connection
// until evict(). Times are nanoseconds since 1970, or of whatever clock the source has.
class Format {
 public:
  virtual ~Format() = default;

  // Comes first, and end() last, whatever else comes. `reference_ns`: a whole second; nothing lies
  // before it unless a clock stepped back. `vantage`: as far as what comes first tells it.
  virtual void begin(std::int64_t reference_ns, Vantage vantage) {
    (void)reference_ns, (void)vantage;
  }
  virtual void end() {}

  // `client`: the side that is the RPC client; -1 while that is not known.
  virtual void opened(const roce::Connection& connection, int client, std::int64_t time_ns) {
    (void)connection, (void)client, (void)time_ns;
  }
  // More is known of it: a queue pair number, or which side is the client.
  virtual void changed(const roce::Connection& connection, int client, std::int64_t time_ns) {
    (void)connection, (void)client, (void)time_ns;
  }
  // `from` is the other direction of `into`: its side 0 is side 1 of that. changed() follows.
  virtual void joined(const roce::Connection& into, const roce::Connection& from,
                      std::int64_t time_ns) {
    (void)into, (void)from, (void)time_ns;
  }
  // What `sender` told when the connection was set up (RFC 8797); null: nothing that is known.
  virtual void private_data(const roce::Connection& connection, int sender,
                            const wire::PrivateData* data, std::int64_t time_ns) {
    (void)connection, (void)sender, (void)data, (void)time_ns;
  }
  virtual void closed(const roce::Connection& connection, std::int64_t time_ns) {
    (void)connection, (void)time_ns;
  }
  // Nothing more is told of it.
  virtual void evict(std::uint32_t connection) { (void)connection; }

  virtual void message(const model::Message& message, const Origin& origin) {
    (void)message, (void)origin;
  }
  // A caller's ledger, told again whenever something may have changed in it.
  virtual void credits(const model::Credits& credits, const Origin& origin, std::int64_t time_ns) {
    (void)credits, (void)origin, (void)time_ns;
  }
  // A Call is outstanding. Told of every Call, and so is its end.
  virtual void call_begun(const model::Call& call, const Origin& origin) {
    (void)call, (void)origin;
  }
  // `shown`: false where a filter leaves it out.
  virtual void call_ended(const EndedCall& ended, bool shown) { (void)ended, (void)shown; }
  // An RDMA Read or Write for an outstanding Call is over; `origin`: of the Call.
  virtual void operation(const model::Call& call, const model::ChunkOperation& operation,
                         const Origin& origin) {
    (void)call, (void)operation, (void)origin;
  }
  // One that touched no memory of an outstanding Call.
  virtual void unmatched_operation(const roce::Connection& connection,
                                   const roce::Operation& operation) {
    (void)connection, (void)operation;
  }

  // A NAK or RNR NAK of `sender`, the responder of the operation.
  virtual void refusal(const roce::Connection& connection, int sender, const wire::Aeth& aeth,
                       std::uint32_t psn, const roce::PacketMeta& meta) {
    (void)connection, (void)sender, (void)aeth, (void)psn, (void)meta;
  }
  // `count` packets of `sender` are known now to have been sent again.
  virtual void retransmission(const roce::Connection& connection, int sender, std::uint64_t count,
                              const roce::PacketMeta& meta) {
    (void)connection, (void)sender, (void)count, (void)meta;
  }
  virtual void finding(const Found& found) { (void)found; }
};

}  // namespace rpcrdma::timeline

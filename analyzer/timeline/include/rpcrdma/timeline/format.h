// The interface of timeline formats: hooks for the events of a timeline.
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

// Receives the text piece by piece.
using Write = std::function<void(std::string_view)>;

// IDs of connections count from 1, as in every output.
[[nodiscard]] inline std::uint32_t id_of(const roce::Connection& connection) {
  return connection.index + 1;
}

// The connection and sides of a message, after merges of connections.
struct Origin {
  std::uint32_t connection = 0;  // its index
  std::uint8_t sender = 0;       // side
  std::uint8_t caller = 0;       // the side whose Call this is or answers
  bool reverse = false;          // the caller is the RPC server

  [[nodiscard]] std::uint32_t id() const { return connection + 1; }
};

// The point of observation: in the network, or the endpoint that made a recording.
enum class Vantage : std::uint8_t { kNetwork, kClient, kServer };

// A Call that has ended.
struct EndedCall {
  const model::Call& call;
  const model::Message* answer;  // null: not answered
  Origin origin;                 // of the Call
  std::int64_t end_ns;  // time at which the answer was complete, or the Call ended otherwise
};

// A finding and its place.
struct Found {
  const rules::Occurrence& occurrence;
  std::uint32_t connection_id;  // 0: no single connection
  const char* role;             // of the peer at fault: "client", "server"; null: unknown
  std::int64_t time_ns;         // of the message or packet that shows it
};

// Each hook is called as soon as its event is known. Times therefore increase, except for findings
// and for operations whose end only the next one shows. References are valid during the call, that
// of a connection until evict(). Times are nanoseconds since 1970, or of the source's own clock.
class Format {
 public:
  virtual ~Format() = default;

  // Called first, and end() last, even if there are no other events. `reference_ns`: a whole
  // second; no event is earlier unless a clock stepped back. `vantage`: derived from the first
  // connection, if no event precedes it.
  virtual void begin(std::int64_t reference_ns, Vantage vantage) {
    (void)reference_ns, (void)vantage;
  }
  virtual void end() {}

  // `client`: the side that is the RPC client; -1 while unknown.
  virtual void opened(const roce::Connection& connection, int client, std::int64_t time_ns) {
    (void)connection, (void)client, (void)time_ns;
  }
  // Called when a queue pair number, or which side is the client, becomes known.
  virtual void changed(const roce::Connection& connection, int client, std::int64_t time_ns) {
    (void)connection, (void)client, (void)time_ns;
  }
  // Called when `from` turns out to be the other direction of `into`: side 0 of `from` is side 1 of
  // `into`. changed() follows.
  virtual void joined(const roce::Connection& into, const roce::Connection& from,
                      std::int64_t time_ns) {
    (void)into, (void)from, (void)time_ns;
  }
  // `data`: the private data of `sender` (RFC 8797); null: none, or of an unknown format.
  virtual void private_data(const roce::Connection& connection, int sender,
                            const wire::PrivateData* data, std::int64_t time_ns) {
    (void)connection, (void)sender, (void)data, (void)time_ns;
  }
  virtual void closed(const roce::Connection& connection, std::int64_t time_ns) {
    (void)connection, (void)time_ns;
  }
  // Called when no more events of the connection follow.
  virtual void evict(std::uint32_t connection) { (void)connection; }

  virtual void message(const model::Message& message, const Origin& origin) {
    (void)message, (void)origin;
  }
  // A caller's credit ledger. Called whenever it may have changed.
  virtual void credits(const model::Credits& credits, const Origin& origin, std::int64_t time_ns) {
    (void)credits, (void)origin, (void)time_ns;
  }
  // Called for every Call, as is call_ended().
  virtual void call_begun(const model::Call& call, const Origin& origin) {
    (void)call, (void)origin;
  }
  // `shown`: false if a filter excludes the Call.
  virtual void call_ended(const EndedCall& ended, bool shown) { (void)ended, (void)shown; }
  // Called when an RDMA Read or Write for an in-flight Call has ended. `origin`: that of the Call.
  virtual void operation(const model::Call& call, const model::ChunkOperation& operation,
                         const Origin& origin) {
    (void)call, (void)operation, (void)origin;
  }
  // Called for an operation on memory that no in-flight Call advertised.
  virtual void unmatched_operation(const roce::Connection& connection,
                                   const roce::Operation& operation) {
    (void)connection, (void)operation;
  }

  // Called for a NAK or RNR NAK from `sender`, the responder of the operation.
  virtual void refusal(const roce::Connection& connection, int sender, const wire::Aeth& aeth,
                       std::uint32_t psn, const roce::PacketMeta& meta) {
    (void)connection, (void)sender, (void)aeth, (void)psn, (void)meta;
  }
  // Called when `count` packets of `sender` are recognized as retransmitted.
  virtual void retransmission(const roce::Connection& connection, int sender, std::uint64_t count,
                              const roce::PacketMeta& meta) {
    (void)connection, (void)sender, (void)count, (void)meta;
  }
  virtual void finding(const Found& found) { (void)found; }
};

}  // namespace rpcrdma::timeline

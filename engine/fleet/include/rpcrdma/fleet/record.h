// How a recording is requested from an agent and brought back.
//
//   requester -> rpcrdma.control.HOST   record: answered with accepted or refused
//   agent     -> rpcrdma.record.HOST.ID progress, once a second
//   agent     -> rpcrdma.record.HOST.ID chunks of the file, in order, at most kRecordWindow ahead
//   of requester -> rpcrdma.control.HOST   ack: bytes received so far; or stop agent     ->
//   rpcrdma.record.HOST.ID end, with length and checksum of the file; or failed
//
// The requester subscribes to its subject before it sends the request. All bytes are untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <rpcrdma/base/error.h>

namespace rpcrdma::fleet {

inline constexpr std::size_t kRecordChunk = std::size_t{128} << 10;
inline constexpr std::size_t kRecordWindow = 8 * kRecordChunk;
inline constexpr std::int64_t kMostRecordNs = 600'000'000'000;
inline constexpr std::uint64_t kMostRecordBytes = std::uint64_t{1} << 30;
inline constexpr std::size_t kMostControlBytes = std::size_t{16} << 10;
// Without a message of the other end for this long, a request has failed.
inline constexpr std::int64_t kRecordPatienceNs = 10'000'000'000;

// Requests to an agent.
struct Hello {  // "are you there?", by an agent that starts with the same host name
  std::string instance;
  std::uint32_t process = 0;
  std::string boot;
};
struct RecordRequest {
  std::string id;        // hexadecimal, chosen at random
  std::string endpoint;  // name or process ID; empty: the only one
  std::int64_t duration_ns = 0;
  std::uint64_t most_bytes = 0;
};
struct RecordAck {
  std::string id;
  std::uint64_t bytes = 0;
};
struct RecordStop {
  std::string id;
};
using Request = std::variant<Hello, RecordRequest, RecordAck, RecordStop>;

[[nodiscard]] std::string to_json(const Request& request);
// Error: one clause.
[[nodiscard]] base::Expected<Request> request_from_json(std::string_view text);

// The answer to a RecordRequest and to a Hello.
struct Answer {
  std::string refused;   // why; empty: accepted
  std::string endpoint;  // its name
  Hello agent;           // of the agent that answers
};
[[nodiscard]] std::string to_json(const Answer& answer);
[[nodiscard]] base::Expected<Answer> answer_from_json(std::string_view text);

// Messages with the recording.
struct RecordProgress {
  std::uint64_t events = 0, bytes = 0;
};
struct RecordChunk {
  std::uint64_t offset = 0;
  std::string_view data;  // within the message
};
struct RecordEnd {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // CRC-32C of the whole file
  std::uint64_t events = 0, lost = 0;
  std::string why;  // why it ended early; empty: its time was over
};
struct RecordFailed {
  std::string why;
};
using RecordMessage = std::variant<RecordProgress, RecordChunk, RecordEnd, RecordFailed>;

[[nodiscard]] std::string to_bytes(const RecordMessage& message);
[[nodiscard]] base::Expected<RecordMessage> record_message(std::string_view bytes);

// CRC-32C (RFC 3720 section 12.1) over bytes that come in parts.
class RecordChecksum {
 public:
  void add(std::string_view bytes);
  [[nodiscard]] std::uint32_t value() const { return ~crc_; }

 private:
  std::uint32_t crc_ = 0xffffffff;
};

}  // namespace rpcrdma::fleet

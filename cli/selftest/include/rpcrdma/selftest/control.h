// The wire format of the program SELFTEST (selftest.x): a client's plan for a cell, and the
// server's verdict.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/protocol/stream_reader.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/selftest/shape.h>
#include <rpcrdma/service/rpc_message.h>

namespace rpcrdma::selftest::control {

inline constexpr std::uint32_t kProgram = 0x20525247;
inline constexpr std::uint32_t kVersion = 1;

enum class Proc : std::uint32_t { kStart = 1, kWait = 2, kJudge = 3 };
enum class Status : std::uint32_t { kOk = 0, kUnknown = 1, kBusy = 2, kRefused = 3 };
[[nodiscard]] const char* status_name(Status status);

struct Plan {
  std::uint32_t cell = 0;
  std::string name;
  rules::Profile profile = rules::Profile::k8166;
  std::uint32_t version = 1;
  Shape shape = Shape::kShort;
  std::uint32_t count = 0;  // Calls of the server
  InlineTerms terms;        // of the server's Calls; the header size depends on the version
  bool inline_only = false;
};

struct Calls {
  Status status = Status::kOk;
  std::uint32_t right = 0, refused = 0, wrong = 0;
  std::string text;
};

struct Recording {
  Status status = Status::kOk;
  std::uint32_t messages = 0;
  std::string errors;
};

using Words = std::vector<std::uint8_t>;
[[nodiscard]] Words encode(const Plan& plan);
[[nodiscard]] Words encode(std::uint32_t word);
[[nodiscard]] Words encode(Status status);
[[nodiscard]] Words encode(const Calls& calls);
[[nodiscard]] Words encode(const Recording& recording);

// Parses all of the arguments; returns nothing if they are malformed.
[[nodiscard]] std::optional<Plan> read_plan(protocol::StreamReader& from);
[[nodiscard]] std::optional<std::uint32_t> read_cell(protocol::StreamReader& from);
[[nodiscard]] std::optional<Status> read_status(protocol::StreamReader& from);
[[nodiscard]] std::optional<Calls> read_calls(protocol::StreamReader& from);
[[nodiscard]] std::optional<Recording> read_recording(protocol::StreamReader& from);

// Maximum bytes of a text in results.
inline constexpr std::uint32_t kMaxText = 1024;
inline constexpr std::uint32_t kMaxResults = 20 + kMaxText;

// Encodes one Call at a time, valid until the next.
class ControlCall {
 public:
  [[nodiscard]] protocol::CallSpec make(Proc proc, Words arguments);

 private:
  std::optional<service::CallHeader> header_;
  Words arguments_;
  std::array<protocol::Piece, 2> pieces_;
};

}  // namespace rpcrdma::selftest::control

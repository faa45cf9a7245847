// Encodes and decodes the Calls of the program SELFTEST (selftest.x).
#include <rpcrdma/protocol/reduction.h>
#include <rpcrdma/selftest/control.h>
#include <rpcrdma/service/program.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::selftest::control {

namespace {

constexpr std::size_t kMaxPlanName = 96;

void put(Words& out, std::uint32_t word) {
  out.resize(out.size() + 4);
  wire::store_be32(&out[out.size() - 4], word);
}

void put(Words& out, std::string_view text, std::size_t most) {
  text = text.substr(0, most);
  put(out, static_cast<std::uint32_t>(text.size()));
  out.insert(out.end(), text.begin(), text.end());
  out.resize(wire::xdr_padded(out.size()));
}

void put(Words& out, Status status) {
  put(out, static_cast<std::uint32_t>(status));
}

std::string text_of(wire::Bytes bytes) {
  std::string text(bytes.begin(), bytes.end());
  // Replaces control characters, since the text is printed on a terminal.
  for (char& c : text) {
    if ((c < 0x20 && c != '\n') || c > 0x7e) c = '?';
  }
  return text;
}

bool whole(const protocol::StreamReader& from) {
  return from.ok() && from.at_end();
}

Status to_status(protocol::StreamReader& from) {
  return static_cast<Status>(from.u32());
}
bool known(Status status) {
  return status <= Status::kRefused;
}

}  // namespace

const char* status_name(Status status) {
  switch (status) {
    case Status::kOk:
      return "OK";
    case Status::kUnknown:
      return "the server does not know the cell";
    case Status::kBusy:
      return "another client is connected to the server";
    case Status::kRefused:
      return "the server cannot do this";
  }
  return "?";
}

Words encode(const Plan& plan) {
  Words words;
  put(words, plan.cell);
  put(words, plan.name, kMaxPlanName);
  put(words, plan.profile == rules::Profile::k5666 ? 5666 : 8166);
  for (const std::uint32_t word :
       {plan.version, static_cast<std::uint32_t>(plan.shape), plan.count, plan.terms.call_threshold,
        plan.terms.reply_threshold, plan.inline_only ? 1U : 0U}) {
    put(words, word);
  }
  return words;
}

Words encode(std::uint32_t word) {
  Words words;
  put(words, word);
  return words;
}

Words encode(Status status) {
  return encode(static_cast<std::uint32_t>(status));
}

Words encode(const Calls& calls) {
  Words words;
  put(words, calls.status);
  put(words, calls.right);
  put(words, calls.refused);
  put(words, calls.wrong);
  put(words, calls.text, kMaxText);
  return words;
}

Words encode(const Recording& recording) {
  Words words;
  put(words, recording.status);
  put(words, recording.messages);
  put(words, recording.errors, kMaxText);
  return words;
}

std::optional<Plan> read_plan(protocol::StreamReader& from) {
  Plan plan;
  plan.cell = from.u32();
  plan.name = text_of(from.opaque(kMaxPlanName));
  const std::uint32_t profile = from.u32();
  plan.profile = profile == 5666 ? rules::Profile::k5666 : rules::Profile::k8166;
  plan.version = from.u32();
  const std::uint32_t shape = from.u32();
  plan.shape = static_cast<Shape>(shape);
  plan.count = from.u32();
  plan.terms.call_threshold = from.u32();
  plan.terms.reply_threshold = from.u32();
  plan.inline_only = from.u32() != 0;
  const auto sound = [](std::uint32_t threshold) {
    return threshold >= 1024 && threshold <= 256U << 10;
  };
  if (!whole(from) || shape >= kShapes || plan.version < protocol::kVersionOne ||
      plan.version > protocol::kVersionTwo || !sound(plan.terms.call_threshold) ||
      !sound(plan.terms.reply_threshold)) {
    return std::nullopt;
  }
  plan.terms.empty_header = protocol::empty_header_bytes(plan.version);
  return plan;
}

std::optional<std::uint32_t> read_cell(protocol::StreamReader& from) {
  const std::uint32_t cell = from.u32();
  return whole(from) ? std::optional(cell) : std::nullopt;
}

std::optional<Status> read_status(protocol::StreamReader& from) {
  const Status status = to_status(from);
  return whole(from) && known(status) ? std::optional(status) : std::nullopt;
}

std::optional<Calls> read_calls(protocol::StreamReader& from) {
  Calls calls;
  calls.status = to_status(from);
  calls.right = from.u32();
  calls.refused = from.u32();
  calls.wrong = from.u32();
  calls.text = text_of(from.opaque(kMaxText));
  return whole(from) && known(calls.status) ? std::optional(calls) : std::nullopt;
}

std::optional<Recording> read_recording(protocol::StreamReader& from) {
  Recording recording;
  recording.status = to_status(from);
  recording.messages = from.u32();
  recording.errors = text_of(from.opaque(kMaxText));
  return whole(from) && known(recording.status) ? std::optional(recording) : std::nullopt;
}

protocol::CallSpec ControlCall::make(Proc proc, Words arguments) {
  header_.emplace(kProgram, kVersion, static_cast<std::uint32_t>(proc));
  arguments_ = std::move(arguments);
  pieces_ = {header_->piece(), protocol::Piece{arguments_, nullptr, false}};
  protocol::CallSpec spec;
  spec.message = pieces_;
  spec.max_reply = service::kReplyHeaderBytes + (proc == Proc::kStart ? 4 : kMaxResults);
  return spec;
}

}  // namespace rpcrdma::selftest::control

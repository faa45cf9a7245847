// Selects the messages that a report counts when it has a display filter.
//
// The unit of selection is an RPC: a Call with its answer, when the Call has ended and all its
// fields are known. It is taken if either message matches. A message without a Call is decided by
// itself. Findings on messages wait for the decision and are kept or dropped with their messages;
// findings without a message are kept. A filter that uses findings decides some messages later,
// because most late findings have been reported by then.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <rpcrdma/filter/filter.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/rules/findings.h>
#include <rpcrdma/session/session.h>

namespace rpcrdma::report {

class Selection {
 public:
  // `call` null: the message has no Call. `answer` null: the Call was not answered.
  using Decided = std::function<void(const model::Message& message, const model::Call* call,
                                     const model::Message* answer, bool taken)>;
  // `kept`: options for the findings that are kept. `session` must outlive this.
  Selection(filter::Filter filter, rules::Findings::Options kept, Decided decided,
            const session::Session& session);

  // Announces a message, before any finding on it.
  void expect(std::uint64_t message);
  void on_message(const model::Message& message, const model::Call* call);
  void on_call_end(const model::Call& call, const model::Message* answer);
  void found(const rules::Occurrence& occurrence);
  void on_merge(const roce::Connection& into, const roce::Connection& from);
  void on_evict(const roce::Connection& connection);
  // Call when the capture has been read and all findings were reported.
  void finish();

  // After finish(): the findings that are kept.
  [[nodiscard]] rules::Findings& findings() { return findings_; }
  [[nodiscard]] const rules::Findings& findings() const { return findings_; }
  // Findings dropped because too many were waiting, by Severity.
  [[nodiscard]] const std::array<std::uint64_t, 3>& omitted() const { return omitted_; }

 private:
  enum class Fate : std::uint8_t { kOpen, kTaken, kLeft };

  struct Waiting {  // a copy of an Occurrence
    const rules::Rule* rule;
    rules::Severity severity;
    rules::Evidence evidence;
    std::string text;
    const char* advice;
  };
  // Copies of an ended RPC that is not decided yet.
  struct Held {
    model::Call call;    // only `message` is set if `alone`
    bool alone = false;  // a message without a Call
    std::optional<model::Message> answer;
    std::uint64_t due = 0;  // ID of the message at which it is decided
  };

  [[nodiscard]] bool matches(const model::Message& m, const model::Call* call);
  void decide(const model::Message& m, const model::Call* call, const model::Message* answer);
  void settle(std::uint64_t message, Fate fate);
  void release(const Held& held);
  [[nodiscard]] Fate& fate(std::uint64_t message);

  filter::Filter filter_;
  bool late_;
  Decided decided_;
  rules::Findings findings_;
  const Context& context_;
  const session::FrameCounts& frames_;
  std::uint64_t newest_ = 0;
  std::vector<Fate> fates_;  // of the newest messages: a ring indexed by ID
  std::map<std::uint64_t, std::vector<Waiting>> waiting_;  // by message
  std::size_t waiting_count_ = 0;
  std::array<std::uint64_t, 3> omitted_{};
  std::deque<Held> held_;
  std::vector<std::string_view> rules_;  // scratch: the findings on one message
};

}  // namespace rpcrdma::report

// Which messages a report counts while a display filter is in force.
//
// The filter decides on an RPC, a Call with its answer, when it ends: only then all fields are
// known. The RPC is taken when either message matches. A message without a Call is decided on
// alone. Findings on a message wait for the decision and follow it; findings without a message
// stay. A filter that asks for findings decides some messages later, when most late findings have
// come.
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
  // `call` null: a message without a Call. `answer` null: no answer.
  using Decided = std::function<void(const model::Message& message, const model::Call* call,
                                     const model::Message* answer, bool taken)>;
  // `kept`: for the findings that stay. `session` must outlive this.
  Selection(filter::Filter filter, rules::Findings::Options kept, Decided decided,
            const session::Session& session);

  // A message arrives, and the rules have not seen it yet.
  void expect(std::uint64_t message);
  void on_message(const model::Message& message, const model::Call* call);
  void on_call_end(const model::Call& call, const model::Message* answer);
  void found(const rules::Occurrence& occurrence);
  void on_merge(const roce::Connection& into, const roce::Connection& from);
  void on_evict(const roce::Connection& connection);
  // Call once, when the capture has been read and the rules have finished.
  void finish();

  // After finish(): the findings that stay.
  [[nodiscard]] rules::Findings& findings() { return findings_; }
  // Findings beyond the limit of those that wait, by Severity.
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
  // An RPC that has ended and is not decided on yet: copies.
  struct Held {
    model::Call call;  // for a message without a Call only `message`
    bool alone = false;
    std::optional<model::Message> answer;
    std::uint64_t due = 0;  // decided when this message has come
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
  std::vector<Fate> fates_;  // of the newest messages, by ID, going round
  std::map<std::uint64_t, std::vector<Waiting>> waiting_;  // by message
  std::size_t waiting_count_ = 0;
  std::array<std::uint64_t, 3> omitted_{};
  std::deque<Held> held_;
  std::vector<std::string_view> rules_;  // of one message
};

}  // namespace rpcrdma::report

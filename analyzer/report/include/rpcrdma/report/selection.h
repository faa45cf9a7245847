// Which messages a report counts while a display filter is in force.
//
// What is taken or left is an RPC: a Call with its answer, once it is over, since only then all its
// fields are known; it is taken when either of the two matches. A message of no Call stands for
// itself. Findings on messages wait until those are decided and share their fate; findings on no
// message stay. A filter that asks for findings decides some messages later, as most findings that
// are late are there by then.
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
  // `call` null: a message of no Call. `answer` null: none came.
  using Decided = std::function<void(const model::Message& message, const model::Call* call,
                                     const model::Message* answer, bool taken)>;
  // `kept`: for the findings that stay. `session` must outlive this.
  Selection(filter::Filter filter, rules::Findings::Options kept, Decided decided,
            const session::Session& session);

  // A message comes, and nothing was found on it yet.
  void expect(std::uint64_t message);
  void on_message(const model::Message& message, const model::Call* call);
  void on_call_end(const model::Call& call, const model::Message* answer);
  void found(const rules::Occurrence& occurrence);
  void on_merge(const roce::Connection& into, const roce::Connection& from);
  void on_evict(const roce::Connection& connection);
  // When the capture has been read and all was found.
  void finish();

  // After finish(): those that stay.
  [[nodiscard]] rules::Findings& findings() { return findings_; }
  // Findings beyond what may wait, by Severity.
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
  // What is over and not decided yet: copies.
  struct Held {
    model::Call call;  // of a message of no Call only `message`
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

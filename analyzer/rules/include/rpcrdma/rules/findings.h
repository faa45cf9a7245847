// Gathers what the checks find: joins what is the same, withholds what rests on missing data.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/model/model.h>
#include <rpcrdma/roce/connections.h>
#include <rpcrdma/rules/finding.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::rules {

// That of a breach that is told at this level, which is not kOff.
[[nodiscard]] Severity severity_of(Level level);

// What lasts is reported more than once. Only the first report counts; a later one replaces its
// text.
enum class ReportPhase : std::uint8_t {
  kFound,
  kLasts,  // it is still so, and longer by now
  kEnds,   // it is over, or the capture is
};

// Where the evidence for a breach is, and who is at fault.
struct Evidence {
  // The connection; null for what belongs to none.
  const roce::Connection* connection = nullptr;
  int side = -1;              // of the connection, at fault; -1: neither
  std::uint64_t message = 0;  // model::Message::id of the message it is seen in; 0: none
  // First and last frame; 0: none. The last is where it shows.
  std::array<std::uint64_t, 2> frames{};
  // The Call's, for rules that need kLossFreeCall.
  std::uint64_t losses_before = 0;
  // Tells breaches of one rule apart that are not to be joined: any small number.
  std::uint32_t topic = 0;
  std::uint64_t count = 1;  // how often it was seen
  // Of how many that could have shown it, until now: the finding's text begins with both numbers,
  // and is that of the latest breach. 0: it is that of the first one, without numbers.
  std::uint64_t of = 0;
  // What was seen came with a wrong ICRC: not what the sender sent.
  bool suspect = false;
  // Why it cannot be told for certain, whatever its rule needs; null: it can. A constant.
  const char* unsure = nullptr;
  std::uint8_t needs = kNothing;  // beside what its rule needs
  // It may come of a Call of this side that the capture lacks without a trace, ACK and all: until
  // another Call of the side shows that nothing is missing, it is told as a warning at most. -1: no
  // such doubt. Only where something is needed.
  int doubted_caller = -1;
  Span span;  // of what lasts
  ReportPhase phase = ReportPhase::kFound;
  // A breach that does less harm than others of its rule is told no higher than this.
  Level at_most = Level::kError;
};

[[nodiscard]] Evidence evidence(const model::Message& m, const roce::Connection& connection,
                                int side);

// That a side broke a rule, in a message; told or withheld.
struct Violation {
  const Rule* rule = nullptr;  // null: none
  Evidence evidence;
};

// One breach, as it is found. Valid during the call only.
struct Occurrence {
  const Rule& rule;
  Severity severity;
  const Evidence& evidence;
  const std::string& text;
  const char* advice;  // a constant
};

class Findings {
 public:
  struct Options {
    Profile profile = Profile::k8166;
    // Told of every breach that is not withheld, at once where its rule needs nothing. Then every
    // breach has a text of its own; without it only the first of its kind has.
    std::function<void(const Occurrence&)> on_occurrence = nullptr;
    // A breach waits until the capture's data proves whole, and then does so no longer, whether it
    // was told or withheld.
    std::function<void(const Evidence&)> on_pending = nullptr;
    std::function<void(const Evidence&)> on_settled = nullptr;
    // Whether what the capture lacks and its wrong ICRCs are told, as sums of the whole. A report
    // tells them itself, since it can be a sum of several captures.
    bool emit_sums = true;
  };

  // `connections` and `model` must outlive this.
  Findings(Options options, const roce::Connections& connections, const model::Model& model);
  ~Findings();
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;

  [[nodiscard]] Profile profile() const;
  [[nodiscard]] bool has_sums() const;

  // A breach. `text` gives one clause for a person, without a full stop; asked for only when it is
  // needed. `advice`: in place of the rule's own.
  using Text = std::function<std::string()>;
  void add(RuleId id, const Evidence& e, const Text& text, const char* advice = nullptr);

  // Gives the finding that these breaches came to another text, and `e.of`; for what is known only
  // when all of them have been seen.
  void restate(RuleId id, const Evidence& e, const Text& text, const char* advice = nullptr);
  // What looked like a breach is none, by what came later. Occurrences that were reported are not
  // taken back.
  void withdraw(RuleId id, const Evidence& e);

  // Of the message by which `side` was found to break a rule last: the first of its worst breaches.
  [[nodiscard]] const Violation& latest_violation(std::size_t side) const;
  [[nodiscard]] Level level(const Violation& violation) const;
  // It can be told by what is known now.
  [[nodiscard]] bool certain(const Violation& violation) const;

  // Why a breach with this evidence could not be told now; null: it could. A constant.
  [[nodiscard]] static const char* inconclusive_reason(RuleId id, const Evidence& e);

  // What another has told, judged and all: for one that takes only some of it.
  void repeat(const Occurrence& reported);

  // Time passes on a connection: what waits for its data to prove whole is settled.
  void message_seen(const roce::Connection& connection);
  void connection_closed(const roce::Connection& connection);
  // What was found of `from` is of `into`, whose other direction it is.
  void connections_merged(const roce::Connection& into, const roce::Connection& from);
  // What was found in its messages was measured by rules that are not theirs. What has been told of
  // each occurrence stays told.
  void take_back(const roce::Connection& connection);
  // Its findings get the names that only it knows.
  void connection_evicted(const roce::Connection& connection);
  void finish();

  // After finish(): errors first, in the order found.
  [[nodiscard]] const std::vector<Finding>& list() const;
  // The same, given away.
  [[nodiscard]] std::vector<Finding> take_list();
  [[nodiscard]] const std::vector<Inconclusive>& inconclusive() const;
  // More kinds than are kept, by Severity.
  [[nodiscard]] const std::array<std::uint64_t, 3>& omitted() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::rules

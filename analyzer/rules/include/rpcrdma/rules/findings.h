// Collects the violations that checks report: joins occurrences to findings, and counts violations
// as inconclusive where missing data could explain them.
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

// Returns the severity of a violation that is reported at this level, which is not kOff.
[[nodiscard]] Severity severity_of(Level level);

// A lasting fault is reported more than once. Only the first report counts as an occurrence; later
// ones replace its text.
enum class ReportPhase : std::uint8_t {
  kFound,
  kLasts,  // the fault still lasts
  kEnds,   // the fault ended, or the capture did
};

// The evidence for a violation, and the side at fault.
struct Evidence {
  // Null: the violation belongs to no connection.
  const roce::Connection* connection = nullptr;
  int side = -1;              // of the connection, at fault; -1: neither
  std::uint64_t message = 0;  // model::Message::id of the violating message; 0: none
  // First and last frame; 0: none. The last one shows the violation.
  std::array<std::uint64_t, 2> frames{};
  // Losses before the Call, for rules that need kLossFreeCall.
  std::uint64_t losses_before = 0;
  // Distinguishes violations of one rule that are not to be joined: any small number.
  std::uint32_t topic = 0;
  std::uint64_t count = 1;  // occurrences
  // Occasions so far on which the violation could have occurred: the text of the finding begins
  // with both numbers and is that of the latest occurrence. 0: it is that of the first occurrence,
  // without numbers.
  std::uint64_t of = 0;
  // The violating packet has an invalid ICRC: its bytes are not those that the sender sent.
  bool suspect = false;
  // Why the violation is inconclusive, whatever its rule needs; null: it is not. A constant.
  const char* unsure = nullptr;
  std::uint8_t needs = kNothing;  // in addition to the needs of the rule
  // A missing Call of this side could explain the violation, if the capture missed its ACK, too.
  // The violation is reported as a warning at most, until another Call of the side shows that
  // nothing is missing. -1: no Call could. Has an effect only if the rule needs complete data.
  int doubted_caller = -1;
  Span span;  // of a lasting fault
  ReportPhase phase = ReportPhase::kFound;
  // Limits the level of a violation that does less harm than others of its rule.
  Level at_most = Level::kError;
};

[[nodiscard]] Evidence evidence(const model::Message& m, const roce::Connection& connection,
                                int side);

// A violation of a rule by a message; reported or inconclusive.
struct Violation {
  const Rule* rule = nullptr;  // null: none
  Evidence evidence;
};

// One reported violation. Valid only during the call.
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
    // Called with every violation that is not inconclusive, at once if its rule needs nothing. If
    // set, every violation gets a text of its own; otherwise only the first of each finding does.
    std::function<void(const Occurrence&)> on_occurrence = nullptr;
    // Called when a violation becomes pending, until the capture's data proves complete, and when
    // it is settled, whether it was reported or is inconclusive.
    std::function<void(const Evidence&)> on_pending = nullptr;
    std::function<void(const Evidence&)> on_settled = nullptr;
    // Whether to report missing data and invalid ICRCs as sums over the capture. A report presents
    // them itself, since it can be a sum of several captures.
    bool emit_sums = true;
  };

  // `connections` and `model` must outlive this.
  Findings(Options options, const roce::Connections& connections, const model::Model& model);
  ~Findings();
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;

  [[nodiscard]] Profile profile() const;
  [[nodiscard]] bool has_sums() const;

  // Adds a violation, unless the source of the connection does not show what the rule rests on.
  // `text` returns one clause for users, without a full stop; it is called only
  // if needed. `advice` replaces the rule's own.
  using Text = std::function<std::string()>;
  void add(RuleId id, const Evidence& e, const Text& text, const char* advice = nullptr);

  // Replaces the text of the finding with this evidence, and sets its `of`; for facts that are
  // known only after the last occurrence.
  void restate(RuleId id, const Evidence& e, const Text& text, const char* advice = nullptr);
  // Removes a finding that later traffic disproved. Occurrences that were reported are not
  // retracted.
  void retract(RuleId id, const Evidence& e);

  // Returns the first of the worst violations by the latest violating message of `side`.
  [[nodiscard]] const Violation& latest_violation(std::size_t side) const;
  [[nodiscard]] Level level(const Violation& violation) const;
  // Returns whether the violation is conclusive as far as is known now.
  [[nodiscard]] bool certain(const Violation& violation) const;

  // Returns why a violation with this evidence would be inconclusive now; null: it would not. A
  // constant.
  [[nodiscard]] static const char* inconclusive_reason(RuleId id, const Evidence& e);

  // Adds an occurrence that another Findings has reported, as judged there: for a filtered view.
  void repeat(const Occurrence& reported);

  // Advances time on a connection: settles pending violations that are due.
  void message_seen(const roce::Connection& connection);
  void connection_closed(const roce::Connection& connection);
  // Moves the findings of `from` to `into`: it is the other direction of the same connection.
  void connections_merged(const roce::Connection& into, const roce::Connection& from);
  // Removes all findings about messages of the connection, to which the rules do not apply.
  // Occurrences that were reported are not retracted.
  void take_back(const roce::Connection& connection);
  // Stores addresses and roles in the connection's findings before they are dropped.
  void connection_evicted(const roce::Connection& connection);
  void finish();

  // After finish(): errors first, in the order found.
  [[nodiscard]] const std::vector<Finding>& list() const;
  // Moves the list to the caller.
  [[nodiscard]] std::vector<Finding> take_list();
  [[nodiscard]] const std::vector<Inconclusive>& inconclusive() const;
  // The same before finish(), as far as they are settled.
  [[nodiscard]] std::vector<Finding> list_so_far() const;
  [[nodiscard]] std::vector<Inconclusive> inconclusive_so_far() const;
  // Violations beyond the limit of distinct findings, by Severity.
  [[nodiscard]] const std::array<std::uint64_t, 3>& omitted() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::rules

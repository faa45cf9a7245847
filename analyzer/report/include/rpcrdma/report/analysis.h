// Builds the Report of a capture while its session reads the capture. A reader that others watch
// takes snapshots meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/filter/filter.h>
#include <rpcrdma/mounts/tracker.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/report.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/session/session.h>

namespace rpcrdma::report {

class EventSums;
class FileTally;
class LatencyCollector;
class Selection;
class SlowLimits;

struct AnalysisOptions {
  rules::Profile profile = rules::Profile::k8166;
  model::ModelOptions model = {};
  // Only messages and Calls that the filter matches are counted, and findings on other messages are
  // left out. Connections and packets are all counted.
  std::optional<filter::Filter> filter = std::nullopt;
  std::string filter_text = {};  // as the user wrote it
  // Calls above these limits are counted and are findings; at most kMaxLimits.
  std::vector<SlowLimit> limits = {};
  // Called before the analysis.
  std::vector<model::Observer*> observers = {};
  // Called after the rules and the analysis.
  std::vector<model::Observer*> after_rules = {};
  std::vector<trace_reader::Observer*> event_observers = {};
  // Called with every violation, as by rules::Findings. Not with a filter.
  std::function<void(const rules::Occurrence&)> on_occurrence = nullptr;
  bool join_views = true;  // as in session::Options
};

class Analysis final : private model::Observer {
 public:
  explicit Analysis(AnalysisOptions options = {});
  ~Analysis() override;

  // Reads the capture.
  [[nodiscard]] session::Pipeline& pipeline() { return session_.pipeline(); }
  [[nodiscard]] const session::Session& session() const { return session_; }
  [[nodiscard]] const Context& context() const { return session_.context(); }
  // The report of what has been read so far: Calls in flight are not counted as ended, and findings
  // that are not settled are left out. Call it between two frames.
  [[nodiscard]] Report snapshot(const capture::SourceStats& source, std::uint64_t files = 1) const;
  // Call once, after Pipeline::finish(). `files`: the number of files of the capture.
  void finish(const capture::SourceStats& source, std::uint64_t files = 1);
  // What both ends of Calls show, for the report. Call it after finish().
  void set_ends(ends::Ends ends) { report_.ends = std::move(ends); }
  // Complete after finish().
  [[nodiscard]] const Report& report() const { return report_; }
  [[nodiscard]] Report take_report() { return std::move(report_); }

 private:
  // Announces a message to the selection before the rules report findings on it.
  struct Expecting final : model::Observer {
    explicit Expecting(std::unique_ptr<Selection>& s) : selection(s) {}
    void on_message(const model::MessageSeen& event) override;
    std::unique_ptr<Selection>& selection;
  };

  void on_message(const model::MessageSeen& event) override;
  void on_call_end(const model::CallEnded& event) override;
  void on_reply_read(const model::ReplyRead& event) override;
  void on_merge(const roce::Merge& event) override;
  void on_evict(const roce::Connection& connection) override;
  void on_refusal(const roce::Acknowledgement& event) override;
  void on_congestion(const roce::CongestionSignal& event) override;
  void on_pause(const model::PauseSeen& event) override;
  void on_retransmission(const roce::Retransmission& event) override;
  void on_operation_end(const model::OperationSeen& event) override;

  // Which side is the client and which connections are merged is known only at the end. Until then,
  // data is stored under the tracker's index and side.
  struct End {
    std::uint32_t connection = 0;
    std::uint8_t caller = 0;
  };
  struct CreditSlot {
    std::uint32_t at = 0;  // in report_.credits
  };

  [[nodiscard]] std::vector<model::Observer*> observed(const std::vector<model::Observer*>& later);
  [[nodiscard]] Procedure& procedure(ProcedureKey& key, const model::RpcInfo& rpc);
  TrafficBin& count(const model::Message& m);  // returns the bin of the message
  // Counts a Call and its answer. `taken` is false if the filter excludes both: then only data that
  // a merge with a later report may need is stored.
  void count(const model::Call& call, const model::Message* answer, bool taken);
  void count_operations(const model::Call& call);
  void decided(const model::Message& m, const model::Call* call, const model::Message* answer,
               bool taken);
  void note_credits(const model::Message& m);
  void note_open(const model::Call& call, const ProcedureKey& key, bool counted);
  void note_early(const model::Message& m, bool counted);
  const CreditSlot* take_credit_slot(std::uint32_t connection);
  void give_up_credits(std::uint32_t connection);
  [[nodiscard]] bool reverse(End end) const;
  // The steps from what has been counted to a report.
  void complete(Report& r, const capture::SourceStats& source, std::uint64_t files) const;
  void add_capture(Report& r, const capture::SourceStats& source, std::uint64_t files) const;
  void add_types(MessageCounts& to) const;
  void add_connections(Report& r) const;
  void add_views(Connection& c, std::uint32_t index) const;
  void settle_credits(Report& r) const;
  void settle_edges(Edges& edges) const;
  void add_reconnects(Reconnects& r) const;
  void add_timing(Timing& timing) const;
  void name_slow_calls(Report& r) const;

  std::unique_ptr<Selection> selection_;  // null: all messages count
  Expecting expecting_{selection_};
  std::unique_ptr<EventSums> events_;
  mounts::Tracker mounts_;
  std::unique_ptr<SlowLimits> limits_;  // null: there are none
  session::Session session_;
  const Context& context_;
  Report report_;
  std::unique_ptr<FileTally> files_;
  std::unique_ptr<LatencyCollector> latencies_;
  // By version (version 2: by dialect) and by rdma_proc; the last counts all other values.
  std::array<std::array<std::uint64_t, 15>, 1 + wire::kDialects> procs_{};
  std::uint64_t outstanding_ = 0;
  // A cache in front of report_.procedures, which each Call looks up when it ends.
  struct RecentProcedure {
    ProcedureKey key;
    Procedure* procedure = nullptr;
  };
  static constexpr std::size_t kRecentProcedures = 64;
  std::array<RecentProcedure, kRecentProcedures> recent_procedures_{};
  roce::ByConnection<CreditSlot> credit_slots_;       // at most kMaxCreditSeries
  std::vector<std::uint32_t> free_credits_;           // in report_.credits
  std::vector<End> open_ends_, early_ends_;           // parallel to report_.edges
  std::map<std::uint32_t, std::uint64_t> cut_short_;  // messages, by tracked connection
};

}  // namespace rpcrdma::report

// Makes a Report of a capture while its session reads it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/filter/filter.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/report.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/session/session.h>

namespace rpcrdma::report {

class EventSums;
class Selection;

struct AnalysisOptions {
  rules::Profile profile = rules::Profile::k8166;
  model::ModelOptions model = {};
  // Only messages and Calls that the filter matches are counted, and findings on other messages are
  // left out. Connections and packets are all counted.
  std::optional<filter::Filter> filter = std::nullopt;
  std::string filter_text = {};  // as it was written
  // Called before the analysis is.
  std::vector<model::Observer*> observers = {};
  std::vector<trace_reader::Observer*> event_observers = {};
};

class Analysis final : private model::Observer {
 public:
  explicit Analysis(AnalysisOptions options = {});
  ~Analysis() override;

  // Reads the capture.
  [[nodiscard]] session::Pipeline& pipeline() { return session_.pipeline(); }
  [[nodiscard]] const Context& context() const { return session_.context(); }
  // Call once, after Pipeline::finish(). The capture is of so many files.
  void finish(const capture::SourceStats& source, std::uint64_t files = 1);
  // Whole after finish().
  [[nodiscard]] const Report& report() const { return report_; }

 private:
  // Announces a message to the selection before the rules report findings on it.
  struct Expecting final : model::Observer {
    explicit Expecting(std::unique_ptr<Selection>& s) : selection(s) {}
    void on_message(const model::MessageSeen& event) override;
    std::unique_ptr<Selection>& selection;
  };

  void on_message(const model::MessageSeen& event) override;
  void on_call_end(const model::CallEnded& event) override;
  void on_merge(const roce::Merge& event) override;
  void on_evict(const roce::Connection& connection) override;
  void on_refusal(const roce::Acknowledgement& event) override;
  void on_retransmission(const roce::Retransmission& event) override;
  void on_operation_end(const model::OperationSeen& event) override;

  // The side that is the client and the connections that are merged are known at the end only. So
  // data is kept by the tracker's index and side.
  struct End {
    std::uint32_t connection = 0;
    std::uint8_t caller = 0;
  };
  struct CreditSlot {
    std::uint32_t at = 0;  // in report_.credits
  };

  [[nodiscard]] Procedure& procedure(ProcedureKey& key, const model::RpcInfo& rpc);
  TrafficBin& count(const model::Message& m);  // gives the bin that it is in
  // With its answer. `taken` is false when the filter leaves both out: then only the parts are kept
  // that a merge of reports needs.
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
  void finish_connections();
  void finish_credits();
  void finish_edges();
  void finish_reconnects();

  std::unique_ptr<Selection> selection_;  // null: all messages count
  Expecting expecting_{selection_};
  std::unique_ptr<EventSums> events_;
  session::Session session_;
  const Context& context_;
  Report report_;
  // By version, version 2 by dialect; by rdma_proc, the last being any other.
  std::array<std::array<std::uint64_t, 15>, 1 + wire::kDialects> procs_{};
  std::uint64_t outstanding_ = 0;
  // In front of report_.procedures, for every Call that ends.
  struct RecentProcedure {
    ProcedureKey key;
    Procedure* procedure = nullptr;
  };
  static constexpr std::size_t kRecentProcedures = 64;
  std::array<RecentProcedure, kRecentProcedures> recent_procedures_{};
  roce::ByConnection<CreditSlot> credit_slots_;       // kMaxCreditSeries at most
  std::vector<std::uint32_t> free_credits_;           // in report_.credits
  std::vector<End> open_ends_, early_ends_;           // of report_.edges
  std::map<std::uint32_t, std::uint64_t> cut_short_;  // messages, by connection that is followed
};

}  // namespace rpcrdma::report

// Makes a Report of a capture while it is read: an observer of the model.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/filter/filter.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/pipeline.h>
#include <rpcrdma/report/report.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/rules/checker.h>

namespace rpcrdma::report {

class EventSums;
class Selection;

class Analysis : public model::Observer {
 public:
  explicit Analysis(rules::Profile profile = rules::Profile::k8166);
  // Of messages and Calls counts those that `filter` takes, and leaves out findings on others; what
  // is told of connections and packets is of all. `text`: the filter as it was written.
  Analysis(rules::Profile profile, filter::Filter filter, std::string text);
  ~Analysis() override;

  void on_message(const model::Message& message, const model::Call* call) override;
  void on_identified(const model::Call& call) override { checker_.on_identified(call); }
  void on_call_end(const model::Call& call, const model::Message* answer) override;
  void on_cm(const roce::Connection* connection, int sender, const wire::CmMad& mad,
             const roce::PacketMeta& meta) override {
    checker_.on_cm(connection, sender, mad, meta);
  }
  void on_open(const roce::Connection& connection) override { checker_.on_open(connection); }
  void on_merge(const roce::Connection& into, const roce::Connection& from) override;
  void on_close(const roce::Connection& connection) override { checker_.on_close(connection); }
  void on_evict(const roce::Connection& connection) override;
  void on_time(std::int64_t now_ns) override { checker_.on_time(now_ns); }
  void on_refusal(const roce::Connection& connection, int sender, const wire::Aeth& aeth,
                  std::uint32_t psn, const roce::PacketMeta& meta) override;
  void on_retransmission(const roce::Connection& connection, int sender, std::uint64_t count,
                         const roce::PacketMeta& meta) override;
  void on_sent_again(const roce::Connection& connection, int sender, std::uint32_t psn,
                     std::int64_t idle_ns, bool begins, const roce::PacketMeta& meta) override {
    checker_.on_sent_again(connection, sender, psn, idle_ns, begins, meta);
  }
  void on_operation(const roce::Connection& connection, const roce::Operation& op,
                    const model::Call* call, std::uint32_t segment) override {
    checker_.on_operation(connection, op, call, segment);
  }
  void on_operation_end(const roce::Connection& connection, const roce::Operation& op,
                        const model::Call* call, std::uint32_t segment) override;

  // For the pipeline.
  [[nodiscard]] trace_reader::Observer& events();

  // Before the first message. `frames`: of the pipeline, for a filter.
  void set_context(const Context& context, const FrameCounts* frames = nullptr);

  // Call once, when the capture of so many files has been read.
  void finish(const Pipeline& pipeline, const capture::SourceStats& source,
              std::uint64_t files = 1);
  // Whole after finish().
  [[nodiscard]] const Report& report() const { return report_; }

 private:
  // Until the end nobody knows which side is the client, nor which connections are one: what is
  // gathered goes by the tracker's index and side.
  struct End {
    std::uint32_t connection = 0;
    std::uint8_t caller = 0;
  };
  struct CreditSlot {
    std::uint32_t at = 0;  // in report_.credits
  };

  [[nodiscard]] Procedure& procedure(ProcedureKey& key, const model::RpcInfo& rpc);
  TrafficBin& count(const model::Message& m);  // gives the bin that it is in
  // With its answer; `taken` is false where a filter leaves both, and only what a later report may
  // need is noted.
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
  void finish_connections(const Pipeline& pipeline);
  void finish_credits();
  void finish_edges();
  void finish_reconnects();

  Context context_;
  Report report_;
  rules::Findings findings_;
  rules::Checker checker_;
  std::unique_ptr<EventSums> events_;
  std::unique_ptr<Selection> selection_;  // null: all messages count
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

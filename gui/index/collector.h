// Observes the analysis of a capture and writes the results to a Store, in batches.
#pragma once

#include "file_names.h"
#include "store_writer.h"
#include "texts.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <rpcrdma/index/loading.h>
#include <rpcrdma/index/store.h>
#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/states/call_states.h>

namespace rpcrdma::index {

class Collector final : public model::Observer, public trace_reader::Observer {
 public:
  // `store` must outlive this.
  // `sources`: the number of files or endpoints.
  Collector(Store& store, const LoadOptions& options, std::uint64_t sources);

  [[nodiscard]] session::Pipeline& pipeline() { return analysis_.pipeline(); }

  // The endpoint sends nothing more. Others that show its connections go on without it.
  void endpoint_ended(std::uint32_t endpoint);

  // Called for frame Content::kMarkEvery * n + 1, for each n in order.
  void mark(const capture::Mark& mark);
  // From now on a thread of its own writes to the store, and then calls `written`.
  void write_aside(std::function<void()> written) { writer_.start(std::move(written)); }
  // Writes everything that is new since the last commit to the store.
  void commit(const capture::SourceStats& source);
  // Enough is pending to make a commit worthwhile.
  [[nodiscard]] bool due() const { return next_->rows.size() + next_->patches.size() >= kBatch; }
  // The source has ended: writes pending data, too, and waits until all is written.
  void finish(const capture::SourceStats& source);

  // model::Observer
  void on_message(const model::MessageSeen& event) override;
  void on_identified(const model::Call& call) override;
  void on_call_end(const model::CallEnded& event) override;
  void on_reply_read(const model::ReplyRead& event) override;
  void on_cm(const roce::CmMessage& event) override;
  void on_open(const roce::Connection& connection) override { touch(connection.index); }
  void on_merge(const roce::Merge& event) override;
  void on_close(const roce::Connection& connection) override { touch(connection.index); }
  void on_evict(const roce::Connection& connection) override;
  void on_operation_end(const model::OperationSeen& event) override;
  void on_congestion(const roce::CongestionSignal& event) override;
  void on_pause(const model::PauseSeen& event) override;
  // trace_reader::Observer
  void on_event(const trace_reader::Event& event) override;

 private:
  // What all batches take: the connections' states, the counters, waking the writer.
  static constexpr std::size_t kBatch = 4096;

  void touch(std::uint32_t index) {
    if (std::exchange(last_touched_, index) == index) return;
    touched_.insert(context_.model->canonical(index));
  }
  void patch(const model::Message& m, const model::Call& call, bool over);
  void credit(const model::Message& m);
  // What the Call is about, as far as its arguments and Reply show it.
  void note_file(const model::Call& call, bool over);
  void set_up(std::uint32_t index, std::uint64_t frame);
  void on_finding(const rules::Occurrence& o);
  void parts(const trace_reader::Event& event, const trace::CallEnd& end);
  // Where the connection's Calls are now, at most once in kSampleNs, and before a commit.
  void sample_states(const roce::Connection* connection, std::int64_t time_ns);
  void sample_all_states();
  [[nodiscard]] ConnectionInfo info(std::uint32_t index) const;

  [[nodiscard]] Integrity integrity(const capture::SourceStats& source) const;
  void report_if_due(const capture::SourceStats& source);

  StoreWriter writer_;
  std::uint64_t sources_;
  states::CallStates states_;  // sees each event before this
  report::Analysis analysis_;
  const report::Context& context_;

  // The latest report, and when the next one is due: a capture with many connections and procedures
  // takes long to sum up.
  std::shared_ptr<const report::Report> report_;
  std::chrono::steady_clock::time_point next_report_ =
      std::chrono::steady_clock::now() + kReportEvery;
  static constexpr std::chrono::steady_clock::duration kReportEvery = std::chrono::seconds(1);

  // What matches a message although it is no Call: an RDMA_ERROR can answer one of the latest
  // OPTIONAL messages, and an RDMA_DONE releases the Read chunks of one of the latest Replies.
  struct Latest {
    struct One {
      std::uint64_t frame = 0;
      std::uint64_t id = 0;
    };
    std::array<One, 32> ring{};
    std::size_t next = 0;
  };
  static void note_latest(Latest& latest, const model::Message& m);
  std::map<std::uint32_t, Latest> options_, read_replies_;  // by connection, where there are any

  std::unordered_set<std::uint32_t> ended_endpoints_;
  // Endpoints that had another view of a connection when that view's or its own endpoint ended.
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> peers_of_;

  std::uint64_t messages_ = 0;  // number of rows so far
  bool finished_ = false;

  std::unique_ptr<Batch> next_ = std::make_unique<Batch>();  // pending for commit()
  std::unordered_set<std::uint32_t> touched_;
  std::uint32_t last_touched_ = UINT32_MAX;  // since the last commit

  // State kept between batches.
  Texts texts_;
  std::uint64_t notable_omitted_ = 0;
  std::uint64_t notable_reported_ = 0;
  // Waits for a credit: the start of a wait that still lasts, or the length of one; by the same
  // key.
  struct Waited {
    std::int64_t begun_ns = -1;
    std::int64_t took_ns = -1;
  };
  std::unordered_map<std::uint64_t, Waited> waited_;
  // What Calls asked for whose endpoint has not yet reported how their time was spent, by
  // connection and XID.
  struct Asked {
    report::ProcedureKey key;
    std::uint64_t message = 0;
  };
  std::unordered_map<std::uint64_t, Asked> asked_;
  FileNames files_;
  // By connection: when its states were sampled, and when it had the latest event.
  struct Sampled {
    std::int64_t sampled_ns = 0, latest_ns = 0;
  };
  std::unordered_map<std::uint32_t, Sampled> sampled_;
  static constexpr std::int64_t kSampleNs = 500'000;  // two in a bin of the finest series
};

}  // namespace rpcrdma::index

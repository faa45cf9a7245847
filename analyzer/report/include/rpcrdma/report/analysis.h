// What a capture holds, gathered while it is read.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <rpcrdma/model/histogram.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/pipeline.h>
#include <rpcrdma/rules/checker.h>

namespace rpcrdma::report {

struct ProcedureStats {
  std::string label;
  bool reverse = false;
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;
  std::uint64_t errors = 0;       // RDMA_ERRORs and RPC errors
  std::uint64_t unmatched = 0;    // Calls without an answer
  std::uint64_t read_bytes = 0;   // moved through Read chunks
  std::uint64_t write_bytes = 0;  // moved through Write chunks
  std::uint64_t reply_bytes = 0;  // moved through Reply chunks
  // Call seen to Reply seen; to the first operation; first to last operation; to the Reply.
  model::Histogram total, before_data, data, after_data;
};

class Analysis : public model::Observer {
 public:
  explicit Analysis(rules::Profile profile = rules::Profile::k8166)
      : findings_({profile}), checker_(findings_) {}

  void on_message(const model::Message& message, const model::Call* call) override;
  void on_identified(const model::Call& call) override { checker_.on_identified(call); }
  void on_call_end(const model::Call& call, const model::Message* answer) override;
  void on_cm(const roce::Connection* connection, int sender, const wire::CmMad& mad,
             const roce::PacketMeta& meta) override {
    checker_.on_cm(connection, sender, mad, meta);
  }
  void on_open(const roce::Connection& connection) override { checker_.on_open(connection); }
  void on_close(const roce::Connection& connection) override { checker_.on_close(connection); }
  void on_refusal(const roce::Connection& connection, int sender, const wire::Aeth& aeth,
                  std::uint32_t psn, const roce::PacketMeta& meta) override {
    checker_.on_refusal(connection, sender, aeth, psn, meta);
  }
  void on_operation(const roce::Connection& connection, const roce::Operation& op,
                    const model::Call* call, std::uint32_t segment) override {
    checker_.on_operation(connection, op, call, segment);
  }
  void on_operation_end(const roce::Connection& connection, const roce::Operation& op,
                        const model::Call* call, std::uint32_t segment) override {
    checker_.on_operation_end(connection, op, call, segment);
  }

  // Call when the capture has been read; adds what only its end can tell.
  void finish(const Pipeline& pipeline, const capture::SourceStats& source);

  [[nodiscard]] bool has_errors() const;

  // In pieces, since a capture may have very many connections.
  using Write = std::function<void(std::string_view)>;
  // One JSON object (docs/json.md) and a newline.
  void write_json(const Write& write) const;
  void write_text(bool colour, const Write& write) const;

  // Before the first message.
  void set_context(const Context& context) {
    context_ = context;
    checker_.attach(*context.tracker, *context.model);
  }

 private:
  // Program, version, procedure, principal operation, reverse.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, bool>;

  [[nodiscard]] std::uint64_t omitted() const;
  void capture_findings();
  void unanswered_findings();
  ProcedureStats& procedure(const model::RpcInfo& rpc, bool reverse);

  Context context_;
  const Pipeline* pipeline_ = nullptr;
  capture::SourceStats source_;
  std::map<Key, ProcedureStats> procedures_;
  std::array<std::uint64_t, 6> kinds_{};  // messages by model::Kind
  std::map<std::uint32_t, std::uint64_t> procs_v1_, procs_v2_;
  rules::Findings findings_;
  rules::Checker checker_;
};

}  // namespace rpcrdma::report

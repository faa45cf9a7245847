// What a capture holds, gathered while it is read.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <rpcrdma/model/histogram.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/finding.h>
#include <rpcrdma/report/pipeline.h>

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
  void on_message(const model::Message& message, const model::Call* call) override;
  void on_call_end(const model::Call& call, const model::Message* answer) override;

  // Call when the capture has been read; adds what only its end can tell.
  void finish(const Pipeline& pipeline, const capture::SourceStats& source);

  [[nodiscard]] bool has_errors() const;

  // In pieces, since a capture may have very many connections.
  using Write = std::function<void(std::string_view)>;
  // One JSON object (docs/json.md) and a newline.
  void write_json(const Write& write) const;
  void write_text(bool colour, const Write& write) const;

  // Before the first message.
  void set_context(const Context& context) { context_ = context; }

 private:
  // Program, version, procedure, principal operation, reverse.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, bool>;

  void add_finding(Finding finding);
  [[nodiscard]] std::uint64_t omitted() const;
  ProcedureStats& procedure(const model::RpcInfo& rpc, bool reverse);

  Context context_;
  const Pipeline* pipeline_ = nullptr;
  capture::SourceStats source_;
  std::map<Key, ProcedureStats> procedures_;
  std::array<std::uint64_t, 6> kinds_{};  // messages by model::Kind
  std::map<std::uint32_t, std::uint64_t> procs_v1_, procs_v2_;
  std::vector<Finding> findings_;
  std::unordered_map<std::string, std::size_t> finding_index_;  // by all that makes findings one
  std::array<std::uint64_t, 3> omitted_{};                      // by Severity: more than are kept
};

}  // namespace rpcrdma::report

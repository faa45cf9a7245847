// A conversation step by step, from the packets of a capture: how the connection was set up, each
// message with all its fields, each RDMA operation.
#pragma once

#include <string>

#include <rpcrdma/report/pipeline.h>

namespace rpcrdma::cli {

class CallView : public model::Observer {
 public:
  // What the model has to keep for it.
  [[nodiscard]] static model::ModelOptions keep();
  // Before the first frame; `pipeline` outlives this.
  void set_pipeline(const report::Pipeline& pipeline) { pipeline_ = &pipeline; }

  // What was seen, in order, as text.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void on_cm(const roce::Connection* connection, int sender, const wire::CmMad& mad,
             const roce::PacketMeta& meta) override;
  void on_message(const model::Message& message, const model::Call* call) override;
  void on_operation_end(const roce::Connection& connection, const roce::Operation& op,
                        const model::Call* call, std::uint32_t segment) override;
  void on_retransmission(const roce::Connection& connection, int sender, std::uint64_t count,
                         const roce::PacketMeta& meta) override;

  // Begins a step: the time since the first, and who does it.
  void step(std::int64_t time_ns, int side, const std::string& what);

  const report::Pipeline* pipeline_ = nullptr;
  std::string text_;
  std::int64_t start_ns_ = -1;
};

}  // namespace rpcrdma::cli

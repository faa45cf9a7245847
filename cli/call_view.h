// Prints a conversation step by step from the packets of a capture: connection setup, each message
// with all its fields, each RDMA operation.
#pragma once

#include <string>

#include <rpcrdma/session/session.h>

namespace rpcrdma::cli {

class CallView final : private model::Observer {
 public:
  CallView();

  // Returns the pipeline that reads the capture.
  [[nodiscard]] session::Pipeline& pipeline() { return session_.pipeline(); }
  // The steps so far, in order.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void on_cm(const roce::CmMessage& event) override;
  void on_message(const model::MessageSeen& event) override;
  void on_operation_end(const model::OperationSeen& event) override;
  void on_retransmission(const roce::Retransmission& event) override;

  // Starts a step: prints the time since the first step, and which side acts.
  void step(std::int64_t time_ns, int side, const std::string& what);

  session::Session session_;
  std::string text_;
  std::int64_t start_ns_ = -1;
};

}  // namespace rpcrdma::cli

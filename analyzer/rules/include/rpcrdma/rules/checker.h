// Checks a capture against the rules while it is read: an observer of the model.
#pragma once

#include <memory>
#include <vector>

#include <rpcrdma/rules/capture_quality.h>
#include <rpcrdma/rules/findings.h>
#include <rpcrdma/rules/sent_again.h>
#include <rpcrdma/rules/silence.h>

namespace rpcrdma::rules {

class Checker final : public model::Observer {
 public:
  // All arguments must outlive the checker.
  Checker(Findings& findings, const roce::Connections& connections, const model::Model& model);
  ~Checker() override;
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  // To be called when the capture has been read and the tracker has finished.
  void finish();
  // After finish().
  [[nodiscard]] const CaptureGaps& capture_gaps() const;
  // After finish(): state to recognise Calls that are resent in a later capture.
  [[nodiscard]] Handover handover() const;
  // After finish(): the longest silences of responders, the longest first.
  [[nodiscard]] const std::vector<Silence>& silences() const;
  // Called when a filter excludes this Call: later findings about it are not reported.
  void leave_out(const model::Message& call);

  void on_message(const model::MessageSeen& event) override;
  void on_identified(const model::Call& call) override;
  void on_call_end(const model::CallEnded& event) override;
  void on_merge(const roce::Merge& event) override;
  void on_close(const roce::Connection& connection) override;
  void on_evict(const roce::Connection& connection) override;
  void on_time(std::int64_t now_ns) override;
  void on_refusal(const roce::Acknowledgement& event) override;
  void on_retransmission(const roce::Retransmission& event) override;
  void on_congestion(const roce::CongestionSignal& event) override;
  void on_pause(const model::PauseSeen& event) override;
  void on_sent_again(const roce::RepeatedRequest& event) override;
  void on_operation(const model::OperationSeen& event) override;
  void on_operation_end(const model::OperationSeen& event) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::rules

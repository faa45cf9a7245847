// Measures a capture by the rules while it is read: an observer of the model.
#pragma once

#include <memory>

#include <rpcrdma/rules/capture_quality.h>
#include <rpcrdma/rules/findings.h>
#include <rpcrdma/rules/sent_again.h>

namespace rpcrdma::rules {

class Checker final : public model::Observer {
 public:
  // `findings` must outlive the checker.
  explicit Checker(Findings& findings);
  ~Checker() override;
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  // Before the first message; both must outlive this. Attaches the findings too.
  void attach(const roce::Connections& connections, const model::Model& model);
  // When the capture has been read and the tracker has finished.
  void finish();
  // After finish().
  [[nodiscard]] const Trust& trust() const;
  // After finish(): what Calls that are sent again on a later connection are known by.
  [[nodiscard]] Handover handover() const;
  // A filter leaves this Call out: what is found of it later is not told.
  void leave_out(const model::Message& call);

  void on_message(const model::Message& message, const model::Call* call) override;
  void on_identified(const model::Call& call) override;
  void on_call_end(const model::Call& call, const model::Message* answer) override;
  void on_cm(const roce::Connection* connection, int sender, const wire::CmMad& mad,
             const roce::PacketMeta& meta) override;
  void on_open(const roce::Connection& connection) override;
  void on_merge(const roce::Connection& into, const roce::Connection& from) override;
  void on_close(const roce::Connection& connection) override;
  void on_evict(const roce::Connection& connection) override;
  void on_time(std::int64_t now_ns) override;
  void on_refusal(const roce::Connection& connection, int sender, const wire::Aeth& aeth,
                  std::uint32_t psn, const roce::PacketMeta& meta) override;
  void on_retransmission(const roce::Connection& connection, int sender, std::uint64_t count,
                         const roce::PacketMeta& meta) override;
  void on_sent_again(const roce::Connection& connection, int sender, std::uint32_t psn,
                     std::int64_t idle_ns, bool begins, const roce::PacketMeta& meta) override;
  void on_operation(const roce::Connection& connection, const roce::Operation& op,
                    const model::Call* call, std::uint32_t segment) override;
  void on_operation_end(const roce::Connection& connection, const roce::Operation& op,
                        const model::Call* call, std::uint32_t segment) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::rules

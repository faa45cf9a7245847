// Collects Mounts while a session reads a capture.
#pragma once

#include <memory>

#include <rpcrdma/model/model.h>
#include <rpcrdma/mounts/mounts.h>
#include <rpcrdma/session/context.h>

namespace rpcrdma::mounts {

class Tracker final : public model::Observer {
 public:
  Tracker();
  ~Tracker() override;
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // Call before the first message. The context must outlive the tracker.
  void attach(const session::Context& context);
  // What has been seen up to `last_ns`, when the capture ended or as far as it was read.
  [[nodiscard]] Mounts mounts(std::int64_t last_ns) const;

  void on_message(const model::MessageSeen& event) override;
  void on_identified(const model::Call& call) override;
  void on_call_end(const model::CallEnded& event) override;
  void on_merge(const roce::Merge& event) override;
  void on_close(const roce::Connection& connection) override;
  void on_evict(const roce::Connection& connection) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::mounts

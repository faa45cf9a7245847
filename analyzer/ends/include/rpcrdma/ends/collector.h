// Collects the halves of Calls that one source shows, below the session of that source alone.
#pragma once

#include <memory>

#include <rpcrdma/ends/half.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/session/context.h>
#include <rpcrdma/trace_reader/event.h>

namespace rpcrdma::ends {

// A member of Observers::after_rules and of Observers::events of one session::Session, of which
// Options::join_views is false. Between two calls of take() it keeps at most `most_calls` Calls.
class Collector final : public model::Observer, public trace_reader::Observer {
 public:
  explicit Collector(std::size_t most_calls);
  ~Collector() override;
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Call it once the session exists, before its first frame. `context` is that of the session.
  void attach(const session::Context& context);

  void on_message(const model::MessageSeen& event) override;
  void on_call_end(const model::CallEnded& event) override;
  void on_close(const roce::Connection& connection) override;
  void on_evict(const roce::Connection& connection) override;
  void on_event(const trace_reader::Event& event) override;

  // The halves of Calls that have ended since the last call; the collector keeps none of them. For
  // a live source, again and again: connections and names keep their indices. `all`: the source has
  // ended, and the halves of Calls in flight are among them.
  [[nodiscard]] SourceHalves take(bool all);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::ends

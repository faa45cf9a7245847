// Collects the halves of Calls that one source shows, below the session of that source alone.
#pragma once

#include <memory>

#include <rpcrdma/ends/half.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/session/context.h>
#include <rpcrdma/trace_reader/event.h>

namespace rpcrdma::ends {

// A member of Observers::after_rules and of Observers::events of one session::Session, of which
// Options::join_views is false. Keeps at most `most_calls` Calls.
class Collector final : public model::Observer, public trace_reader::Observer {
 public:
  explicit Collector(std::size_t most_calls);
  ~Collector() override;
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  void on_message(const model::MessageSeen& event) override;
  void on_call_end(const model::CallEnded& event) override;
  void on_event(const trace_reader::Event& event) override;

  // The halves that have ended so far; the collector keeps none of them. `context` is that of its
  // session. A live source is asked again and again: Calls refer to connections by the same index.
  [[nodiscard]] SourceHalves take(const session::Context& context);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::ends

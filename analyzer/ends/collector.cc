#include <rpcrdma/ends/collector.h>

namespace rpcrdma::ends {

struct Collector::Impl {
  std::size_t most_calls = 0;
  SourceHalves halves;
};

Collector::Collector(std::size_t most_calls) : impl_(std::make_unique<Impl>()) {
  impl_->most_calls = most_calls;
}
Collector::~Collector() = default;
void Collector::on_message(const model::MessageSeen& /*event*/) {}
void Collector::on_call_end(const model::CallEnded& /*event*/) {}
void Collector::on_event(const trace_reader::Event& /*event*/) {}
SourceHalves Collector::take(const session::Context& /*context*/) {
  return {};
}

}  // namespace rpcrdma::ends

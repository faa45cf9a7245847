#include <algorithm>

#include <rpcrdma/report/slow_calls.h>

namespace rpcrdma::report {

void SlowCalls::offer(const SlowCall& call) {
  if (!wants(call.latency_ns, call.frame)) return;
  const auto at = std::find_if(list_.begin(), list_.end(), [&](const SlowCall& other) {
    return call.latency_ns != other.latency_ns ? call.latency_ns > other.latency_ns
                                               : call.frame < other.frame;
  });
  list_.insert(at, call);
  if (list_.size() > limit_) list_.pop_back();
}

void SlowCalls::merge(const SlowCalls& other) {
  for (const SlowCall& call : other.list_) offer(call);
}

}  // namespace rpcrdma::report

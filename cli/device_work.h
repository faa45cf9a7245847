// Counts of an RDMA device's work for a report.
#pragma once

#include <rpcrdma/load/device_work.h>
#include <rpcrdma/verbs/provider.h>

namespace rpcrdma::cli {

// Returns what was counted between two moments.
[[nodiscard]] inline load::DeviceWork device_work(const verbs::WorkCounters& before,
                                                  const verbs::WorkCounters& now) {
  return {.send_posts = now.send_posts - before.send_posts,
          .send_requests = now.send_requests - before.send_requests,
          .signaled = now.signaled - before.signaled,
          .receive_posts = now.receive_posts - before.receive_posts,
          .receive_requests = now.receive_requests - before.receive_requests,
          .completions = now.completions - before.completions,
          .notifications = now.notifications - before.notifications,
          .registrations = now.registrations - before.registrations,
          .binds = now.binds - before.binds,
          .invalidations = now.invalidations - before.invalidations};
}

}  // namespace rpcrdma::cli

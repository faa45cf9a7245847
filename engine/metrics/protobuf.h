// Serializes metric families to Prometheus's protobuf format: one io.prometheus.client.MetricFamily
// after the other, each after its length. Only this format carries native histograms.
#pragma once

#include "families.h"

#include <string>

namespace rpcrdma::metrics {

inline constexpr const char* kProtobufType =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

// Whether this build has the format; without it, protobuf() returns nothing.
[[nodiscard]] bool has_protobuf();

// A histogram with native buckets has them next to those of the text formats: the same Calls,
// counted in both.
[[nodiscard]] std::string protobuf(const Collected& collected);

}  // namespace rpcrdma::metrics

// The messages by the numbers of their fields: they stand in Prometheus's client_model
// (io/prometheus/client/metrics.proto), and never change.
#include "protobuf.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include <protozero/pbf_builder.hpp>
#include <protozero/varint.hpp>

namespace rpcrdma::metrics {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using protocol::NativeBuckets;

namespace {

enum class FamilyField : protozero::pbf_tag_type { kName = 1, kHelp = 2, kType = 3, kMetric = 4 };
enum class MetricField : protozero::pbf_tag_type {
  kLabel = 1,
  kGauge = 2,
  kCounter = 3,
  kHistogram = 7,
};
enum class LabelField : protozero::pbf_tag_type { kName = 1, kValue = 2 };
enum class ValueField : protozero::pbf_tag_type { kValue = 1 };  // of a counter or a gauge
enum class HistogramField : protozero::pbf_tag_type {
  kCount = 1,
  kSum = 2,
  kBucket = 3,
  kSchema = 5,
  kZeroThreshold = 6,
  kZeroCount = 7,
  kPositiveSpan = 12,
  kPositiveDelta = 13,
};
enum class BucketField : protozero::pbf_tag_type { kCumulativeCount = 1, kUpperBound = 2 };
enum class SpanField : protozero::pbf_tag_type { kOffset = 1, kLength = 2 };

// Nothing for a type that is not written.
std::optional<std::int32_t> type_number(MetricType type) {
  switch (type) {
    case MetricType::Counter:
      return 0;
    case MetricType::Gauge:
      return 1;
    case MetricType::Histogram:
      return 4;
    default:
      return std::nullopt;
  }
}

// The buckets that are not empty, as runs of adjacent ones. A span starts `offset` buckets after
// the end of the one before it, the first at the bucket with that number. Each bucket states its
// count as the difference from the bucket before it.
struct Spans {
  struct Span {
    std::int32_t offset = 0;
    std::uint32_t length = 0;
  };
  std::vector<Span> spans;
  std::vector<std::int64_t> deltas;
};

Spans spans_of(const NativeBuckets& native) {
  Spans all;
  std::int64_t before = 0;
  int next = 0;  // number of the bucket after the latest span
  for (std::size_t i = 1; i < NativeBuckets::kBuckets; ++i) {
    const auto count = static_cast<std::int64_t>(native.counts()[i]);
    if (count == 0) continue;
    const int number = NativeBuckets::number_of(i);
    if (all.spans.empty() || number != next) all.spans.push_back({number - next, 0});
    ++all.spans.back().length;
    all.deltas.push_back(count - before);
    before = count;
    next = number + 1;
  }
  return all;
}

void write_native(protozero::pbf_builder<HistogramField>& out, const NativeBuckets& native) {
  out.add_sint32(HistogramField::kSchema, NativeBuckets::kSchema);
  out.add_double(HistogramField::kZeroThreshold, std::ldexp(1.0, NativeBuckets::kZeroExponent));
  out.add_uint64(HistogramField::kZeroCount, native.counts()[0]);
  const Spans all = spans_of(native);
  for (const Spans::Span& s : all.spans) {
    protozero::pbf_builder<SpanField> span(out, HistogramField::kPositiveSpan);
    span.add_sint32(SpanField::kOffset, s.offset);
    span.add_uint32(SpanField::kLength, s.length);
  }
  // Not packed: the file's syntax is proto2.
  for (const std::int64_t delta : all.deltas) out.add_sint64(HistogramField::kPositiveDelta, delta);
}

void write_histogram(protozero::pbf_builder<HistogramField>& out, const ClientMetric::Histogram& h,
                     const NativeBuckets* native) {
  out.add_uint64(HistogramField::kCount, h.sample_count);
  out.add_double(HistogramField::kSum, h.sample_sum);
  for (const ClientMetric::Bucket& b : h.bucket) {
    protozero::pbf_builder<BucketField> bucket(out, HistogramField::kBucket);
    bucket.add_uint64(BucketField::kCumulativeCount, b.cumulative_count);
    bucket.add_double(BucketField::kUpperBound, b.upper_bound);
  }
  if (native != nullptr) write_native(out, *native);
}

void write_metric(protozero::pbf_builder<MetricField>& out, MetricType type, const ClientMetric& m,
                  const NativeBuckets* native) {
  for (const ClientMetric::Label& l : m.label) {
    protozero::pbf_builder<LabelField> label(out, MetricField::kLabel);
    label.add_string(LabelField::kName, l.name);
    label.add_string(LabelField::kValue, l.value);
  }
  if (type == MetricType::Histogram) {
    protozero::pbf_builder<HistogramField> histogram(out, MetricField::kHistogram);
    write_histogram(histogram, m.histogram, native);
    return;
  }
  const bool is_counter = type == MetricType::Counter;
  protozero::pbf_builder<ValueField> value(
      out, is_counter ? MetricField::kCounter : MetricField::kGauge);
  value.add_double(ValueField::kValue, is_counter ? m.counter.value : m.gauge.value);
}

}  // namespace

bool has_protobuf() {
  return true;
}

std::string protobuf(const Collected& collected) {
  std::string out;
  for (std::size_t f = 0; f < collected.families.size(); ++f) {
    const MetricFamily& family = collected.families[f];
    const auto type = type_number(family.type);
    if (!type) continue;
    std::string message;
    protozero::pbf_builder<FamilyField> builder(message);
    builder.add_string(FamilyField::kName, family.name);
    builder.add_string(FamilyField::kHelp, family.help);
    builder.add_enum(FamilyField::kType, *type);
    for (std::size_t m = 0; m < family.metric.size(); ++m) {
      const auto native = collected.native.find({f, m});
      protozero::pbf_builder<MetricField> metric(builder, FamilyField::kMetric);
      write_metric(metric, family.type, family.metric[m],
                   native == collected.native.end() ? nullptr : &native->second);
    }
    protozero::add_varint_to_buffer(&out, message.size());
    out += message;
  }
  return out;
}

}  // namespace rpcrdma::metrics

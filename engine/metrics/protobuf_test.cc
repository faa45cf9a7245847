// Reads what was written with protozero's reader, and compares it with the text formats.
#include "protobuf.h"

#include "names.h"

#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include <gmock/gmock.h>
#include <protozero/pbf_reader.hpp>

namespace rpcrdma::metrics {
namespace {

using fabric::kMicrosecond;
using fabric::kMillisecond;
using fabric::kSecond;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct ReadHistogram {
  std::uint64_t count = 0, zero_count = 0;
  double sum = 0, zero_threshold = 0;
  std::optional<std::int32_t> schema;
  std::vector<std::pair<double, std::uint64_t>> buckets;  // upper bound and cumulative count
  std::map<int, std::int64_t> native;                     // counts by number
};
struct ReadMetric {
  std::map<std::string, std::string> labels;
  std::optional<double> counter, gauge;
  std::optional<ReadHistogram> histogram;
};
struct ReadFamily {
  std::string name, help;
  int type = -1;
  std::vector<ReadMetric> metrics;
};

double read_value(protozero::pbf_reader message) {
  double value = NAN;
  while (message.next(1)) value = message.get_double();
  return value;
}

ReadHistogram read_histogram(protozero::pbf_reader message) {
  ReadHistogram h;
  std::vector<int> numbers;
  std::vector<std::int64_t> deltas;
  int next = 0;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        h.count = message.get_uint64();
        break;
      case 2:
        h.sum = message.get_double();
        break;
      case 3: {
        protozero::pbf_reader bucket = message.get_message();
        auto& b = h.buckets.emplace_back();
        while (bucket.next()) {
          if (bucket.tag() == 1) b.second = bucket.get_uint64();
          if (bucket.tag() == 2) b.first = bucket.get_double();
        }
        break;
      }
      case 5:
        h.schema = message.get_sint32();
        break;
      case 6:
        h.zero_threshold = message.get_double();
        break;
      case 7:
        h.zero_count = message.get_uint64();
        break;
      case 12: {
        protozero::pbf_reader span = message.get_message();
        std::uint32_t length = 0;
        while (span.next()) {
          if (span.tag() == 1) next += span.get_sint32();
          if (span.tag() == 2) length = span.get_uint32();
        }
        EXPECT_GT(length, 0U);
        for (; length != 0; --length) numbers.push_back(next++);
        break;
      }
      case 13:
        deltas.push_back(message.get_sint64());
        break;
      default:
        ADD_FAILURE() << "field " << message.tag();
        message.skip();
    }
  }
  EXPECT_EQ(numbers.size(), deltas.size());
  std::int64_t count = 0;
  for (std::size_t i = 0; i < std::min(numbers.size(), deltas.size()); ++i) {
    count += deltas[i];
    h.native[numbers[i]] = count;
  }
  return h;
}

ReadMetric read_metric(protozero::pbf_reader message) {
  ReadMetric m;
  while (message.next()) {
    switch (message.tag()) {
      case 1: {
        protozero::pbf_reader label = message.get_message();
        std::string name, value;
        while (label.next()) {
          std::string& text = label.tag() == 1 ? name : value;
          text = label.get_string();
        }
        m.labels[name] = value;
        break;
      }
      case 2:
        m.gauge = read_value(message.get_message());
        break;
      case 3:
        m.counter = read_value(message.get_message());
        break;
      case 7:
        m.histogram = read_histogram(message.get_message());
        break;
      default:
        ADD_FAILURE() << "field " << message.tag();
        message.skip();
    }
  }
  return m;
}

std::vector<ReadFamily> read(const std::string& text) {
  std::vector<ReadFamily> families;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const auto length = static_cast<std::size_t>(protozero::decode_varint(&at, end));
    if (length > static_cast<std::size_t>(end - at)) {
      ADD_FAILURE() << "too long";
      return families;
    }
    protozero::pbf_reader message(at, length);
    at += length;
    ReadFamily& f = families.emplace_back();
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          f.name = message.get_string();
          break;
        case 2:
          f.help = message.get_string();
          break;
        case 3:
          f.type = message.get_enum();
          break;
        case 4:
          f.metrics.push_back(read_metric(message.get_message()));
          break;
        default:
          ADD_FAILURE() << "field " << message.tag();
          message.skip();
      }
    }
  }
  return families;
}

// The number of the bucket in which Prometheus looks for a value.
int number_for(fabric::Time time) {
  return static_cast<int>(std::ceil(std::log2(static_cast<double>(time) / 1e9) * 8));
}

TEST(Protobuf, NothingIsNothing) {
  EXPECT_EQ(protobuf({}), "");
}

TEST(Protobuf, CountersAndGaugesKeepTheirNames) {
  Families f;
  f.add(kCalls, {{"role", "client"}}, 17);
  f.add(kCalls, {{"role", "server"}}, 4);
  f.set(kAge, {}, 0.25);
  const auto read_back = read(protobuf(f.take()));
  ASSERT_EQ(read_back.size(), 2U);
  EXPECT_EQ(read_back[0].name, "rpcrdma_calls_total");
  EXPECT_EQ(read_back[0].help, kCalls.help);
  EXPECT_EQ(read_back[0].type, 0);
  ASSERT_EQ(read_back[0].metrics.size(), 2U);
  EXPECT_THAT(read_back[0].metrics[0].labels, ElementsAre(Pair("role", "client")));
  EXPECT_EQ(read_back[0].metrics[0].counter, 17);
  EXPECT_EQ(read_back[0].metrics[1].counter, 4);
  EXPECT_EQ(read_back[1].type, 1);
  EXPECT_EQ(read_back[1].metrics.at(0).gauge, 0.25);
  EXPECT_THAT(read_back[1].metrics.at(0).labels, IsEmpty());
}

TEST(Protobuf, AHistogramHasBothKindsOfBuckets) {
  const std::vector<fabric::Time> times{0,
                                        59,
                                        60,
                                        1500,
                                        1500,
                                        1501,
                                        kMicrosecond,
                                        3 * kMillisecond,
                                        3 * kMillisecond + 1,
                                        kSecond,
                                        kSecond + 1,
                                        100 * kSecond};
  protocol::Durations durations;
  std::map<int, std::int64_t> expected;
  for (const fabric::Time time : times) {
    durations.add(time);
    if (time > 59) ++expected[number_for(time)];
  }
  Families f;
  f.add(kDuration, {{"role", "client"}}, durations);
  f.add(kDuration, {{"role", "client"}}, durations);
  const auto read_back = read(protobuf(f.take()));
  ASSERT_EQ(read_back.size(), 1U);
  EXPECT_EQ(read_back[0].type, 4);
  ASSERT_TRUE(read_back[0].metrics.at(0).histogram);
  const ReadHistogram& h = *read_back[0].metrics[0].histogram;
  EXPECT_EQ(h.count, 2 * times.size());
  EXPECT_DOUBLE_EQ(h.sum, 2 * static_cast<double>(durations.sum()) / 1e9);
  EXPECT_EQ(h.schema, 3);
  EXPECT_EQ(h.zero_threshold, std::ldexp(1.0, -24));
  EXPECT_EQ(h.zero_count, 4U);
  for (auto& [number, count] : expected) count *= 2;
  EXPECT_EQ(h.native, expected);
  std::uint64_t native = h.zero_count;
  for (const auto& [number, count] : h.native) native += static_cast<std::uint64_t>(count);
  EXPECT_EQ(native, h.count);
  // The one without an end, which all share, is `count`.
  ASSERT_EQ(h.buckets.size(), protocol::RoundDurations::kLongest.size());
  EXPECT_EQ(h.buckets.front(), std::pair(1e-6, std::uint64_t{8}));
  EXPECT_EQ(h.buckets.back(), std::pair(10.0, std::uint64_t{22}));
}

// One that is scraped before its first Call is native, too.
TEST(Protobuf, AnEmptyHistogramHasAZeroBucket) {
  Families f;
  f.add(kDuration, {}, protocol::Durations());
  const auto read_back = read(protobuf(f.take()));
  const ReadHistogram& h = *read_back.at(0).metrics.at(0).histogram;
  EXPECT_EQ(h.count, 0U);
  EXPECT_EQ(h.schema, 3);
  EXPECT_GT(h.zero_threshold, 0);
  EXPECT_THAT(h.native, IsEmpty());
}

// The kernel's own buckets fit into no schema.
TEST(Protobuf, ThoseOfTheKernelHaveRoundBucketsOnly) {
  protocol::RoundDurations durations;
  durations.add(kMillisecond, 3);
  Families f;
  f.add(kDuration, {{"role", "client"}}, protocol::Durations());
  f.add(kProcedureDuration, {{"role", "client"}}, durations);
  const auto read_back = read(protobuf(f.take()));
  ASSERT_EQ(read_back.size(), 2U);
  EXPECT_TRUE(read_back[0].metrics.at(0).histogram->schema);
  const ReadHistogram& h = *read_back[1].metrics.at(0).histogram;
  EXPECT_FALSE(h.schema);
  EXPECT_EQ(h.zero_threshold, 0);
  EXPECT_EQ(h.count, 3U);
  EXPECT_FALSE(h.buckets.empty());
}

}  // namespace
}  // namespace rpcrdma::metrics

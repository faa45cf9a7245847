#include "echo_wire.h"

#include <algorithm>
#include <cstring>

namespace rpcrdma::service::echo {
namespace {

std::optional<Status> to_status(std::uint32_t value) {
  if (value > static_cast<std::uint32_t>(Status::kTooLong)) return std::nullopt;
  return static_cast<Status>(value);
}

ServerTimes read_times(protocol::StreamReader& results) {
  ServerTimes times;
  times.reading = results.u64();
  times.working = results.u64();
  return times;
}

}  // namespace

std::optional<DataArgs> read_data_args(protocol::StreamReader& arguments, std::uint32_t longest) {
  DataArgs args;
  args.checksum = arguments.u32();
  args.data = arguments.opaque(longest);
  if (!arguments.ok() || !arguments.at_end()) return std::nullopt;
  return args;
}

std::optional<SourceArgs> read_source_args(protocol::StreamReader& arguments) {
  SourceArgs args;
  args.length = arguments.u32();
  args.seed = arguments.u32();
  if (!arguments.ok() || !arguments.at_end() || args.length > kMaxBulk) return std::nullopt;
  return args;
}

std::optional<ListArgs> read_list_args(protocol::StreamReader& arguments) {
  ListArgs args;
  args.count = arguments.u32();
  args.size = arguments.u32();
  args.seed = arguments.u32();
  if (!arguments.ok() || !arguments.at_end() || args.size > kMaxItem ||
      list_bytes(args.count, args.size) > kMaxListBytes) {
    return std::nullopt;
  }
  return args;
}

std::optional<std::uint32_t> read_sleep_args(protocol::StreamReader& arguments) {
  const std::uint32_t microseconds = arguments.u32();
  if (!arguments.ok() || !arguments.at_end() || microseconds > kMaxSleep) return std::nullopt;
  return microseconds;
}

std::optional<DataResult> read_data_result(protocol::StreamReader& results, std::uint32_t longest,
                                           bool ddp) {
  DataResult result;
  const auto status = to_status(results.u32());
  result.times = read_times(results);
  result.checksum = results.u32();
  result.data = ddp ? results.opaque_result(longest) : results.opaque(longest);
  if (!status || !results.ok() || !results.at_end()) return std::nullopt;
  result.status = *status;
  return result;
}

std::optional<SinkResult> read_sink_result(protocol::StreamReader& results) {
  SinkResult result;
  const auto status = to_status(results.u32());
  result.times = read_times(results);
  result.length = results.u32();
  result.checksum = results.u32();
  if (!status || !results.ok() || !results.at_end()) return std::nullopt;
  result.status = *status;
  return result;
}

std::optional<SleepResult> read_sleep_result(protocol::StreamReader& results) {
  SleepResult result;
  const auto status = to_status(results.u32());
  result.times = read_times(results);
  if (!status || !results.ok() || !results.at_end()) return std::nullopt;
  result.status = *status;
  return result;
}

std::optional<CountResult> read_count_result(protocol::StreamReader& results) {
  CountResult result;
  const auto status = to_status(results.u32());
  result.times = read_times(results);
  result.count = results.u64();
  if (!status || !results.ok() || !results.at_end()) return std::nullopt;
  result.status = *status;
  return result;
}

void write_items(const ListArgs& list, wire::Bytes data, std::uint8_t* out) {
  const std::size_t gap = roundup(list.size).size();
  for (std::uint32_t i = 0; i < list.count; ++i) {
    wire::store_be32(out, list.size);
    out = std::copy_n(data.data() + std::size_t{i} * list.size, list.size, out + 4);
    out = std::fill_n(out, gap, std::uint8_t{0});
  }
}

std::optional<ListHead> read_list_head(protocol::StreamReader& results) {
  ListHead head;
  const auto status = to_status(results.u32());
  head.times = read_times(results);
  head.checksum = results.u32();
  head.count = results.u32();
  if (!status || !results.ok()) return std::nullopt;
  head.status = *status;
  return head;
}

bool items_are(protocol::StreamReader& results, const ListArgs& list, wire::Bytes data) {
  for (std::uint32_t i = 0; i < list.count; ++i) {
    const wire::Bytes item = results.opaque(kMaxItem);
    const wire::Bytes right = data.subspan(std::size_t{i} * list.size, list.size);
    if (!results.ok() || !std::ranges::equal(item, right)) return false;
  }
  return results.at_end();
}

}  // namespace rpcrdma::service::echo

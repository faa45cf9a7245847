// Arguments and results of the echo program as XDR: the words around the data, and lists.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <rpcrdma/protocol/stream_reader.h>
#include <rpcrdma/service/echo.h>

namespace rpcrdma::service::echo {

// The words in front of the data, or the whole message.
inline constexpr std::size_t kMaxWords = 7;
using Words = std::array<std::uint8_t, 4 * kMaxWords>;

// Returns the bytes of `out` that were written.
template <typename... Word>
wire::Bytes put_words(Words& out, Word... words) {
  static_assert(sizeof...(words) <= kMaxWords);
  wire::XdrWriter writer(out);
  (writer.u32(words), ...);
  return wire::Bytes(out).first(writer.size());
}

// Bytes at the start of all results except NULL's: status and times; with data, also its checksum
// and count.
inline constexpr std::uint32_t kResultBytes = 20;
inline constexpr std::uint32_t kDataResultBytes = kResultBytes + 8;
// Encodes status, times and `words`.
template <typename... Word>
wire::Bytes put_result(Words& out, Status status, const ServerTimes& times, Word... words) {
  const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32U); };
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  return put_words(out, static_cast<std::uint32_t>(status), high(times.reading), low(times.reading),
                   high(times.working), low(times.working), words...);
}

// Roundup of data that is not DDP-eligible.
[[nodiscard]] inline wire::Bytes roundup(std::size_t length) {
  static constexpr std::array<std::uint8_t, 3> kZeros{};
  return wire::Bytes(kZeros).first((4 - length % 4) % 4);
}

// echo_args, bulk_args.
struct DataArgs {
  std::uint32_t checksum = 0;
  wire::Bytes data;
};
// nullopt: GARBAGE_ARGS, here and below.
[[nodiscard]] std::optional<DataArgs> read_data_args(protocol::StreamReader& arguments,
                                                     std::uint32_t longest);

struct SourceArgs {
  std::uint32_t length = 0, seed = 0;
};
[[nodiscard]] std::optional<SourceArgs> read_source_args(protocol::StreamReader& arguments);

struct ListArgs {
  std::uint32_t count = 0, size = 0, seed = 0;
};
[[nodiscard]] std::optional<ListArgs> read_list_args(protocol::StreamReader& arguments);
[[nodiscard]] std::optional<std::uint32_t> read_sleep_args(protocol::StreamReader& arguments);

// echo_res, bulk_res.
struct DataResult {
  Status status = Status::kOk;
  ServerTimes times;
  std::uint32_t checksum = 0;
  wire::Bytes data;
};
// nullopt: malformed, here and below. `ddp`: the data may lie in the space of a result.
[[nodiscard]] std::optional<DataResult> read_data_result(protocol::StreamReader& results,
                                                         std::uint32_t longest, bool ddp);

struct SinkResult {
  Status status = Status::kOk;
  ServerTimes times;
  std::uint32_t length = 0, checksum = 0;
};
[[nodiscard]] std::optional<SinkResult> read_sink_result(protocol::StreamReader& results);
struct SleepResult {
  Status status = Status::kOk;
  ServerTimes times;
};
[[nodiscard]] std::optional<SleepResult> read_sleep_result(protocol::StreamReader& results);
struct CountResult {
  Status status = Status::kOk;
  ServerTimes times;
  std::uint64_t count = 0;
};
[[nodiscard]] std::optional<CountResult> read_count_result(protocol::StreamReader& results);

// Bytes of `count` encoded items, without their number.
[[nodiscard]] constexpr std::uint64_t list_bytes(std::uint32_t count, std::uint32_t size) {
  return count * (4 + wire::xdr_padded(size));
}
// Writes the items; `out` has room for them. `data`: of all items, concatenated.
void write_items(const ListArgs& list, wire::Bytes data, std::uint8_t* out);
// Reads list_res up to the items.
struct ListHead {
  Status status = Status::kOk;
  ServerTimes times;
  std::uint32_t checksum = 0, count = 0;
};
[[nodiscard]] std::optional<ListHead> read_list_head(protocol::StreamReader& results);
// Returns whether the items match, and nothing follows.
[[nodiscard]] bool items_are(protocol::StreamReader& results, const ListArgs& list,
                             wire::Bytes data);

}  // namespace rpcrdma::service::echo

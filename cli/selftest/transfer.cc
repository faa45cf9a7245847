// The program TRANSFER at both ends: builds arguments and results, and compares every byte
// received.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include <fmt/core.h>

#include <rpcrdma/selftest/transfer.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::selftest {

using protocol::Piece;
using service::Call;
using service::echo::Pattern;

namespace {

constexpr std::uint32_t kOk = 0;
constexpr std::uint32_t kWrongFiller = 1;
constexpr std::uint32_t kWrongArgument = 2;

// Offsets that are added to a Call's seed (selftest.x).
constexpr std::uint32_t kArguments = 1;
constexpr std::uint32_t kResultFiller = 8;
constexpr std::uint32_t kResults = 9;

// Fills a result's memory before the peer writes there.
constexpr std::uint8_t kPoison = 0xa5;

void put_word(std::vector<std::uint8_t>& out, std::uint32_t word) {
  out.resize(out.size() + 4);
  wire::store_be32(&out[out.size() - 4], word);
}

void put_opaque(std::vector<std::uint8_t>& out, wire::Bytes bytes) {
  put_word(out, static_cast<std::uint32_t>(bytes.size()));
  out.insert(out.end(), bytes.begin(), bytes.end());
  out.resize(wire::xdr_padded(out.size()));
}

// Returns an empty string if they are equal.
std::string difference(wire::Bytes found, wire::Bytes right) {
  if (found.size() != right.size()) {
    return fmt::format("has {} bytes, expected {}", found.size(), right.size());
  }
  const auto [at, expected] = std::ranges::mismatch(found, right);
  if (at == found.end()) return {};
  return fmt::format("byte {} of {} is {:#04x}, expected {:#04x}", at - found.begin(), right.size(),
                     *at, *expected);
}

// transfer_args; the bytes point into the Call.
struct Arguments {
  std::uint32_t seed = 0;
  std::uint32_t result_filler = 0;
  std::vector<std::uint32_t> result_lengths;
  wire::Bytes filler;
  std::vector<wire::Bytes> items;
};

std::optional<Arguments> read_arguments(protocol::StreamReader& from) {
  Arguments a;
  a.seed = from.u32();
  a.result_filler = from.u32();
  const std::uint32_t results = from.u32();
  if (!from.ok() || a.result_filler > kMaxFiller || results > kMaxItems) return std::nullopt;
  for (std::uint32_t i = 0; i < results; ++i) {
    a.result_lengths.push_back(from.u32());
    if (a.result_lengths.back() > kMaxItem) return std::nullopt;
  }
  a.filler = from.opaque(kMaxFiller);
  const std::uint32_t items = from.u32();
  if (!from.ok() || items > kMaxItems) return std::nullopt;
  for (std::uint32_t i = 0; i < items; ++i) a.items.push_back(from.opaque(kMaxItem));
  const std::uint32_t end = from.u32();
  if (!from.ok() || !from.at_end() || end != a.seed) return std::nullopt;
  return a;
}

std::uint32_t judge(const Arguments& a, const Pattern& pattern) {
  const auto is = [&](wire::Bytes found, std::uint32_t seed) {
    return std::ranges::equal(found, pattern.bytes(seed, static_cast<std::uint32_t>(found.size())));
  };
  if (!is(a.filler, a.seed)) return kWrongFiller;
  for (std::uint32_t i = 0; i < a.items.size(); ++i) {
    if (!is(a.items[i], a.seed + kArguments + i)) return kWrongArgument;
  }
  return kOk;
}

}  // namespace

TransferProgram::TransferProgram(const Pattern& pattern, Damage damage)
    : Program(kTransferProgram, kTransferVersion, "transfer",
              {{1, "TRANSFER", [this](Call& call) { transfer(call); }, {kMaxItems, kMaxItems, 0}},
               {.number = 2,
                .name = "ONE_WAY",
                .handler = [this](Call& call) { one_way(call); },
                .binding = {kMaxItems, 0, 0},
                .one_way = true},
               {3, "COUNT", [this](Call& call) { count(call); }, {}}}),
      pattern_(pattern),
      damage_(damage) {}

void TransferProgram::transfer(Call& call) const {
  const auto args = read_arguments(call.arguments());
  if (!args) return (void)call.fail(service::CallError::kGarbageArgs);
  const auto items = static_cast<std::uint32_t>(args->result_lengths.size());
  // Index of the first result with any bytes, which is to be damaged; `items`: the filler.
  std::uint32_t victim = 0;
  while (victim < items && args->result_lengths[victim] == 0) ++victim;

  std::vector<std::uint8_t> head;
  put_word(head, judge(*args, pattern_));
  const bool hurt_filler = damage_ != Damage::kNone && victim == items && args->result_filler != 0;
  const std::uint32_t shorter = damage_ == Damage::kLength ? 1 : 0;
  put_opaque(head, pattern_.bytes(args->seed + kResultFiller,
                                  args->result_filler - (hurt_filler ? shorter : 0)));
  if (hurt_filler && damage_ == Damage::kByte) head[8] ^= 1U;
  put_word(head, items);

  std::array<std::array<std::uint8_t, 4>, kMaxItems + 1> words{};
  std::array<Piece, service::kMaxResultPieces> pieces;
  std::size_t count = 1;
  for (std::uint32_t i = 0; i < items; ++i) {
    wire::Bytes bytes = pattern_.bytes(args->seed + kResults + i, args->result_lengths[i]);
    const fabric::Memory* memory = pattern_.memory();
    if (i == victim && damage_ == Damage::kLength) bytes = bytes.first(bytes.size() - 1);
    if (i == victim && damage_ == Damage::kByte) {
      const auto block = call.acquire(args->result_lengths[i]);
      if (!block) return (void)call.fail(service::CallError::kSystemError);
      std::ranges::copy(bytes, block->data);
      block->data[bytes.size() / 2] ^= 1U;
      bytes = {block->data, bytes.size()};
      memory = block->memory;
    }
    wire::store_be32(words[i].data(), static_cast<std::uint32_t>(bytes.size()));
    if (i == 0) {
      head.insert(head.end(), words[i].begin(), words[i].end());
    } else {
      pieces[count++] = {words[i], nullptr, false};
    }
    pieces[count++] = {bytes, memory, true};
  }
  wire::store_be32(words[kMaxItems].data(), args->seed);
  pieces[0] = {head, nullptr, false};
  pieces[count++] = {words[kMaxItems], nullptr, false};
  (void)call.reply(std::span(pieces).first(count));
}

void TransferProgram::one_way(Call& call) {
  const auto args = read_arguments(call.arguments());
  ++(args && judge(*args, pattern_) == kOk ? right_ : wrong_);
  (void)call.reply({});  // ends it; nothing is sent
}

void TransferProgram::count(Call& call) {
  if (!call.arguments().at_end()) return (void)call.fail(service::CallError::kGarbageArgs);
  std::vector<std::uint8_t> results;
  put_word(results, std::exchange(right_, 0));
  put_word(results, std::exchange(wrong_, 0));
  const Piece piece{results, nullptr, false};
  (void)call.reply(std::span(&piece, 1));
}

TransferCall::TransferCall(protocol::MemoryPool& memory, const Pattern& pattern)
    : memory_(memory),
      pattern_(pattern),
      null_(kTransferProgram, kTransferVersion, 0),
      header_(kTransferProgram, kTransferVersion, 1),
      one_way_(kTransferProgram, kTransferVersion, 2),
      count_(kTransferProgram, kTransferVersion, 3) {}

TransferCall::~TransferCall() {
  if (room_) memory_.release(room_);
}

fabric::Expected<void> TransferCall::make_room() {
  std::uint32_t bytes = 0;
  for (std::size_t i = 0; i < transfer_.results.size(); ++i) bytes += transfer_.room(i);
  if (bytes > room_.size) {
    if (room_) memory_.release(std::exchange(room_, {}));
    auto block = memory_.acquire(bytes);
    if (!block) return tl::unexpected(block.error());
    room_ = *block;
  }
  if (room_) std::memset(room_.data, kPoison, room_.size);
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < transfer_.results.size(); ++i) {
    spaces_[i] = {room_.data + at, transfer_.room(i), room_.memory};
    at += transfer_.room(i);
  }
  return {};
}

fabric::Expected<protocol::CallSpec> TransferCall::begin(const Transfer& transfer,
                                                         std::uint32_t seed) {
  transfer_ = transfer;
  seed_ = seed;
  protocol::CallSpec spec;
  spec.max_reply = max_reply(transfer);
  spec.one_way = transfer.one_way;
  if (transfer.null || transfer.counted) {
    pieces_[0] = transfer.null ? null_.piece() : count_.piece();
    spec.message = std::span(pieces_).first(1);
    return spec;
  }
  if (auto room = make_room(); !room) return tl::unexpected(room.error());
  const auto items = static_cast<std::uint32_t>(transfer.arguments.size());
  head_.clear();
  put_word(head_, seed);
  put_word(head_, transfer.result_filler);
  put_word(head_, static_cast<std::uint32_t>(transfer.results.size()));
  for (const std::uint32_t length : transfer.results) put_word(head_, length);
  put_opaque(head_, pattern_.bytes(seed, transfer.filler));
  put_word(head_, items);
  if (items != 0) put_word(head_, transfer.arguments[0]);
  pieces_[0] = transfer.one_way ? one_way_.piece() : header_.piece();
  pieces_[1] = {head_, nullptr, false};
  std::size_t count = 2;
  for (std::uint32_t i = 0; i < items; ++i) {
    const std::uint32_t length = transfer.arguments[i];
    wire::store_be32(words_[i].data(), length);
    if (i != 0) pieces_[count++] = {words_[i], nullptr, false};
    pieces_[count++] = {pattern_.bytes(seed + kArguments + i, length), pattern_.memory(), true};
  }
  wire::store_be32(words_[kMaxItems].data(), seed);
  pieces_[count++] = {words_[kMaxItems], nullptr, false};
  spec.message = std::span(pieces_).first(count);
  spec.results = std::span(spaces_).first(transfer.results.size());
  return spec;
}

std::string TransferCall::check(const protocol::CallOutcome& outcome) const {
  if (transfer_.one_way && outcome.status == protocol::CallStatus::kSent) return {};
  service::ReplyReader reply(outcome, std::span(spaces_).first(transfer_.results.size()));
  if (reply.status() != service::RpcStatus::kSuccess) return service::describe(outcome, reply);
  if (transfer_.one_way) return "a Reply to a Call that has none";
  if (transfer_.counted) return check_count(reply.results());
  if (!transfer_.null) return check(reply.results());
  return reply.results().at_end() ? "" : "NULL returned results";
}

std::string TransferCall::check_count(protocol::StreamReader& results) const {
  const std::uint32_t right = results.u32();
  const std::uint32_t wrong = results.u32();
  if (!results.ok() || !results.at_end()) return "malformed results";
  if (right == *transfer_.counted && wrong == 0) return {};
  return fmt::format("the server received {} one-way Calls, {} of them wrong; expected {}",
                     right + wrong, wrong, *transfer_.counted);
}

std::string TransferCall::check(protocol::StreamReader& results) const {
  const std::uint32_t status = results.u32();
  const wire::Bytes filler = results.opaque(kMaxFiller);
  const std::uint32_t items = results.u32();
  if (!results.ok()) return "malformed results";
  if (status == kWrongFiller) return "the server received a wrong filler";
  if (status == kWrongArgument) return "the server received a wrong argument";
  if (status != kOk) return "malformed results";
  if (auto d = difference(filler, pattern_.bytes(seed_ + kResultFiller, transfer_.result_filler));
      !d.empty()) {
    return "the filler: " + d;
  }
  if (items != transfer_.results.size()) {
    return fmt::format("{} results, expected {}", items, transfer_.results.size());
  }
  for (std::uint32_t i = 0; i < items; ++i) {
    const wire::Bytes item = results.opaque_result(kMaxItem);
    if (!results.ok()) return fmt::format("result {}: malformed", i + 1);
    const auto d = difference(item, pattern_.bytes(seed_ + kResults + i, transfer_.results[i]));
    if (!d.empty()) return fmt::format("result {}: {}", i + 1, d);
  }
  const std::uint32_t end = results.u32();
  return results.ok() && results.at_end() && end == seed_ ? ""
                                                          : "malformed data after the last result";
}

}  // namespace rpcrdma::selftest

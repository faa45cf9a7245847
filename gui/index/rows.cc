#include <rpcrdma/index/rows.h>

namespace rpcrdma::index {

namespace {

// Whether the value has at most so many bits.
constexpr bool fits(std::uint64_t value, unsigned bits) {
  return value >> bits == 0;
}

}  // namespace

void Rows::push_back(const MessageRow& row) {
  const std::size_t i = packed_.size();
  // Times and frames wrap around: a distance is right whatever the values are.
  if (i % kBlock == 0) bases_.push_back({static_cast<std::uint64_t>(row.time_ns), row.frame});
  Packed packed{};
  if (!pack(row, i, packed)) {
    packed.moved = static_cast<std::uint32_t>(wide_.size());
    packed.wide = 1;
    wide_.push_back(row);
  }
  packed_.push_back(packed);
}

void Rows::set(std::size_t i, const MessageRow& row) {
  Packed& packed = packed_[i];
  if (packed.wide != 0) {
    wide_[packed.moved] = row;
  } else if (!pack(row, i, packed)) {
    packed.moved = static_cast<std::uint32_t>(wide_.size());
    packed.wide = 1;
    wide_.push_back(row);
  }
}

bool Rows::pack(const MessageRow& row, std::size_t i, Packed& to) const {
  const Base& base = bases_[i / kBlock];
  const std::uint64_t time = static_cast<std::uint64_t>(row.time_ns) - base.time + kTimeBias;
  const std::uint64_t frame = row.frame - base.frame + kFrameBias;
  const std::uint64_t match = row.match - (static_cast<std::uint64_t>(i) + 1);
  const auto distance = static_cast<std::int32_t>(static_cast<std::uint32_t>(match));
  const bool match_fits =
      row.match == 0 ||
      (distance != 0 && static_cast<std::uint64_t>(std::int64_t{distance}) == match);
  const bool latency_fits =
      row.latency_ns == -1 || (row.latency_ns >= 0 && row.latency_ns < std::int64_t{kNoLatency});
  const bool two_lists = row.read_bytes == 0 || row.write_bytes == 0 || row.reply_bytes == 0;
  const bool of_call = row.kind == model::Kind::kCall;
  const auto kind = static_cast<unsigned>(row.kind);
  const auto dialect = static_cast<unsigned>(row.dialect);
  if (!fits(time, kTimeBits) || !fits(frame, kFrameBits) || !match_fits || !latency_fits ||
      !two_lists || (of_call ? row.handle : row.detail) != 0 || !fits(row.moved, 32) ||
      !fits(row.connection, 24) || !fits(row.length, 24) || !fits(row.read_segments, 8) ||
      !fits(row.write_chunks, 8) || !fits(row.credit, 16) || !fits(row.requested, 16) ||
      !fits(row.granted, 16) || !fits(row.in_use, 16) || !fits(row.procedure, 16) ||
      !fits(row.first_frame, 16) || !fits(row.outcome, 10) || !fits(row.version, 4) ||
      !fits(row.operations, 12) || !fits(row.proc, 4) || !fits(row.error, 5) || !fits(kind, 4) ||
      !fits(row.sender, 1) || !fits(row.caller, 1) || !fits(dialect, 2) ||
      (row.worst >= kNoWorst && row.worst != MessageRow::kNothingFound)) {
    return false;
  }
  to.time = time & ((std::uint64_t{1} << kTimeBits) - 1);
  to.frame = frame & ((std::uint64_t{1} << kFrameBits) - 1);
  to.connection = row.connection & 0xffffffU;
  to.length = row.length & 0xffffffU;
  to.read_segments = row.read_segments & 0xffU;
  to.write_chunks = row.write_chunks & 0xffU;
  to.match = row.match == 0 ? 0 : distance;
  to.latency = row.latency_ns < 0 ? kNoLatency : static_cast<std::uint32_t>(row.latency_ns);
  to.xid = row.xid;
  to.detail_or_handle = of_call ? row.detail : row.handle;
  to.lists = row.reply_bytes == 0   ? kReadAndWrite
             : row.write_bytes == 0 ? kReadAndReply
                                    : kWriteAndReply;
  to.bytes_one = to.lists == kWriteAndReply ? row.write_bytes : row.read_bytes;
  to.bytes_two = to.lists == kReadAndWrite ? row.write_bytes : row.reply_bytes;
  to.moved = static_cast<std::uint32_t>(row.moved);
  to.credit = static_cast<std::uint16_t>(row.credit);
  to.requested = static_cast<std::uint16_t>(row.requested);
  to.granted = static_cast<std::uint16_t>(row.granted);
  to.in_use = static_cast<std::uint16_t>(row.in_use);
  to.procedure = static_cast<std::uint16_t>(row.procedure);
  to.flags = row.flags;
  to.first_frame = static_cast<std::uint16_t>(row.first_frame);
  to.outcome = row.outcome & 0x3ffU;
  to.version = row.version & 0xfU;
  to.operations = row.operations & 0xfffU;
  to.proc = row.proc & 0xfU;
  to.error = row.error & 0x1fU;
  to.kind = kind & 0xfU;
  to.sender = row.sender & 1U;
  to.caller = row.caller & 1U;
  to.dialect = dialect & 3U;
  to.worst = row.worst & 3U;  // kNothingFound becomes kNoWorst
  return true;
}

}  // namespace rpcrdma::index

// Builds the Send of a Reply from its plan, with the RDMA Writes before it, or the Send of an
// RDMA_ERROR.
#include "reply_builder.h"

#include "stream_writer.h"

#include <algorithm>
#include <cstring>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::protocol {
namespace {

using fabric::Expected;

Expected<void> take(MemoryPool& pool, std::uint64_t bytes, Block& block) {
  const auto taken = pool.acquire(static_cast<std::uint32_t>(bytes));
  if (!taken) return tl::unexpected(taken.error());
  block = *taken;
  return {};
}

std::uint32_t padded(const Piece& piece) {
  return static_cast<std::uint32_t>(piece.ddp ? wire::xdr_padded(piece.bytes.size())
                                              : piece.bytes.size());
}

class ReplyBuilder {
 public:
  ReplyBuilder(Link& link, const ReplyPlan& plan, std::span<const Piece> message,
               const ReplyTerms& terms, ServedCall& served)
      : link_(link), plan_(plan), message_(message), terms_(terms), served_(served) {}

  Expected<void> run() {
    MemoryPool& pool = link_.pool;
    const std::uint32_t inline_bytes = is_nomsg() ? 0 : plan_.stream_bytes;
    if (auto done = take(pool, plan_.header_bytes + inline_bytes, served_.send); !done) {
      return done;
    }
    const std::uint64_t copies = copied_bytes();
    if (copies != 0) {
      MemoryShare* const share = link_.options.share;
      if (share != nullptr && !share->take_at_once(MemoryPool::block_bytes(copies), served_.held)) {
        return fabric::fail(fabric::Errc::kNoRoom);
      }
      if (auto done = take(pool, copies, served_.copies); !done) return done;
    }
    served_.writer.clear();
    write_results();
    if (plan_.long_reply) write_stream_apart();
    if (plan_.read_segments != 0) {
      if (auto done = advertise_reads(); !done) return done;
    }
    return encode();
  }

 private:
  // The XID is not written to the owner's memory.
  [[nodiscard]] bool stays(std::size_t i) const { return message_[i].memory != nullptr && i != 0; }
  // Returns whether the piece is written or read by RDMA on its own. A Position Zero Read chunk is
  // one copy of the whole stream.
  [[nodiscard]] bool is_apart(std::size_t i) const {
    return plan_.by_write[i] || plan_.by_read[i] || plan_.long_reply;
  }
  [[nodiscard]] bool is_nomsg() const { return plan_.long_reply || plan_.read_reply; }

  [[nodiscard]] std::uint64_t copied_bytes() const {
    std::uint64_t sum = plan_.read_reply ? plan_.stream_bytes : 0;
    for (std::size_t i = 0; i < message_.size(); ++i) {
      if (!is_apart(i)) continue;
      const Piece& p = message_[i];
      const std::uint64_t all = plan_.long_reply && !plan_.by_write[i] ? padded(p) : p.bytes.size();
      sum += stays(i) ? all - p.bytes.size() : all;
    }
    return sum;
  }

  // Appends to the copies.
  fabric::Slice copy(wire::Bytes bytes, std::uint32_t roundup) {
    const auto length = static_cast<std::uint32_t>(bytes.size());
    std::uint8_t* const to = served_.copies.data + copied_;
    if (length != 0) std::memcpy(to, bytes.data(), length);
    if (roundup != 0) std::memset(to + length, 0, roundup);
    const fabric::Slice slice = served_.copies.slice(length + roundup, copied_);
    copied_ += length + roundup;
    return slice;
  }

  // The fabric only reads what it sends.
  [[nodiscard]] static fabric::Slice in_place(const Piece& piece) {
    return {const_cast<std::uint8_t*>(piece.bytes.data()),
            static_cast<std::uint32_t>(piece.bytes.size()), piece.memory->local_key};
  }

  void write_results() {
    std::uint32_t result = 0;
    for (std::size_t i = 0; i < message_.size(); ++i) {
      if (!message_[i].ddp) continue;
      if (plan_.by_write[i]) {
        written_[result] = message_[i].bytes.size();
        served_.writer.begin(served_.call.writes[result]);
        served_.writer.add(stays(i) ? in_place(message_[i]) : copy(message_[i].bytes, 0));
      }
      ++result;
    }
  }

  void write_stream_apart() {
    served_.writer.begin(served_.call.reply);
    for (std::size_t i = 0; i < message_.size(); ++i) {
      const Piece& p = message_[i];
      if (plan_.by_write[i] || p.bytes.empty()) continue;
      const auto roundup = padded(p) - static_cast<std::uint32_t>(p.bytes.size());
      if (stays(i)) {
        served_.writer.add(in_place(p));
        if (roundup != 0) served_.writer.add(copy({}, roundup));
        continue;
      }
      const fabric::Slice slice = copy(p.bytes, roundup);
      if (i == 0) wire::store_be32(slice.data, served_.call.xid);
      served_.writer.add(slice);
    }
  }

  Expected<void> advertise_reads() {
    if (plan_.read_reply) {
      const auto bytes = static_cast<std::uint32_t>(
          write_stream(message_, plan_.by_write, served_.call.xid, served_.copies.data + copied_));
      return advertise(served_.copies.slice(bytes, copied_), *served_.copies.memory, 0);
    }
    std::uint64_t position = 0;
    for (std::size_t i = 0; i < message_.size(); ++i) {
      const Piece& p = message_[i];
      if (plan_.by_read[i]) {
        const bool in_copies = !stays(i);
        const fabric::Slice part = in_copies ? copy(p.bytes, 0) : in_place(p);
        auto done = advertise(part, in_copies ? *served_.copies.memory : *p.memory,
                              static_cast<std::uint32_t>(position));
        if (!done) return done;
      }
      position += padded(p);
    }
    return {};
  }
  Expected<void> advertise(const fabric::Slice& part, const fabric::Memory& memory,
                           std::uint32_t position) {
    return terms_.advertiser->advertise(link_, served_.reads, part, memory, position);
  }

  // The length that a Write chunk's segments report.
  [[nodiscard]] std::uint64_t counted(std::uint32_t chunk) const {
    if (chunk >= written_.size()) return 0;
    const std::uint64_t bytes = written_[chunk];
    const std::uint64_t all = wire::xdr_padded(bytes);
    return terms_.counts_roundup && all <= served_.call.offer.write_chunk[chunk] ? all : bytes;
  }

  // Returns the chunk as it was offered, with the lengths that were filled.
  wire::WriteChunk returned(const ChunkRange& chunk, std::uint64_t bytes) {
    const std::span<wire::Segment> out =
        std::span(served_.returned).subspan(chunk.first, chunk.count);
    const std::span<const wire::Segment> offered = served_.call.of(chunk);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = offered[i];
      out[i].length = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, out[i].length));
      bytes -= out[i].length;
    }
    return out;
  }

  Expected<void> encode() {
    const CheckedCall& call = served_.call;
    served_.returned.resize(call.segments.size());
    served_.lists.clear();
    for (std::uint32_t n = 0; n < call.writes.size(); ++n) {
      served_.lists.push_back(returned(call.writes[n], counted(n)));
    }
    wire::Header header;
    header.vers = call.version;
    header.direction = wire::MsgType::kReply;
    header.inv_handle = call.inv_handle;
    header.xid = call.xid;
    header.credit = terms_.grant;
    header.proc = is_nomsg()     ? wire::Proc::kNomsg
                  : plan_.padded ? wire::Proc::kMsgp
                                 : wire::Proc::kMsg;
    Padding padding;
    if (plan_.padded) {
      padding = terms_.padding;
      padding.origin = plan_.header_bytes;
      header.align = padding.align;
      header.thresh = padding.thresh;
    }
    if (plan_.read_segments != 0) header.reads = (*terms_.advertiser)[served_.reads].list();
    header.writes = served_.lists;
    if (plan_.long_reply) header.reply = returned(call.reply, plan_.stream_bytes);
    const auto length =
        wire::encode_header(header, {served_.send.data, std::size_t{plan_.header_bytes}});
    if (!length) return fabric::fail(fabric::Errc::kBadArgument, length.error().what);
    served_.send_bytes = static_cast<std::uint32_t>(*length);
    if (!is_nomsg()) {
      std::array<bool, kMaxPieces> apart = plan_.by_write;
      for (std::size_t i = 0; i < message_.size(); ++i) apart[i] = apart[i] || plan_.by_read[i];
      served_.send_bytes += static_cast<std::uint32_t>(
          write_stream(message_, apart, call.xid, served_.send.data + *length, padding));
    }
    return {};
  }

  Link& link_;
  const ReplyPlan& plan_;
  const std::span<const Piece> message_;
  const ReplyTerms& terms_;
  ServedCall& served_;
  std::uint32_t copied_ = 0;
  std::array<std::uint64_t, kMaxPieces> written_{};
};

// A header, with room for a payload behind it.
Expected<void> build_bare(MemoryPool& pool, const wire::Header& header, ServedCall& served,
                          std::size_t payload = 0) {
  const std::size_t bytes = wire::encoded_size(header);
  if (auto done = take(pool, bytes + payload, served.send); !done) return done;
  (void)wire::encode_header(header, {served.send.data, bytes});
  served.send_bytes = static_cast<std::uint32_t>(bytes);
  served.writer.clear();
  return {};
}

}  // namespace

Expected<void> build_reply(Link& link, const ReplyPlan& plan, std::span<const Piece> message,
                           const ReplyTerms& terms, ServedCall& served) {
  return ReplyBuilder(link, plan, message, terms, served).run();
}

Expected<void> build_error(MemoryPool& pool, wire::Header error, ServedCall& served) {
  error.proc = wire::Proc::kError;
  return build_bare(pool, error, served);
}

Expected<void> build_option_reply(MemoryPool& pool, std::span<const Piece> message, bool is_rpc,
                                  std::uint32_t grant, ServedCall& served) {
  wire::Header header;
  header.vers = served.call.version;
  header.xid = served.call.xid;
  header.credit = grant;
  header.proc = wire::Proc::kOptional;
  header.direction = wire::MsgType::kReply;
  header.opttype = served.option.type;
  header.optinfo = served.option.bytes();
  const auto payload = static_cast<std::size_t>(stream_bytes(message));
  if (auto done = build_bare(pool, header, served, payload); !done || payload == 0) return done;
  std::uint8_t* const out = served.send.data + served.send_bytes;
  is_rpc ? write_stream(message, {}, served.call.xid, out) : write_pieces(message, {}, out);
  served.send_bytes += static_cast<std::uint32_t>(payload);
  return {};
}

std::uint64_t write_chunk_bytes(const ReplyPlan& plan, std::span<const Piece> message) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (plan.by_write[i]) sum += message[i].bytes.size();
  }
  return sum;
}

}  // namespace rpcrdma::protocol

#include "call_builder.h"

#include "stream_writer.h"

#include <algorithm>
#include <cstring>

#include <rpcrdma/wire/header.h>

namespace rpcrdma::protocol {
namespace {

using fabric::Errc;
using fabric::Expected;

class CallBuilder {
 public:
  CallBuilder(Link& link, const CallPlan& plan, const CallContent& content, std::uint64_t expose_id,
              Flight& flight)
      : link_(link), plan_(plan), content_(content), expose_id_(expose_id), flight_(flight) {}

  Expected<void> run() {
    flight_.version = content_.version;
    if (auto done = take_blocks(); !done) return done;
    if (auto done = expose_reads(); !done) return done;
    flight_.read_segments = flight_.segment_count;
    if (auto done = expose_writes(); !done) return done;
    return encode();
  }

 private:
  Expected<void> take(std::uint32_t bytes, Block& block) {
    const auto taken = link_.pool.take(bytes);
    if (!taken) return tl::unexpected(taken.error());
    block = *taken;
    return {};
  }
  Expected<void> take_copy(std::uint64_t bytes, Block*& block) {
    block = &flight_.copies[flight_.copy_count];
    auto done = take(static_cast<std::uint32_t>(bytes), *block);
    if (done) ++flight_.copy_count;
    return done;
  }

  // All that may lack, before anything is exposed.
  Expected<void> take_blocks() {
    if (auto done = take(plan_.header_bytes + plan_.inline_bytes, flight_.send); !done) return done;
    Block* copy = nullptr;
    if (plan_.long_call) {
      if (auto done = take_copy(stream_bytes(content_.message), copy); !done) return done;
      stream_bytes_ = write_stream(content_.message, plan_.by_read, content_.xid, copy->data);
    }
    for (std::size_t i = 0; i < content_.message.size(); ++i) {
      const Piece& p = content_.message[i];
      if (!plan_.by_read[i] || p.memory != nullptr) continue;
      if (auto done = take_copy(p.bytes.size(), copy); !done) return done;
      std::memcpy(copy->data, p.bytes.data(), p.bytes.size());
    }
    if (plan_.reply_chunk != 0) return take(plan_.reply_chunk, flight_.reply);
    return {};
  }

  Expected<void> expose(const fabric::Memory& memory, std::uint8_t* data, std::size_t length,
                        fabric::Access access, std::uint32_t position = 0) {
    for (std::size_t at = 0; at < length;) {
      const auto bytes =
          static_cast<std::uint32_t>(std::min<std::size_t>(length - at, link_.options.max_segment));
      const std::uint32_t n = flight_.segment_count;
      if (n == kMaxSegments) return fabric::fail(Errc::kBadArgument, "too many segments");
      const auto exposed = link_.connection->expose(expose_id_, memory, data + at, bytes, access);
      if (!exposed) return tl::unexpected(exposed.error());
      flight_.segments[n] = {exposed->handle, bytes, exposed->offset};
      flight_.positions[n] = position;
      flight_.valid[n] = true;
      if (link_.trace.on()) {
        tell_exposed(link_.trace, flight_.segments[n], access, content_.xid, link_.now);
      }
      ++flight_.segment_count;
      at += bytes;
    }
    return {};
  }

  // The roundup is not exposed, and need not be there (RFC 8166 section 3.4.5.2).
  Expected<void> expose_reads() {
    constexpr auto kRead = fabric::Access::kRemoteRead;
    std::uint32_t copy = 0;
    if (plan_.long_call) {
      const Block& stream = flight_.copies[copy++];
      auto done = expose(*stream.memory, stream.data, stream_bytes_, kRead);
      if (!done) return done;
    }
    std::uint64_t position = 0;
    for (std::size_t i = 0; i < content_.message.size(); ++i) {
      const Piece& p = content_.message[i];
      if (plan_.by_read[i]) {
        // The peer may only read.
        auto* data = const_cast<std::uint8_t*>(p.bytes.data());
        const fabric::Memory* memory = p.memory;
        if (memory == nullptr) {
          data = flight_.copies[copy].data;
          memory = flight_.copies[copy++].memory;
        }
        auto done =
            expose(*memory, data, p.bytes.size(), kRead, static_cast<std::uint32_t>(position));
        if (!done) return done;
      }
      position += p.ddp ? wire::xdr_padded(p.bytes.size()) : p.bytes.size();
    }
    return {};
  }

  Expected<void> expose_writes() {
    constexpr auto kWrite = fabric::Access::kRemoteWrite;
    if (plan_.write_list) {
      for (const ResultSpace& r : content_.results) {
        const std::uint32_t before = flight_.segment_count;
        if (r.length != 0) {
          auto done = expose(*r.memory, r.data, r.length, kWrite);
          if (!done) return done;
        }
        flight_.write_segments[flight_.write_chunks++] = flight_.segment_count - before;
      }
    }
    if (plan_.reply_chunk == 0) return {};
    const std::uint32_t before = flight_.segment_count;
    auto done = expose(*flight_.reply.memory, flight_.reply.data, plan_.reply_chunk, kWrite);
    flight_.reply_segments = flight_.segment_count - before;
    return done;
  }

  Expected<void> encode() {
    std::array<wire::ReadSegment, kMaxSegments> reads;
    std::array<wire::WriteChunk, kMaxResults> writes;
    std::uint32_t at = 0;
    for (; at < flight_.read_segments; ++at) {
      reads[at] = {flight_.positions[at], flight_.segments[at]};
    }
    const std::span<const wire::Segment> segments = flight_.segments;
    for (std::uint32_t i = 0; i < flight_.write_chunks; ++i) {
      writes[i] = segments.subspan(at, flight_.write_segments[i]);
      at += flight_.write_segments[i];
    }
    if (content_.version == kVersionTwo && link_.options.takes_invalidate &&
        flight_.segment_count != 0) {
      flight_.inv_handle = flight_.segments[0].handle;
    }
    wire::Header header;
    header.vers = content_.version;
    header.inv_handle = flight_.inv_handle;
    header.xid = content_.xid;
    header.credit = content_.credits;
    header.proc = plan_.long_call ? wire::Proc::kNomsg
                  : plan_.padded  ? wire::Proc::kMsgp
                                  : wire::Proc::kMsg;
    Padding padding;
    if (plan_.padded) {
      padding = link_.options.terms.padding;
      padding.origin = plan_.header_bytes;
      header.align = padding.align;
      header.thresh = padding.thresh;
    }
    header.reads = std::span(reads).first(flight_.read_segments);
    header.writes = std::span(writes).first(flight_.write_chunks);
    if (flight_.reply_segments != 0) header.reply = segments.subspan(at, flight_.reply_segments);
    const auto length =
        wire::encode_header(header, {flight_.send.data, std::size_t{plan_.header_bytes}});
    if (!length) return fabric::fail(Errc::kBadArgument, length.error().what);
    flight_.send_bytes = static_cast<std::uint32_t>(*length);
    if (!plan_.long_call) {
      flight_.send_bytes += static_cast<std::uint32_t>(write_stream(
          content_.message, plan_.by_read, content_.xid, flight_.send.data + *length, padding));
    }
    return {};
  }

  Link& link_;
  const CallPlan& plan_;
  const CallContent& content_;
  const std::uint64_t expose_id_;
  Flight& flight_;
  std::size_t stream_bytes_ = 0;  // of a long Call
};

}  // namespace

Expected<void> build_call(Link& link, const CallPlan& plan, const CallContent& content,
                          std::uint64_t expose_id, Flight& flight) {
  return CallBuilder(link, plan, content, expose_id, flight).run();
}

Expected<void> build_option(Link& link, std::uint32_t type, wire::Bytes info,
                            const CallContent& content, Flight& flight) {
  wire::Header header;
  header.vers = content.version;
  header.xid = content.xid;
  header.credit = content.credits;
  header.proc = wire::Proc::kOptional;
  header.opttype = type;
  header.optinfo = info;
  const std::size_t bytes = wire::encoded_size(header);
  const auto taken = link.pool.take(static_cast<std::uint32_t>(bytes));
  if (!taken) return tl::unexpected(taken.error());
  flight.version = content.version;
  flight.send = *taken;
  flight.send_bytes = static_cast<std::uint32_t>(bytes);
  if (const auto done = wire::encode_header(header, {taken->data, bytes}); !done) {
    return fabric::fail(Errc::kBadArgument, done.error().what);
  }
  return {};
}

}  // namespace rpcrdma::protocol

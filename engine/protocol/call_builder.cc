// Builds the Send of a Call from its plan: buffers, advertised memory, header, inline part.
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
  CallBuilder(Link& link, const CallPlan& plan, const CallContent& content,
              std::uint64_t advertise_id, InFlightCall& in_flight)
      : link_(link),
        plan_(plan),
        content_(content),
        advertise_id_(advertise_id),
        in_flight_(in_flight) {}

  Expected<void> run() {
    in_flight_.version = content_.version;
    if (auto done = take_blocks(); !done) return done;
    if (auto done = advertise_reads(); !done) return done;
    in_flight_.read_segments = in_flight_.segment_count;
    if (auto done = advertise_writes(); !done) return done;
    return encode();
  }

 private:
  Expected<void> take(std::uint32_t bytes, Block& block) {
    const auto taken = link_.pool.acquire(bytes);
    if (!taken) return tl::unexpected(taken.error());
    block = *taken;
    return {};
  }
  Expected<void> take_copy(std::uint64_t bytes, Block*& block) {
    block = &in_flight_.copies[in_flight_.copy_count];
    auto done = take(static_cast<std::uint32_t>(bytes), *block);
    if (done) ++in_flight_.copy_count;
    return done;
  }

  // Everything that can fail, before any memory is advertised.
  Expected<void> take_blocks() {
    if (auto done = take(plan_.header_bytes + plan_.inline_bytes, in_flight_.send); !done)
      return done;
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
    if (plan_.reply_chunk != 0) return take(plan_.reply_chunk, in_flight_.reply);
    return {};
  }

  Expected<void> advertise(const fabric::Memory& memory, std::uint8_t* data, std::size_t length,
                           fabric::Access access, std::uint32_t position = 0) {
    for (std::size_t at = 0; at < length;) {
      const auto bytes =
          static_cast<std::uint32_t>(std::min<std::size_t>(length - at, link_.options.max_segment));
      const std::uint32_t n = in_flight_.segment_count;
      if (n == kMaxSegments) return fabric::fail(Errc::kBadArgument, "too many segments");
      const auto advertised =
          link_.connection->advertise(advertise_id_, memory, data + at, bytes, access);
      if (!advertised) return tl::unexpected(advertised.error());
      in_flight_.segments[n] = {advertised->handle, bytes, advertised->offset};
      in_flight_.positions[n] = position;
      in_flight_.valid[n] = true;
      if (link_.trace.on()) {
        trace_advertised(link_.trace, in_flight_.segments[n], access, content_.xid, link_.now);
      }
      ++in_flight_.segment_count;
      at += bytes;
    }
    return {};
  }

  // The roundup is not advertised, and need not exist (RFC 8166 section 3.4.5.2).
  Expected<void> advertise_reads() {
    constexpr auto kRead = fabric::Access::kRemoteRead;
    std::uint32_t copy = 0;
    if (plan_.long_call) {
      const Block& stream = in_flight_.copies[copy++];
      auto done = advertise(*stream.memory, stream.data, stream_bytes_, kRead);
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
          data = in_flight_.copies[copy].data;
          memory = in_flight_.copies[copy++].memory;
        }
        auto done =
            advertise(*memory, data, p.bytes.size(), kRead, static_cast<std::uint32_t>(position));
        if (!done) return done;
      }
      position += p.ddp ? wire::xdr_padded(p.bytes.size()) : p.bytes.size();
    }
    return {};
  }

  Expected<void> advertise_writes() {
    constexpr auto kWrite = fabric::Access::kRemoteWrite;
    if (plan_.write_list) {
      for (const ResultSpace& r : content_.results) {
        const std::uint32_t before = in_flight_.segment_count;
        if (r.length != 0) {
          auto done = advertise(*r.memory, r.data, r.length, kWrite);
          if (!done) return done;
        }
        in_flight_.write_segments[in_flight_.write_chunks++] = in_flight_.segment_count - before;
      }
    }
    if (plan_.reply_chunk == 0) return {};
    const std::uint32_t before = in_flight_.segment_count;
    auto done =
        advertise(*in_flight_.reply.memory, in_flight_.reply.data, plan_.reply_chunk, kWrite);
    in_flight_.reply_segments = in_flight_.segment_count - before;
    return done;
  }

  Expected<void> encode() {
    std::array<wire::ReadSegment, kMaxSegments> reads;
    std::array<wire::WriteChunk, kMaxResults> writes;
    std::uint32_t at = 0;
    for (; at < in_flight_.read_segments; ++at) {
      reads[at] = {in_flight_.positions[at], in_flight_.segments[at]};
    }
    const std::span<const wire::Segment> segments = in_flight_.segments;
    for (std::uint32_t i = 0; i < in_flight_.write_chunks; ++i) {
      writes[i] = segments.subspan(at, in_flight_.write_segments[i]);
      at += in_flight_.write_segments[i];
    }
    if (content_.version == kVersionTwo && link_.options.accepts_invalidate &&
        in_flight_.segment_count != 0) {
      in_flight_.inv_handle = in_flight_.segments[0].handle;
    }
    wire::Header header;
    header.vers = content_.version;
    header.inv_handle = in_flight_.inv_handle;
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
    header.reads = std::span(reads).first(in_flight_.read_segments);
    header.writes = std::span(writes).first(in_flight_.write_chunks);
    if (in_flight_.reply_segments != 0)
      header.reply = segments.subspan(at, in_flight_.reply_segments);
    const auto length =
        wire::encode_header(header, {in_flight_.send.data, std::size_t{plan_.header_bytes}});
    if (!length) return fabric::fail(Errc::kBadArgument, length.error().what);
    in_flight_.send_bytes = static_cast<std::uint32_t>(*length);
    if (!plan_.long_call) {
      in_flight_.send_bytes += static_cast<std::uint32_t>(write_stream(
          content_.message, plan_.by_read, content_.xid, in_flight_.send.data + *length, padding));
    }
    return {};
  }

  Link& link_;
  const CallPlan& plan_;
  const CallContent& content_;
  const std::uint64_t advertise_id_;
  InFlightCall& in_flight_;
  std::size_t stream_bytes_ = 0;  // of a long Call
};

}  // namespace

Expected<void> build_call(Link& link, const CallPlan& plan, const CallContent& content,
                          std::uint64_t advertise_id, InFlightCall& in_flight) {
  return CallBuilder(link, plan, content, advertise_id, in_flight).run();
}

Expected<void> build_option(Link& link, const OptionContent& option, const CallContent& content,
                            InFlightCall& in_flight) {
  wire::Header header;
  header.vers = content.version;
  header.xid = content.xid;
  header.credit = content.credits;
  header.proc = wire::Proc::kOptional;
  header.opttype = option.type;
  header.optinfo = option.info;
  const std::size_t header_bytes = wire::encoded_size(header);
  const std::size_t bytes = header_bytes + static_cast<std::size_t>(stream_bytes(content.message));
  const auto taken = link.pool.acquire(static_cast<std::uint32_t>(bytes));
  if (!taken) return tl::unexpected(taken.error());
  in_flight.version = content.version;
  in_flight.send = *taken;
  in_flight.send_bytes = static_cast<std::uint32_t>(bytes);
  if (const auto done = wire::encode_header(header, {taken->data, header_bytes}); !done) {
    return fabric::fail(Errc::kBadArgument, done.error().what);
  }
  std::uint8_t* const out = taken->data + header_bytes;
  if (option.is_part) {
    write_pieces(content.message, {}, out);
  } else if (!content.message.empty()) {
    write_stream(content.message, {}, content.xid, out);
  }
  return {};
}

}  // namespace rpcrdma::protocol

// Encodes the transport headers of RPC-over-RDMA version 1 and version 2 draft-02: measures first,
// then writes without bounds checks.
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::wire {
namespace {

// The count of a chunk or of optinfo is one word.
constexpr std::uint64_t kMaxCount = UINT32_MAX;

tl::unexpected<DecodeError> too_long(const char* what) {
  return fail(Errc::kTooLong, 0, "RFC 4506 4.13", what);
}

Result<std::uint64_t> measure_lists(const Header& header) {
  // Three words end the lists. The Reply chunk's marker is one of them, whether the chunk is
  // present or not.
  std::uint64_t size = 12 + std::uint64_t{kReadEntryBytes} * header.reads.size();
  for (const WriteChunk& chunk : header.writes) {
    if (chunk.size() > kMaxCount) return too_long("a Write chunk has over 2^32 - 1 segments");
    size += 8 + std::uint64_t{kSegmentBytes} * chunk.size();
  }
  if (header.reply) {
    if (header.reply->size() > kMaxCount) {
      return too_long("the Reply chunk has over 2^32 - 1 segments");
    }
    size += 4 + std::uint64_t{kSegmentBytes} * header.reply->size();
  }
  return size;
}

Result<std::uint64_t> measure_error(const Header& header) {
  switch (header.error) {
    case RdmaErr::kVers:
      return 12;
    case RdmaErr::kChunk:
      return 4;
    case RdmaErr::kCantReply:
      if (header.vers == 2) return 16;
      break;
    case RdmaErr::kInvalProc:
    case RdmaErr::kInvalOption:
      if (header.vers == 2) return 4;
      break;
  }
  return fail(Errc::kBadValue, kPrefixBytes, header.vers == 1 ? "ERR-03" : "V2-11",
              "rdma_err is not one of the version's");
}

// Returns the size of everything after the prefix, in bytes.
Result<std::uint64_t> measure_body(const Header& header) {
  const bool one = header.vers == 1;
  // An ERR_VERS copies the version that it refuses.
  const bool refuses = header.proc == Proc::kError && header.error == RdmaErr::kVers;
  if (!one && header.vers != 2 && !refuses) {
    return fail(Errc::kUnsupported, 4, "HDR-03", "rdma_vers is not 1 or 2");
  }
  switch (header.proc) {
    case Proc::kMsg:
    case Proc::kNomsg:
      return measure_lists(header).map([one](std::uint64_t size) { return size + (one ? 0 : 8); });
    case Proc::kMsgp:
      if (one) return measure_lists(header).map([](std::uint64_t size) { return size + 8; });
      break;
    case Proc::kDone:
      if (one) return 0;
      break;
    case Proc::kError:
      return measure_error(header);
    case Proc::kOptional:
      if (one) break;
      if (header.optinfo.size() > kMaxCount) return too_long("rdma_optinfo is over 2^32 - 1 bytes");
      return 12 + xdr_padded(header.optinfo.size());
  }
  return fail(Errc::kBadValue, 12, one ? "HDR-05" : "V2-08",
              "rdma_proc is not one of the version's");
}

// Stores without bounds checks: encode_header() has compared the measured size with the span.
class Out {
 public:
  explicit Out(std::uint8_t* p) : p_(p) {}

  void u32(std::uint32_t v) {
    store_be32(p_, v);
    p_ += 4;
  }

  void segment(const Segment& s) {
    store_be32(p_, s.handle);
    store_be32(p_ + 4, s.length);
    store_be64(p_ + 8, s.offset);
    p_ += kSegmentBytes;
  }

  void chunk(const WriteChunk& segments) {
    u32(static_cast<std::uint32_t>(segments.size()));
    for (const Segment& s : segments) segment(s);
  }

  void opaque(Bytes v) {
    const std::size_t padded = static_cast<std::size_t>(xdr_padded(v.size()));
    u32(static_cast<std::uint32_t>(v.size()));
    if (v.empty()) return;
    std::memcpy(p_, v.data(), v.size());
    std::memset(p_ + v.size(), 0, padded - v.size());
    p_ += padded;
  }

 private:
  std::uint8_t* p_;
};

void put_lists(Out& out, const Header& header) {
  for (const ReadSegment& read : header.reads) {
    out.u32(1);
    out.u32(read.position);
    out.segment(read.target);
  }
  out.u32(0);
  for (const WriteChunk& chunk : header.writes) {
    out.u32(1);
    out.chunk(chunk);
  }
  out.u32(0);
  out.u32(header.reply ? 1 : 0);
  if (header.reply) out.chunk(*header.reply);
}

void put_error(Out& out, const Header& header) {
  out.u32(static_cast<std::uint32_t>(header.error));
  if (header.error == RdmaErr::kVers) {
    out.u32(header.vers_low);
    out.u32(header.vers_high);
  } else if (header.error == RdmaErr::kCantReply) {
    out.u32(header.processed ? 1 : 0);
    out.u32(header.segment_index);
    out.u32(header.length_needed);
  }
}

void put_body(Out& out, const Header& header) {
  switch (header.proc) {
    case Proc::kMsgp:
      out.u32(header.align);
      out.u32(header.thresh);
      return put_lists(out, header);
    case Proc::kMsg:
    case Proc::kNomsg:
      if (header.vers == 2) {
        out.u32(static_cast<std::uint32_t>(header.direction));
        out.u32(header.inv_handle);
      }
      return put_lists(out, header);
    case Proc::kDone:
      return;
    case Proc::kError:
      return put_error(out, header);
    case Proc::kOptional:
      out.u32(static_cast<std::uint32_t>(header.direction));
      out.u32(header.opttype);
      return out.opaque(header.optinfo);
  }
}

}  // namespace

std::size_t encoded_size(const Header& header) {
  const Result<std::uint64_t> body = measure_body(header);
  return body ? static_cast<std::size_t>(kPrefixBytes + *body) : 0;
}

Result<std::size_t> encode_header(const Header& header, MutableBytes bytes) {
  const Result<std::uint64_t> body = measure_body(header);
  if (!body) return tl::unexpected(body.error());
  const std::uint64_t size = kPrefixBytes + *body;
  if (size > bytes.size()) {
    return fail(Errc::kNoSpace, bytes.size(), "", "output is too small for the header");
  }
  Out out(bytes.data());
  out.u32(header.xid);
  out.u32(header.vers);
  out.u32(header.credit);
  out.u32(static_cast<std::uint32_t>(header.proc));
  put_body(out, header);
  return static_cast<std::size_t>(size);
}

}  // namespace rpcrdma::wire

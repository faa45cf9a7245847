#include <algorithm>

#include <rpcrdma/wire/header.h>

namespace rpcrdma::wire {
namespace {

constexpr std::size_t kVersOffset = 4;
constexpr std::size_t kProcOffset = 12;
constexpr std::size_t kMaxSendBytes = std::size_t{1} << 31;

// One pass over the message with raw pointers. Every Send of a connection comes through here, so
// the error is written only on the way out and the lists are walked once, without a reader's state.
class HeaderDecoder {
 public:
  HeaderDecoder(Bytes message, HeaderView& out)
      : begin_(message.data()),
        p_(begin_),
        end_(begin_ + std::min(message.size(), kMaxSendBytes)),
        out_(out) {}

  [[nodiscard]] bool run() {
    if (left() < kPrefixBytes) {
      return failed(Errc::kTruncated, begin_ + (left() & ~std::size_t{3}), "HDR-01",
                    "message ends inside the four fixed words");
    }
    out_.xid = load_be32(p_);
    out_.vers = load_be32(p_ + 4);
    out_.credit = load_be32(p_ + 8);
    const std::uint32_t proc = load_be32(p_ + 12);
    p_ += kPrefixBytes;
    if (out_.vers == 1) {
      if (!version_one(proc)) return false;
    } else if (out_.vers == 2) {
      if (!version_two(proc)) return false;
    } else {
      return failed(Errc::kUnsupported, begin_ + kVersOffset, "HDR-03", "rdma_vers is not 1 or 2");
    }
    out_.length = static_cast<std::uint32_t>(p_ - begin_);
    return true;
  }

  [[nodiscard]] const DecodeError& error() const { return error_; }

 private:
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - p_); }

  [[gnu::cold, gnu::noinline]] bool failed(Errc code, const std::uint8_t* at, const char* rule,
                                           const char* what) {
    error_ = {code, static_cast<std::uint32_t>(at - begin_), rule, what};
    return false;
  }

  std::uint32_t take() {
    const std::uint32_t v = load_be32(p_);
    p_ += 4;
    return v;
  }

  bool version_one(std::uint32_t proc) {
    out_.proc = static_cast<Proc>(proc);
    switch (out_.proc) {
      case Proc::kMsg:
      case Proc::kNomsg:
        return chunk_lists("HDR-06");
      case Proc::kMsgp:
        if (!whole_words(2, "DEP-01", "header ends before rdma_align and rdma_thresh do")) {
          return false;
        }
        out_.align = take();
        out_.thresh = take();
        return chunk_lists("HDR-06");
      case Proc::kDone:
        return true;
      case Proc::kError:
        return error_one();
      case Proc::kOptional:
        break;
    }
    return failed(Errc::kBadValue, begin_ + kProcOffset, "HDR-05", "rdma_proc is not one of 0..4");
  }

  bool version_two(std::uint32_t proc) {
    out_.proc = static_cast<Proc>(proc);
    switch (out_.proc) {
      case Proc::kMsg:
      case Proc::kNomsg:
        if (!direction("rdma_direction is not CALL or REPLY")) return false;
        if (!whole_words(1, "V2-08", "header ends before rdma_inv_handle does")) return false;
        out_.inv_handle = take();
        return chunk_lists("V2-08");
      case Proc::kError:
        return error_two();
      case Proc::kOptional:
        return optional();
      case Proc::kMsgp:
      case Proc::kDone:
        break;
    }
    return failed(Errc::kBadValue, begin_ + kProcOffset, "V2-08",
                  "rdma_proc is not one of 0, 1, 4, 5");
  }

  // Finds the bytes of `count` words in front of the cursor; the error points at the first that is
  // not whole.
  bool whole_words(std::size_t count, const char* rule, const char* what) {
    if (left() >= count * 4) [[likely]]
      return true;
    return failed(Errc::kTruncated, p_ + (left() & ~std::size_t{3}), rule, what);
  }

  bool direction(const char* what) {
    if (!whole_words(1, "V2-08", "header ends before its direction does")) return false;
    const std::uint32_t value = load_be32(p_);
    if (value > 1) return failed(Errc::kBadValue, p_, "V2-02", what);
    out_.direction = static_cast<MsgType>(value);
    p_ += 4;
    return true;
  }

  bool error_one() {
    if (!whole_words(1, "ERR-03", "header ends before rdma_err does")) return false;
    out_.error = static_cast<RdmaErr>(load_be32(p_));
    switch (out_.error) {
      case RdmaErr::kVers:
        p_ += 4;
        return version_range("ERR-02");
      case RdmaErr::kChunk:
        p_ += 4;
        return true;
      default:
        return failed(Errc::kBadValue, p_, "ERR-03", "rdma_err is not ERR_VERS or ERR_CHUNK");
    }
  }

  bool error_two() {
    if (!whole_words(1, "V2-11", "header ends before rdma_err does")) return false;
    out_.error = static_cast<RdmaErr>(load_be32(p_));
    switch (out_.error) {
      case RdmaErr::kVers:
        p_ += 4;
        return version_range("V2-11");
      case RdmaErr::kCantReply:
        p_ += 4;
        return cant_reply();
      case RdmaErr::kChunk:
      case RdmaErr::kInvalProc:
      case RdmaErr::kInvalOption:
        p_ += 4;
        return true;
    }
    return failed(Errc::kBadValue, p_, "V2-11", "rdma_err is not one of 1..5");
  }

  bool version_range(const char* rule) {
    if (!whole_words(2, rule, "header ends before the range of versions does")) return false;
    out_.vers_low = take();
    out_.vers_high = take();
    return true;
  }

  bool cant_reply() {
    if (!whole_words(3, "V2-11", "header ends inside the body of RDMA2_ERR_CANT_REPLY")) {
      return false;
    }
    const std::uint32_t processed = load_be32(p_);
    if (processed > 1) {
      return failed(Errc::kBadValue, p_, "V2-11", "rdma_processed is not TRUE or FALSE");
    }
    out_.processed = processed == 1;
    out_.segment_index = load_be32(p_ + 4);
    out_.length_needed = load_be32(p_ + 8);
    p_ += 12;
    return true;
  }

  bool optional() {
    if (!direction("rdma_optdir is not CALL or REPLY")) return false;
    if (!whole_words(2, "V2-08", "header ends before rdma_optinfo begins")) return false;
    out_.opttype = take();
    const std::uint64_t length = take();
    // Roundup of a 32-bit count, in 64 bits: cannot wrap.
    const std::uint64_t padded = (length + 3) & ~std::uint64_t{3};
    if (padded > left()) {
      return failed(Errc::kTruncated, p_, "V2-08", "header ends inside rdma_optinfo");
    }
    out_.optinfo = Bytes(p_, static_cast<std::size_t>(length));
    p_ += padded;
    return true;
  }

  bool chunk_lists(const char* rule) {
    return read_list(rule) && write_list(rule) && reply_chunk(rule);
  }

  // The marker of an optional item: 1 present, 0 absent. The caller looks at `present` only after
  // true.
  bool marker(bool& present, const char* rule, const char* truncated) {
    if (left() < 4) [[unlikely]]
      return failed(Errc::kTruncated, p_, rule, truncated);
    const std::uint32_t value = load_be32(p_);
    if (value > 1) [[unlikely]] {
      return failed(Errc::kBadValue, p_, rule, "optional marker is not 0 or 1");
    }
    present = value == 1;
    p_ += 4;
    return true;
  }

  bool read_list(const char* rule) {
    const std::uint8_t* const first = p_ + 4;
    std::uint32_t count = 0;
    for (;;) {
      bool present = false;
      if (!marker(present, rule, "header ends before the Read list does")) return false;
      if (!present) break;
      if (left() < kReadEntryBytes - 4) [[unlikely]] {
        return failed(Errc::kTruncated, p_, rule, "header ends inside a Read segment");
      }
      p_ += kReadEntryBytes - 4;
      ++count;
    }
    out_.reads = ReadListView(first, count);
    return true;
  }

  // A count word and that many segments; `segments` is how many.
  bool write_chunk(std::uint32_t& segments, const char* rule) {
    if (left() < 4) [[unlikely]] {
      return failed(Errc::kTruncated, p_, rule, "header ends before a chunk's segment count does");
    }
    segments = load_be32(p_);
    // In 64 bits, and before anything walks the segments: a count is bounded by the bytes present.
    const std::uint64_t bytes = std::uint64_t{segments} * kSegmentBytes;
    if (bytes > left() - 4) [[unlikely]] {
      return failed(Errc::kTruncated, p_, rule, "header ends before a chunk's segments do");
    }
    p_ += 4 + bytes;
    return true;
  }

  bool write_list(const char* rule) {
    const std::uint8_t* const first = p_ + 4;
    std::uint32_t count = 0;
    for (;;) {
      bool present = false;
      if (!marker(present, rule, "header ends before the Write list does")) return false;
      if (!present) break;
      std::uint32_t segments = 0;
      if (!write_chunk(segments, rule)) return false;
      ++count;
    }
    out_.writes = WriteListView(first, count);
    return true;
  }

  bool reply_chunk(const char* rule) {
    bool present = false;
    if (!marker(present, rule, "header ends before the Reply chunk's marker does")) return false;
    if (!present) return true;
    const std::uint8_t* const first = p_ + 4;
    std::uint32_t segments = 0;
    if (!write_chunk(segments, rule)) return false;
    out_.reply.emplace(first, segments);
    return true;
  }

  const std::uint8_t* const begin_;
  const std::uint8_t* p_;
  const std::uint8_t* const end_;
  HeaderView& out_;
  DecodeError error_;
};

}  // namespace

Result<Prefix> decode_prefix(Bytes message) {
  if (message.size() < kPrefixBytes) {
    return fail(Errc::kTruncated, message.size() & ~std::size_t{3}, "HDR-01",
                "message ends inside the four fixed words");
  }
  const std::uint8_t* p = message.data();
  return Prefix{load_be32(p), load_be32(p + 4), load_be32(p + 8), load_be32(p + 12)};
}

Result<HeaderView> decode_header(Bytes message) {
  // Filled where it is returned: a HeaderView is too big to be copied on the way.
  Result<HeaderView> result;
  HeaderDecoder decoder(message, *result);
  if (!decoder.run()) [[unlikely]]
    result = tl::unexpected(decoder.error());
  return result;
}

}  // namespace rpcrdma::wire

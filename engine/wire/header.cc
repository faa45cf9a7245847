// Decodes the transport headers of RPC-over-RDMA version 1 and version 2 draft-02.
#include "list_decoder.h"

#include <rpcrdma/wire/header.h>

namespace rpcrdma::wire {
namespace {

constexpr std::size_t kVersOffset = 4;
constexpr std::size_t kProcOffset = 12;

class HeaderDecoder : public ListDecoder {
 public:
  HeaderDecoder(Bytes message, HeaderView& out) : ListDecoder(message), out_(out) {}

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
    } else if (!version_error(proc)) {
      return false;
    }
    out_.length = static_cast<std::uint32_t>(p_ - begin_);
    return true;
  }

 private:
  // An ERR_VERS has the same form in every version (RFC 8166 section 7) and copies that of the
  // message that it refuses.
  bool version_error(std::uint32_t proc) {
    const bool is_one = proc == static_cast<std::uint32_t>(Proc::kError) && left() >= 4 &&
                        load_be32(p_) == static_cast<std::uint32_t>(RdmaErr::kVers);
    if (!is_one) {
      return failed(Errc::kUnsupported, begin_ + kVersOffset, "HDR-03", "rdma_vers is not 1 or 2");
    }
    out_.proc = Proc::kError;
    out_.error = RdmaErr::kVers;
    p_ += 4;
    return version_range("ERR-02");
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

  bool direction(const char* what) {
    if (!whole_words(1, "V2-08", "header ends before the direction does")) return false;
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
    return opaque(out_.optinfo, "V2-08", "header ends inside rdma_optinfo");
  }

  bool chunk_lists(const char* rule) {
    return read_list(out_.reads, rule) && write_list(out_.writes, rule) &&
           reply_chunk(out_.reply, rule);
  }

  HeaderView& out_;
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
  // Filled in place: a HeaderView is too big to copy.
  Result<HeaderView> result;
  HeaderDecoder decoder(message, *result);
  if (!decoder.run()) [[unlikely]]
    result = tl::unexpected(decoder.error());
  return result;
}

}  // namespace rpcrdma::wire

#include "inflate.h"

#include <algorithm>
#include <array>
#include <limits>

#include <isa-l/igzip_lib.h>

namespace rpcrdma::capture {
namespace {

constexpr std::uint8_t kFirstMagicByte = 0x1f;

const char* reason(int code) {
  switch (code) {
    case ISAL_INVALID_BLOCK:
      return "invalid block";
    case ISAL_INVALID_SYMBOL:
      return "invalid symbol";
    case ISAL_INVALID_LOOKBACK:
      return "invalid distance";
    case ISAL_INVALID_WRAPPER:
      return "invalid header";
    case ISAL_UNSUPPORTED_METHOD:
      return "compression method is not deflate";
    case ISAL_INCORRECT_CHECKSUM:
      return "wrong checksum";
    default:
      return "not decodable";
  }
}

class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(std::unique_ptr<ByteStream> compressed) : compressed_(std::move(compressed)) {
    isal_inflate_init(&state_);
    // With ISAL_GZIP, a header that arrives in pieces is parsed with its state on the stack.
    state_.crc_flag = ISAL_GZIP_NO_HDR_VER;
    isal_gzip_header_init(&header_);
  }

  Expected<std::size_t> read(std::span<std::uint8_t> out) override {
    const std::size_t wanted = std::min<std::size_t>(out.size(), std::numeric_limits<int>::max());
    while (!ended_) {
      if (state_.avail_in == 0 && !input_ended_) {
        if (auto filled = fill(); !filled) return tl::unexpected(filled.error());
      }
      if (state_.block_state == ISAL_BLOCK_FINISH) {
        next_member();
        continue;
      }
      if (!header_read_) {
        read_header();
        continue;
      }
      const std::uint32_t before = state_.avail_in;
      state_.next_out = out.data();
      state_.avail_out = static_cast<std::uint32_t>(wanted);
      const int code = isal_inflate(&state_);
      const std::size_t produced = wanted - state_.avail_out;
      if (code != ISAL_DECOMP_OK) {
        stop(std::string("the gzip data is damaged: ") + reason(code));
      } else if (produced == 0 && state_.avail_in == before &&
                 state_.block_state != ISAL_BLOCK_FINISH) {
        cut_short_ = input_ended_;
        stop(input_ended_ ? "the gzip data ends too early" : "the gzip data is damaged");
      }
      if (produced != 0) return produced;
    }
    return std::size_t{0};
  }

  std::uint64_t stored() const override { return compressed_->stored(); }

 private:
  Expected<void> fill() {
    const auto got = compressed_->read(input_);
    if (!got) return tl::unexpected(got.error());
    input_ended_ = *got == 0;
    state_.next_in = input_.data();
    state_.avail_in = static_cast<std::uint32_t>(*got);
    return {};
  }

  void read_header() {
    const int code = isal_read_gzip_header(&state_, &header_);
    if (code == ISAL_DECOMP_OK) {
      header_read_ = true;
    } else if (code != ISAL_END_INPUT) {
      stop(std::string("the gzip data is damaged: ") + reason(code));
    } else if (input_ended_) {
      cut_short_ = true;
      stop("the gzip data ends too early");
    }
  }

  // After a member: another one, the end, or zero padding, which gzip(1) ignores too.
  void next_member() {
    if (state_.avail_in == 0) {
      ended_ = input_ended_;
    } else if (*state_.next_in == kFirstMagicByte) {
      isal_inflate_reset(&state_);
      isal_gzip_header_init(&header_);
      header_read_ = false;
    } else if (*state_.next_in == 0) {
      ended_ = true;
    } else {
      stop("bytes that are not gzip data follow the compressed capture");
    }
  }

  void stop(std::string why) {
    ended_ = true;
    damage_ = std::move(why);
  }

  std::unique_ptr<ByteStream> compressed_;
  bool input_ended_ = false;
  bool ended_ = false;
  std::array<std::uint8_t, 65536> input_;
  inflate_state state_;
  isal_gzip_header header_;  // of the member, as far as it was read
  bool header_read_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> inflate_gzip(std::unique_ptr<ByteStream> compressed) {
  return std::make_unique<GzipStream>(std::move(compressed));
}

}  // namespace rpcrdma::capture

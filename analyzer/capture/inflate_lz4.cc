#include "inflate.h"

#include <array>

#include <lz4frame.h>

namespace rpcrdma::capture {
namespace {

// A decoder needs at most two blocks of 4 MiB and a window of 64 KiB.
class Lz4Stream final : public ByteStream {
 public:
  explicit Lz4Stream(std::unique_ptr<ByteStream> compressed) : compressed_(std::move(compressed)) {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&decoder_, LZ4F_VERSION)) != 0) {
      decoder_ = nullptr;
    }
  }
  ~Lz4Stream() override { LZ4F_freeDecompressionContext(decoder_); }

  Expected<std::size_t> read(std::span<std::uint8_t> out) override {
    if (decoder_ == nullptr) return fail("cannot decompress: out of memory");
    std::size_t produced = 0;
    while (!ended_ && produced == 0) {
      if (at_ == filled_ && !input_ended_) {
        const auto got = compressed_->read(input_);
        if (!got) return tl::unexpected(got.error());
        input_ended_ = *got == 0;
        at_ = 0;
        filled_ = *got;
      }
      if (at_ == filled_ && input_ended_ && frame_done_) {
        ended_ = true;
        break;
      }
      if (frame_done_ && !begins_frame(input_[at_])) {
        stop("bytes that are not lz4 data follow the compressed capture");
        break;
      }
      produced = out.size();
      std::size_t consumed = filled_ - at_;
      const std::size_t left =
          LZ4F_decompress(decoder_, out.data(), &produced, input_.data() + at_, &consumed, nullptr);
      if (LZ4F_isError(left) != 0) {
        produced = 0;
        stop(std::string("the lz4 data is damaged: ") + LZ4F_getErrorName(left));
      } else if (input_ended_ && produced == 0 && consumed == 0) {
        cut_short_ = true;
        stop("the lz4 data ends too early");
      } else {
        at_ += consumed;
        frame_done_ = left == 0;
      }
    }
    return produced;
  }

  std::uint64_t stored() const override { return compressed_->stored(); }

 private:
  // The first byte of a frame with data, or of one to be skipped.
  static bool begins_frame(std::uint8_t byte) { return byte == 0x04 || (byte & 0xf0) == 0x50; }

  void stop(std::string why) {
    ended_ = true;
    damage_ = std::move(why);
  }

  std::unique_ptr<ByteStream> compressed_;
  LZ4F_dctx* decoder_ = nullptr;
  std::array<std::uint8_t, 65536> input_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  bool input_ended_ = false;
  bool frame_done_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> inflate_lz4(std::unique_ptr<ByteStream> compressed) {
  return std::make_unique<Lz4Stream>(std::move(compressed));
}

}  // namespace rpcrdma::capture

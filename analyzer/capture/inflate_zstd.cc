#include "inflate.h"

#include <array>

#include <zstd.h>

namespace rpcrdma::capture {
namespace {

struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

// libzstd refuses windows over 128 MiB by default, which bounds the memory.
class ZstdStream final : public ByteStream {
 public:
  explicit ZstdStream(std::unique_ptr<ByteStream> compressed)
      : compressed_(std::move(compressed)), decoder_(ZSTD_createDStream()) {}

  Expected<std::size_t> read(std::span<std::uint8_t> out) override {
    if (!decoder_) return fail("cannot decompress: out of memory");
    ZSTD_outBuffer target{out.data(), out.size(), 0};
    while (!ended_ && target.pos == 0) {
      if (source_.pos == source_.size && !input_ended_) {
        const auto got = compressed_->read(input_);
        if (!got) return tl::unexpected(got.error());
        input_ended_ = *got == 0;
        source_ = {input_.data(), *got, 0};
      }
      if (input_ended_ && frame_done_) {
        ended_ = true;
        break;
      }
      const std::size_t before = source_.pos;
      const std::size_t left = ZSTD_decompressStream(decoder_.get(), &target, &source_);
      if (ZSTD_isError(left) != 0) {
        stop(std::string("the zstd data is damaged: ") + ZSTD_getErrorName(left));
      } else if (input_ended_ && target.pos == 0 && source_.pos == before) {
        cut_short_ = true;
        stop("the zstd data ends too early");
      } else {
        frame_done_ = left == 0;
      }
    }
    return target.pos;
  }

  std::uint64_t stored() const override { return compressed_->stored(); }

 private:
  void stop(std::string why) {
    ended_ = true;
    damage_ = std::move(why);
  }

  std::unique_ptr<ByteStream> compressed_;
  std::unique_ptr<ZSTD_DStream, FreeStream> decoder_;
  std::array<std::uint8_t, 65536> input_;
  ZSTD_inBuffer source_{nullptr, 0, 0};
  bool input_ended_ = false;
  bool frame_done_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> inflate_zstd(std::unique_ptr<ByteStream> compressed) {
  return std::make_unique<ZstdStream>(std::move(compressed));
}

}  // namespace rpcrdma::capture

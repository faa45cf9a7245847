#include "inflate.h"

#include <algorithm>
#include <array>
#include <limits>

#include <bzlib.h>

namespace rpcrdma::capture {
namespace {

// A decoder needs at most 4 MiB.
class Bzip2Stream final : public ByteStream {
 public:
  explicit Bzip2Stream(std::unique_ptr<ByteStream> compressed)
      : compressed_(std::move(compressed)) {}
  ~Bzip2Stream() override {
    if (begun_) BZ2_bzDecompressEnd(&state_);
  }

  Expected<std::size_t> read(std::span<std::uint8_t> out) override {
    const auto wanted = static_cast<unsigned>(
        std::min<std::size_t>(out.size(), std::numeric_limits<unsigned>::max()));
    state_.next_out = reinterpret_cast<char*>(out.data());
    state_.avail_out = wanted;
    while (!ended_ && state_.avail_out == wanted) {
      if (state_.avail_in == 0 && !input_ended_) {
        const auto got = compressed_->read(input_);
        if (!got) return tl::unexpected(got.error());
        input_ended_ = *got == 0;
        state_.next_in = reinterpret_cast<char*>(input_.data());
        state_.avail_in = static_cast<unsigned>(*got);
      }
      if (!begun_ && !next_stream()) {
        if (ended_) break;
        return fail("cannot decompress: out of memory");
      }
      const unsigned before = state_.avail_in;
      const int code = BZ2_bzDecompress(&state_);
      if (code == BZ_STREAM_END) {
        BZ2_bzDecompressEnd(&state_);
        begun_ = false;
        any_ = true;
      } else if (code == BZ_DATA_ERROR_MAGIC && any_) {
        stop("bytes that are not bzip2 data follow the compressed capture");
      } else if (code != BZ_OK) {
        stop(code == BZ_MEM_ERROR ? "cannot decompress: out of memory"
                                  : "the bzip2 data is damaged");
      } else if (input_ended_ && state_.avail_out == wanted && state_.avail_in == before) {
        cut_short_ = true;
        stop("the bzip2 data ends too early");
      }
    }
    return wanted - state_.avail_out;
  }

  std::uint64_t stored() const override { return compressed_->stored(); }

 private:
  // Sets up the decoder for another stream, if there are bytes.
  bool next_stream() {
    if (state_.avail_in == 0) {
      ended_ = input_ended_;
      return false;
    }
    begun_ = BZ2_bzDecompressInit(&state_, 0, 0) == BZ_OK;
    return begun_;
  }

  void stop(std::string why) {
    ended_ = true;
    damage_ = std::move(why);
  }

  std::unique_ptr<ByteStream> compressed_;
  std::array<std::uint8_t, 65536> input_;
  bz_stream state_{};
  bool begun_ = false;  // the decoder is set up
  bool any_ = false;    // a whole stream was read
  bool input_ended_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> inflate_bzip2(std::unique_ptr<ByteStream> compressed) {
  return std::make_unique<Bzip2Stream>(std::move(compressed));
}

}  // namespace rpcrdma::capture

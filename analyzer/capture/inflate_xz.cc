#include "inflate.h"

#include <array>

#include <lzma.h>

namespace rpcrdma::capture {
namespace {

// The highest level of xz(1) needs 65 MiB.
constexpr std::uint64_t kMostMemory = std::uint64_t{192} << 20;

constexpr std::uint8_t kXzFirstByte = 0xfd;

const char* xz_reason(lzma_ret code) {
  switch (code) {
    case LZMA_DATA_ERROR:
      return "wrong data or checksum";
    case LZMA_FORMAT_ERROR:
      return "not xz";
    case LZMA_OPTIONS_ERROR:
      return "unknown options";
    case LZMA_MEM_ERROR:
      return "out of memory";
    default:
      return "not decodable";
  }
}

class XzStream final : public ByteStream {
 public:
  explicit XzStream(std::unique_ptr<ByteStream> compressed)
      : compressed_(std::move(compressed)), ready_(begin_stream()) {}
  ~XzStream() override { lzma_end(&state_); }

  Expected<std::size_t> read(std::span<std::uint8_t> out) override {
    if (!ready_) return fail("cannot decompress: out of memory");
    state_.next_out = out.data();
    state_.avail_out = out.size();
    while (!ended_ && state_.avail_out == out.size()) {
      if (state_.avail_in == 0 && !input_ended_) {
        const auto got = compressed_->read(input_);
        if (!got) return tl::unexpected(got.error());
        input_ended_ = *got == 0;
        state_.next_in = input_.data();
        state_.avail_in = *got;
      }
      if (between_ && !next_stream()) {
        if (!ready_) return fail("cannot decompress: out of memory");
        continue;
      }
      const lzma_ret code = lzma_code(&state_, input_ended_ ? LZMA_FINISH : LZMA_RUN);
      if (code == LZMA_STREAM_END) {
        between_ = true;
      } else if (code == LZMA_BUF_ERROR) {
        cut_short_ = input_ended_;
        stop(input_ended_ ? "the xz data ends too early" : "the xz data is damaged");
      } else if (code == LZMA_MEMLIMIT_ERROR) {
        stop("the xz data needs more than 192 MiB of memory: decompress it first");
      } else if (code != LZMA_OK) {
        stop(std::string("the xz data is damaged: ") + xz_reason(code));
      }
    }
    return out.size() - state_.avail_out;
  }

  std::uint64_t stored() const override { return compressed_->stored(); }

 private:
  bool begin_stream() { return lzma_stream_decoder(&state_, kMostMemory, 0) == LZMA_OK; }

  // After a stream: another one, padding of zeros, or the end.
  bool next_stream() {
    while (state_.avail_in != 0 && *state_.next_in == 0) {
      ++state_.next_in;
      --state_.avail_in;
    }
    if (state_.avail_in == 0) {
      ended_ = input_ended_;
      return false;
    }
    if (*state_.next_in != kXzFirstByte) {
      stop("bytes that are not xz data follow the compressed capture");
      return false;
    }
    between_ = false;
    ready_ = begin_stream();
    return ready_;
  }

  void stop(std::string why) {
    ended_ = true;
    damage_ = std::move(why);
  }

  std::unique_ptr<ByteStream> compressed_;
  std::array<std::uint8_t, 65536> input_;
  lzma_stream state_ = LZMA_STREAM_INIT;
  bool ready_;
  bool between_ = false;  // behind a whole stream
  bool input_ended_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> inflate_xz(std::unique_ptr<ByteStream> compressed) {
  return std::make_unique<XzStream>(std::move(compressed));
}

}  // namespace rpcrdma::capture

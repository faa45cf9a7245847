// Finds the FPDUs of one direction of an MPA connection in its bytes (RFC 5044 section 4).
//
// After MPA's set-up their place is known, and so is whether there are markers and CRCs. Otherwise,
// and behind bytes that are not in the capture, they are searched: a place is accepted if the
// headers of DDP and RDMAP are valid there and the CRC is. Without CRCs it takes several FPDUs in
// a row with valid headers.
#pragma once

#include "ddp.h"
#include "tcp_stream.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rpcrdma::iwarp {

enum class Known : std::uint8_t { kUnknown, kOff, kOn };
enum class Crc : std::uint8_t { kGood, kBad, kUnchecked };

struct Fpdu {
  Bytes ulpdu;                  // captured bytes, without markers; at least its DDP header
  std::size_t wire_length = 0;  // of the ULPDU
  DdpSegment ddp;
  Crc crc = Crc::kUnchecked;
  bool after_gap = false;  // bytes before it are not in the capture
  roce::PacketMeta first;  // of its first byte
  roce::PacketMeta last;   // of its last byte
};

class FpduStream final : public ByteSink {
 public:
  // The most bytes that are searched for an FPDU at a time.
  static constexpr std::size_t kMaxSearched = 256U << 10;
  // FPDUs in a row that make a place certain without CRCs.
  static constexpr int kChain = 3;

  // The next byte begins the first FPDU.
  void start(Known markers, Known crc);
  // The next bytes are somewhere in the stream.
  void search(Known markers, Known crc);
  // The connection is known to be iWARP: one whole FPDU with valid headers makes a place certain.
  void trust() { trusted_ = true; }
  // Nothing more comes: what is there is enough.
  void finish() { finished_ = true; }

  void on_bytes(Bytes bytes, const roce::PacketMeta& meta) override;
  void on_missing(std::uint64_t count, const roce::PacketMeta& meta) override;

  // Returns the next FPDU, or false if there is none yet. It is valid until the next call.
  [[nodiscard]] bool next(Fpdu& out);
  // Whether the latest place is certain.
  [[nodiscard]] bool in_step() const { return in_step_; }
  [[nodiscard]] Known crc() const { return crc_; }
  [[nodiscard]] Known markers() const { return markers_; }
  [[nodiscard]] std::size_t buffered() const { return buffer_.size(); }
  // Bytes that belong to no FPDU that was found.
  [[nodiscard]] std::uint64_t passed_over() const { return passed_over_; }
  // FPDUs in step whose headers are invalid.
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }
  [[nodiscard]] std::uint64_t searched() const { return searched_; }

 private:
  static constexpr std::uint32_t kMarkerInterval = 512;
  static constexpr std::size_t kMarker = 4;

  struct Mark {
    std::size_t offset = 0;  // in buffer_
    roce::PacketMeta meta;
  };
  // One FPDU at a place of the buffer.
  struct Layout {
    std::size_t length = 0;                  // of the ULPDU
    std::size_t raw = 0;                     // bytes in the stream, markers and CRC included
    std::uint32_t marker = kMarkerInterval;  // offset of its first marker; kMarkerInterval: none
  };
  enum class Found : std::uint8_t { kNo, kYes, kMore };

  [[nodiscard]] std::size_t copy(std::size_t at, std::uint32_t marker, std::size_t count,
                                 std::uint8_t* to) const;
  [[nodiscard]] std::uint32_t marker_at(std::size_t at) const;
  [[nodiscard]] Found layout(std::size_t at, std::uint32_t marker, Layout& out,
                             DdpSegment& ddp) const;
  [[nodiscard]] bool crc_good(std::size_t at, const Layout& l) const;
  [[nodiscard]] bool may_grow(std::size_t at, const Layout& l) const;
  [[nodiscard]] Found check(std::size_t at, bool& by_crc);
  [[nodiscard]] Found chain(std::size_t at) const;
  [[nodiscard]] bool learn_markers(std::size_t at, Layout& l, DdpSegment& ddp);
  [[nodiscard]] bool find();
  [[nodiscard]] bool take(Fpdu& out);
  void cut(const Layout& l, const DdpSegment& ddp);
  void judge_crc(Fpdu& f, const Layout& l);
  void lose_step(std::uint64_t missing);
  void drop_used();
  [[nodiscard]] const roce::PacketMeta& meta_at(std::size_t offset) const;

  std::vector<std::uint8_t> buffer_;
  std::vector<std::uint8_t> plain_;  // an FPDU without its markers
  std::vector<Mark> marks_;
  std::size_t at_ = 0;           // the first byte that is not used
  std::uint64_t position_ = 0;   // of buffer_[0] in the stream, modulo 2^64
  std::size_t searched_to_ = 0;  // no FPDU begins before it
  bool in_step_ = false;
  bool trusted_ = false;
  bool finished_ = false;
  bool gap_ = false;  // bytes before buffer_[at_] are missing
  Known markers_ = Known::kUnknown;
  Known crc_ = Known::kUnknown;
  std::uint32_t phase_ = 0;  // markers are at positions that equal it modulo 512
  // FPDUs begin at positions that equal it modulo 4, if that is known.
  std::uint32_t alignment_ = 0;
  bool alignment_known_ = false;
  // Bytes of an FPDU are missing: it is passed on with those before them.
  bool cut_ = false;
  std::uint64_t cut_rest_ = 0;  // bytes of it that are still to come
  Fpdu cut_fpdu_;
  std::uint32_t bad_in_a_row_ = 0;
  std::uint64_t unmarked_ = 0;  // bytes in step since markers are in question
  std::uint64_t passed_over_ = 0;
  std::uint64_t malformed_ = 0;
  std::uint64_t searched_ = 0;
};

}  // namespace rpcrdma::iwarp

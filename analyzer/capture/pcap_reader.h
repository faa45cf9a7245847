// Classic pcap (draft-ietf-opsawg-pcap): microseconds and nanoseconds in either byte order, and the
// longer record headers of the "modified" variant.
#pragma once

#include "file_source.h"

#include <memory>
#include <string>

#include <rpcrdma/base/byte_order.h>

namespace rpcrdma::capture {

inline constexpr std::size_t kPcapHeaderBytes = 24;

// The magic numbers, as read in the writer's byte order.
inline constexpr std::uint32_t kPcapMicroseconds = 0xa1b2c3d4;
inline constexpr std::uint32_t kPcapNanoseconds = 0xa1b23c4d;
inline constexpr std::uint32_t kPcapModified = 0xa1b2cd34;

class PcapReader final : public FileSource {
 public:
  // `magic` is the magic number at the cursor, in `order`.
  [[nodiscard]] static Expected<std::unique_ptr<FileSource>> open(std::unique_ptr<Feed> feed,
                                                                  std::uint32_t magic,
                                                                  base::ByteOrder order,
                                                                  std::string name,
                                                                  std::uint64_t bytes_total);

  [[nodiscard]] Expected<bool> next(Frame& frame) override;
  [[nodiscard]] std::optional<Mark> mark() const override {
    if (!marks_) return std::nullopt;
    return Mark{feed_->offset(), stats_.frames, nullptr};
  }

 private:
  [[nodiscard]] bool take_format(const Mark& mark) override { return mark.format == nullptr; }

  struct Record {
    std::uint32_t seconds;
    std::uint32_t fraction;
    std::uint32_t captured;
    std::uint32_t original;
  };

  PcapReader(std::unique_ptr<Feed> feed, std::uint32_t magic, base::ByteOrder order,
             std::string name, std::uint64_t bytes_total, const std::uint8_t* header);
  [[nodiscard]] Record load(const std::uint8_t* p) const;
  [[nodiscard]] bool possible(const Record& r) const {
    return r.captured <= limit_ && r.fraction < fraction_limit_;
  }
  [[nodiscard]] bool resynchronise(const Record& bad);
  [[nodiscard]] bool chain_at_cursor();

  base::ByteOrder order_;
  LinkType link_;
  std::uint32_t limit_;           // largest record, bytes
  std::uint32_t fraction_limit_;  // of a second
  std::uint32_t fraction_ns_;
  std::uint32_t header_bytes_;  // of a record
};

}  // namespace rpcrdma::capture

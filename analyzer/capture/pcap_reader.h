// Classic pcap (draft-ietf-opsawg-pcap): microseconds and nanoseconds in either byte order, the
// longer record headers of the "modified" variant, and the versions before 2.4. Some programs write
// nanoseconds under the magic number of microseconds, or the reverse; the records show it.
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

// Which of a record's two lengths comes first.
enum class PcapLengths : std::uint8_t { kCapturedFirst, kOriginalFirst, kUnknown };

class PcapReader final : public FileSource {
 public:
  // `magic` is the magic number at the cursor, in `order`.
  [[nodiscard]] static Expected<std::unique_ptr<FileSource>> open(std::unique_ptr<Feed> feed,
                                                                  std::uint32_t magic,
                                                                  base::ByteOrder order,
                                                                  std::string name,
                                                                  std::uint64_t bytes_total);

  [[nodiscard]] Expected<bool> next(Frame& frame) override;
  [[nodiscard]] std::optional<Mark> mark() const override;

 private:
  // Nanoseconds in a unit of a record's fraction of a second.
  static constexpr std::uint32_t kNanoseconds = 1;
  static constexpr std::uint32_t kMicroseconds = 1000;

  [[nodiscard]] bool take_format(const Mark& mark) override;

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
  // The lengths are those of a packet.
  [[nodiscard]] bool fits(const Record& r) const {
    return r.captured != 0 && r.captured <= r.original && r.captured <= limit_ &&
           r.original <= limit_;
  }
  void check_scale();
  [[nodiscard]] bool finer_scale(const Record& r);
  [[nodiscard]] bool mostly_nanoseconds(bool beginning);
  [[nodiscard]] bool only_microseconds();
  void set_scale(std::uint32_t scale);
  void use_scale(std::uint32_t scale);
  [[nodiscard]] bool skip_to_record(const Record& bad);
  [[nodiscard]] bool chain_at_cursor();

  base::ByteOrder order_;
  LinkType link_;
  std::uint32_t limit_;  // largest record, bytes
  std::uint32_t scale_;  // of the fraction of a second
  std::uint32_t fraction_limit_;
  std::uint32_t announced_;  // the scale by the magic number
  PcapLengths lengths_;
  std::uint32_t header_bytes_;                  // of a record
  std::shared_ptr<const Mark::Format> format_;  // null while the scale is the announced one
};

}  // namespace rpcrdma::capture

// Snoop files (RFC 1761), which Solaris and illumos write.
#pragma once

#include "file_source.h"

#include <memory>
#include <string>

namespace rpcrdma::capture {

inline constexpr std::size_t kSnoopMagicBytes = 8;
inline constexpr std::size_t kSnoopHeaderBytes = 16;

class SnoopReader final : public FileSource {
 public:
  // Returns whether the kSnoopMagicBytes at the start of a file are those of a snoop file.
  [[nodiscard]] static bool begins(const std::uint8_t* start);

  // The cursor is at the file header. Errors: the file ends within it; another version than 2; a
  // datalink type without a LINKTYPE_ number.
  [[nodiscard]] static Expected<std::unique_ptr<FileSource>> open(std::unique_ptr<Feed> feed,
                                                                  std::string name,
                                                                  std::uint64_t bytes_total);

  [[nodiscard]] Expected<bool> next(Frame& frame) override;
  [[nodiscard]] std::optional<Mark> mark() const override {
    if (!marks_) return std::nullopt;
    return Mark{feed_->offset(), stats_.frames, nullptr};
  }

 private:
  SnoopReader(std::unique_ptr<Feed> feed, std::string name, std::uint64_t bytes_total,
              LinkType link)
      : FileSource(std::move(feed), std::move(name), bytes_total), link_(link) {}
  [[nodiscard]] bool take_format(const Mark& mark) override { return mark.format == nullptr; }
  [[nodiscard]] bool chain_at_cursor();

  LinkType link_;
};

}  // namespace rpcrdma::capture

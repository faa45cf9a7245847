// Endace's Extensible Record Format: records one after the other, without a file header.
#pragma once

#include "file_source.h"

#include <memory>
#include <string>

namespace rpcrdma::capture {

class ErfReader final : public FileSource {
 public:
  // Returns whether the bytes at the cursor are ERF records. The format has no magic number, so
  // several record headers must make sense.
  [[nodiscard]] static bool begins(Feed& feed);

  ErfReader(std::unique_ptr<Feed> feed, std::string name, std::uint64_t bytes_total)
      : FileSource(std::move(feed), std::move(name), bytes_total) {}

  // Pad records are skipped. Records of provenance are frames, as in Wireshark's numbering.
  [[nodiscard]] Expected<bool> next(Frame& frame) override;
  [[nodiscard]] std::optional<Mark> mark() const override {
    if (!marks_) return std::nullopt;
    return Mark{feed_->offset(), stats_.frames, nullptr};
  }

 private:
  [[nodiscard]] bool take_format(const Mark& mark) override { return mark.format == nullptr; }
};

}  // namespace rpcrdma::capture

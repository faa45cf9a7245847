// Shared by the decoders: reporting to a sink from within a larger span, and one-line summaries.
#pragma once

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>

#include <rpcrdma/decode/sink.h>

namespace rpcrdma::decode {

// A sink and the offset of one decoder's bytes in the span that the caller passed.
class FieldWriter {
 public:
  explicit FieldWriter(Sink& sink, std::size_t base = 0) : sink_(&sink), base_(base) {}

  // Returns a writer for bytes that begin `offset` bytes later.
  [[nodiscard]] FieldWriter at(std::size_t offset) const {
    return FieldWriter(*sink_, base_ + offset);
  }

  void open(FieldId id, std::size_t offset, std::size_t length,
            std::string_view summary = {}) const {
    sink_->open(id, base_ + offset, length, summary);
  }
  void close() const { sink_->close(); }

  void number(FieldId id, std::size_t offset, std::size_t length, std::uint64_t value,
              const char* name = nullptr) const {
    sink_->number(id, base_ + offset, length, value, name);
  }
  // Reports an XDR or MAD word.
  void word(FieldId id, std::size_t offset, std::uint32_t value, const char* name = nullptr) const {
    number(id, offset, 4, value, name);
  }
  void bytes(FieldId id, std::size_t offset, wire::Bytes value) const {
    sink_->bytes(id, base_ + offset, value.size(), value);
  }
  void text(FieldId id, std::size_t offset, wire::Bytes value) const {
    sink_->text(id, base_ + offset, value.size(),
                {reinterpret_cast<const char*>(value.data()), value.size()});
  }
  // Reports text that follows from the bytes without being among them.
  void text(FieldId id, std::string_view value) const { sink_->text(id, base_, 0, value); }
  void error(wire::DecodeError error) const {
    error.offset += static_cast<std::uint32_t>(base_);
    sink_->error(error);
  }

 private:
  Sink* sink_;
  std::size_t base_;
};

// The text after a subtree's label; truncated if it gets too long.
class Summary {
 public:
  [[gnu::format(printf, 2, 3)]] Summary& add(const char* format, ...) {
    va_list args;
    va_start(args, format);
    const int wanted = std::vsnprintf(text_.data() + length_, text_.size() - length_, format, args);
    va_end(args);
    if (wanted > 0) {
      length_ = std::min(length_ + static_cast<std::size_t>(wanted), text_.size() - 1);
    }
    return *this;
  }
  [[nodiscard]] std::string_view view() const { return {text_.data(), length_}; }

 private:
  std::array<char, 256> text_{};
  std::size_t length_ = 0;
};

[[nodiscard]] inline const char* plural(std::uint64_t count) {
  return count == 1 ? "" : "s";
}

}  // namespace rpcrdma::decode

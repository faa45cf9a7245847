// A record of one of the kernel's tracepoints, with the fields that the translator asks for.
//
// Kernels differ in the fields and in their offsets. So a record holds values by name: a source
// looks up the names in the format that the kernel or the file gives (layouts.h), or finds them in
// a line of text (text_line.h). A field that is not there is unknown.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <rpcrdma/tracepoints/event_list.h>

namespace rpcrdma::tracepoints {

struct Record {
  Event event = Event::kNone;
  std::int64_t time = 0;  // ns, the clock of the trace
  std::uint32_t cpu = 0;
  std::int32_t pid = 0;
  // Socket addresses: from a line of text they are text, else a struct sockaddr in the byte order
  // of the traced machine.
  bool is_text = false;
  bool swapped = false;  // that order is not ours

  void clear() { known_.reset(); }
  void set(Field field, std::uint64_t value) {
    known_.set(at(field));
    numbers_[at(field)] = value;
    texts_[at(field)] = {};
  }
  void set(Field field, std::string_view value) {
    known_.set(at(field));
    numbers_[at(field)] = 0;
    texts_[at(field)] = value;
  }

  [[nodiscard]] bool has(Field field) const { return known_[at(field)]; }
  // 0 if unknown.
  [[nodiscard]] std::uint64_t u64(Field field) const {
    return has(field) ? numbers_[at(field)] : 0;
  }
  [[nodiscard]] std::uint32_t u32(Field field) const {
    return static_cast<std::uint32_t>(u64(field));
  }
  [[nodiscard]] std::int64_t i64(Field field) const {
    return static_cast<std::int64_t>(u64(field));
  }
  // The bytes of an array. Empty if unknown.
  [[nodiscard]] std::string_view bytes(Field field) const {
    return has(field) ? texts_[at(field)] : std::string_view{};
  }
  // The same up to the first NUL, for text.
  [[nodiscard]] std::string_view text(Field field) const {
    const std::string_view all = bytes(field);
    return all.substr(0, all.find('\0'));
  }

 private:
  static constexpr std::size_t at(Field field) { return static_cast<std::size_t>(field); }

  std::bitset<kFields> known_;
  std::array<std::uint64_t, kFields> numbers_{};
  std::array<std::string_view, kFields> texts_{};
};

}  // namespace rpcrdma::tracepoints

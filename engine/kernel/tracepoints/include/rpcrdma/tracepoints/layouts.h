// Reads binary records by the formats that the kernel or the file gives: the text of
// events/SYSTEM/NAME/format. Formats and records are untrusted: no field is read outside its
// record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/byte_order.h>
#include <rpcrdma/tracepoints/record.h>

namespace rpcrdma::tracepoints {

class Layouts {
 public:
  explicit Layouts(base::ByteOrder order = {}) : order_(order) {}

  // Adds the format of one event. Returns false if the text is no format. Formats of events that
  // the translator does not know are accepted and ignored.
  bool add(std::string_view format);

  // Reads a record. Returns false if it is none of the events that were added, or is too short to
  // have a type. Text in `record` points into `bytes`. Does not set time and CPU.
  [[nodiscard]] bool read(std::span<const std::uint8_t> bytes, Record& record) const {
    if (bytes.size() < kTypeEnd) return false;
    const std::uint16_t type = order_.u16(bytes.data());
    if (type >= by_type_.size() || by_type_[type] == 0) return false;
    read(layouts_[by_type_[type] - 1U], bytes, record);
    return true;
  }

  [[nodiscard]] bool empty() const { return layouts_.empty(); }
  [[nodiscard]] bool knows(Event event) const;

 private:
  static constexpr std::size_t kTypeEnd = 2;

  enum class Kind : std::uint8_t { kNumber, kArray, kDynamic, kSymbol };
  struct Symbol {
    std::uint64_t value = 0;
    std::string name;
  };
  struct Slot {
    Field field = Field{};
    Kind kind = Kind::kNumber;
    std::uint8_t size = 0;  // of a number: 1, 2, 4, 8
    bool is_signed = false;
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;  // of an array
    std::vector<Symbol> symbols;
  };
  struct Layout {
    Event event = Event::kNone;
    std::uint32_t pid_at = 0;  // offset; 0: unknown
    std::vector<Slot> slots;
  };

  void read(const Layout& layout, std::span<const std::uint8_t> bytes, Record& record) const;
  [[nodiscard]] std::uint64_t number(const std::uint8_t* p, std::uint8_t size,
                                     bool is_signed) const;

  base::ByteOrder order_;
  std::vector<Layout> layouts_;
  std::vector<std::uint16_t> by_type_;  // number of the layout, from 1
};

}  // namespace rpcrdma::tracepoints

// The values of one message's fields, for the fields that a filter uses.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <rpcrdma/decode/sink.h>
#include <rpcrdma/filter/model_fields.h>

namespace rpcrdma::filter {

// Reuses its memory from message to message.
class Values final : public decode::Sink {
 public:
  struct Value {
    std::uint64_t number = 0;
    std::uint32_t offset = 0;  // of the text, the bytes, or the name of a number
    std::uint32_t length = 0;
  };

  // Stores values of the fields in `wanted`.
  explicit Values(const FieldSet& wanted);

  void clear();
  // Values of other fields are ignored.
  void accept(const FieldSet& fields) { accepted_ = fields; }

  [[nodiscard]] std::span<const Value> of(decode::FieldId id) const {
    return values_[place_[static_cast<std::size_t>(id)]];
  }
  [[nodiscard]] std::string_view text(const Value& value) const {
    return std::string_view(text_).substr(value.offset, value.length);
  }

  void open(decode::FieldId id, std::size_t offset, std::size_t length,
            std::string_view summary) override;
  void close() override {}
  void number(decode::FieldId id, std::size_t offset, std::size_t length, std::uint64_t value,
              const char* name) override;
  void bytes(decode::FieldId id, std::size_t offset, std::size_t length,
             wire::Bytes value) override;
  void text(decode::FieldId id, std::size_t offset, std::size_t length,
            std::string_view value) override;
  void error(const wire::DecodeError& error) override;

 private:
  void add(decode::FieldId id, std::uint64_t number, std::string_view text);

  FieldSet accepted_;
  std::array<std::uint16_t, decode::kFieldCount> place_{};
  std::vector<std::vector<Value>> values_;
  std::string text_;
};

}  // namespace rpcrdma::filter

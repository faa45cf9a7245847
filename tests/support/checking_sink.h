// A sink for tests and fuzzers that checks the promises of a decoder.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/decode/sink.h>

namespace rpcrdma::decode {

// Checks that subtrees are closed, that ranges lie within the span and within their parents, that
// each field is reported by the function of its type with a value that the type can hold, and that
// errors point into the span. Keeps the first problem.
class CheckingSink : public Sink {
 public:
  explicit CheckingSink(std::size_t size) { ranges_.push_back({0, size}); }

  void open(FieldId id, std::size_t offset, std::size_t length, std::string_view) override {
    field(id, offset, length, spec(id).type == FieldType::kSubtree);
    ranges_.push_back({offset, offset + length});
  }

  void close() override {
    if (ranges_.size() == 1) {
      wrong("close() without open()");
    } else {
      ranges_.pop_back();
    }
  }

  void number(FieldId id, std::size_t offset, std::size_t length, std::uint64_t value,
              const char*) override {
    field(id, offset, length, value <= largest(spec(id).type));
  }

  void bytes(FieldId id, std::size_t offset, std::size_t length, wire::Bytes value) override {
    const FieldType type = spec(id).type;
    field(id, offset, length,
          length == value.size() &&
              (type == FieldType::kBytes || (type == FieldType::kIpv6 && value.size() == 16)));
  }

  void text(FieldId id, std::size_t offset, std::size_t length, std::string_view value) override {
    field(id, offset, length,
          spec(id).type == FieldType::kString && (length == value.size() || length == 0));
  }

  void error(const wire::DecodeError& error) override {
    ++errors_;
    if (error.offset > ranges_.front().end) wrong("an error's offset is outside the span");
  }

  [[nodiscard]] unsigned errors() const { return errors_; }

  // Empty if all is well. Call it after the decoder has returned.
  [[nodiscard]] std::string problem() const {
    if (problem_.empty() && ranges_.size() != 1) return "a subtree is not closed";
    return problem_;
  }

 private:
  struct Range {
    std::size_t begin, end;
  };

  // Zero for the non-numeric types; a number of such a type is wrong unless it is zero.
  static std::uint64_t largest(FieldType type) {
    switch (type) {
      case FieldType::kBool:
        return 1;
      case FieldType::kUint8:
        return 0xff;
      case FieldType::kUint16:
        return 0xffff;
      case FieldType::kUint24:
        return 0xffffff;
      case FieldType::kUint32:
      case FieldType::kIpv4:
      case FieldType::kFrame:
        return 0xffffffff;
      case FieldType::kUint64:
      case FieldType::kInt64:
      case FieldType::kDuration:
        return UINT64_MAX;
      default:
        return 0;
    }
  }

  void field(FieldId id, std::size_t offset, std::size_t length, bool right_value) {
    const Range& parent = ranges_.back();
    if (!right_value) wrong(std::string(spec(id).name) + ": value does not fit the type");
    if (offset < parent.begin || offset > parent.end || length > parent.end - offset) {
      wrong(std::string(spec(id).name) + ": outside its parent");
    }
  }

  void wrong(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
  }

  std::vector<Range> ranges_;
  std::string problem_;
  unsigned errors_ = 0;
};

}  // namespace rpcrdma::decode

// Shapes of XDR values as constant data, and a walk that skips a value of a given shape. NFSv4
// operations carry no length of their own, so finding the next operation of a COMPOUND requires the
// shape of each.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {

struct Field;

// The members of a struct in order; no members: void. Points into static data.
struct Shape {
  const Field* fields = nullptr;
  std::uint32_t count = 0;

  constexpr Shape() = default;
  template <std::size_t kCount>
  constexpr Shape(const Field (&members)[kCount]) : fields(members), count(kCount) {}
  constexpr Shape(const Field& only);
};

// A discriminant value of a union and the members that follow it.
struct Arm {
  std::uint32_t value = 0;
  Shape shape;
};

struct Field {
  enum class Kind : std::uint8_t {
    kFixed,        // `size` bytes, roundup included
    kOpaque,       // opaque<> or string<>: a count, the bytes, roundup
    kDdpEligible,  // the same; its bytes may travel in a chunk (RFC 8267)
    kArray,        // T<>: a count, then as many values
    kList,         // T*, with T linked to itself: each value comes after TRUE; FALSE ends the list
    kUnion,        // a discriminant, then one arm
    kStruct,
  };
  Kind kind = Kind::kFixed;
  bool has_default = false;  // kUnion: a discriminant without an arm of its own means `inner`
  std::uint32_t size = 0;    // kFixed: bytes; kArray: the minimum size of one value, bytes
  std::uint32_t arm_count = 0;
  const Arm* arms = nullptr;
  Shape inner{};  // kArray, kList, kStruct; kUnion: the default arm
};

constexpr Shape::Shape(const Field& only) : fields(&only), count(1) {}

// Returns the smallest number of bytes that a value of this shape occupies in a stream.
[[nodiscard]] constexpr std::uint32_t min_size(Shape shape) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < shape.count; ++i) {
    const Field& field = shape.fields[i];
    switch (field.kind) {
      case Field::Kind::kFixed:
        sum += field.size;
        break;
      case Field::Kind::kStruct:
        sum += min_size(field.inner);
        break;
      default:
        sum += 4;
    }
  }
  return sum;
}

// Composes shapes from named ones: kMembers<kStateid, kBytes<12>> is a stateid4 and then 12 bytes
// whose meaning does not matter here.
template <std::uint32_t kSize>
inline constexpr Field kBytes = {.size = kSize};
inline constexpr const Field& kWord = kBytes<4>;
inline constexpr const Field& kHyper = kBytes<8>;
inline constexpr Field kOpaque = {.kind = Field::Kind::kOpaque};
inline constexpr Field kDdpOpaque = {.kind = Field::Kind::kDdpEligible};

template <const Field&... kFields>
inline constexpr Field kMembers[] = {kFields...};

template <const Field&... kFields>
inline constexpr Field kStruct = {.kind = Field::Kind::kStruct, .inner = kMembers<kFields...>};

// A value without bytes cannot be an element: a count could then demand unbounded work.
[[nodiscard]] consteval Field array_of(Shape element) {
  if (min_size(element) == 0) throw "an array's element takes at least one word";
  return {.kind = Field::Kind::kArray, .size = min_size(element), .inner = element};
}

template <const Field&... kFields>
inline constexpr Field kArrayOf = array_of(kMembers<kFields...>);

template <const Field&... kFields>
inline constexpr Field kListOf = {.kind = Field::Kind::kList, .inner = kMembers<kFields...>};

template <std::size_t kCount>
[[nodiscard]] constexpr Field union_of(const Arm (&arms)[kCount]) {
  return {.kind = Field::Kind::kUnion, .arm_count = kCount, .arms = arms};
}

template <std::size_t kCount>
[[nodiscard]] constexpr Field union_of(const Arm (&arms)[kCount], Shape otherwise) {
  return {.kind = Field::Kind::kUnion,
          .has_default = true,
          .arm_count = kCount,
          .arms = arms,
          .inner = otherwise};
}

// A hyper that follows the Boolean for its presence.
inline constexpr Arm kOptionalHyperArms[] = {{0, {}}, {1, kHyper}};
inline constexpr Field kOptionalHyper = union_of(kOptionalHyperArms);

// Knows which data is missing from a reduced stream.
class Reduction {
 public:
  // Called once for each counted opaque, in stream order. `count_offset` is the offset of its count
  // word, `length` the count. True: the bytes and their roundup are not in the stream.
  virtual bool is_removed(std::size_t count_offset, std::uint32_t length, bool ddp_eligible) = 0;
  // Whether no more data is missing. Then is_removed() need not be called for what is there.
  [[nodiscard]] bool removes_nothing() const { return removes_nothing_; }

 protected:
  ~Reduction() = default;
  bool removes_nothing_ = false;
};

// Skips a value. The reader fails (reader.ok()) on truncated bytes, on an undefined discriminant or
// Boolean, and on a count that exceeds the rest of the stream. Takes time linear in the bytes
// skipped; recurses no deeper than the shape nests.
void skip_value(wire::XdrReader& reader, Shape shape, Reduction& reduction);

}  // namespace rpcrdma::decode

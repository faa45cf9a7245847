#include "xdr_shape.h"

namespace rpcrdma::decode {
namespace {

void skip_opaque(wire::XdrReader& reader, bool ddp_eligible, Reduction& reduction) {
  const std::size_t count_offset = reader.offset();
  const std::uint32_t length = reader.u32();
  if (!reader.ok()) return;
  // A count beyond the end is no place to pass over without asking.
  const bool present = reduction.removes_nothing() && length <= reader.remaining();
  if (present || !reduction.is_removed(count_offset, length, ddp_eligible)) {
    reader.skip(wire::xdr_padded(length));
  }
}

void skip_array(wire::XdrReader& reader, const Field& field, Reduction& reduction) {
  const std::uint64_t count = reader.u32();
  if (count > reader.remaining() / field.size) {
    reader.set_failed();
    return;
  }
  // Most are bitmaps.
  if (field.inner.count == 1 && field.inner.fields->kind == Field::Kind::kFixed) {
    return reader.skip(count * field.size);
  }
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    skip_value(reader, field.inner, reduction);
  }
}

void skip_list(wire::XdrReader& reader, const Field& field, Reduction& reduction) {
  for (;;) {
    const std::uint32_t more = reader.u32();
    if (more > 1) reader.set_failed();
    if (!reader.ok() || more == 0) return;
    skip_value(reader, field.inner, reduction);
  }
}

void skip_union(wire::XdrReader& reader, const Field& field, Reduction& reduction) {
  const std::uint32_t discriminant = reader.u32();
  if (!reader.ok()) return;
  for (std::uint32_t i = 0; i < field.arm_count; ++i) {
    if (field.arms[i].value == discriminant) {
      skip_value(reader, field.arms[i].shape, reduction);
      return;
    }
  }
  if (field.has_default) {
    skip_value(reader, field.inner, reduction);
  } else {
    reader.set_failed();
  }
}

}  // namespace

void skip_value(wire::XdrReader& reader, Shape shape, Reduction& reduction) {
  const Field* field = shape.fields;
  for (const Field* const end = field + shape.count; field != end && reader.ok(); ++field) {
    switch (field->kind) {
      case Field::Kind::kFixed:
        reader.skip(field->size);
        break;
      case Field::Kind::kOpaque:
        skip_opaque(reader, false, reduction);
        break;
      case Field::Kind::kDdpEligible:
        skip_opaque(reader, true, reduction);
        break;
      case Field::Kind::kArray:
        skip_array(reader, *field, reduction);
        break;
      case Field::Kind::kList:
        skip_list(reader, *field, reduction);
        break;
      case Field::Kind::kUnion:
        skip_union(reader, *field, reduction);
        break;
      case Field::Kind::kStruct:
        skip_value(reader, field->inner, reduction);
        break;
    }
  }
}

}  // namespace rpcrdma::decode

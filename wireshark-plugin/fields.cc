// Registers Wireshark's fields from the field schema, so each name is written only once.
#include "plugin.h"

#include <memory>
#include <string_view>
#include <vector>

namespace rpcrdma::wireshark {

namespace {

using decode::Base;
using decode::FieldSpec;
using decode::FieldType;

struct Shape {
  enum ftenum type;
  int display;
};

int display_of(Base base) {
  switch (base) {
    case Base::kHex:
      return BASE_HEX;
    case Base::kDecHex:
      return BASE_DEC_HEX;
    case Base::kNone:
    case Base::kDec:
      break;
  }
  return BASE_DEC;
}

Shape shape_of(const FieldSpec& field) {
  switch (field.type) {
    case FieldType::kUint8:
      return {FT_UINT8, display_of(field.base)};
    case FieldType::kUint16:
      return {FT_UINT16, display_of(field.base)};
    case FieldType::kUint24:
      return {FT_UINT24, display_of(field.base)};
    case FieldType::kUint32:
      return {FT_UINT32, display_of(field.base)};
    case FieldType::kUint64:
      return {FT_UINT64, display_of(field.base)};
    case FieldType::kInt64:
      return {FT_INT64, BASE_DEC};
    case FieldType::kBool:
      return {FT_BOOLEAN, BASE_NONE};
    case FieldType::kBytes:
      return {FT_BYTES, BASE_NONE};
    case FieldType::kIpv4:
      return {FT_IPv4, BASE_NONE};
    case FieldType::kIpv6:
      return {FT_IPv6, BASE_NONE};
    case FieldType::kFrame:
      return {FT_FRAMENUM, BASE_NONE};
    case FieldType::kDuration:
      return {FT_RELATIVE_TIME, BASE_NONE};
    case FieldType::kTime:
      return {FT_ABSOLUTE_TIME, ABSOLUTE_TIME_UTC};
    case FieldType::kSubtree:
      return {FT_NONE, BASE_NONE};
    case FieldType::kString:
    case FieldType::kAddress:  // of several address families: as text
      break;
  }
  return {FT_STRING, BASE_NONE};
}

bool fits_value_string(FieldType type) {
  return type == FieldType::kUint8 || type == FieldType::kUint16 || type == FieldType::kUint24 ||
         type == FieldType::kUint32;
}

}  // namespace

void register_fields() {
  // Wireshark keeps pointers to all of this as long as it runs.
  static std::vector<hf_register_info> fields;
  static std::vector<std::unique_ptr<std::vector<value_string>>> names;
  fields.reserve(decode::kFieldCount);
  for (const FieldSpec& field : decode::schema()) {
    if (!std::string_view(field.name).starts_with("rpcrdma.")) continue;
    const Shape shape = shape_of(field);
    const void* strings = nullptr;
    if (fits_value_string(field.type) && !field.values.empty()) {
      auto& of_field = names.emplace_back(std::make_unique<std::vector<value_string>>());
      for (const decode::ValueName& v : field.values) {
        of_field->push_back({static_cast<guint32>(v.value), v.name});
      }
      of_field->push_back({0, nullptr});
      strings = of_field->data();
    }
    int* const id = &registered.field[static_cast<std::size_t>(field.id)];
    *id = -1;
    fields.push_back(
        {id, {field.label, field.name, shape.type, shape.display, strings, 0, field.help, HFILL}});
  }
  proto_register_field_array(registered.protocol, fields.data(), static_cast<int>(fields.size()));
  static std::array<int*, 1> trees = {&registered.tree};
  proto_register_subtree_array(trees.data(), static_cast<int>(trees.size()));
}

}  // namespace rpcrdma::wireshark

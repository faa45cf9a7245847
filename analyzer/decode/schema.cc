#include "value_names.h"

#include <rpcrdma/decode/schema.h>

namespace rpcrdma::decode {

std::span<const FieldSpec> schema() {
  static const ValueNames& names = value_names();
  static const FieldSpec fields[] = {
#define RPCRDMA_FIELD(id, name, type, base, label, help, values) \
  FieldSpec{FieldId::id, name, FieldType::type, Base::base, label, help, names.values},
#include <rpcrdma/decode/fields.def>
#undef RPCRDMA_FIELD
  };
  return fields;
}

const FieldSpec& spec(FieldId id) {
  return schema()[static_cast<std::size_t>(id)];
}

const FieldSpec* find_field(std::string_view name) {
  for (const FieldSpec& field : schema()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

const char* value_name(const FieldSpec& field, std::uint64_t value) {
  for (const ValueName& entry : field.values) {
    if (entry.value == value) return entry.name;
  }
  return nullptr;
}

}  // namespace rpcrdma::decode

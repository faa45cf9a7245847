#include "fields.h"

#include <fmt/core.h>

#include <rpcrdma/filter/filter.h>

namespace rpcrdma::filter {

using decode::FieldType;

bool is_filter_field(decode::FieldId id) {
  const std::string_view name = decode::spec(id).name;
  const std::string_view protocol = name.substr(0, name.find('.'));
  return protocol != "cm" && protocol != "ib" && !name.starts_with("rpcrdma.pd") &&
         !name.starts_with("rpcrdma.packet");
}

ValueClass value_class(FieldType type) {
  switch (type) {
    case FieldType::kUint8:
    case FieldType::kUint16:
    case FieldType::kUint24:
    case FieldType::kUint32:
    case FieldType::kUint64:
    case FieldType::kFrame:
      return ValueClass::kNumber;
    case FieldType::kBool:
      return ValueClass::kBool;
    case FieldType::kDuration:
      return ValueClass::kDuration;
    case FieldType::kTime:
      return ValueClass::kTime;
    case FieldType::kString:
      return ValueClass::kText;
    case FieldType::kBytes:
      return ValueClass::kBytes;
    case FieldType::kAddress:
      return ValueClass::kAddress;
    // No message has fields of the last three types.
    case FieldType::kSubtree:
    case FieldType::kInt64:
    case FieldType::kIpv4:
    case FieldType::kIpv6:
      return ValueClass::kPresence;
  }
  return ValueClass::kPresence;
}

std::string describe_type(FieldType type) {
  switch (value_class(type)) {
    case ValueClass::kPresence:
      return "a subtree";
    case ValueClass::kNumber:
      return fmt::format("a number ({})", decode::type_name(type));
    case ValueClass::kBool:
      return "true or false";
    case ValueClass::kDuration:
      return "a duration";
    case ValueClass::kTime:
      return "a time";
    case ValueClass::kText:
      return "a string";
    case ValueClass::kBytes:
      return "bytes";
    case ValueClass::kAddress:
      return "an address";
  }
  return "";
}

}  // namespace rpcrdma::filter

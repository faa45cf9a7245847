#include <utility>

#include <rpcrdma/decode/json_sink.h>

namespace rpcrdma::decode {
namespace {

using Json = nlohmann::ordered_json;

// Length of the valid UTF-8 sequence at the front of `text`, 0 if there is none (Unicode table
// 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto between = [](unsigned value, unsigned low, unsigned high) {
    return value >= low && value <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned low = 0x80, high = 0xbf;  // of the second byte
  if (between(first, 0xc2, 0xdf)) {
    length = 2;
  } else if (between(first, 0xe0, 0xef)) {
    length = 3;
    if (first == 0xe0) low = 0xa0;   // overlong
    if (first == 0xed) high = 0x9f;  // surrogates
  } else if (between(first, 0xf0, 0xf4)) {
    length = 4;
    if (first == 0xf0) low = 0x90;   // overlong
    if (first == 0xf4) high = 0x8f;  // beyond U+10FFFF
  } else {
    return 0;
  }
  if (!between(byte(1), low, high)) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (!between(byte(i), 0x80, 0xbf)) return 0;
  }
  return length;
}

}  // namespace

void JsonSink::open(FieldId id, std::size_t, std::size_t, std::string_view) {
  open_.push_back({id, Json::object()});
}

void JsonSink::close() {
  if (open_.size() == 1) return;
  Subtree done = std::move(open_.back());
  open_.pop_back();
  add(spec(done.id).name, std::move(done.object));
}

void JsonSink::number(FieldId id, std::size_t, std::size_t, std::uint64_t value, const char* name) {
  const FieldSpec& field = spec(id);
  switch (field.type) {
    case FieldType::kBool:
      add(field.name, value != 0);
      break;
    case FieldType::kIpv4:
      add(field.name, format_value(field, value));
      break;
    case FieldType::kInt64:
    case FieldType::kTime:
      add(field.name, static_cast<std::int64_t>(value));
      break;
    default:
      add(field.name, value);
      break;
  }
  if (name == nullptr && field.values.empty()) return;
  if (name == nullptr) name = value_name(field, value);
  add(std::string(field.name) + "_name", name != nullptr ? name : "unknown");
}

void JsonSink::bytes(FieldId id, std::size_t, std::size_t, wire::Bytes value) {
  const FieldSpec& field = spec(id);
  add(field.name, format_bytes(field, value));
}

void JsonSink::text(FieldId id, std::size_t, std::size_t, std::string_view value) {
  add(spec(id).name, valid_utf8(value));
}

void JsonSink::error(const wire::DecodeError& error) {
  add(spec(FieldId::kMalformed).name, wire::describe(error));
}

Json JsonSink::take() {
  while (open_.size() > 1) close();
  return std::exchange(open_.front().object, Json::object());
}

void JsonSink::add(std::string_view key, Json value) {
  Json& object = open_.back().object;
  const std::string name(key);
  const auto found = object.find(name);
  if (found == object.end()) {
    object[name] = std::move(value);
    return;
  }
  if (!found->is_array()) {
    Json first = std::move(*found);
    *found = Json::array();
    found->push_back(std::move(first));
  }
  found->push_back(std::move(value));
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace rpcrdma::decode

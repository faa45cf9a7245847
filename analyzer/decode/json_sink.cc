#include <utility>

#include <nlohmann/json.hpp>

#include <rpcrdma/decode/json_sink.h>
#include <rpcrdma/decode/utf8.h>

namespace rpcrdma::decode {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

struct JsonSink::Subtree {
  FieldId id{};
  Json object = Json::object();
};

JsonSink::JsonSink() : open_(1) {}
JsonSink::~JsonSink() = default;

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

}  // namespace rpcrdma::decode

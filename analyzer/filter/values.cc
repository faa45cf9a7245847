#include "values.h"

namespace rpcrdma::filter {

using decode::FieldId;

Values::Values(const FieldSet& wanted) : values_(wanted.count()) {
  std::uint16_t next = 0;
  for (std::size_t id = 0; id < place_.size(); ++id) {
    if (wanted[id]) place_[id] = next++;
  }
}

void Values::clear() {
  for (auto& list : values_) list.clear();
  text_.clear();
}

void Values::add(FieldId id, std::uint64_t number, std::string_view text) {
  if (!accepted_[static_cast<std::size_t>(id)]) return;
  values_[place_[static_cast<std::size_t>(id)]].push_back(
      {number, static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(text.size())});
  text_ += text;
}

void Values::open(FieldId id, std::size_t, std::size_t, std::string_view) {
  add(id, 0, {});
}

void Values::number(FieldId id, std::size_t, std::size_t, std::uint64_t value, const char* name) {
  add(id, value, name != nullptr ? name : std::string_view());
}

void Values::bytes(FieldId id, std::size_t, std::size_t, wire::Bytes value) {
  add(id, 0, {reinterpret_cast<const char*>(value.data()), value.size()});
}

void Values::text(FieldId id, std::size_t, std::size_t, std::string_view value) {
  add(id, 0, value);
}

void Values::error(const wire::DecodeError& error) {
  if (accepted_[static_cast<std::size_t>(FieldId::kMalformed)]) {
    add(FieldId::kMalformed, 0, wire::describe(error));
  }
}

}  // namespace rpcrdma::filter

#include "json_node.h"

#include <fmt/core.h>

namespace rpcrdma::report {

namespace {

const JsonValue kNothing;
// The length to which an error message truncates a key.
constexpr int kNameShown = 64;

}  // namespace

std::string JsonNode::path() const {
  if (parent_ == nullptr) return {};
  const std::string before = parent_->path();
  if (key_ == nullptr) return fmt::format("{}[{}]", before, index_);
  return fmt::format("{}{}{:.{}}", before, before.empty() ? "" : ".", key_, kNameShown);
}

void JsonNode::fail(std::string_view why) const {
  if (!problem_->empty()) return;
  const std::string where = path();
  *problem_ = where.empty() ? std::string(why) : fmt::format("{}: {}", where, why);
}

JsonNode JsonNode::get(const char* key) const {
  if (value_->IsObject()) {
    const auto member = value_->FindMember(key);
    if (member != value_->MemberEnd()) return child(member->value, key);
    child(kNothing, key).fail("missing");
  } else {
    fail("expected an object");
  }
  return child(kNothing, key);
}

bool JsonNode::has(const char* key) const {
  if (!value_->IsObject()) return false;
  const auto member = value_->FindMember(key);
  return member != value_->MemberEnd() && !member->value.IsNull();
}

std::size_t JsonNode::size() const {
  if (value_->IsArray()) return value_->Size();
  fail("expected a list");
  return 0;
}

JsonNode JsonNode::at(std::size_t index) const {
  JsonNode n = child((*value_)[static_cast<rapidjson::SizeType>(index)], nullptr);
  n.index_ = index;
  return n;
}

std::uint64_t JsonNode::u64() const {
  if (value_->IsUint64()) return value_->GetUint64();
  fail("expected a non-negative integer");
  return 0;
}

std::uint32_t JsonNode::u32() const {
  if (value_->IsUint()) return value_->GetUint();
  fail("expected an integer from 0 to 4294967295");
  return 0;
}

std::int64_t JsonNode::ns() const {
  constexpr std::int64_t kEnd = std::int64_t{1} << 62;
  if (value_->IsInt64() && value_->GetInt64() > -kEnd && value_->GetInt64() < kEnd) {
    return value_->GetInt64();
  }
  fail("expected an integer below 2^62");
  return 0;
}

std::int64_t JsonNode::duration_ns() const {
  if (value_->IsInt64()) return value_->GetInt64();
  fail("expected an integer below 2^63");
  return 0;
}

bool JsonNode::boolean() const {
  if (value_->IsBool()) return value_->GetBool();
  fail("expected true or false");
  return false;
}

std::string JsonNode::text() const {
  if (value_->IsString()) return {value_->GetString(), value_->GetStringLength()};
  fail("expected a string");
  return {};
}

std::size_t JsonNode::one_of(const char* const* names, std::size_t count) const {
  const std::string here = text();
  for (std::size_t i = 0; i < count; ++i) {
    if (here == names[i]) return i;
  }
  std::string why = "expected ";
  for (std::size_t i = 0; i < count; ++i)
    why += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
  fail(why);
  return 0;
}

}  // namespace rpcrdma::report

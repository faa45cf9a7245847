// The compact encoding of logged fields: a kind, an ID, an extent, and a number or text.
#include <algorithm>
#include <array>
#include <string>

#include <rpcrdma/annotations/field_log.h>
#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/decode/utf8.h>

namespace rpcrdma::annotations {

namespace {

using decode::FieldId;

// True for most texts: nothing in them needs an escape.
bool is_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

// Fields of this protocol, by FieldId.
const std::vector<bool>& ours() {
  static const std::vector<bool> all = [] {
    std::vector<bool> is(decode::kFieldCount);
    for (std::size_t i = 0; i < is.size(); ++i) {
      is[i] = std::string_view(decode::schema()[i].name).starts_with("rpcrdma");
    }
    return is;
  }();
  return all;
}

bool is_ours(FieldId id) {
  return ours()[static_cast<std::size_t>(id)];
}

}  // namespace

void FieldLogSink::put(std::uint64_t value) {
  std::array<std::uint8_t, 10> bytes;
  std::size_t n = 0;
  while (value >= 0x80) {
    bytes[n++] = static_cast<std::uint8_t>(value | 0x80);
    value >>= 7;
  }
  bytes[n++] = static_cast<std::uint8_t>(value);
  out_.insert(out_.end(), bytes.begin(), bytes.begin() + n);
}

void FieldLogSink::put_text(std::string_view text) {
  put(text.size());
  out_.insert(out_.end(), text.begin(), text.end());
  out_.push_back(0);
}

bool FieldLogSink::begin(std::uint8_t kind, FieldId id, std::size_t offset, std::size_t length) {
  if (left_ == 0) return false;
  --left_;
  out_.push_back(kind);
  put(static_cast<std::uint64_t>(id));
  put(offset);
  put(length);
  return true;
}

bool FieldLogSink::foreign(FieldId id, std::size_t offset, std::size_t length,
                           std::string_view value) {
  if (is_ours(id)) return false;
  if (foreign_ == Foreign::kAsText &&
      begin(static_cast<std::uint8_t>(LoggedField::Kind::kForeign), id, offset, length)) {
    put_text(value);
  }
  return true;
}

void FieldLogSink::open(FieldId id, std::size_t offset, std::size_t length,
                        std::string_view summary) {
  if (skipped_depth_ != 0) {
    ++skipped_depth_;
    return;
  }
  const bool ours = is_ours(id);
  if (!ours && foreign_ == Foreign::kLeaveOut) {
    skipped_depth_ = 1;
    return;
  }
  if (begin(static_cast<std::uint8_t>(ours ? LoggedField::Kind::kOpen
                                           : LoggedField::Kind::kForeignOpen),
            id, offset, length)) {
    put_text(decode::valid_utf8(summary));
  } else {
    skipped_depth_ = 1;
  }
}

void FieldLogSink::close() {
  if (skipped_depth_ != 0) {
    --skipped_depth_;
  } else {
    out_.push_back(static_cast<std::uint8_t>(LoggedField::Kind::kClose));
  }
}

void FieldLogSink::number(FieldId id, std::size_t offset, std::size_t length, std::uint64_t value,
                          const char* name) {
  if (skipped_depth_ != 0) return;
  if (!is_ours(id)) {
    if (foreign_ == Foreign::kAsText) {
      foreign(id, offset, length, decode::format_value(decode::spec(id), value, name));
    }
    return;
  }
  if (!begin(static_cast<std::uint8_t>(LoggedField::Kind::kNumber), id, offset, length)) return;
  put(value);
  put_text(name != nullptr ? name : "");
}

void FieldLogSink::bytes(FieldId id, std::size_t offset, std::size_t length, wire::Bytes value) {
  if (skipped_depth_ != 0) return;
  if (!is_ours(id)) {
    if (foreign_ == Foreign::kAsText) {
      constexpr std::size_t kShown = 64;
      foreign(id, offset, length,
              decode::format_bytes(decode::spec(id), value.first(std::min(value.size(), kShown))));
    }
    return;
  }
  if (!begin(static_cast<std::uint8_t>(LoggedField::Kind::kBytes), id, offset, length)) return;
  put_text({reinterpret_cast<const char*>(value.data()), value.size()});
}

void FieldLogSink::text(FieldId id, std::size_t offset, std::size_t length,
                        std::string_view value) {
  if (skipped_depth_ != 0) return;
  if (is_ours(id) && is_word(value)) {
    if (begin(static_cast<std::uint8_t>(LoggedField::Kind::kText), id, offset, length))
      put_text(value);
    return;
  }
  const std::string clean = decode::valid_utf8(decode::escape_text(value));
  if (foreign(id, offset, length, clean)) return;
  if (begin(static_cast<std::uint8_t>(LoggedField::Kind::kText), id, offset, length))
    put_text(clean);
}

void FieldLogSink::error(const wire::DecodeError& error) {
  if (skipped_depth_ != 0) return;
  if (begin(static_cast<std::uint8_t>(LoggedField::Kind::kError), FieldId::kMalformed, error.offset,
            0)) {
    put_text(wire::describe(error));
  }
}

std::uint64_t FieldLogReader::get() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; at_ != end_; shift += 7) {
    const std::uint8_t byte = *at_++;
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if ((byte & 0x80U) == 0) break;
  }
  return value;
}

void FieldLogReader::get_text(LoggedField& out) {
  out.text_length = static_cast<std::size_t>(get());
  out.text = reinterpret_cast<const char*>(at_);
  at_ += out.text_length + 1;
}

bool FieldLogReader::next(LoggedField& out) {
  if (at_ == end_) return false;
  out = {};
  out.kind = static_cast<LoggedField::Kind>(*at_++);
  if (out.kind == LoggedField::Kind::kClose) return true;
  out.id = static_cast<FieldId>(get());
  out.offset = static_cast<std::size_t>(get());
  out.length = static_cast<std::size_t>(get());
  if (out.kind == LoggedField::Kind::kNumber) out.value = get();
  get_text(out);
  return true;
}

}  // namespace rpcrdma::annotations

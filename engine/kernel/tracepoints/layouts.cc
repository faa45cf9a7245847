#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/core.h>

#include <rpcrdma/tracepoints/layouts.h>

namespace rpcrdma::tracepoints {
namespace {

constexpr std::size_t kMaxSymbols = 64;

// Returns the text after `key` up to `end`; nothing if it is not there.
std::optional<std::string_view> between(std::string_view text, std::string_view key,
                                        std::string_view end) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  const std::size_t stop = text.find(end);
  if (stop == std::string_view::npos) return std::nullopt;
  return text.substr(0, stop);
}

std::optional<std::uint32_t> format_number(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  while (!text->empty() && text->front() == ' ') text->remove_prefix(1);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

struct FormatField {
  std::string_view name;
  bool dynamic = false;
  bool array = false;
  bool is_signed = false;
  std::uint32_t offset = 0, size = 0;
};

// "\tfield:__data_loc char[] addr;\toffset:8;\tsize:4;\tsigned:1;"
std::optional<FormatField> format_field(std::string_view line) {
  const auto declaration = between(line, "field:", ";");
  const auto offset = format_number(between(line, "offset:", ";"));
  const auto size = format_number(between(line, "size:", ";"));
  const auto is_signed = format_number(between(line, "signed:", ";"));
  if (!declaration || !offset || !size) return std::nullopt;
  FormatField field;
  field.offset = *offset;
  field.size = *size;
  field.is_signed = is_signed.value_or(0) != 0;
  field.dynamic = declaration->find("__data_loc") != std::string_view::npos;
  std::string_view name = *declaration;
  if (const std::size_t space = name.find_last_of(" *"); space != std::string_view::npos) {
    name.remove_prefix(space + 1);
  }
  if (const std::size_t bracket = name.find('['); bracket != std::string_view::npos) {
    field.array = true;
    name = name.substr(0, bracket);
  }
  field.name = name;
  return field;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

bool is_number_size(std::uint32_t size) {
  return size == 1 || size == 2 || size == 4 || size == 8;
}

}  // namespace

bool Layouts::add(std::string_view format) {
  Layout layout;
  std::string_view event_name;
  std::optional<std::uint32_t> id;
  std::string_view rest = format;
  const EventInfo* event = nullptr;
  std::string_view print;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.starts_with("name: ")) {
      event_name = line.substr(6);
      event = find_event(event_name);
    } else if (line.starts_with("ID: ")) {
      id = format_number(line.substr(4));
    } else if (line.starts_with("print fmt:")) {
      print = line;
    }
  }
  if (event_name.empty() || !id || *id > 0xffff) return false;
  if (event == nullptr) return true;
  layout.event = event->event;
  rest = format;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.find("field:") == std::string_view::npos || line.starts_with("print fmt:")) continue;
    const auto field = format_field(line);
    if (!field) return false;
    if (field->name == "common_pid" && field->size == 4) layout.pid_at = field->offset;
    Slot slot;
    if (!asks_for(*event, field->name) || !find_field(field->name, slot.field)) continue;
    slot.offset = field->offset;
    slot.is_signed = field->is_signed;
    if (field->dynamic) {
      if (field->size != 4) continue;
      slot.kind = Kind::kDynamic;
    } else if (field->array) {
      slot.kind = Kind::kArray;
      slot.bytes = field->size;
    } else if (is_number_size(field->size)) {
      slot.size = static_cast<std::uint8_t>(field->size);
    } else {
      continue;
    }
    // Symbolic values, where the pattern wants their names: the numbers differ between kernels.
    if (slot.kind == Kind::kNumber &&
        event->pattern.find(fmt::format("{{{}:s}}", field->name)) != std::string_view::npos) {
      slot.kind = Kind::kSymbol;
      auto list = between(print, "__print_symbolic(REC->" + std::string(field->name) + ",", ")");
      while (list && slot.symbols.size() < kMaxSymbols) {
        const auto pair = between(*list, "{", "}");
        if (!pair) break;
        const auto value = format_number(pair->substr(0, pair->find(',')));
        const auto name = between(*pair, "\"", "\"");
        if (value && name) slot.symbols.push_back({*value, std::string(*name)});
        list->remove_prefix(std::min(list->size(), list->find('}') + 1));
      }
    }
    if (layout.slots.size() < kFields) layout.slots.push_back(std::move(slot));
  }
  if (by_type_.size() <= *id) by_type_.resize(*id + 1U);
  if (layouts_.size() >= 0xffff) return false;
  layouts_.push_back(std::move(layout));
  by_type_[*id] = static_cast<std::uint16_t>(layouts_.size());
  return true;
}

bool Layouts::knows(Event event) const {
  return std::any_of(layouts_.begin(), layouts_.end(),
                     [event](const Layout& l) { return l.event == event; });
}

std::uint64_t Layouts::number(const std::uint8_t* p, std::uint8_t size, bool is_signed) const {
  switch (size) {
    case 1:
      return is_signed ? static_cast<std::uint64_t>(static_cast<std::int8_t>(*p)) : *p;
    case 2: {
      const std::uint16_t v = order_.u16(p);
      return is_signed ? static_cast<std::uint64_t>(static_cast<std::int16_t>(v)) : v;
    }
    case 4: {
      const std::uint32_t v = order_.u32(p);
      return is_signed ? static_cast<std::uint64_t>(static_cast<std::int32_t>(v)) : v;
    }
    default:
      return order_.u64(p);
  }
}

void Layouts::read(const Layout& layout, std::span<const std::uint8_t> bytes,
                   Record& record) const {
  record.clear();
  record.event = layout.event;
  record.is_text = false;
  record.swapped = order_.swapped;
  record.pid = 0;
  const auto inside = [&bytes](std::uint64_t offset, std::uint64_t size) {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  };
  if (layout.pid_at != 0 && inside(layout.pid_at, 4)) {
    record.pid = static_cast<std::int32_t>(order_.u32(bytes.data() + layout.pid_at));
  }
  const auto text_at = [&bytes](std::uint64_t offset, std::uint64_t size) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()) + offset, size);
  };
  for (const Slot& slot : layout.slots) {
    switch (slot.kind) {
      case Kind::kNumber:
        if (inside(slot.offset, slot.size)) {
          record.set(slot.field, number(bytes.data() + slot.offset, slot.size, slot.is_signed));
        }
        break;
      case Kind::kSymbol: {
        if (!inside(slot.offset, slot.size)) break;
        const std::uint64_t value = number(bytes.data() + slot.offset, slot.size, false);
        for (const Symbol& symbol : slot.symbols) {
          if (symbol.value == value) record.set(slot.field, std::string_view(symbol.name));
        }
        break;
      }
      case Kind::kArray:
        if (inside(slot.offset, slot.bytes)) {
          record.set(slot.field, text_at(slot.offset, slot.bytes));
        }
        break;
      case Kind::kDynamic: {
        if (!inside(slot.offset, 4)) break;
        const std::uint32_t where = order_.u32(bytes.data() + slot.offset);
        if (inside(where & 0xffffU, where >> 16U)) {
          record.set(slot.field, text_at(where & 0xffffU, where >> 16U));
        }
        break;
      }
    }
  }
}

}  // namespace rpcrdma::tracepoints

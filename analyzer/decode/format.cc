#include <array>
#include <chrono>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>

#include <rpcrdma/decode/schema.h>

namespace rpcrdma::decode {
namespace {

int hex_digits(FieldType type) {
  switch (type) {
    case FieldType::kUint8:
      return 2;
    case FieldType::kUint16:
      return 4;
    case FieldType::kUint24:
      return 6;
    case FieldType::kUint64:
    case FieldType::kInt64:
      return 16;
    default:
      return 8;
  }
}

std::string hex(const FieldSpec& field, std::uint64_t value) {
  return fmt::format("0x{:0{}x}", value, hex_digits(field.type));
}

std::string decimal(const FieldSpec& field, std::uint64_t value) {
  if (field.type == FieldType::kInt64) return std::to_string(static_cast<std::int64_t>(value));
  return std::to_string(value);
}

std::string bare(const FieldSpec& field, std::uint64_t value) {
  return field.base == Base::kHex ? hex(field, value) : decimal(field, value);
}

std::string duration(std::int64_t ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const auto size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:09} seconds", ns < 0 ? "-" : "", size / kSecond, size % kSecond);
}

std::string utc(std::int64_t ns) {
  using std::chrono::days;
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(ns)};
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:09}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::string ip_text(int family, const std::uint8_t* address) {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  const char* text = inet_ntop(family, address, buffer.data(), buffer.size());
  return text != nullptr ? text : "";
}

}  // namespace

std::string format_value(const FieldSpec& field, std::uint64_t value, const char* name) {
  if (field.type == FieldType::kBool) return value != 0 ? "True" : "False";
  if (field.type == FieldType::kIpv4) {
    return fmt::format("{}.{}.{}.{}", value >> 24 & 0xff, value >> 16 & 0xff, value >> 8 & 0xff,
                       value & 0xff);
  }
  if (field.type == FieldType::kDuration) return duration(static_cast<std::int64_t>(value));
  if (field.type == FieldType::kTime) return utc(static_cast<std::int64_t>(value));
  if (name == nullptr) name = value_name(field, value);
  if (name == nullptr && !field.values.empty()) name = "unknown";
  if (name != nullptr) return std::string(name) + " (" + bare(field, value) + ")";
  if (field.base == Base::kDecHex) return decimal(field, value) + " (" + hex(field, value) + ")";
  return bare(field, value);
}

std::string format_bytes(const FieldSpec& field, std::span<const std::uint8_t> value) {
  const bool address = field.type == FieldType::kAddress;
  if ((address || field.type == FieldType::kIpv6) && value.size() == sizeof(in6_addr)) {
    return ip_text(AF_INET6, value.data());
  }
  if (address && value.size() == sizeof(in_addr)) return ip_text(AF_INET, value.data());
  if (address && value.size() == 2) return fmt::format("lid {}", value[0] << 8 | value[1]);
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(value.size() * 2);
  for (const std::uint8_t byte : value) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xf];
  }
  return text;
}

const char* type_name(FieldType type) {
  switch (type) {
    case FieldType::kUint8:
      return "uint8";
    case FieldType::kUint16:
      return "uint16";
    case FieldType::kUint24:
      return "uint24";
    case FieldType::kUint32:
      return "uint32";
    case FieldType::kUint64:
      return "uint64";
    case FieldType::kInt64:
      return "int64";
    case FieldType::kBool:
      return "bool";
    case FieldType::kBytes:
      return "bytes";
    case FieldType::kString:
      return "string";
    case FieldType::kIpv4:
      return "ipv4";
    case FieldType::kIpv6:
      return "ipv6";
    case FieldType::kFrame:
      return "frame";
    case FieldType::kDuration:
      return "duration";
    case FieldType::kSubtree:
      return "subtree";
    case FieldType::kTime:
      return "time";
    case FieldType::kAddress:
      return "address";
  }
  return "unknown";
}

}  // namespace rpcrdma::decode

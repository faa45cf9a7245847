// The field schema: one table that describes every field once. The -v tree and the JSON of the
// command, display filters, the Wireshark plugin's registration and the GUI's tree are generated
// from it; a decoder names a field by its FieldId only.
//
// Names follow Wireshark's filter language: "rpcrdma.*" is the transport, "rpc.*" the RPC header,
// "nfs.*" NFS, "ib.*" the InfiniBand transport headers, "cm.*" Communication Management. The table
// itself is fields.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rpcrdma::decode {

enum class FieldId : std::uint16_t {
#define RPCRDMA_FIELD(id, name, type, base, label, help, values) id,
#include <rpcrdma/decode/fields.def>
#undef RPCRDMA_FIELD
};

// The number of fields.
inline constexpr std::size_t kFieldCount = 0
// NOLINTNEXTLINE(bugprone-macro-parentheses): a sum of one 1 per field
#define RPCRDMA_FIELD(id, name, type, base, label, help, values) +1
#include <rpcrdma/decode/fields.def>
#undef RPCRDMA_FIELD
    ;

// The type of a value, which determines the function of Sink that reports it.
enum class FieldType : std::uint8_t {
  kUint8,  // the integers, kBool, kIpv4, kFrame, kDuration and kTime: Sink::number
  kUint16,
  kUint24,
  kUint32,
  kUint64,
  kInt64,  // two's complement in the uint64_t
  kBool,
  kBytes,     // Sink::bytes
  kString,    // Sink::text
  kIpv4,      // in host order: 10.0.0.1 is 0x0a000001
  kIpv6,      // Sink::bytes with 16 bytes; a GID too
  kFrame,     // number of a frame in the capture, or of an event in a trace
  kDuration,  // nanoseconds; two's complement, since clocks step back
  kSubtree,   // Sink::open
  kTime,      // nanoseconds since 1970, UTC; two's complement
  kAddress,   // Sink::bytes: 4 bytes of IPv4, 16 of IPv6 or a GID, 2 of an InfiniBand LID
};

enum class Base : std::uint8_t {
  kNone,  // determined by the type
  kDec,
  kHex,     // with as many digits as the type can have
  kDecHex,  // decimal, then hexadecimal in brackets
};

struct ValueName {
  std::uint64_t value;
  const char* name;
};

struct FieldSpec {
  FieldId id;
  const char* name;  // "rpcrdma.credit"
  FieldType type;
  Base base;
  const char* label;  // "Credit value"
  const char* help;   // one line, without a full stop
  // Names of values. Empty if there are none, or if they depend on other fields (procedures on the
  // program, operations on the direction): the decoder then reports the name with the value. A
  // kString with names here always holds one of them.
  std::span<const ValueName> values;
};

// All fields, in the table's order: schema()[n] is the field whose FieldId is n.
[[nodiscard]] std::span<const FieldSpec> schema();

[[nodiscard]] const FieldSpec& spec(FieldId id);

// Returns the field with a filter name, or nullptr.
[[nodiscard]] const FieldSpec* find_field(std::string_view name);

// Returns the name of a value from the field's table, or nullptr.
[[nodiscard]] const char* value_name(const FieldSpec& field, std::uint64_t value);

// Formats a number for display: "0x12345678", "RDMA_MSG (0)", "True", "10.0.0.1", "0.000123000
// seconds". In a field with names, a value without one is shown as "unknown (7)". `name`, if given,
// replaces that of the table.
[[nodiscard]] std::string format_value(const FieldSpec& field, std::uint64_t value,
                                       const char* name = nullptr);

// Formats bytes for display: an address if the field is one, otherwise hexadecimal digits.
[[nodiscard]] std::string format_bytes(const FieldSpec& field, std::span<const std::uint8_t> value);

// Returns the documentation's name of a type: "uint32", "string", ...
[[nodiscard]] const char* type_name(FieldType type);

// Returns the schema as a Markdown document: docs/fields.md.
[[nodiscard]] std::string schema_markdown();

}  // namespace rpcrdma::decode

// Handmade XDR streams for the tests of upper-layer bindings.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>

namespace rpcrdma::decode {

using ByteVector = std::vector<std::uint8_t>;

// Converts a name that may be null.
inline std::string_view text(const char* name) {
  return name == nullptr ? "(null)" : name;
}

// "5 *8 1f": the word 5, eight arbitrary bytes, the word 0x1f.
inline ByteVector stream(std::string_view text) {
  ByteVector bytes;
  while (!text.empty()) {
    const std::string_view token = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(token.size() + 1, text.size()));
    if (token.empty()) continue;
    const bool filler = token.front() == '*';
    std::uint32_t value = 0;
    std::from_chars(token.data() + (filler ? 1 : 0), token.data() + token.size(), value,
                    filler ? 10 : 16);
    if (filler) {
      bytes.insert(bytes.end(), value, 0xa5);
    } else {
      for (int shift = 24; shift >= 0; shift -= 8) {
        bytes.push_back(static_cast<std::uint8_t>(value >> shift));
      }
    }
  }
  return bytes;
}

inline std::vector<std::uint32_t> kept(const CompoundOps& ops) {
  return {ops.op.begin(), ops.op.begin() + ops.kept};
}

inline constexpr ProcedureId kCompound{kProgNfs, 4, 1};
inline constexpr ProcedureId kCallbackCompound{kProgNfsCallback, 1, 1};

inline CompoundOps result_ops(const ProcedureId& id, wire::Bytes results) {
  CompoundOps ops;
  (void)find_result_items(id, results, {}, {}, &ops);
  return ops;
}

// A row of a table of operations: "OPEN-previous" is a case of OPEN.
struct OperationCase {
  const char* name;
  const char* bytes;  // for stream(); begins with the operation's number

  [[nodiscard]] std::string operation() const {
    const std::string_view all = name;
    return std::string(all.substr(0, all.find('-')));
  }
};
inline void PrintTo(const OperationCase& c, std::ostream* out) {
  *out << c.name << ": " << c.bytes;
}

inline std::string test_name(const testing::TestParamInfo<OperationCase>& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace rpcrdma::decode

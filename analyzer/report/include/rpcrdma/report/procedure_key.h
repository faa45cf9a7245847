// The key under which a report counts Calls.
#pragma once

#include <compare>
#include <cstdint>

namespace rpcrdma::report {

struct ProcedureKey {
  std::uint32_t program = UINT32_MAX;  // UINT32_MAX: unknown
  std::uint32_t version = 0;
  std::uint32_t procedure = 0;
  std::uint32_t operation = UINT32_MAX;  // principal one of a COMPOUND; UINT32_MAX: no COMPOUND
  bool reverse = false;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 reports a comparison as a null pointer
  friend auto operator<=>(const ProcedureKey&, const ProcedureKey&) = default;
  [[nodiscard]] bool known() const { return program != UINT32_MAX; }
  // The key of all procedures beyond kMaxProcedures.
  [[nodiscard]] static ProcedureKey others(bool reverse) {
    return {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, reverse};
  }
};

}  // namespace rpcrdma::report

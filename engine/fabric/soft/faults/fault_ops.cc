#include "fault_ops.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

using wire::OpcodeInfo;

bool is_atomic(std::uint8_t opcode) {
  const OpcodeInfo& info = wire::opcode_info(opcode);
  return info.atomic || info.atomic_ack;
}

template <typename Predicate>
void add_rc(FaultOps& ops, Predicate predicate) {
  for (std::size_t opcode = 0; opcode < 32; ++opcode) {
    if (predicate(static_cast<std::uint8_t>(opcode))) ops.opcodes.set(opcode);
  }
}

// The opcode "SEND Only with Invalidate" is written send-only-with-invalidate.
bool is_name_of(std::string_view word, std::string_view name) {
  return std::equal(word.begin(), word.end(), name.begin(), name.end(), [](char w, char n) {
    if (n == ' ') return w == '-';
    return w == (n >= 'A' && n <= 'Z' ? static_cast<char>(n - 'A' + 'a') : n);
  });
}

bool add_exact(std::string_view word, FaultOps& ops) {
  for (std::size_t opcode = 0; opcode < ops.opcodes.size(); ++opcode) {
    const OpcodeInfo& info = wire::opcode_info(static_cast<std::uint8_t>(opcode));
    if (!info.known || !is_name_of(word, info.name)) continue;
    ops.opcodes.set(opcode);
    return true;
  }
  return false;
}

bool add_cm(std::string_view word, FaultOps& ops) {
  using wire::CmAttribute;
  constexpr std::pair<std::string_view, CmAttribute> kNames[] = {
      {"cm-req", CmAttribute::kReq},  {"cm-mra", CmAttribute::kMra},
      {"cm-rej", CmAttribute::kRej},  {"cm-rep", CmAttribute::kRep},
      {"cm-rtu", CmAttribute::kRtu},  {"cm-dreq", CmAttribute::kDreq},
      {"cm-drep", CmAttribute::kDrep}};
  for (const auto& [name, attribute] : kNames) {
    if (word != name) continue;
    ops.cm_attributes.set(static_cast<std::size_t>(attribute));
    return true;
  }
  return false;
}

}  // namespace

bool add_fault_op(std::string_view name, FaultOps& ops) {
  if (name == "send") {
    add_rc(ops, [](std::uint8_t o) { return wire::opcode_info(o).send; });
  } else if (name == "write") {
    add_rc(ops, [](std::uint8_t o) { return wire::opcode_info(o).write; });
  } else if (name == "read-request") {
    ops.opcodes.set(static_cast<std::size_t>(wire::Opcode::kReadRequest));
  } else if (name == "read-response") {
    add_rc(ops, [](std::uint8_t o) { return wire::opcode_info(o).read_response; });
  } else if (name == "atomic") {
    add_rc(ops, is_atomic);
  } else if (name == "request") {
    add_rc(ops, [](std::uint8_t o) { return wire::opcode_info(o).request; });
  } else if (name == "response") {
    add_rc(ops, [](std::uint8_t o) { return wire::opcode_info(o).response; });
  } else if (name == "ack") {
    ops.ack = true;
  } else if (name == "nak") {
    ops.nak = true;
  } else if (name == "rnr") {
    ops.rnr = true;
  } else if (name == "cm") {
    ops.cm = true;
  } else {
    return add_cm(name, ops) || add_exact(name, ops);
  }
  return true;
}

}  // namespace rpcrdma::soft

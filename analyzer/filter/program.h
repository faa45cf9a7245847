// An expression as a list of instructions on one truth value.
#pragma once

#include "condition.h"
#include "syntax.h"

#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/filter/error.h>

namespace rpcrdma::filter {

struct Instruction {
  enum class Kind : std::uint8_t {
    kTest,         // sets the value to that of condition `argument`
    kNot,          // negates the value
    kJumpIfFalse,  // to instruction `argument`, always a later one
    kJumpIfTrue,
  };
  Kind kind = Kind::kTest;
  std::size_t argument = 0;
};

struct Program {
  std::vector<Instruction> instructions;
  std::vector<Condition> conditions;
};

[[nodiscard]] tl::expected<Program, FilterError> compile_program(const Expression& expression);

// `condition(c)` returns whether a condition holds; called only if the result depends on it.
template <typename Function>
[[nodiscard]] bool run(const Program& program, Function&& condition) {
  bool value = false;
  for (std::size_t at = 0; at < program.instructions.size();) {
    const Instruction& i = program.instructions[at++];
    switch (i.kind) {
      case Instruction::Kind::kTest:
        value = condition(program.conditions[i.argument]);
        break;
      case Instruction::Kind::kNot:
        value = !value;
        break;
      case Instruction::Kind::kJumpIfFalse:
        if (!value) at = i.argument;
        break;
      case Instruction::Kind::kJumpIfTrue:
        if (value) at = i.argument;
        break;
    }
  }
  return value;
}

}  // namespace rpcrdma::filter

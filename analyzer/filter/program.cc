#include "program.h"

#include "aliases.h"
#include "check.h"

#include <optional>

#include <rpcrdma/decode/programs.h>

namespace rpcrdma::filter {

namespace {

class Compiler {
 public:
  // Recursion is as deep as the expression, which the parser limits.
  std::optional<FilterError> add(const Expression& e) {
    switch (e.kind) {
      case Expression::Kind::kTest:
        return test(e.test);
      case Expression::Kind::kNot:
        if (auto error = add(e.parts.front())) return error;
        program_.instructions.push_back({Instruction::Kind::kNot, 0});
        return std::nullopt;
      case Expression::Kind::kAnd:
        return chain(e, Instruction::Kind::kJumpIfFalse);
      case Expression::Kind::kOr:
        return chain(e, Instruction::Kind::kJumpIfTrue);
    }
    return std::nullopt;
  }

  Program take() { return std::move(program_); }

 private:
  std::optional<FilterError> test(const Test& t) {
    auto condition = check(t);
    if (!condition) return std::move(condition.error());
    const Alias* const alias = find_alias(t.field.text);
    const bool guarded = alias != nullptr && alias->nfs_version != 0;
    const std::size_t first = program_.instructions.size();
    if (guarded) {
      only_if(decode::FieldId::kRpcProgram, decode::kProgNfs);
      only_if(decode::FieldId::kRpcProgramVersion, alias->nfs_version);
    }
    push(std::move(*condition));
    for (std::size_t at = first; guarded && at < program_.instructions.size(); ++at) {
      Instruction& i = program_.instructions[at];
      if (i.kind == Instruction::Kind::kJumpIfFalse) i.argument = program_.instructions.size();
    }
    return std::nullopt;
  }

  void push(Condition condition) {
    program_.instructions.push_back({Instruction::Kind::kTest, program_.conditions.size()});
    program_.conditions.push_back(std::move(condition));
  }

  // The test that follows is false unless a number has this value.
  void only_if(decode::FieldId field, std::uint64_t value) {
    Condition c;
    c.field = field;
    c.type = ValueClass::kNumber;
    c.relation = Relation::kEqual;
    c.constants.emplace_back();
    c.constants.back().low = c.constants.back().high = value;
    push(std::move(c));
    program_.instructions.push_back({Instruction::Kind::kJumpIfFalse, 0});
  }

  // Evaluates the parts in turn, until one decides.
  std::optional<FilterError> chain(const Expression& e, Instruction::Kind jump) {
    std::vector<std::size_t> jumps;
    for (const Expression& part : e.parts) {
      if (&part != &e.parts.front()) {
        jumps.push_back(program_.instructions.size());
        program_.instructions.push_back({jump, 0});
      }
      if (auto error = add(part)) return error;
    }
    for (const std::size_t at : jumps) {
      program_.instructions[at].argument = program_.instructions.size();
    }
    return std::nullopt;
  }

  Program program_;
};

}  // namespace

tl::expected<Program, FilterError> compile_program(const Expression& expression) {
  Compiler compiler;
  if (auto error = compiler.add(expression)) return tl::unexpected(std::move(*error));
  return compiler.take();
}

}  // namespace rpcrdma::filter

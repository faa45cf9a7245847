#include "empty.h"
#include "operations.h"
#include "parser.h"
#include "program.h"
#include "values.h"

#include <new>
#include <optional>
#include <utility>

#include <rpcrdma/base/out_of_memory.h>
#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/filter/filter.h>
#include <rpcrdma/model/content.h>

namespace rpcrdma::filter {

namespace {

FieldSet fields_of(const Program& program) {
  FieldSet set;
  for (const Condition& c : program.conditions) set.set(static_cast<std::size_t>(c.field));
  return set;
}

const FieldSet& fields_of_events() {
  static const FieldSet set = [] {
    FieldSet events;
    for (const decode::FieldSpec& field : decode::schema()) {
      if (std::string_view(field.name).starts_with("rpcrdma.trace")) {
        events.set(static_cast<std::size_t>(field.id));
      }
    }
    return events;
  }();
  return set;
}

}  // namespace

struct Filter::Impl {
  explicit Impl(Program p)
      : program(std::move(p)),
        wanted(fields_of(program)),
        of_model(wanted & fields_of_model()),
        of_events(wanted & fields_of_events()),
        of_bytes(wanted & ~fields_of_model() & ~of_events),
        values(wanted) {}

  Program program;
  FieldSet wanted;
  FieldSet of_model;
  FieldSet of_events;
  FieldSet of_bytes;
  Values values;
};

Filter::Filter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;

bool Filter::needs_bytes() const {
  return impl_->of_bytes.any();
}

const FieldSet& Filter::fields() const {
  return impl_->wanted;
}

bool Filter::needs_answer() const {
  return (impl_->wanted & fields_of_answer()).any();
}

bool Filter::needs_findings() const {
  return impl_->wanted[static_cast<std::size_t>(decode::FieldId::kFinding)];
}

bool Filter::needs_events() const {
  return impl_->of_events.any();
}

bool Filter::matches(const std::function<void(decode::Sink&)>& report) {
  Impl& f = *impl_;
  f.values.clear();
  f.values.accept(f.wanted);
  report(f.values);
  return run(f.program, [&f](const Condition& c) { return holds(c, f.values); });
}

bool Filter::matches(const Inputs& in) {
  Impl& f = *impl_;
  f.values.clear();
  f.values.accept(f.of_model);
  model_fields(in, f.of_model, f.values);
  add_operations(*in.message, f.of_model, f.values);
  bool decoded = false;
  return run(f.program, [&](const Condition& c) {
    // Bytes are decoded only when a condition needs them; often none does.
    if (!decoded && f.of_bytes[static_cast<std::size_t>(c.field)]) {
      decoded = true;
      f.values.accept(f.of_bytes);
      model::decode_content(*in.message, f.values);
    }
    return holds(c, f.values);
  });
}

tl::expected<Filter, FilterError> compile(std::string_view text) {
  try {
    const auto expression = parse(text);
    if (!expression) return tl::unexpected(expression.error());
    auto program = compile_program(*expression);
    if (!program) return tl::unexpected(std::move(program.error()));
    if (auto empty = why_empty(*expression)) return tl::unexpected(std::move(*empty));
    return Filter(std::make_unique<Filter::Impl>(std::move(*program)));
  } catch (const std::bad_alloc&) {
    return tl::unexpected(FilterError{0, text.size(), base::kOutOfMemory});
  }
}

}  // namespace rpcrdma::filter

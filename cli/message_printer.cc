#include "message_printer.h"

#include "colour.h"
#include "input.h"
#include "parse.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/report/message_json.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/report/ordered_output.h>

namespace rpcrdma::cli {

namespace {

// What may wait for the Reply of a Call before it.
constexpr report::OrderedOutput::Limits kMaxWaiting{65536, std::size_t{64} << 20};

struct Filter {
  std::optional<std::uint32_t> xid;
  std::optional<Moment> from;
  std::optional<Moment> to;
};

class Printer final : public MessagePrinter {
 public:
  Printer(const PrintOptions& options, const Filter& filter)
      : options_(options),
        filter_(filter),
        style_{colour_wanted(stdout)},
        whole_(options.json || options.verbose),
        output_([](const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); },
                [this](std::uint64_t id) { return finish(id); }, kMaxWaiting) {}

  void set_pipeline(const report::Pipeline& pipeline) override {
    pipeline_ = &pipeline;
    context_ = {&pipeline.tracker(), &pipeline.model()};
  }

  void on_message(const model::Message& m, const model::Call* call) override {
    if (!wanted(m)) return;
    output_.reserve(m.id);
    // A Call's line is whole when its Reply was seen; without the fields that the Reply fills, when
    // its program is known.
    const bool is_call = m.kind == model::Kind::kCall && call != nullptr;
    if (is_call && (whole_ || !call->identified)) {
      waiting_.emplace(m.id, call);
    } else {
      output_.ready(m.id, render(m, call));
    }
  }

  void on_identified(const model::Call& call) override {
    if (!whole_) settle(call);
  }
  void on_call_end(const model::Call& call, const model::Message* answer) override {
    (void)answer;
    settle(call);
  }

  void flush() override {
    output_.flush();
    std::fflush(stdout);
  }

 private:
  bool wanted(const model::Message& m) const {
    const std::int64_t start = pipeline_->frames().first_ns;
    if (filter_.xid && m.xid != *filter_.xid) return false;
    if (filter_.from && m.time_ns < filter_.from->absolute(start)) return false;
    if (filter_.to && m.time_ns > filter_.to->absolute(start)) return false;
    if (!options_.connections.empty() &&
        std::find(options_.connections.begin(), options_.connections.end(),
                  context_.connection_id(m.connection)) == options_.connections.end()) {
      return false;
    }
    if (options_.types.empty()) return true;
    return std::any_of(options_.types.begin(), options_.types.end(), [&](const std::string& type) {
      return CLI::detail::to_lower(type) == model::kind_name(m.kind) ||
             CLI::detail::to_lower(type) ==
                 CLI::detail::to_lower(wire::proc_name(m.version, m.proc));
    });
  }

  void settle(const model::Call& call) {
    const auto it = waiting_.find(call.message.id);
    if (it == waiting_.end()) return;
    waiting_.erase(it);
    output_.ready(call.message.id, render(call.message, &call));
  }

  // The queue is full, or the capture ended: the Call is written as far as it is known.
  std::string finish(std::uint64_t id) {
    const auto it = waiting_.find(id);
    if (it == waiting_.end()) return {};
    const model::Call* call = it->second;
    waiting_.erase(it);
    return render(call->message, call);
  }

  std::string render(const model::Message& m, const model::Call* call) {
    if (options_.json) {
      report::write_message(json_, m, call, context_);
      return json_.take();
    }
    std::string text = options_.verbose ? report::message_tree(m, call, context_)
                                        : report::message_line(m, context_, style_) + '\n';
    if (options_.hex) text += decode::hex_dump(m.bytes) + '\n';
    if (options_.verbose) text += '\n';
    return text;
  }

  const PrintOptions& options_;
  Filter filter_;
  report::Context context_;
  report::TextStyle style_;
  bool whole_;
  const report::Pipeline* pipeline_ = nullptr;
  std::unordered_map<std::uint64_t, const model::Call*> waiting_;
  report::JsonWriter json_;
  report::OrderedOutput output_;
};

std::optional<Moment> moment(const std::string& text, const char* command, const char* option,
                             bool& ok) {
  if (text.empty()) return std::nullopt;
  const auto m = parse_moment(text);
  if (!m) {
    complain(
        fmt::format("{}: {} {}: not a time; give seconds from the start, seconds since the "
                    "epoch, or \"YYYY-MM-DD HH:MM:SS\"",
                    command, option, text));
    ok = false;
  }
  return m;
}

bool is_type(const std::string& type) {
  const std::vector<std::string> types = message_types();
  return std::any_of(types.begin(), types.end(), [&](const std::string& known) {
    return CLI::detail::to_lower(known) == CLI::detail::to_lower(type);
  });
}

std::optional<Filter> parse(const PrintOptions& options, const char* command) {
  bool ok = true;
  for (const std::string& type : options.types) {
    if (!is_type(type)) {
      complain(fmt::format("{0}: --type {1}: not a message type or kind (see `{0} --help`)",
                           command, type));
      ok = false;
    }
  }
  Filter filter;
  filter.from = moment(options.from, command, "--from", ok);
  filter.to = moment(options.to, command, "--to", ok);
  if (!options.xid.empty()) {
    filter.xid = parse_u32(options.xid);
    if (!filter.xid) {
      complain(fmt::format("{}: --xid {}: not a number of 32 bits", command, options.xid));
      ok = false;
    }
  }
  if (!ok) return std::nullopt;
  return filter;
}

}  // namespace

std::vector<std::string> message_types() {
  std::vector<std::string> types;
  for (int kind = 0; kind <= static_cast<int>(model::Kind::kMalformed); ++kind) {
    types.emplace_back(model::kind_name(static_cast<model::Kind>(kind)));
  }
  for (const std::uint32_t version : {1U, 2U}) {
    for (std::uint32_t proc = 0; proc <= 5; ++proc) {
      const std::string name = wire::proc_name(version, proc);
      if (name != "unknown") types.push_back(name);
    }
  }
  return types;
}

model::ModelOptions PrintOptions::keep() const {
  model::ModelOptions keep;
  keep.keep_bytes = verbose || hex;
  return keep;
}

void add_print_options(CLI::App& app, PrintOptions& options) {
  app.add_flag("-v,--verbose", options.verbose, "The tree of all fields");
  app.add_flag("-x,--hex", options.hex, "The bytes of the Send");
  app.add_flag("--json", options.json, "One JSON object a line (docs/json.md)");
  app.add_option("--xid", options.xid, "Only this XID (decimal, or 0x...)")->type_name("XID");
  app.add_option("--connection", options.connections, "Only these connections (IDs as printed)")
      ->type_name("ID")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--type", options.types,
                 "Only these: RDMA_MSG, RDMA_NOMSG, ..., or call, reply, error, done, option, "
                 "malformed")
      ->type_name("TYPE")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--from", options.from,
                 "Only from this time on: seconds from the start, or \"YYYY-MM-DD HH:MM:SS\" UTC")
      ->type_name("TIME");
  app.add_option("--to", options.to, "Only up to this time")->type_name("TIME");
  app.footer(
      "A line: frame, time (UTC), sender.QP > receiver.QP: kind, XID, type, credit value, chunks "
      "(bytes, /segments if several, @position), program and procedure, status, what it answers.");
}

std::unique_ptr<MessagePrinter> make_printer(const PrintOptions& options, const char* command) {
  const auto filter = parse(options, command);
  if (!filter) return nullptr;
  return std::make_unique<Printer>(options, *filter);
}

}  // namespace rpcrdma::cli

// Prints messages in capture order, each with its findings: holds lines back until their Replies
// and findings are known, within limits.
#include "message_printer.h"

#include "colour.h"
#include "filter_option.h"
#include "input.h"
#include "output_file.h"
#include "parse.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/base/text_buffer.h>
#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/filter/model_fields.h>
#include <rpcrdma/model/content.h>
#include <rpcrdma/report/event_text.h>
#include <rpcrdma/report/finding_text.h>
#include <rpcrdma/report/message_json.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/report/ordered_output.h>
#include <rpcrdma/session/session.h>
#include <rpcrdma/trace_reader/event_decoder.h>

namespace rpcrdma::cli {

namespace {

// How much output may wait for the Reply of an earlier Call.
constexpr report::OrderedOutput::Limits kMaxWaiting{65536, std::size_t{64} << 20};

// After how many more messages a filter on findings decides.
constexpr std::uint64_t kMessagesToWait = 256;

// The name that --type uses for trace events other than messages.
constexpr const char* kEventType = "event";

// Selects what is printed.
struct Selection {
  std::optional<std::uint32_t> xid;
  std::optional<Moment> from;
  std::optional<Moment> to;
  std::optional<filter::Filter> filter;
};

// Findings come from the checker, which sees every message before the printer does. Most are there
// when the message's line is rendered. A finding that waits for proof that the capture lost nothing
// delays the line; a finding that comes later gets a line of its own.
class Printer final : public MessagePrinter,
                      private model::Observer,
                      private trace_reader::Observer {
 public:
  Printer(const PrintOptions& options, Selection selection)
      : options_(options),
        selection_(std::move(selection)),
        style_{colour_wanted(stdout)},
        whole_(options.json || options.verbose || asks_for_answer(options) ||
               (selection_.filter && selection_.filter->needs_answer())),
        asks_for_findings_(selection_.filter && selection_.filter->needs_findings()),
        session_({.model = model_options(),
                  .rules = rules::Findings::Options{
                      options.profile, [this](const rules::Occurrence& o) { found(o); },
                      [this](const rules::Evidence& e) { pending(e); },
                      [this](const rules::Evidence& e) { settled(e); }}},
                 {.after_rules = {this}, .events = {this}}),
        context_(session_.context()),
        output_([this](std::string_view text) { write(text); },
                [this](std::uint64_t id) { return last_moment(id); }, kMaxWaiting) {}

  [[nodiscard]] session::Pipeline& pipeline() override { return session_.pipeline(); }

  [[nodiscard]] std::uint64_t decoded() const override { return decoded_; }
  [[nodiscard]] std::uint64_t printed() const override { return written_; }
  [[nodiscard]] bool done() const override {
    return options_.most != 0 && written_ >= options_.most;
  }

  void finish(std::uint64_t dropped) override {
    session_.finish_rules(dropped);
    release_held(UINT64_MAX);
    output_.flush();
    flush_stdout();
  }

 private:
  // A message that has findings, or may still get some.
  struct Marked {
    std::vector<report::MessageFinding> found;
    unsigned pending = 0;
    std::string text;  // rendered, and waiting for pending findings
    bool rendered = false;
  };

  // A complete message whose findings may not all be there yet.
  struct Held {
    model::Message message;
    std::optional<model::Call> call;
    std::uint64_t due = 0;  // write it when the message with this ID arrives
  };

  static bool asks_for_answer(const PrintOptions& options) {
    return options.fields != nullptr && (options.fields->wanted & filter::fields_of_answer()).any();
  }

  // Lines come in order, each with its findings.
  void write(std::string_view text) {
    if (text.empty() || done()) return;
    ++written_;
    write_stdout(text);
  }

  [[nodiscard]] model::ModelOptions model_options() const {
    model::ModelOptions model;
    model.dialect = options_.dialect;
    model.check_icrc = !options_.no_icrc;
    model.keep_bytes = options_.verbose || options_.hex || options_.fields != nullptr ||
                       (selection_.filter && selection_.filter->needs_bytes());
    return model;
  }

  void on_message(const model::MessageSeen& event) override {
    const model::Message& m = event.message;
    const model::Call* const call = event.call;
    ++decoded_;
    last_seen_ = m.id;
    release_held(m.id);
    if (!wanted(m)) {
      marked_.erase(m.id);
      return;
    }
    // A Call's line is complete when its Reply was seen; or, without the fields that depend on the
    // Reply, when its program is known. Then the filter decides too: text that it rejects stays
    // empty.
    const bool is_call = m.kind == model::Kind::kCall && call != nullptr;
    // That of a Reply with Read chunks, when these were read.
    const bool is_read_later =
        m.kind == model::Kind::kReply && call != nullptr && !m.reads.empty() && whole_;
    const bool is_call_later = is_call && (whole_ || !call->identified);
    const bool at_once = !is_call_later && !is_read_later && !holds_back() && output_.idle() &&
                         (marked_.empty() || !marked_.contains(m.id));
    if (at_once) return write(with_findings(render(m, call), {}));
    output_.reserve(m.id);
    if (is_call_later) {
      waiting_.emplace(m.id, call);
    } else if (is_read_later) {
      model::Message& reply = waiting_replies_[m.id] = m;
      reply.payload = {};
    } else {
      complete(m, call);
    }
  }

  void on_event(const trace_reader::Event& event) override {
    if (!wanted(event)) return;
    if (options_.fields != nullptr) return;
    if (options_.json) {
      report::write_event(json_, event, context_);
      json_.line([this](std::string_view line) { output_.add(line); });
      return;
    }
    output_.add(options_.verbose ? report::event_tree(event, context_) + '\n'
                                 : report::event_line(event, style_));
  }

  void on_identified(const model::Call& call) override {
    if (!whole_) settle(call);
  }
  void on_call_end(const model::CallEnded& event) override { settle(event.call); }
  void on_reply_read(const model::ReplyRead& event) override {
    if (waiting_replies_.erase(event.reply.id) != 0) complete(event.reply, &event.call);
  }

  // Rendering held messages needs the connection, so they are written before it is evicted.
  void on_evict(const roce::Connection& connection) override {
    std::erase_if(held_, [&](const Held& held) {
      const std::uint32_t of = held.message.connection;
      const model::Model& model = *context_.model;
      if (of != connection.index && model.canonical(of) != connection.index) return false;
      emit(held.message.id, render(held.message, held.call ? &*held.call : nullptr));
      return true;
    });
  }

  [[nodiscard]] bool selects() const {
    return selection_.xid || options_.since_ns || options_.most != 0 || selection_.from ||
           selection_.to || selection_.filter || !options_.connections.empty() ||
           !options_.types.empty();
  }

  [[nodiscard]] bool in_time(std::int64_t time_ns) const {
    const std::int64_t start = session_.pipeline().frames().first_ns;
    return (!options_.since_ns || time_ns >= *options_.since_ns) &&
           (!selection_.from || time_ns >= selection_.from->absolute(start)) &&
           (!selection_.to || time_ns <= selection_.to->absolute(start));
  }
  [[nodiscard]] bool connection_wanted(std::uint32_t id) const {
    return options_.connections.empty() ||
           std::find(options_.connections.begin(), options_.connections.end(), id) !=
               options_.connections.end();
  }
  [[nodiscard]] bool type_asked_for(const std::string& name) const {
    return std::any_of(options_.types.begin(), options_.types.end(), [&](const std::string& type) {
      return lower_case(type) == lower_case(name);
    });
  }

  // Sends are printed as messages. Events that every Call causes would fill the screen.
  bool wanted(const trace_reader::Event& event) {
    if (event.type() == trace::EventType::kMessage || !in_time(event.meta.time_ns)) return false;
    if (!options_.types.empty() && !type_asked_for(kEventType)) return false;
    if (selection_.xid && trace_reader::xid_of(event) != *selection_.xid) return false;
    if (!connection_wanted(
            event.connection != nullptr ? context_.connection_id(event.connection->index) : 0)) {
      return false;
    }
    const bool all = options_.events || options_.json || options_.verbose || selection_.xid ||
                     !options_.types.empty() ||
                     (selection_.filter && selection_.filter->needs_events());
    if (!all && !trace_reader::is_notable(event)) return false;
    return !selection_.filter || selection_.filter->matches([&](decode::Sink& sink) {
      report::event_fields(event, context_, session_.pipeline().frames().first_ns, sink);
    });
  }

  bool wanted(const model::Message& m) const {
    if (selection_.xid && m.xid != *selection_.xid) return false;
    if (!in_time(m.time_ns)) return false;
    if (!options_.connections.empty() && !connection_wanted(context_.connection_id(m.connection))) {
      return false;
    }
    if (options_.types.empty()) return true;
    return type_asked_for(model::kind_name(m.kind)) || type_asked_for(model::type_name(m));
  }

  [[nodiscard]] bool to_be_written(std::uint64_t id) const {
    return id > last_seen_ || output_.waits(id);
  }

  void found(const rules::Occurrence& o) {
    if (o.evidence.phase == rules::ReportPhase::kLasts) return;  // reported when it ends
    const bool shown = shows(o.severity);
    if (!shown && !asks_for_findings_) return;
    const std::uint64_t id = o.evidence.message;
    if (id != 0 && to_be_written(id)) {
      marked_[id].found.push_back({o.rule.name, o.severity, o.text});
    } else if (shown && options_.own_findings && !selects()) {
      output_.add(options_.json ? report::finding_json(o, context_)
                                : report::finding_line(o, context_, style_));
    }
  }

  void pending(const rules::Evidence& e) {
    if (e.message != 0 && to_be_written(e.message)) ++marked_[e.message].pending;
  }

  void settled(const rules::Evidence& e) {
    const auto it = marked_.find(e.message);
    if (it == marked_.end() || it->second.pending == 0) return;
    if (--it->second.pending == 0 && it->second.rendered) {
      emit(e.message, it->second.text);
    }
  }

  void settle(const model::Call& call) {
    if (waiting_.erase(call.message.id) == 0) return;
    complete(call.message, &call);
  }

  // A filter on findings decides later where possible, since some violations are found only after
  // the Reply.
  [[nodiscard]] bool holds_back() const { return asks_for_findings_ && options_.wait_for_findings; }

  void complete(const model::Message& m, const model::Call* call) {
    if (!holds_back()) return emit(m.id, render(m, call));
    Held& held = held_.emplace_back();
    held.message = m;
    if (call != nullptr) held.call = *call;
    held.due = last_seen_ + kMessagesToWait;
  }

  void release_held(std::uint64_t seen) {
    while (!held_.empty() && held_.front().due <= seen) {
      const Held& held = held_.front();
      emit(held.message.id, render(held.message, held.call ? &*held.call : nullptr));
      held_.pop_front();
    }
  }

  // Notes would fill the screen; `analyze` summarizes them.
  [[nodiscard]] bool shows(rules::Severity severity) const {
    return severity != rules::Severity::kNote || options_.json || options_.verbose;
  }

  void emit(std::uint64_t id, std::string_view text) {
    const auto it = marked_.empty() ? marked_.end() : marked_.find(id);
    if (it == marked_.end()) {
      output_.ready(id, with_findings(text, {}));
    } else if (it->second.pending != 0) {
      it->second.text = text;
      it->second.rendered = true;
    } else {
      const auto marked = marked_.extract(it);  // `text` may be of it
      output_.ready(id, with_findings(text, std::move(marked.mapped().found)));
    }
  }

  // Called when too many messages wait or the capture ended: writes the message with what is known.
  std::string last_moment(std::uint64_t id) {
    std::string text;
    if (const auto it = waiting_.find(id); it != waiting_.end()) {
      const model::Call* call = it->second;
      waiting_.erase(it);
      text = render(call->message, call);
    }
    if (const auto it = waiting_replies_.find(id); it != waiting_replies_.end()) {
      text = render(it->second, nullptr);
      waiting_replies_.erase(it);
    }
    const auto held =
        std::find_if(held_.begin(), held_.end(), [&](const Held& h) { return h.message.id == id; });
    if (held != held_.end()) {
      text = render(held->message, held->call ? &*held->call : nullptr);
      held_.erase(held);
    }
    std::vector<report::MessageFinding> found;
    if (const auto marked = marked_.find(id); marked != marked_.end()) {
      if (marked->second.rendered) text = std::move(marked->second.text);
      found = std::move(marked->second.found);
      marked_.erase(marked);
    }
    return std::string(with_findings(text, std::move(found)));
  }

  // The result is valid until the next call.
  [[nodiscard]] std::string_view with_findings(std::string_view text,
                                               std::vector<report::MessageFinding> found) {
    if (text.empty() || options_.fields != nullptr) return text;  // empty: the filter rejected it
    std::erase_if(found, [&](const report::MessageFinding& f) { return !shows(f.severity); });
    if (options_.json) {
      report::put_json_with_findings(with_findings_, text, found);
    } else if (found.empty()) {
      return text;
    } else {
      with_findings_ = std::string(text) + report::finding_lines(found, style_);
    }
    return with_findings_;
  }

  std::string fields_of(const model::Message& m, const model::Call* call) {
    filter::Inputs inputs = context_.inputs(m, call, session_.pipeline().frames().first_ns);
    std::vector<std::string_view> rules;
    if (const auto it = marked_.find(m.id); it != marked_.end()) {
      for (const report::MessageFinding& f : it->second.found) rules.push_back(f.rule);
    }
    inputs.findings = rules;
    const filter::FieldSet& wanted = options_.fields->wanted;
    const filter::FieldSet of_bytes = wanted & ~filter::fields_of_model();
    return field_line(*options_.fields, [&](decode::Sink& sink) {
      filter::model_fields(inputs, wanted & filter::fields_of_model(), sink);
      if (of_bytes.none()) return;
      report_only(of_bytes, sink, [&](decode::Sink& rest) { model::decode_content(m, rest); });
    });
  }

  // The result is valid until the next call.
  std::string_view render(const model::Message& m, const model::Call* call) {
    rendered_.clear();
    if (selection_.filter) {
      filter::Inputs inputs = context_.inputs(m, call, session_.pipeline().frames().first_ns);
      std::vector<std::string_view> rules;
      if (const auto it = marked_.find(m.id); it != marked_.end()) {
        for (const report::MessageFinding& f : it->second.found) rules.push_back(f.rule);
      }
      inputs.findings = rules;
      if (!selection_.filter->matches(inputs)) return {};
    }
    if (options_.fields != nullptr) {
      rendered_.put(std::string_view(fields_of(m, call)));
      return rendered_.view();
    }
    if (options_.json) {
      report::write_message(json_, m, call, context_);
      json_.line([this](std::string_view text) { rendered_.put(text); });
      return rendered_.view();
    }
    if (options_.verbose) {
      rendered_.put(std::string_view(report::message_tree(m, call, context_)));
    } else {
      report::put_message_line(rendered_, m, call, context_, style_);
      rendered_.put('\n');
    }
    if (options_.hex && !model::is_absent(m, roce::kAbsentBytes)) {
      rendered_.put(std::string_view(decode::hex_dump(m.bytes)), '\n');
    }
    if (options_.verbose) rendered_.put('\n');
    return rendered_.view();
  }

  const PrintOptions& options_;
  Selection selection_;
  report::TextStyle style_;
  bool whole_;
  bool asks_for_findings_;
  session::Session session_;
  const report::Context& context_;
  std::unordered_map<std::uint64_t, const model::Call*> waiting_;
  std::unordered_map<std::uint64_t, model::Message> waiting_replies_;
  std::unordered_map<std::uint64_t, Marked> marked_;
  std::deque<Held> held_;
  std::uint64_t last_seen_ = 0;  // the latest message
  std::uint64_t written_ = 0;    // messages
  std::uint64_t decoded_ = 0;
  report::JsonWriter json_;
  base::TextBuffer rendered_;  // one message
  std::string with_findings_;  // the same with its findings
  report::OrderedOutput output_;
};

std::optional<Moment> moment(const std::string& text, const char* command, const char* option,
                             bool& ok) {
  if (text.empty()) return std::nullopt;
  const auto m = parse_moment(text);
  if (!m) {
    complain(
        fmt::format("{}: {} {}: not a time; give seconds from the start, seconds since the "
                    "epoch, \"YYYY-MM-DD HH:MM:SS\", or HH:MM:SS",
                    command, option, text));
    ok = false;
  }
  return m;
}

bool is_type(const std::string& type) {
  const std::vector<std::string> types = message_types();
  return std::any_of(types.begin(), types.end(), [&](const std::string& known) {
    return lower_case(known) == lower_case(type);
  });
}

std::optional<Selection> parse(const PrintOptions& options, const char* command) {
  bool ok = true;
  for (const std::string& type : options.types) {
    if (!is_type(type)) {
      complain(fmt::format("{0}: --type {1}: not a message type or kind (see `rpcrdma {0} --help`)",
                           command, type));
      ok = false;
    }
  }
  Selection selection;
  selection.from = moment(options.from, command, "--from", ok);
  selection.to = moment(options.to, command, "--to", ok);
  if (!options.xid.empty()) {
    selection.xid = base::parse_u32(options.xid);
    if (!selection.xid) {
      complain(fmt::format("{}: --xid {}: not a 32-bit number", command, options.xid));
      ok = false;
    }
  }
  if (!read_filter(options.filter, command, selection.filter)) ok = false;
  if (!ok) return std::nullopt;
  return selection;
}

}  // namespace

std::vector<std::string> message_types() {
  std::vector<std::string> types;
  for (int kind = 0; kind <= static_cast<int>(model::Kind::kControl); ++kind) {
    types.emplace_back(model::kind_name(static_cast<model::Kind>(kind)));
  }
  types.emplace_back(kEventType);
  for (const std::uint32_t version : {1U, 2U}) {
    for (std::uint32_t proc = 0; proc <= 5; ++proc) {
      const std::string name = wire::proc_name(version, proc);
      if (name != "unknown") types.push_back(name);
    }
  }
  for (std::size_t i = 1; i < wire::kDialects; ++i) {
    constexpr std::uint32_t kLast = 13;
    for (std::uint32_t type = 0; type <= kLast; ++type) {
      const std::string name = wire::later_type_name(static_cast<wire::Dialect>(i), type);
      if (name != "unknown" && std::find(types.begin(), types.end(), name) == types.end()) {
        types.push_back(name);
      }
    }
  }
  return types;
}

void add_print_options(command_line::Command& command, PrintOptions& options) {
  command.flag("-v,--verbose", options.verbose, "Print the tree of all fields");
  command.flag("-x,--hex", options.hex, "Print the bytes of each Send");
  command.flag("--json", options.json, "Print one JSON object per line (docs/json.md)");
  command.flag("--events", options.events,
               "Print all events of a recording, including those of every Call");
  command.option("--xid", options.xid, "Print only this XID (decimal, or 0x...)").value("XID");
  command
      .option("--connection", options.connections, "Print only these connections (IDs as printed)")
      .value("ID")
      .delimiter(',')
      .one_word();
  command
      .option("--type", options.types,
              "Print only these types: RDMA_MSG, RDMA_NOMSG, ..., or call, reply, error, done, "
              "option, malformed, event")
      .value("TYPE")
      .delimiter(',')
      .one_word();
  command
      .option("--from", options.from,
              "Print only from this time on: seconds from the start, HH:MM:SS, or \"YYYY-MM-DD "
              "HH:MM:SS\"; UTC without a zone such as +01:00")
      .value("TIME");
  command.option("--to", options.to, "Print only up to this time").value("TIME");
  add_profile(command, options.profile);
  add_dialect(command, options.dialect);
  add_filter(command, options.filter);
  command.footer(
      "Each line: frame, time (UTC), sender.QP > receiver.QP: kind, XID, type, credit value, "
      "chunks (bytes, /segments if several, @position), program and procedure, file and range "
      "(offset+bytes), status, frame of the Call that it answers.");
}

std::unique_ptr<MessagePrinter> make_printer(const PrintOptions& options, const char* command) {
  auto selection = parse(options, command);
  if (!selection) return nullptr;
  return std::make_unique<Printer>(options, std::move(*selection));
}

}  // namespace rpcrdma::cli

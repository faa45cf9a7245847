// A whole capture file through all steps of every command: frames, events, operations, messages;
// each message and event through every writer and reassembly, the analysis through every writer of
// reports, read back and merged, and timelines.
#include "check_timelines.h"
#include "fuzz_check.h"
#include "mutate_capture.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include <rpcrdma/filter/filter.h>
#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/event_text.h>
#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/message_json.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/report/report_csv.h>
#include <rpcrdma/report/report_html.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/report_plots.h>
#include <rpcrdma/report/report_text.h>

namespace {

using namespace rpcrdma;
using fuzz::require;

constexpr std::uint64_t kMaxKeptBytes = std::uint64_t{64} << 20;

class Reader : public model::Observer, public trace_reader::Observer {
 public:
  explicit Reader(const model::ModelOptions& options)
      : analysis({.model = options, .observers = {this}, .event_observers = {this}}),
        context_(analysis.context()) {}

  void on_event(const trace_reader::Event& event) override {
    require(!report::event_line(event, {}).empty());
    require(!report::event_tree(event, context_).empty());
    const auto parsed = nlohmann::json::parse(report::event_json(event, context_));
    require(parsed["kind"] == "event" && parsed["fields"].contains("rpcrdma.trace.event"));
    require(event_filter_.matches(
        [&](decode::Sink& sink) { report::event_fields(event, context_, 0, sink); }));
  }

  void on_message(const model::MessageSeen& event) override {
    const model::Message& m = event.message;
    const model::Call* const call = event.call;
    require(m.id == last_id_ + 1);
    last_id_ = m.id;
    require(m.first_frame <= m.frame);
    require(m.bytes.size() <= m.wire_length);
    require((m.match_frame != 0) == (m.kind != model::Kind::kCall && call != nullptr));
    if (m.kind == model::Kind::kCall) {
      require(call != nullptr && &call->message == &m);
      require(open_.emplace(m.id, call).second);
    } else if (call != nullptr) {
      require(open_.count(call->message.id) == 1);
      require(m.xid == call->message.xid);
    }
    write(m, call);
  }

  void on_identified(const model::Call& call) override {
    require(open_.count(call.message.id) == 1);
    require(call.identified && call.message.rpc.known);
  }

  void on_call_end(const model::CallEnded& event) override {
    const model::Call& call = event.call;
    const model::Message* const answer = event.answer;
    const auto it = open_.find(call.message.id);
    require(it != open_.end() && it->second == &call);
    open_.erase(it);
    require((answer != nullptr) ==
            (call.ending == model::Ending::kReplied || call.ending == model::Ending::kError));
    write(call.message, &call);
    std::uint64_t held = 0;
    for (const model::CallChunk& chunk : call.chunks) {
      require(chunk.data.held() <= chunk.length);
      held += chunk.data.held();
      static_cast<void>(model::read_payload_length(call, chunk));
      if (answer != nullptr) static_cast<void>(model::result_payload_length(call, chunk, *answer));
    }
    require(held <= kMaxKeptBytes);
    static_cast<void>(model::rebuild_call(call));
    if (answer != nullptr) static_cast<void>(model::rebuild_reply(call, *answer));
    static_cast<void>(model::reduced_arguments(call));
  }

  void on_reply_read(const model::ReplyRead& event) override {
    const model::Call& call = event.call;
    require(call.reply.get() == &event.reply && call.own_segments <= call.segments.size());
    write(event.reply, &call);
    for (const model::CallChunk& chunk : call.chunks) {
      require(chunk.data.held() <= chunk.length);
      static_cast<void>(model::result_payload_length(call, chunk, event.reply));
    }
    static_cast<void>(model::rebuild_reply(call, event.reply));
  }

  [[nodiscard]] std::uint64_t messages() const { return last_id_; }
  [[nodiscard]] bool all_calls_ended() const { return open_.empty(); }

  report::Analysis analysis;

 private:
  void write(const model::Message& m, const model::Call* call) {
    require(!report::message_line(m, call, context_, {}).empty());
    require(!report::message_tree(m, call, context_).empty());
    report::write_message(json_, m, call, context_);
    const auto parsed = nlohmann::json::parse(json_.take());
    require(parsed["frame"] == m.frame && parsed["xid"] == m.xid);
  }

  const report::Context& context_;
  filter::Filter event_filter_ =
      *filter::compile("rpcrdma.trace.event || rpcrdma.trace.total > 1s");
  report::JsonWriter json_;
  std::uint64_t last_id_ = 0;
  std::unordered_map<std::uint64_t, const model::Call*> open_;
};

std::string json_of(const report::Report& r) {
  std::string text;
  report::write_json(r, [&](std::string_view piece) { text += piece; });
  return text;
}

// The report's texts may contain bytes of the capture: runs every writer.
void show(const report::Report& r) {
  std::string shown;
  const auto write = [&](std::string_view piece) { shown += piece; };
  report::write_text(r, {.colour = true, .all = true}, write);
  require(!shown.empty());
  shown.clear();
  report::write_html(r, {"capture", "0"}, write);
  require(!shown.empty());
  for (const report::Table table : report::kTables) {
    shown.clear();
    report::write_csv(r, table, write);
    require(!shown.empty());
  }
  static_cast<void>(report::report_plots(r, {}));
  static_cast<void>(report::report_plots(r, {.width = 40, .utf8 = false, .colour = true}));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return fuzz::mutate_capture(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto source = capture::open_memory({data, size});
  if (!source) return 0;
  model::ModelOptions options;
  options.keep_bytes = options.keep_chunks = true;
  options.max_kept_bytes = kMaxKeptBytes;
  Reader reader(options);
  session::Pipeline& pipeline = reader.analysis.pipeline();
  require(pipeline.run(**source, {}, 1).has_value());
  pipeline.finish();
  require(reader.all_calls_ended());

  reader.analysis.finish((*source)->stats());
  const report::Report& whole = reader.analysis.report();
  show(whole);
  const std::string json = json_of(whole);
  const auto again = report::read_json(json);
  require(again.has_value());
  require(json_of(*again) == json);
  // Without times of connections, it does not overlap.
  report::Report other = *again;
  ++other.capture.files;
  for (report::Connection& c : other.connections) c.first_ns = c.last_ns = 0;
  const auto twice = report::merge({other, whole});
  require(twice.has_value());
  show(*twice);
  const auto parsed = nlohmann::json::parse(json);
  std::uint64_t messages = 0;
  for (const auto& [key, value] : parsed["messages"].items()) {
    if (key != "types") messages += value.get<std::uint64_t>();
  }
  require(messages == reader.messages());
  require(parsed["packets"]["total"] == (*source)->stats().frames);
  fuzz::check_timelines(data, size);
  return 0;
}

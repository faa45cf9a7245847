// A whole capture file the way of every command: frames, operations, messages; each message by
// every writer and put together again, and the analysis of all.
#include "fuzz_check.h"
#include "mutate_capture.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/message_json.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/report_text.h>

namespace {

using namespace rpcrdma;
using fuzz::require;

constexpr std::uint64_t kMaxKeptBytes = std::uint64_t{64} << 20;

class Reader : public model::Observer {
 public:
  void set_pipeline(const report::Pipeline& pipeline) {
    context_ = {&pipeline.tracker(), &pipeline.model()};
    analysis.set_context(context_);
  }

  void on_message(const model::Message& m, const model::Call* call) override {
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
    analysis.on_message(m, call);
  }

  void on_identified(const model::Call& call) override {
    require(open_.count(call.message.id) == 1);
    require(call.identified && call.message.rpc.known);
  }

  void on_call_end(const model::Call& call, const model::Message* answer) override {
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
    analysis.on_call_end(call, answer);
  }

  [[nodiscard]] std::uint64_t messages() const { return last_id_; }
  [[nodiscard]] bool all_calls_ended() const { return open_.empty(); }

  report::Analysis analysis;

 private:
  void write(const model::Message& m, const model::Call* call) {
    require(!report::message_line(m, context_, {}).empty());
    require(!report::message_tree(m, call, context_).empty());
    report::write_message(json_, m, call, context_);
    const auto parsed = nlohmann::json::parse(json_.take());
    require(parsed["frame"] == m.frame && parsed["xid"] == m.xid);
  }

  report::Context context_;
  report::JsonWriter json_;
  std::uint64_t last_id_ = 0;
  std::unordered_map<std::uint64_t, const model::Call*> open_;
};

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return fuzz::mutate_capture(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto source = capture::open_memory({data, size});
  if (!source) return 0;
  Reader reader;
  model::ModelOptions options;
  options.keep_bytes = options.keep_chunks = true;
  options.max_kept_bytes = kMaxKeptBytes;
  report::Pipeline pipeline(reader, options);
  reader.set_pipeline(pipeline);
  require(pipeline.run(**source, {}, 1).has_value());
  pipeline.finish();
  require(reader.all_calls_ended());

  reader.analysis.finish(pipeline, (*source)->stats());
  std::string text;
  report::write_text(reader.analysis.report(), {.colour = true, .all = true},
                     [&](std::string_view piece) { text += piece; });
  require(!text.empty());
  std::string json;
  report::write_json(reader.analysis.report(), [&](std::string_view piece) { json += piece; });
  const auto parsed = nlohmann::json::parse(json);
  std::uint64_t messages = 0;
  for (const auto& [key, value] : parsed["messages"].items()) {
    if (key != "types") messages += value.get<std::uint64_t>();
  }
  require(messages == reader.messages());
  require(parsed["packets"]["total"] == (*source)->stats().frames);
  return 0;
}

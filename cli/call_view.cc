#include "call_view.h"

#include <fmt/core.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/report/message_text.h>

namespace rpcrdma::cli {

CallView::CallView() : session_({.model = {.keep_bytes = true}}, {.after_rules = {this}}) {}

void CallView::step(std::int64_t time_ns, int side, const std::string& what) {
  if (start_ns_ < 0) start_ns_ = time_ns;
  text_ += fmt::format("{:>9}  {}: {}\n", base::format_duration(time_ns - start_ns_),
                       side == 0 ? "client" : "server", what);
}

void CallView::on_cm(const roce::CmMessage& event) {
  if (event.connection == nullptr) return;
  const auto attribute = static_cast<wire::CmAttribute>(event.mad.header.attribute_id);
  step(event.meta.time_ns, event.sender, fmt::format("CM {}", wire::cm_name(attribute)));
  const bool recorded =
      attribute == wire::CmAttribute::kReq || attribute == wire::CmAttribute::kRep;
  const auto& data = event.connection->side[static_cast<std::size_t>(event.sender)].cm.private_data;
  if (recorded && !data.empty()) {
    decode::TextSink sink(text_, 1);
    decode::decode_private_data(data, sink);
  }
}

void CallView::on_message(const model::MessageSeen& event) {
  const model::Message& m = event.message;
  step(m.time_ns, m.sender,
       fmt::format("Send{}, {} bytes: {}", m.has_invalidate ? " With Invalidate" : "",
                   m.wire_length, model::kind_name(m.kind)));
  text_ += report::message_tree(m, event.call, session_.context());
}

void CallView::on_operation_end(const model::OperationSeen& event) {
  const roce::Operation& op = event.op;
  const model::Call* const call = event.call;
  std::string of = "memory that no Call advertised";
  if (call != nullptr) {
    const model::CallSegment& s = call->segments[event.segment];
    of = fmt::format("{} chunk {} segment {}", model::chunk_list_name(s.list),
                     call->chunks[s.chunk].index, s.index);
  }
  step(op.last_ns, op.initiator,
       fmt::format("RDMA {} of {} bytes, handle {:#010x}, {}{}",
                   op.kind == roce::OpKind::kRead ? "Read" : "Write", op.bytes, op.handle, of,
                   op.complete ? "" : ", not complete"));
}

void CallView::on_retransmission(const roce::Retransmission& event) {
  step(event.meta.time_ns, event.sender,
       fmt::format("{} retransmitted",
                   event.count == 1 ? "a packet is" : fmt::format("{} packets are", event.count)));
}

}  // namespace rpcrdma::cli

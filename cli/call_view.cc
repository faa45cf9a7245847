#include "call_view.h"

#include <fmt/core.h>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/stats/quantity.h>

namespace rpcrdma::cli {

model::ModelOptions CallView::keep() {
  model::ModelOptions options;
  options.keep_bytes = true;
  return options;
}

void CallView::step(std::int64_t time_ns, int side, const std::string& what) {
  if (start_ns_ < 0) start_ns_ = time_ns;
  text_ += fmt::format("{:>9}  {}: {}\n", stats::format_duration(time_ns - start_ns_),
                       side == 0 ? "client" : "server", what);
}

void CallView::on_cm(const roce::Connection* connection, int sender, const wire::CmMad& mad,
                     const roce::PacketMeta& meta) {
  if (connection == nullptr) return;
  const auto attribute = static_cast<wire::CmAttribute>(mad.header.attribute_id);
  step(meta.time_ns, sender, fmt::format("CM {}", wire::cm_name(attribute)));
  const bool recorded =
      attribute == wire::CmAttribute::kReq || attribute == wire::CmAttribute::kRep;
  const auto& data = connection->side[static_cast<std::size_t>(sender)].cm.private_data;
  if (recorded && !data.empty()) {
    decode::TextSink sink(text_, 1);
    decode::decode_private_data(data, sink);
  }
}

void CallView::on_message(const model::Message& m, const model::Call* call) {
  step(m.time_ns, m.sender,
       fmt::format("Send{}, {} bytes: {}", m.has_invalidate ? " With Invalidate" : "",
                   m.wire_length, model::kind_name(m.kind)));
  text_ += report::message_tree(m, call, {&pipeline_->connections(), &pipeline_->model()});
}

void CallView::on_operation_end(const roce::Connection& /*connection*/, const roce::Operation& op,
                                const model::Call* call, std::uint32_t segment) {
  std::string of = "memory that no Call offered";
  if (call != nullptr) {
    const model::CallSegment& s = call->segments[segment];
    of = fmt::format("{} chunk {} segment {}", model::chunk_list_name(s.list),
                     call->chunks[s.chunk].index, s.index);
  }
  step(op.last_ns, op.initiator,
       fmt::format("RDMA {} of {} bytes, handle {:#010x}, {}{}",
                   op.kind == roce::OpKind::kRead ? "Read" : "Write", op.bytes, op.handle, of,
                   op.complete ? "" : ", not complete"));
}

void CallView::on_retransmission(const roce::Connection& /*connection*/, int sender,
                                 std::uint64_t count, const roce::PacketMeta& meta) {
  step(meta.time_ns, sender,
       fmt::format("{} sent again",
                   count == 1 ? "a packet is" : fmt::format("{} packets are", count)));
}

}  // namespace rpcrdma::cli

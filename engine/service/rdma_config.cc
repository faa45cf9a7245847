#include "rdma_config.h"

#include "thresholds.h"

#include <algorithm>

namespace rpcrdma::service {
namespace {

constexpr std::uint32_t kResultBytes = 12;

void conf_rdma(Call& call) {
  const wire::Bytes bytes = call.arguments().opaque_fixed(kResultBytes);
  const auto request = wire::decode_rdmaconfig_request(bytes);
  if (!request || !call.arguments().at_end()) {
    (void)call.fail(CallError::kGarbageArgs);
    return;
  }
  const auto reply = call.configure(*request);
  if (!reply) {
    (void)call.fail(CallError::kSystemError);
    return;
  }
  std::array<std::uint8_t, kResultBytes> out{};
  (void)wire::encode_rdmaconfig(*reply, out);
  const protocol::Piece piece{out, nullptr, false};
  (void)call.reply({&piece, 1});
}

}  // namespace

RdmaConfigProgram::RdmaConfigProgram()
    : Program(wire::kRdmaConfigProgram, wire::kRdmaConfigVersion, "rdmaconfig",
              {{wire::kRdmaConfigProcConf, "CONF_RDMA", conf_rdma, {0, 0, kResultBytes}, true}}) {}

RdmaConfigCall::RdmaConfigCall(std::uint32_t threshold, const ConfigOptions& options)
    : header_(wire::kRdmaConfigProgram, wire::kRdmaConfigVersion, wire::kRdmaConfigProcConf) {
  (void)wire::encode_rdmaconfig(wire::RdmaConfigRequest{threshold, threshold, options.max_reads},
                                arguments_);
  pieces_ = {header_.piece(), protocol::Piece{arguments_, nullptr, false}};
}

protocol::CallSpec RdmaConfigCall::spec() const {
  protocol::CallSpec spec;
  spec.message = pieces_;
  spec.max_reply = kReplyHeaderBytes + kResultBytes;
  spec.first = true;
  return spec;
}

std::optional<wire::RdmaConfigReply> RdmaConfigCall::read(const protocol::CallOutcome& outcome) {
  ReplyReader reader(outcome);
  if (reader.status() != RpcStatus::kSuccess) return std::nullopt;
  const wire::Bytes bytes = reader.results().opaque_fixed(kResultBytes);
  const auto reply = wire::decode_rdmaconfig_reply(bytes);
  if (!reply || !reader.results().at_end()) return std::nullopt;
  return *reply;
}

void configure_client(const wire::RdmaConfigReply& reply, std::uint32_t threshold,
                      const ConfigOptions& options, protocol::Terms& terms) {
  terms.inline_send = std::clamp(reply.maxcall_sendsize, kLeastThreshold, threshold);
  // A server does not state how much it sends inline: longer Replies get a Reply chunk, which it
  // need not use.
  terms.inline_receive = terms.inline_send;
  // An alignment that no Receive could hold is ignored.
  terms.padding = {reply.align <= protocol::kMaxAlign ? reply.align : 0, options.thresh, 0};
  terms.max_reads = reply.maxrdmaread;
  // Neither does the client send Read chunks if it permits no Read itself.
  terms.peer_reads = reply.maxrdmaread != 0 && options.max_reads != 0;
}

void configure_server(const wire::RdmaConfigRequest& request, std::uint32_t threshold,
                      protocol::Terms& terms) {
  terms.inline_send = std::clamp(request.maxreply_sendsize, kLeastThreshold, threshold);
  terms.inline_receive = threshold;
  terms.max_reads = request.maxrdmaread;
}

wire::RdmaConfigReply answer(std::uint32_t threshold, const ConfigOptions& options) {
  return {threshold, options.align, options.max_reads};
}

}  // namespace rpcrdma::service

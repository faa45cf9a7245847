#include "scenes.h"

namespace rpcrdma::hostile {

namespace {

Message done(std::uint32_t xid) {
  Message m = scenes::call(xid, {});
  m.proc = wire::Proc::kDone;
  return m;
}

Message padded_call(std::uint32_t xid) {
  Message m = scenes::call(xid);
  m.proc = wire::Proc::kMsgp;
  m.align = 64;
  m.thresh = 512;
  return m;
}

// CONF_RDMA (RFC 5666 section 6.2).
Message configuration_call(std::uint32_t xid) {
  constexpr std::uint32_t kConfiguration = 100417;
  return scenes::call(xid, scenes::rpc_call(xid, kConfiguration, 1, 1,
                                            scenes::Xdr().u32(4096).u32(4096).u32(8).bytes()));
}

}  // namespace

void add_deprecated_scenes(Matrix& to) {
  to.push_back({.rule = "DEP-01",
                .did = "sends an RDMA_MSGP",
                .answer = "ERR_CHUNK",
                .server = client_sends(padded_call(2))});
  to.push_back({.rule = "DEP-01",
                .did = "sends an RDMA_DONE",
                .answer = "ignored",
                .server = client_sends(done(2))});
  to.push_back({.rule = "DEP-01",
                .did = "answers by an RDMA_MSGP",
                .answer = "its Call ends, bad Reply: it is neither RDMA_MSG nor RDMA_NOMSG",
                .client = server_answers([](const Message& c) {
                  Message reply = padded_call(c.xid);
                  reply.rpc = scenes::reply(c.xid).rpc;
                  return reply;
                })});
  to.push_back({.rule = "DEP-02",
                .did = "calls the Connection Configuration Protocol",
                .answer = "Reply, PROG_UNAVAIL",
                .server = client_sends(configuration_call(2))});
}

}  // namespace rpcrdma::hostile

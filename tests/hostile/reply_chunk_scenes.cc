#include "scenes.h"

namespace rpcrdma::hostile {

namespace {

// A READDIR whose Reply goes into the Reply chunk, modified by `change`.
auto long_reply(const std::function<void(Message& reply)>& change) {
  return [=](AgainstClient& s) {
    s.accept();
    s.exchange();
    const Message call = s.readdir(8000);
    const Bytes rpc = scenes::nfs3::readdir_reply(call.xid, 2000);
    Message reply = AgainstClient::reply_to(call, {});
    reply.proc = wire::Proc::kNomsg;
    reply.reply_chunk = call.reply_chunk;
    s.write(reply.reply_chunk->front(), rpc);
    reply.reply_chunk->front().length = static_cast<std::uint32_t>(rpc.size());
    change(reply);
    s.send(reply);
  };
}

auto call_with(const std::function<std::vector<wire::Segment>(AgainstServer& s)>& reply_chunk) {
  return [=](AgainstServer& s) {
    s.connect();
    s.exchange();
    Message call = scenes::call(2, scenes::nfs3::readdir_call(2, 2000));
    call.reply_chunk = reply_chunk(s);
    s.send(call);
  };
}

}  // namespace

void add_reply_chunk_scenes(Matrix& to) {
  to.push_back({.rule = "RP-01",
                .did = "returns the Reply chunk with another offset",
                .answer = "its Call ends, bad Reply: a returned segment has another offset",
                .client = long_reply([](Message& r) { r.reply_chunk->front().offset += 8; })});
  to.push_back(
      {.rule = "RP-01",
       .did = "returns a Reply chunk that was not offered",
       .answer = "its Call ends, bad Reply: a Reply chunk that was not offered was returned",
       .client = server_answers([](const Message& c) {
         Message reply = AgainstClient::reply_to(c);
         reply.reply_chunk = std::vector<wire::Segment>{{0x100, 0, 0x1000}};
         return reply;
       })});
  to.push_back({.rule = "RP-02",
                .did = "sends an RDMA_NOMSG whose Reply chunk is returned empty",
                .answer = "its Call ends, bad Reply: an RDMA_NOMSG has nothing in a Reply chunk",
                .client = long_reply([](Message& r) { r.reply_chunk->front().length = 0; })});
  to.push_back({.rule = "RP-03",
                .did = "sends an RDMA_MSG that says that its Reply chunk was written",
                .answer = "its Call ends, bad Reply: an RDMA_MSG reports its Reply chunk as "
                          "written",
                .client = long_reply([](Message& r) {
                  r.proc = wire::Proc::kMsg;
                  r.rpc = scenes::nfs3::readdir_reply(r.xid, 200);
                })});
  to.push_back(
      {.rule = "RP-04",
       .did = "sends a Reply of 1,552 bytes inline, although 1,024 are allowed, to a Call "
              "without a Reply chunk",
       .answer = "its Call is answered",
       .client = [](AgainstClient& s) {
         s.accept({.private_data = {}});
         s.exchange();
         const Message call = s.call();
         s.send(AgainstClient::reply_to(call, scenes::rpc_reply(call.xid, Bytes(1500, 0x22))));
       }});
  to.push_back({.rule = "RP-05",
                .did = "advertises a Reply chunk with an empty segment",
                .answer = "ERR_CHUNK",
                .server = call_with([](AgainstServer& s) {
                  return std::vector<wire::Segment>{s.advertise(4096), {0x101, 0, 0x3000}};
                })});
  to.push_back({.rule = "RP-05",
                .did = "advertises a Reply chunk without segments",
                .answer = "ERR_CHUNK",
                .server = call_with([](AgainstServer&) { return std::vector<wire::Segment>{}; })});
}

}  // namespace rpcrdma::hostile

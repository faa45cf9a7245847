// Scenes that break the rules about the transport header: sizes, versions, procedures, lists and
// XIDs.
#include "scenes.h"

namespace rpcrdma::hostile {

namespace {

using scenes::encode;

constexpr fabric::Time kLong = 2000 * fabric::kMillisecond;

Message with_record_mark(Message m) {
  const auto length = static_cast<std::uint32_t>(m.rpc.size());
  Bytes marked = scenes::Xdr().u32(0x80000000 | length).bytes();
  marked.insert(marked.end(), m.rpc.begin(), m.rpc.end());
  m.rpc = marked;
  return m;
}

// A Call in its Position Zero Read chunk.
auto long_call_of(const Bytes& rpc, const Bytes& behind = {}) {
  return [=](AgainstServer& s) {
    s.connect();
    s.exchange();
    std::copy(rpc.begin(), rpc.end(), s.memory());
    Message m = scenes::call(2, behind);
    m.proc = wire::Proc::kNomsg;
    m.reads = {{0, s.advertise(static_cast<std::uint32_t>(rpc.size()))}};
    s.send(m);
  };
}

// A Reply in the Reply chunk, modified by `change`.
auto long_reply(const std::function<void(Bytes& rpc)>& change) {
  return [=](AgainstClient& s) {
    s.accept();
    s.exchange();
    const Message call = s.readdir(8000);
    Bytes rpc = scenes::nfs3::readdir_reply(call.xid, 2000);
    change(rpc);
    Message m = AgainstClient::reply_to(call, {});
    m.proc = wire::Proc::kNomsg;
    m.reply_chunk = call.reply_chunk;
    s.write(m.reply_chunk->front(), rpc);
    m.reply_chunk->front().length = static_cast<std::uint32_t>(rpc.size());
    s.send(m);
  };
}

void add_fixed_part(Matrix& to) {
  to.push_back({.rule = "HDR-01",
                .did = "sends 12 bytes",
                .answer = "ignored",
                .server = client_sends(Bytes(12))});
  to.push_back({.rule = "HDR-01",
                .did = "sends 12 bytes, and then the Reply",
                .answer = "ignored; its Call is answered",
                .client = server_first_sends([](const Message&) { return Bytes(12); })});
  to.push_back({.rule = "HDR-03",
                .did = "sends a Call of version 9",
                .answer = "ERR_VERS, versions 1 to 2",
                .server = client_sends(with_byte(scenes::call(2), 7, 9))});
  to.push_back({.rule = "HDR-03",
                .did = "answers in version 9",
                .answer = "its Call ends, bad Reply: rdma_vers is not the Call's",
                .client = server_answers(
                    [](const Message& c) { return with_byte(AgainstClient::reply_to(c), 7, 9); })});
  to.push_back({.rule = "HDR-04",
                .did = "answers a Call of version 1 in version 2",
                .answer = "its Call ends, bad Reply: rdma_vers is not the Call's",
                .client = server_answers([](const Message& c) {
                  return encode(scenes::version2(AgainstClient::reply_to(c)));
                })});
  to.push_back({.rule = "HDR-05",
                .did = "sends a Call whose rdma_proc is 7",
                .answer = "ERR_CHUNK",
                .server = client_sends(with_byte(scenes::call(2), 15, 7))});
  to.push_back({.rule = "HDR-05",
                .did = "answers with an rdma_proc of 7",
                .answer = "its Call ends, bad Reply: rdma_proc is not one of 0..4",
                .client = server_answers([](const Message& c) {
                  return with_byte(AgainstClient::reply_to(c), 15, 7);
                })});
  to.push_back({.rule = "HDR-06",
                .did = "sends a Call with a marker of its Read list that is neither 0 nor 1",
                .answer = "ERR_CHUNK",
                .server = client_sends(with_byte(scenes::call(2), 16, 0xff))});
  to.push_back({.rule = "HDR-06",
                .did = "sends a Call whose Write list is cut short",
                .answer = "ERR_CHUNK",
                .server = [](AgainstServer& s) {
                  s.connect();
                  s.exchange();
                  Message call = scenes::call(2, {});
                  call.writes = {{{1, 64, 0}}};
                  Bytes content = encode(call);
                  content.resize(content.size() - 16);
                  s.send(content);
                }});
  to.push_back({.rule = "HDR-06",
                .did = "answers with a marker of its Read list that is neither 0 nor 1",
                .answer = "its Call ends, bad Reply: optional marker is not 0 or 1",
                .client = server_answers([](const Message& c) {
                  return with_byte(AgainstClient::reply_to(c), 16, 0xff);
                })});
}

void add_payload(Matrix& to) {
  to.push_back({.rule = "HDR-07",
                .did = "sends an RDMA_MSG with nothing behind its header",
                .answer = "ERR_CHUNK",
                .server = client_sends(scenes::call(2, {}))});
  to.push_back({.rule = "HDR-07",
                .did = "sends an RDMA_NOMSG with 8 bytes behind its header",
                .answer = "ERR_CHUNK",
                .server = long_call_of(scenes::call(2).rpc, Bytes(8))});
  to.push_back(
      {.rule = "HDR-07",
       .did = "answers by an RDMA_MSG with nothing behind its header",
       .answer = "its Call ends, bad Reply: the stream ends before the XID and msg_type do",
       .client = server_answers(
           [](const Message& c) { return encode(AgainstClient::reply_to(c, {})); })});
  to.push_back({.rule = "HDR-08",
                .did = "puts a record mark in front of its Call",
                .answer = "ERR_CHUNK",
                .server = client_sends(with_record_mark(scenes::call(2)))});
  to.push_back({.rule = "HDR-08",
                .did = "puts a record mark in front of its Call, in the Position Zero Read chunk",
                .answer = "ERR_CHUNK",
                .server = long_call_of(
                    with_record_mark(scenes::call(2, scenes::nfs3::getattr_call(2))).rpc)});
  to.push_back({.rule = "HDR-08",
                .did = "puts a record mark in front of its Reply",
                .answer = "its Call ends, bad Reply: the RPC message has another XID",
                .client = server_answers([](const Message& c) {
                  return encode(with_record_mark(AgainstClient::reply_to(c)));
                })});
  to.push_back({.rule = "HDR-08",
                .did = "puts a record mark in front of its Reply, in the Reply chunk",
                .answer = "its Call ends, bad Reply: the RPC message has another XID",
                .client = long_reply(
                    [](Bytes& rpc) { rpc = with_record_mark(scenes::reply(0, rpc)).rpc; })});
}

// A Call whose credential, AUTH_SYS, has three bytes of roundup, which are not zero.
Bytes with_nonzero_roundup() {
  scenes::Xdr rpc;
  rpc.u32(2).u32(0).u32(2).u32(scenes::kPlainProgram).u32(1).u32(1).u32(1).opaque(Bytes(21));
  Bytes bytes = rpc.bytes();
  bytes.back() = 0xaa;
  const Bytes verifier(8);
  bytes.insert(bytes.end(), verifier.begin(), verifier.end());
  return bytes;
}

void add_roundup(Matrix& to) {
  to.push_back({.rule = "HDR-12",
                .did = "sends a Call with roundup that is not zero",
                .answer = "Reply, SUCCESS",
                .server = client_sends(scenes::call(2, with_nonzero_roundup()))});
}

void add_xid(Matrix& to) {
  to.push_back({.rule = "HDR-02",
                .did = "sends a Call with another XID in its header than in its RPC message",
                .answer = "ERR_CHUNK",
                .server = client_sends(scenes::call(2, scenes::call(3).rpc))});
  to.push_back({.rule = "HDR-02",
                .did = "sends such a Call in a Position Zero Read chunk",
                .answer = "ERR_CHUNK",
                .server = long_call_of(scenes::call(3).rpc)});
  to.push_back({.rule = "HDR-02",
                .did = "answers with another XID in the RPC message",
                .answer = "its Call ends, bad Reply: the RPC message has another XID",
                .client = server_answers([](const Message& c) {
                  return encode(AgainstClient::reply_to(c, scenes::rpc_reply(c.xid + 1)));
                })});
  to.push_back({.rule = "HDR-09",
                .did = "sends two Calls with one XID before the first is answered",
                .answer = "Reply, SUCCESS; Reply, SUCCESS",
                .server = [](AgainstServer& s) {
                  s.connect();
                  s.exchange();
                  s.send(scenes::call(2));
                  s.send(scenes::call(2));
                }});
  to.push_back({.rule = "HDR-09",
                .did = "sends two reverse Calls with one XID before the first is answered",
                .answer = "Reply, SUCCESS; Reply, SUCCESS",
                .client =
                    [](AgainstClient& s) {
                      s.accept();
                      s.exchange();
                      s.send(scenes::call(2));
                      (void)s.next();
                      s.send(scenes::call(3));
                      s.send(scenes::call(3));
                    },
                .serves = true});
}

void add_answers(Matrix& to) {
  to.push_back({.rule = "HDR-10",
                .did = "sends a Reply that no Call waits for, and then the right one",
                .answer = "ignored; its Call is answered",
                .client = server_first_sends([](const Message& c) {
                  Message other = c;
                  other.xid += 7;
                  return AgainstClient::reply_to(other);
                })});
  to.push_back(
      {.rule = "HDR-10",
       .did = "answers a Call twice",
       .answer = "ignored; its Call is answered",
       .client = server_first_sends([](const Message& c) { return AgainstClient::reply_to(c); })});
  to.push_back({.rule = "HDR-10",
                .did = "never answers a Call that may take two seconds",
                .answer = "its Call ends, timed out: no Reply in time; connection ended: a Call "
                          "timed out",
                .client = [](AgainstClient& s) {
                  s.accept();
                  s.exchange();
                  (void)s.call({.rpc = scenes::call(0).rpc, .timeout = kLong});
                  s.exchange();
                  s.run_for(kLong);
                }});
  to.push_back({.rule = "HDR-10",
                .did = "sends a Reply although no Call was sent in that direction",
                .answer = "ignored",
                .server = client_sends(scenes::reply(2))});
}

}  // namespace

void add_header_scenes(Matrix& to) {
  add_fixed_part(to);
  add_payload(to);
  add_roundup(to);
  add_xid(to);
  add_answers(to);
}

}  // namespace rpcrdma::hostile

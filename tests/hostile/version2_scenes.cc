// Scenes that break the rules of version 2.
#include "scenes.h"

#include <rpcrdma/protocol/options.h>

namespace rpcrdma::hostile {

namespace {

using scenes::encode;
using scenes::version2;
using wire::RdmaErr;

Message error(std::uint32_t xid, RdmaErr code) {
  Message m = version2(scenes::err_chunk(xid));
  m.error = code;
  return m;
}

auto client_sends_2(Bytes content) {
  return [content](AgainstServer& s) {
    s.version = 2;
    client_sends(content)(s);
  };
}
auto client_sends_2(const Message& message) {
  return client_sends_2(encode(message));
}

HostileScene of_client(const char* rule, const std::string& did, const std::string& answer,
                       const std::function<void(AgainstClient&)>& client) {
  return {.rule = rule,
          .did = did,
          .answer = answer,
          .client = client,
          .client_options = HostileScene::one_version(2)};
}

// An NFS READ with a valid Reply that `change` modifies.
auto nfs_read(const std::function<void(Message& reply, const Message& call)>& change) {
  return [=](AgainstClient& s) {
    const Message call = s.begin_with_read(kLongCount);
    s.write(call.writes[0][0], scenes::pattern(kLongCount));
    Message reply =
        AgainstClient::reply_to(call, scenes::nfs3::read_reply(call.xid, kLongCount).rpc);
    reply.writes = call.writes;
    change(reply, call);
    s.send(reply);
  };
}

void add_headers(Matrix& to) {
  to.push_back({.rule = "V2-01",
                .did = "sends an RDMA2_MSG with nothing behind its header",
                .answer = "RDMA2_ERR_BAD_XDR",
                .server = client_sends_2(version2(scenes::call(2, {})))});
  to.push_back(of_client("V2-01", "sends an RDMA2_ERROR with 8 bytes behind it",
                         "its Call ends, ERR_CHUNK: the peer could not read the header",
                         server_answers([](const Message& c) {
                           Message m = error(c.xid, RdmaErr::kChunk);
                           m.rpc = Bytes(8);
                           return m;
                         })));
  Message reversed = version2(scenes::call(2));
  reversed.direction = wire::MsgType::kReply;
  to.push_back({.rule = "V2-02",
                .did = "sends a Call whose rdma_direction is REPLY",
                .answer = "ignored",
                .server = client_sends_2(reversed)});
  to.push_back(of_client("V2-02",
                         "sends a Reply whose rdma_direction is CALL, and then the right one",
                         "ignored; its Call is answered", server_first_sends([](const Message& c) {
                           Message m = AgainstClient::reply_to(c);
                           m.direction = wire::MsgType::kCall;
                           return m;
                         })));
  Message foreign = version2(scenes::call(2));
  foreign.inv_handle = 0x999;
  to.push_back({.rule = "V2-03",
                .did = "names an rdma_inv_handle that does not belong to its Call",
                .answer = "RDMA2_ERR_BAD_XDR",
                .server = client_sends_2(foreign)});
  to.push_back(of_client("V2-04", "does not copy rdma_inv_handle into its Reply",
                         "its Call ends, bad Reply: rdma_inv_handle is not the Call's",
                         nfs_read([](Message& r, const Message&) { r.inv_handle = 0; })));
  HostileScene unasked = of_client(
      "V2-04", "invalidates a handle, though rdma_inv_handle of the Call is zero",
      "connection ended: a Reply invalidated a handle that is not its Call's",
      nfs_read([](Message& r, const Message& c) { r.invalidate = c.writes[0][0].handle; }));
  unasked.client_options.remote_invalidation = false;
  to.push_back(unasked);
}

void add_negotiation(Matrix& to) {
  to.push_back({.rule = "V2-05",
                .did = "sends a first message of version 2 of 1,568 bytes",
                .answer = "Reply, SUCCESS",
                .server = [](AgainstServer& s) {
                  s.version = 2;
                  s.connect({.private_data = {}});
                  s.send(version2(long_call(2, 1500)));
                }});
  to.push_back({.rule = "V2-05",
                .did = "sends a message of version 2 longer than any Receive",
                .answer = "connection ended: Receive failed: local length",
                .server =
                    [](AgainstServer& s) {
                      s.version = 2;
                      s.connect({.private_data = {}});
                      s.exchange();
                      s.send(version2(long_call(2, 5000)));
                    },
                .not_in_recording = "its device refused the message"});
  to.push_back({.rule = "V2-06",
                .did = "sends two Calls of version 2 before the first Reply",
                .answer = "connection ended: the peer sent more Calls than it was granted credits",
                .server = [](AgainstServer& s) {
                  s.version = 2;
                  s.connect();
                  for (std::uint32_t xid = 2; xid <= 3; ++xid) s.send(version2(sleeping_call(xid)));
                  s.run_for(10 * fabric::kMillisecond);
                }});
  service::ServerOptions one;
  one.version.versions = {1, 1};
  to.push_back({.rule = "V2-07",
                .did = "continues in version 2 after an ERR_VERS that offers version 1",
                .answer = "RDMA2_ERR_VERS, versions 1 to 1",
                .server =
                    [](AgainstServer& s) {
                      s.connect();
                      s.send(version2(scenes::call(2)));
                      (void)s.next();
                      s.send(version2(scenes::call(3)));
                    },
                .server_options = one});
}

Message read_call(AgainstServer& s) {
  Message call = version2(scenes::call(2, scenes::nfs3::read_call(2, kLongCount)));
  call.writes = {{s.advertise(1000)}};
  return call;
}

void add_errors(Matrix& to) {
  to.push_back({.rule = "V2-08",
                .did = "sends a message whose rdma_proc is 9",
                .answer = "RDMA2_ERR_INVAL_PROC",
                .server = client_sends_2(with_byte(version2(scenes::call(2)), 15, 9))});
  to.push_back({.rule = "V2-08",
                .did = "sends a message with a marker of its Read list that is neither 0 nor 1",
                .answer = "RDMA2_ERR_BAD_XDR",
                .server = client_sends_2(with_byte(version2(scenes::call(2)), 24, 0xff))});
  to.push_back(of_client("V2-08", "answers an option with INVAL_PROC, which is about its rdma_proc",
                         "its Call ends, INVAL_PROC: the peer does not support the message type",
                         [](AgainstClient& s) {
                           s.accept();
                           s.exchange();
                           protocol::OptionSpec option;
                           option.type = 99;
                           EXPECT_TRUE(s.client->option(option));
                           s.send(error(s.next_message().xid, RdmaErr::kInvalProc));
                         }));
  to.push_back(of_client("V2-09", "sends CANT_REPLY for segment 5 of a Call that has one",
                         "its Call ends, CANT_REPLY: the Reply does not fit into the chunks that "
                         "the Call offered",
                         [](AgainstClient& s) {
                           s.accept();
                           s.exchange();
                           Message m = error(s.read(kLongCount).xid, RdmaErr::kCantReply);
                           m.segment_index = 5;
                           m.length_needed = 9000;
                           s.send(m);
                         }));
  to.push_back({.rule = "V2-10",
                .did = "resends a Call after CANT_REPLY without advertising more memory",
                .answer = "RDMA2_ERR_CANT_REPLY, segment 1 should have 8000 bytes",
                .server = [](AgainstServer& s) {
                  s.version = 2;
                  s.connect();
                  s.exchange();
                  s.send(read_call(s));
                  (void)s.next();
                  s.send(read_call(s));
                }});
  to.push_back(of_client("V2-11", "sends CANT_REPLY whose rdma_processed is 2",
                         "its Call ends, bad Reply: rdma_processed is not TRUE or FALSE",
                         server_answers([](const Message& c) {
                           return with_byte(error(c.xid, RdmaErr::kCantReply), 23, 2);
                         })));
  to.push_back(of_client("V2-11",
                         "sends an RDMA2_ERR_VERS whose lowest version is above the highest",
                         "its Call ends, ERR_VERS: the peer supports none of our versions",
                         server_answers([](const Message& c) {
                           Message m = error(c.xid, RdmaErr::kVers);
                           m.vers_low = 3;
                           m.vers_high = 2;
                           return m;
                         })));
}

}  // namespace

void add_version2_scenes(Matrix& to) {
  add_headers(to);
  add_negotiation(to);
  add_errors(to);
}

}  // namespace rpcrdma::hostile

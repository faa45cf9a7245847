// Scenes that break the rules about Calls in the reverse direction, and repeat others there.
#include "scenes.h"

namespace rpcrdma::hostile {

namespace {

using service::echo::Proc;

service::ServerOptions calling_back() {
  service::ServerOptions options;
  options.reverse_credits = 8;
  return options;
}

service::ClientOptions granting_one() {
  service::ClientOptions options = HostileScene::one_version(1);
  options.reverse.credits = 1;
  return options;
}

// Announces that our client accepts reverse Calls.
void create_session(AgainstClient& s) {
  const Message call = s.call({.rpc = scenes::nfs4::create_session_call(0)});
  s.send(AgainstClient::reply_to(call, scenes::nfs4::create_session_reply(call.xid)));
  s.run_for(fabric::kMillisecond);
}

void add_credits_and_versions(Matrix& to) {
  to.push_back({.rule = "BI-01",
                .did = "has two reverse Calls in flight with one granted, as many as it "
                       "grants itself",
                .answer = "its Call is answered; connection ended: the peer sent more Calls than "
                          "it was granted credits",
                .client =
                    [](AgainstClient& s) {
                      s.accept();
                      create_session(s);
                      s.send(scenes::call(0x51));
                      (void)s.next();
                      s.send(sleeping_call(0x52));
                      s.send(sleeping_call(0x53));
                      s.run_for(10 * fabric::kMillisecond);
                    },
                .client_options = granting_one(),
                .serves = true});
  to.push_back({.rule = "BI-02",
                .did = "sends a reverse Call of version 2 although forward Calls are of version 1",
                .answer = "RDMA2_ERR_VERS, versions 1 to 1; its Call is answered",
                .client =
                    [](AgainstClient& s) {
                      s.accept();
                      create_session(s);
                      s.send(scenes::version2(scenes::call(0x51)));
                    },
                .serves = true});
  to.push_back({.rule = "HDR-04",
                .did = "answers a reverse Call of version 1 in version 2",
                .answer = "its reverse Calls: 0 answered, 0 wrong, 1 failed",
                .server =
                    [](AgainstServer& s) {
                      s.connect();
                      const Message call = s.ask_for_reverse_calls(Proc::kNull, 0);
                      s.send(
                          scenes::version2(scenes::reply(call.xid, scenes::rpc_reply(call.xid))));
                      s.wait_for_reverse_calls();
                    },
                .server_options = calling_back()});
  to.push_back({.rule = "FC-02",
                .did = "grants nothing to reverse Calls",
                .answer = "its reverse Calls: 1 answered, 0 wrong, 0 failed",
                .server =
                    [](AgainstServer& s) {
                      s.connect();
                      const Message call = s.ask_for_reverse_calls(Proc::kNull, 0);
                      Message reply = scenes::reply(call.xid, scenes::rpc_reply(call.xid));
                      reply.credit = 0;
                      s.send(reply);
                      s.wait_for_reverse_calls();
                    },
                .server_options = calling_back()});
  const auto wrong_type = [](Message m) {
    m.rpc[7] = 7;
    return m;
  };
  to.push_back({.rule = "BI-03",
                .did = "sends an RPC message whose msg_type is 7",
                .answer = "ERR_CHUNK",
                .server = client_sends(wrong_type(scenes::call(2)))});
  to.push_back({.rule = "BI-03",
                .did = "answers by an RPC message whose msg_type is 7",
                .answer = "its Call ends, bad Reply: msg_type is not REPLY",
                .client = server_answers([wrong_type](const Message& c) {
                  return wrong_type(AgainstClient::reply_to(c));
                })});
}

void add_readiness(Matrix& to) {
  to.push_back({.rule = "BI-04",
                .did = "does not answer a reverse Call with chunks, while it makes Calls itself",
                .answer = "connection ended: a Call timed out",
                .server =
                    [](AgainstServer& s) {
                      s.connect();
                      (void)s.ask_for_reverse_calls(Proc::kSink, 50'000);
                      s.exchange();
                      s.run_for(31 * fabric::kSecond);
                    },
                .server_options = calling_back()});
  to.push_back({.rule = "BI-05",
                .did = "makes a reverse Call before the client has created a session",
                .answer = "Reply, PROG_UNAVAIL; its Call is answered",
                .client =
                    [](AgainstClient& s) {
                      s.accept();
                      const Message call = s.call({.rpc = scenes::nfs4::getattr_call(0)});
                      s.send(AgainstClient::reply_to(call, scenes::nfs4::getattr_reply(call.xid)));
                      s.send(scenes::call(0x51, scenes::nfs4::callback_call(0x51)));
                    },
                .serves = true});
  to.push_back({.rule = "BI-06",
                .did = "has no Receive for the reverse Calls that it requested",
                .answer = "its reverse Calls: 1 answered, 0 wrong, 0 failed",
                .server =
                    [](AgainstServer& s) {
                      s.connect({.receives = 1});
                      s.ask(Proc::kNull, 0);
                      s.run_for(20 * fabric::kMillisecond);
                      s.post_receives(AgainstServer::kReceives);
                      const Message call = s.next_reverse_call();
                      s.send(scenes::reply(call.xid, scenes::rpc_reply(call.xid)));
                      s.wait_for_reverse_calls();
                    },
                .server_options = calling_back(),
                .not_in_recording = "only its device sees RNR NAKs"});
  to.push_back({.rule = "BI-07",
                .did = "connects to its client to resend a reverse Call",
                .answer = "Reply, SUCCESS; its Call is answered",
                .client =
                    [](AgainstClient& s) {
                      s.listen();
                      s.accept();
                      create_session(s);
                      const Message call = sleeping_call(0x51);
                      s.send(call);
                      s.run_for(fabric::kMillisecond);
                      s.disconnect();
                      s.connect();
                      s.send(call);
                      s.run_for(10 * fabric::kMillisecond);
                    },
                .serves = true});
}

// Our client, as a responder, checks the rules for forward Calls on reverse Calls, too.
void add_bad_calls(Matrix& to) {
  const auto reverse_call = [](const std::function<Bytes(AgainstClient & s)>& make) {
    return [make](AgainstClient& s) {
      s.accept();
      s.exchange();
      s.send(make(s));
    };
  };
  to.push_back(
      {.rule = "HDR-05",
       .did = "sends a reverse Call whose rdma_proc is 7",
       .answer = "ERR_CHUNK",
       .client = reverse_call([](AgainstClient&) { return with_byte(scenes::call(0x51), 15, 7); }),
       .serves = true});
  to.push_back(
      {.rule = "HDR-06",
       .did = "sends a reverse Call with a marker of its Read list that is neither 0 nor 1",
       .answer = "ERR_CHUNK",
       .client =
           reverse_call([](AgainstClient&) { return with_byte(scenes::call(0x51), 16, 0xff); }),
       .serves = true});
  to.push_back({.rule = "RD-02",
                .did = "names a Position of 42 in a reverse Call",
                .answer = "ERR_CHUNK",
                .client = reverse_call([](AgainstClient& s) {
                  Message m = scenes::call(0x51);
                  m.reads = {{42, s.advertise(8)}};
                  return scenes::encode(m);
                }),
                .serves = true});
  to.push_back({.rule = "FC-03",
                .did = "sends two reverse Calls before its first Reply",
                .answer = "connection ended: the peer sent more Calls than it was granted credits",
                .client =
                    [](AgainstClient& s) {
                      s.accept();
                      s.exchange();
                      s.send(sleeping_call(0x51));
                      s.send(sleeping_call(0x52));
                      s.run_for(10 * fabric::kMillisecond);
                    },
                .serves = true});
}

// Our server, as a requester, checks the rules for forward Replies on reverse Replies, too.
void add_bad_replies(Matrix& to) {
  const auto answers =
      [](Proc proc, std::uint32_t bytes,
         const std::function<Message(AgainstServer & s, const Message& call)>& make) {
        return [=](AgainstServer& s) {
          s.connect();
          const Message call = s.ask_for_reverse_calls(proc, bytes);
          s.send(make(s, call));
          s.wait_for_reverse_calls();
        };
      };
  const auto reply_to = [](const Message& call) {
    return AgainstClient::reply_to(call, scenes::rpc_reply(call.xid));
  };
  const char* const failed = "its reverse Calls: 0 answered, 0 wrong, 1 failed";
  to.push_back({.rule = "HDR-02",
                .did = "answers a reverse Call with another XID in the RPC message",
                .answer = failed,
                .server = answers(Proc::kNull, 0,
                                  [](AgainstServer&, const Message& call) {
                                    return AgainstClient::reply_to(call,
                                                                   scenes::rpc_reply(call.xid + 1));
                                  }),
                .server_options = calling_back()});
  to.push_back({.rule = "RD-01",
                .did = "answers a reverse Call with a Read chunk",
                .answer = failed,
                .server = answers(Proc::kNull, 0,
                                  [reply_to](AgainstServer& s, const Message& call) {
                                    Message reply = reply_to(call);
                                    reply.reads = {{24, s.advertise(100)}};
                                    return reply;
                                  }),
                .server_options = calling_back()});
  to.push_back({.rule = "WR-02",
                .did = "answers a reverse Call with another handle in its Write list",
                .answer = failed,
                .server = answers(Proc::kSource, 50'000,
                                  [reply_to](AgainstServer&, const Message& call) {
                                    Message reply = reply_to(call);
                                    ++reply.writes.at(0).at(0).handle;
                                    return reply;
                                  }),
                .server_options = calling_back()});
  to.push_back({.rule = "ERR-03",
                .did = "answers a reverse Call with an RDMA_ERROR whose code is 9",
                .answer = failed,
                .server =
                    [](AgainstServer& s) {
                      s.connect();
                      const Message call = s.ask_for_reverse_calls(Proc::kNull, 0);
                      s.send(with_byte(scenes::err_chunk(call.xid), 19, 9));
                      s.wait_for_reverse_calls();
                    },
                .server_options = calling_back()});
  to.push_back({.rule = "HDR-10",
                .did = "answers a reverse Call twice",
                .answer = "its reverse Calls: 1 answered, 0 wrong, 0 failed",
                .server =
                    [reply_to](AgainstServer& s) {
                      s.connect();
                      const Message call = s.ask_for_reverse_calls(Proc::kNull, 0);
                      s.send(reply_to(call));
                      s.send(reply_to(call));
                      s.wait_for_reverse_calls();
                    },
                .server_options = calling_back()});
  to.push_back(
      {.rule = "INL-03",
       .did = "sends a Reply to a reverse Call that is longer than a Call may be",
       .answer = "its reverse Calls: 0 answered, 1 wrong, 0 failed",
       .server =
           [](AgainstServer& s) {
             s.connect({.private_data = scenes::private_data(1024, 4096, true)});
             const Message call = s.ask_for_reverse_calls(Proc::kNull, 0);
             s.send(AgainstClient::reply_to(call, scenes::rpc_reply(call.xid, Bytes(1500, 0x22))));
             s.wait_for_reverse_calls();
           },
       .server_options = calling_back()});
  to.push_back({.rule = "INV-03",
                .did = "answers a reverse Call by Send With Invalidate",
                .answer = "its reverse Calls: 0 answered, 1 wrong, 0 failed",
                .server = answers(Proc::kSource, 50'000,
                                  [reply_to](AgainstServer&, const Message& call) {
                                    Message reply = reply_to(call);
                                    reply.invalidate = call.writes.at(0).at(0).handle;
                                    return reply;
                                  }),
                .server_options = calling_back()});
}

}  // namespace

void add_reverse_scenes(Matrix& to) {
  add_credits_and_versions(to);
  add_readiness(to);
  add_bad_calls(to);
  add_bad_replies(to);
}

}  // namespace rpcrdma::hostile

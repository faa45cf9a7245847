#include "scenes.h"

namespace rpcrdma::hostile {

namespace {

service::ServerOptions granting(std::uint32_t credits) {
  service::ServerOptions options;
  options.responder.credits = credits;
  return options;
}

auto together(std::uint32_t calls) {
  return [calls](AgainstServer& s) {
    s.connect();
    s.exchange();
    for (std::uint32_t xid = 1; xid <= calls; ++xid) s.send(sleeping_call(xid));
    s.run_for(10 * fabric::kMillisecond);
  };
}

void add_grants(Matrix& to) {
  to.push_back({.rule = "FC-01",
                .did = "is granted two credits, and sends three Calls at once",
                .answer = "connection ended: the peer sent more Calls than it was granted credits",
                .server = together(3),
                .server_options = granting(2)});
  to.push_back({.rule = "FC-02",
                .did = "grants nothing",
                .answer = "taken as a grant of one; its Call is answered",
                .client = server_answers([](const Message& c) {
                  Message reply = AgainstClient::reply_to(c);
                  reply.credit = 0;
                  return reply;
                })});
  to.push_back({.rule = "FC-03",
                .did = "sends two Calls before its first Reply",
                .answer = "connection ended: the peer sent more Calls than it was granted credits",
                .server = [](AgainstServer& s) {
                  s.connect();
                  s.send(sleeping_call(1));
                  s.send(sleeping_call(2));
                  s.run_for(10 * fabric::kMillisecond);
                }});
  // With each further connection the share shrinks; it grows when one ends.
  service::ServerOptions shared = granting(2);
  shared.max_calls = 4;
  to.push_back({.rule = "FC-06",
                .did = "is granted one credit by Replies, and takes the credit word of an "
                       "ERR_CHUNK for a grant of two",
                .answer = "Reply, SUCCESS; Reply, SUCCESS",
                .server =
                    [](AgainstServer& s) {
                      s.connect();
                      s.connect();
                      s.exchange();
                      s.disconnect_earlier();
                      Message unreadable = scenes::call(1);
                      unreadable.reads = {{42, s.advertise(8)}};
                      s.send(unreadable);
                      (void)s.next();
                      s.send(sleeping_call(2));
                      s.send(sleeping_call(3));
                      s.run_for(10 * fabric::kMillisecond);
                    },
                .server_options = shared});
}

void add_receives(Matrix& to) {
  to.push_back({.rule = "FC-04",
                .did = "grants 32 credits with one Receive posted",
                .answer = "its Call is answered",
                .client =
                    [](AgainstClient& s) {
                      s.accept({.receives = 1});
                      s.exchange();
                      s.make({.rpc = scenes::call(0).rpc});
                      s.run_for(20 * fabric::kMillisecond);
                      s.post_receives(AgainstClient::kReceives);
                      s.send(AgainstClient::reply_to(s.next_message()));
                    },
                .not_in_recording = "only its device sees RNR NAKs"});
  to.push_back({.rule = "FC-05",
                .did = "posts no Receive for a Reply",
                .answer = "Reply, SUCCESS",
                .server =
                    [](AgainstServer& s) {
                      s.connect({.receives = 1});
                      s.exchange();
                      s.send(scenes::call(2));
                      s.run_for(20 * fabric::kMillisecond);
                      s.post_receives(AgainstServer::kReceives);
                    },
                .not_in_recording = "only its device sees RNR NAKs"});
}

void add_reconnects(Matrix& to) {
  to.push_back({.rule = "FC-07",
                .did = "sends an RDMA_DONE without a credit for it",
                .answer = "Reply, SUCCESS",
                .server =
                    [](AgainstServer& s) {
                      s.connect();
                      s.exchange();
                      s.send(sleeping_call(2));
                      Message done = scenes::call(2, {});
                      done.proc = wire::Proc::kDone;
                      s.send(done);
                      s.run_for(10 * fabric::kMillisecond);
                    },
                .server_options = granting(1),
                .profile = rules::Profile::k5666});
  to.push_back({.rule = "FC-08",
                .did = "sends two Calls at once on its second connection",
                .answer = "connection ended: the peer sent more Calls than it was granted credits",
                .server = [](AgainstServer& s) {
                  s.connect();
                  s.exchange();
                  s.disconnect();
                  s.connect();
                  s.send(sleeping_call(2));
                  s.send(sleeping_call(3));
                  s.run_for(10 * fabric::kMillisecond);
                }});
  to.push_back({.rule = "FC-08",
                .did = "resends a Call that was lost with its connection, with another XID",
                .answer = "Reply, SUCCESS",
                .server = [](AgainstServer& s) {
                  s.connect();
                  s.exchange();
                  s.send(sleeping_call(2));
                  s.run_for(fabric::kMillisecond);
                  s.disconnect();
                  s.connect();
                  s.send(sleeping_call(3));
                  s.run_for(10 * fabric::kMillisecond);
                }});
}

}  // namespace

void add_credit_scenes(Matrix& to) {
  add_grants(to);
  add_receives(to);
  add_reconnects(to);
}

}  // namespace rpcrdma::hostile

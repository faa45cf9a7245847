#include "scenes.h"

namespace rpcrdma::hostile {

namespace {

// The Reply to an NFS READ of kLongCount bytes, all of which are written.
Message good_read(AgainstClient& s, const Message& call) {
  s.write(call.writes[0][0], scenes::pattern(kLongCount));
  Message reply = AgainstClient::reply_to(call, scenes::nfs3::read_reply(call.xid, kLongCount).rpc);
  reply.writes = call.writes;
  return reply;
}

service::ClientOptions without_flag() {
  service::ClientOptions options = HostileScene::one_version(1);
  options.remote_invalidation = false;
  return options;
}

}  // namespace

void add_invalidation_scenes(Matrix& to) {
  to.push_back({.rule = "INV-01",
                .did = "replies by Send With Invalidate, though the client did not set R",
                .answer = "its Call is answered",
                .client =
                    [](AgainstClient& s) {
                      const Message call = s.begin_with_read(kLongCount);
                      Message reply = good_read(s, call);
                      reply.invalidate = call.writes[0][0].handle;
                      s.send(reply);
                    },
                .client_options = without_flag()});
  to.push_back({.rule = "INV-02",
                .did = "invalidates a handle of another Call with its Reply",
                .answer = "connection ended: a Reply invalidated a handle that is not its Call's",
                .client = [](AgainstClient& s) {
                  const Message first = s.begin_with_read(kLongCount);
                  const Message second = s.read(kLongCount);
                  Message reply = good_read(s, first);
                  reply.invalidate = second.writes[0][0].handle;
                  s.send(reply);
                }});
  to.push_back({.rule = "INV-02",
                .did = "invalidates a handle that does not exist with its Reply",
                .answer = "connection ended: the peer invalidated a handle that it does not have",
                .client =
                    [](AgainstClient& s) {
                      s.accept();
                      s.exchange();
                      Message reply = good_read(s, s.read(kLongCount));
                      reply.invalidate = 0x99;
                      s.send(reply);
                    },
                .not_in_recording = "its device refused the message"});
  to.push_back({.rule = "INV-03",
                .did = "sends a Call by Send With Invalidate",
                .answer = "connection ended: the peer invalidated a handle that it does not have",
                .server =
                    [](AgainstServer& s) {
                      s.connect();
                      s.exchange();
                      Message call = scenes::call(2);
                      call.invalidate = 0x99;
                      s.send(call);
                    },
                .not_in_recording = "its device refused the message"});
  to.push_back({.rule = "INV-03",
                .did = "sends an ERR_CHUNK by Send With Invalidate",
                .answer = "its Call ends, ERR_CHUNK: the peer could not read the header or "
                          "place the Reply",
                .client = [](AgainstClient& s) {
                  const Message call = s.begin_with_read(kLongCount);
                  Message error = scenes::err_chunk(call.xid);
                  error.invalidate = call.writes[0][0].handle;
                  s.send(error);
                }});
  to.push_back(
      {.rule = "INV-04",
       .did = "writes to a handle that its Reply has invalidated",
       .answer =
           "its Call is answered; connection ended: a Write outside the memory advertised to it",
       .client =
           [](AgainstClient& s) {
             const Message call = s.begin_with_read(kLongCount);
             Message reply = good_read(s, call);
             reply.invalidate = call.writes[0][0].handle;
             s.send(reply);
             s.until([&] { return s.ended() == 1; }, "the end of the Call");
             s.write(call.writes[0][0], scenes::pattern(64));
           },
       .not_in_recording = "its device refused the Write"});
}

}  // namespace rpcrdma::hostile

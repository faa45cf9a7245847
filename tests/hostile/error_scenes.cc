#include "scenes.h"

namespace rpcrdma::hostile {

namespace {

using scenes::encode;
using scenes::err_chunk;
using scenes::err_vers;

constexpr const char* kRefused =
    "its Call ends, ERR_CHUNK: the peer could not read the header or place the Reply";
constexpr const char* kNoVersion =
    "its Call ends, ERR_VERS: the peer supports none of our versions";

void add_forms(Matrix& to) {
  to.push_back(
      {.rule = "ERR-01",
       .did = "sends an ERR_CHUNK with another XID, and then the Reply",
       .answer = "ignored; its Call is answered",
       .client = server_first_sends([](const Message& c) { return err_chunk(c.xid + 7); })});
  to.push_back({.rule = "ERR-02",
                .did = "sends an ERR_VERS whose lowest version is above the highest",
                .answer = kNoVersion,
                .client = server_answers([](const Message& c) { return err_vers(c.xid, 3, 2); })});
  to.push_back({.rule = "ERR-02",
                .did = "sends an ERR_VERS that is four bytes too long",
                .answer = kNoVersion,
                .client = server_answers(
                    [](const Message& c) { return longer(encode(err_vers(c.xid, 1, 1))); })});
  to.push_back({.rule = "ERR-03",
                .did = "sends an RDMA_ERROR with a code of 9",
                .answer = "its Call ends, bad Reply: rdma_err is not ERR_VERS or ERR_CHUNK",
                .client = server_answers(
                    [](const Message& c) { return with_byte(err_chunk(c.xid), 19, 9); })});
  to.push_back({.rule = "ERR-03",
                .did = "sends an ERR_CHUNK that is four bytes too long",
                .answer = kRefused,
                .client = server_answers(
                    [](const Message& c) { return longer(encode(err_chunk(c.xid))); })});
  service::ClientOptions both = HostileScene::one_version(1);
  both.version.versions = {1, 2};
  to.push_back({.rule = "ERR-04",
                .did = "refuses version 2 by an ERR_VERS of version 3, and supports only version 1",
                .answer = "its Call is answered",
                .client =
                    [](AgainstClient& s) {
                      s.accept();
                      s.send(with_byte(err_vers(s.call().xid, 1, 1), 7, 3));
                      s.send(AgainstClient::reply_to(s.next_message()));
                    },
                .client_options = both});
}

void add_error_order(Matrix& to) {
  to.push_back({.rule = "ERR-06",
                .did = "sends an ERR_CHUNK in answer to a Reply",
                .answer = "ignored",
                .server = [](AgainstServer& s) {
                  s.connect();
                  s.send(scenes::call(1));
                  (void)s.next();
                  s.send(err_chunk(1));
                }});
  to.push_back({.rule = "ERR-06",
                .did = "sends an ERR_CHUNK in answer to an ERR_CHUNK",
                .answer = "ignored",
                .server = [](AgainstServer& s) {
                  s.connect();
                  s.exchange();
                  s.send(with_byte(scenes::call(2), 15, 7));
                  (void)s.next();
                  s.send(err_chunk(2));
                }});
  to.push_back({.rule = "ERR-06",
                .did = "sends an ERR_CHUNK in answer to the Reply to its reverse Call",
                .answer = "ignored",
                .client =
                    [](AgainstClient& s) {
                      s.accept();
                      s.exchange();
                      s.send(scenes::call(0x51));
                      (void)s.next();
                      s.send(err_chunk(0x51));
                    },
                .serves = true});
  to.push_back({.rule = "ERR-07",
                .did = "sends an ERR_CHUNK, and then a Reply to the same Call",
                .answer = std::string("ignored; ") + kRefused,
                .client = server_first_sends([](const Message& c) { return err_chunk(c.xid); })});
  to.push_back({.rule = "ERR-07",
                .did = "resends a Call unchanged after ERR_CHUNK",
                .answer = "ERR_CHUNK",
                .server = [](AgainstServer& s) {
                  s.connect();
                  s.exchange();
                  Message call = scenes::call(2, scenes::nfs3::readdir_call(2, 8000));
                  call.reply_chunk = std::vector<wire::Segment>{s.advertise(1000)};
                  s.send(call);
                  (void)s.next();
                  s.send(call);
                }});
}

void add_refusals(Matrix& to) {
  service::ClientOptions both = HostileScene::one_version(1);
  both.version.versions = {1, 2};
  to.push_back({.rule = "ERR-05",
                .did = "refuses version 2 by an ERR_CHUNK of version 1",
                .answer = "its Call ends, bad Reply: rdma_vers is not the Call's",
                .client =
                    [](AgainstClient& s) {
                      s.accept();
                      s.send(err_chunk(s.call().xid));
                    },
                .client_options = both});
}

}  // namespace

void add_error_scenes(Matrix& to) {
  add_forms(to);
  add_error_order(to);
  add_refusals(to);
}

}  // namespace rpcrdma::hostile

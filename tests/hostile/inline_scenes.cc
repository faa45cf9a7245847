#include "scenes.h"

namespace rpcrdma::hostile {

namespace {

constexpr const char* kNeverCame = "its device refused the message";

Message long_reply(const Message& call, std::size_t results) {
  return AgainstClient::reply_to(call, scenes::rpc_reply(call.xid, Bytes(results, 0x22)));
}

auto call_on(const Bytes& private_data, std::size_t arguments) {
  return [=](AgainstServer& s) {
    s.connect({.private_data = private_data});
    s.exchange();
    s.send(long_call(2, arguments));
  };
}

auto reply_on(const Bytes& private_data, std::size_t results) {
  return [=](AgainstClient& s) {
    s.accept({.private_data = private_data});
    s.exchange();
    s.send(long_reply(s.call(), results));
  };
}

service::ServerOptions silent_server() {
  service::ServerOptions options;
  options.private_data = false;
  return options;
}

service::ClientOptions silent_client() {
  service::ClientOptions options = HostileScene::one_version(1);
  options.private_data = false;
  return options;
}

service::ServerOptions receiving(std::uint32_t bytes) {
  service::ServerOptions options;
  options.inline_threshold = bytes;
  return options;
}

}  // namespace

void add_inline_scenes(Matrix& to) {
  to.push_back({.rule = "INL-01",
                .did = "sends a Call of 1,568 bytes without private data",
                .answer = "Reply, SUCCESS",
                .server = call_on({}, 1500),
                .server_options = silent_server()});
  to.push_back({.rule = "INL-01",
                .did = "sends a Reply of 1,552 bytes without private data",
                .answer = "its Call is answered",
                .client = reply_on({}, 1500),
                .client_options = silent_client()});
  to.push_back({.rule = "INL-02",
                .did = "sends a Call of 1,568 bytes to a server with a receive size of 1,024",
                .answer = "Reply, SUCCESS",
                .server = call_on(scenes::private_data(4096, 4096, true), 1500),
                .server_options = receiving(1024)});
  to.push_back({.rule = "INL-02",
                .did = "sends a Call longer than any Receive",
                .answer = "connection ended: Receive failed: local length",
                .server = call_on(scenes::private_data(8192, 4096, true), 5000),
                .not_in_recording = kNeverCame});
  to.push_back({.rule = "INL-02",
                .did = "sends a Reply longer than any Receive",
                .answer = "connection ended: Receive failed: local length",
                .client = reply_on(scenes::private_data(8192, 4096, true), 5000),
                .not_in_recording = kNeverCame});
  to.push_back({.rule = "INL-03",
                .did = "sends a reverse Call that is longer than a Reply may be",
                .answer = "Reply, SUCCESS",
                .client =
                    [](AgainstClient& s) {
                      s.accept({.private_data = scenes::private_data(1024, 4096, true)});
                      s.exchange();
                      s.send(long_call(2, 1500));
                    },
                .serves = true});
  to.push_back({.rule = "INL-04",
                .did = "sends a Call as long as before, now without private data",
                .answer = "Reply, SUCCESS",
                .server = [](AgainstServer& s) {
                  s.connect();
                  s.exchange();
                  s.send(long_call(2, 1500));
                  (void)s.next();
                  s.disconnect();
                  s.connect({.private_data = {}});
                  s.exchange();
                  s.send(long_call(3, 1500));
                }});
}

}  // namespace rpcrdma::hostile

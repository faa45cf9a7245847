#include "registry.h"

namespace rpcrdma::scenes {

namespace {

// A Call with `arguments` bytes of arguments.
Message long_call(std::uint32_t xid, std::size_t arguments) {
  return call(xid, rpc_call(xid, kPlainProgram, 1, 1, Bytes(arguments, 0x11)));
}

void exchange(Connection& c, std::uint32_t xid, std::size_t arguments) {
  c.call(long_call(xid, arguments));
  c.reply(reply(xid));
}

auto on(ConnectOptions options, std::size_t arguments) {
  return [options, arguments](Scene& s) {
    Connection& c = s.connect(options);
    c.exchange(1);
    exchange(c, 2, arguments);
  };
}

void reverse_call(Scene& s, std::size_t arguments) {
  ConnectOptions options;
  options.client_private = private_data(4096, 1024, true);
  Connection& c = s.connect(options);
  c.call(call(1, nfs4::create_session_call(1)));
  c.reply(reply(1, nfs4::create_session_reply(1)));
  c.send(kServer, call(0x51, rpc_call(0x51, kCallbackProgram, 1, 1, Bytes(arguments, 0x11))));
  c.send(kClient, reply(0x51));
}

void after_larger(Scene& s, std::size_t arguments) {
  Connection& c = s.connect();
  exchange(c, 1, 2000);
  c.disconnect();
  ConnectOptions options;
  options.client_private = options.server_private = {};
  Connection& again = s.connect(options);
  again.exchange(2);
  exchange(again, 3, arguments);
}

}  // namespace

void add_inline_scenes(Scenes& scenes) {
  ConnectOptions none;
  none.client_private = none.server_private = {};
  scenes.push_back({.rule = "INL-01",
                    .guilty = Guilty::kClient,
                    .breaks = on(none, 1024),
                    .keeps = on(none, 1024 - 28 - 40)});
  ConnectOptions small_receive;
  small_receive.server_private = private_data(4096, 1024, true);
  scenes.push_back({.rule = "INL-02",
                    .guilty = Guilty::kClient,
                    .breaks = on(small_receive, 1024),
                    .keeps = on({}, 4096 - 28 - 40)});
  scenes.push_back({.rule = "INL-03",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { reverse_call(s, 1024); },
                    .keeps = [](Scene& s) { reverse_call(s, 800); }});
  scenes.push_back({.rule = "INL-04",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { after_larger(s, 2000); },
                    .keeps = [](Scene& s) { after_larger(s, 800); }});
}

}  // namespace rpcrdma::scenes

// Scenes for version 2: length and number of messages before the peer is known, and peers that
// support only version 1 (V2-05 to V2-07).
#include "registry.h"

namespace rpcrdma::scenes {

namespace {

Connection& without_private_data(Scene& s) {
  ConnectOptions options;
  options.client_private = options.server_private = {};
  return s.connect(options);
}

Message long_call(std::uint32_t xid, std::size_t arguments) {
  return version2(call(xid, rpc_call(xid, kPlainProgram, 1, 1, Bytes(arguments, 0x11))));
}

void exchange(Connection& c, std::uint32_t xid, std::size_t arguments) {
  c.call(long_call(xid, arguments));
  c.reply(version2(reply(xid)));
}

auto lengths(std::size_t first, std::size_t second) {
  return [first, second](Scene& s) {
    Connection& c = without_private_data(s);
    exchange(c, 1, first);
    exchange(c, 2, second);
  };
}

auto at_once(bool both) {
  return [both](Scene& s) {
    Connection& c = s.connect();
    c.call(version2(call(1)));
    if (!both) c.reply(version2(reply(1)));
    c.call(version2(call(2)));
    if (both) c.reply(version2(reply(1)));
    c.reply(version2(reply(2)));
  };
}

void refused_then(Scene& s, const Message& next, const Message& answer) {
  Connection& c = s.connect();
  c.call(version2(call(1)));
  c.reply(err_vers(1));
  c.call(next);
  c.reply(answer);
}

}  // namespace

void add_negotiation_scenes(Scenes& scenes) {
  scenes.push_back({.rule = "V2-05",
                    .guilty = Guilty::kClient,
                    .breaks = lengths(1500, 16),
                    .keeps = lengths(16, 1500),
                    .variant = "first"});
  const auto agreed = [](std::size_t first, std::size_t second) {
    return [=](Scene& s) {
      Connection& c = s.connect();
      exchange(c, 1, first);
      exchange(c, 2, second);
    };
  };
  scenes.push_back({.rule = "V2-05",
                    .guilty = Guilty::kClient,
                    .breaks = agreed(1500, 16),
                    .keeps = agreed(16, 1500),
                    .variant = "private-data"});
  scenes.push_back({.rule = "V2-05",
                    .guilty = Guilty::kClient,
                    .breaks = lengths(16, 5000),
                    .keeps = lengths(16, 3900),
                    .variant = "length"});
  scenes.push_back({.rule = "V2-06",
                    .guilty = Guilty::kClient,
                    .breaks = at_once(true),
                    .keeps = at_once(false)});
  scenes.push_back({.rule = "V2-07",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { refused_then(s, version2(call(2)), err_vers(2)); },
                    .keeps = [](Scene& s) { refused_then(s, call(2), reply(2)); }});
}

}  // namespace rpcrdma::scenes

#include "registry.h"

namespace rpcrdma::scenes {

namespace {

// Two bytes of an optional list's marker are wrong.
void bad_marker(Scene& s) {
  Connection& c = s.connect();
  c.exchange(1);
  Bytes content = encode(call(2));
  content[16] = 0xff;
  c.send(kClient, content);
}

}  // namespace

void add_header_scenes(Scenes& scenes) {
  scenes.push_back({.rule = "HDR-02",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.call(call(1));
                          Message m = reply(1);
                          m.rpc = rpc_reply(2);
                          c.reply(m);
                        },
                    .keeps = [](Scene& s) { s.connect().exchange(1); }});
  scenes.push_back(
      {.rule = "HDR-06", .guilty = Guilty::kClient, .breaks = bad_marker, .keeps = [](Scene& s) {
         Connection& c = s.connect();
         c.exchange(1);
         c.exchange(2);
       }});
}

}  // namespace rpcrdma::scenes

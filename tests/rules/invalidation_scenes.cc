#include "registry.h"

namespace rpcrdma::scenes {

namespace {

constexpr wire::Segment kMemory{0x10, 64, 0x1000};

// A Call with a Write chunk that the Reply does not use.
Message offering(std::uint32_t xid, const wire::Segment& memory = kMemory) {
  Message m = call(xid);
  m.writes = {{memory}};
  return m;
}

Message unused(std::uint32_t xid, wire::Segment memory = kMemory) {
  memory.length = 0;
  Message m = reply(xid);
  m.writes = {{memory}};
  return m;
}

Message invalidating(Message m, std::uint32_t handle) {
  m.invalidate = handle;
  return m;
}

auto agreed(bool client_sets_r) {
  return [client_sets_r](Scene& s) {
    ConnectOptions options;
    options.client_private = private_data(4096, 4096, client_sets_r);
    Connection& c = s.connect(options);
    c.call(offering(1));
    c.reply(invalidating(unused(1), kMemory.handle));
  };
}

auto sent_with(bool server_sets_r) {
  return [server_sets_r](Scene& s) {
    ConnectOptions options;
    options.server_private = private_data(4096, 4096, server_sets_r);
    Connection& c = s.connect(options);
    c.call(offering(1));
    c.reply(invalidating(unused(1), kMemory.handle));
  };
}

auto invalidates(std::uint32_t handle) {
  return [handle](Scene& s) {
    Connection& c = s.connect();
    c.call(offering(1));
    c.reply(invalidating(unused(1), handle));
  };
}

// Two Calls advertise two parts of one memory region.
void one_registration(Scene& s, bool twice) {
  const wire::Segment second{kMemory.handle, 64, 0x2000};
  Connection& c = s.connect();
  c.exchange(1);
  c.call(offering(2));
  c.call(offering(3, second));
  c.reply(invalidating(unused(2), kMemory.handle));
  const Message last = unused(3, second);
  c.reply(twice ? invalidating(last, kMemory.handle) : last);
}

}  // namespace

void add_invalidation_scenes(Scenes& scenes) {
  scenes.push_back({.rule = "INV-01",
                    .guilty = Guilty::kServer,
                    .breaks = agreed(false),
                    .keeps = agreed(true)});
  // As Linux servers do.
  scenes.push_back({.rule = "INV-01",
                    .guilty = Guilty::kServer,
                    .breaks = sent_with(false),
                    .keeps = sent_with(true),
                    .variant = "own-flag"});
  scenes.push_back({.rule = "INV-02",
                    .guilty = Guilty::kServer,
                    .breaks = invalidates(0x99),
                    .keeps = invalidates(kMemory.handle)});
  scenes.push_back({.rule = "INV-02",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { one_registration(s, true); },
                    .keeps = [](Scene& s) { one_registration(s, false); },
                    .variant = "twice"});
  scenes.push_back({.rule = "INV-03",
                    .guilty = Guilty::kClient,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.call(invalidating(call(1), kMemory.handle));
                          c.reply(reply(1));
                        },
                    .keeps = invalidates(kMemory.handle)});
  scenes.push_back({.rule = "INV-03",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.call(offering(1));
                          c.reply(invalidating(err_chunk(1), kMemory.handle));
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.call(offering(1));
                          c.reply(err_chunk(1));
                        },
                    .variant = "error"});
  scenes.push_back({.rule = "INV-04",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.call(offering(1));
                          c.reply(invalidating(unused(1), kMemory.handle));
                          c.write(kMemory, pattern(64));
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.call(offering(1));
                          c.reply(invalidating(unused(1), kMemory.handle));
                          c.call(offering(2));
                          c.reply(invalidating(unused(2), kMemory.handle));
                        }});
}

}  // namespace rpcrdma::scenes

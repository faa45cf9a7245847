#include "registry.h"

namespace rpcrdma::scenes {

namespace {

void three_exchanges(Scene& s) {
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 3; ++xid) c.exchange(xid);
}

// A Reply that the client acknowledges is missing from the capture.
void lost(Scene& s) {
  Connection& c = s.connect();
  c.exchange(1);
  c.call(call(2));
  s.lose_next();
  c.reply(reply(2));
  c.exchange(3);
}

// A Call is truncated in the capture after its transport header.
void cut_short(Scene& s) {
  Connection& c = s.connect();
  c.exchange(1);
  s.cut_next(100);
  c.call(call(2));
  c.reply(reply(2));
}

// Packets of the server take another path and are not captured.
void one_direction(Scene& s) {
  ConnectOptions options;
  options.in_capture = false;
  Connection& c = s.connect(options);
  c.acks = false;
  for (std::uint32_t xid = 1; xid <= 3; ++xid) c.call(call(xid));
}

void clock_step(Scene& s) {
  Connection& c = s.connect();
  c.exchange(1);
  s.wait(-1'000'000);
  c.exchange(2);
}

void damaged(Scene& s) {
  Connection& c = s.connect();
  c.exchange(1);
  c.acks = false;
  const std::uint32_t psn = c.psn(kClient);
  s.damage_next();
  c.call(call(2));
  c.resend(kClient, psn);
  c.ack(kServer);
  c.acks = true;
  c.reply(reply(2));
}

}  // namespace

void add_capture_scenes(Scenes& scenes) {
  const auto add = [&](const char* rule, const char* variant, std::function<void(Scene&)> breaks) {
    scenes.push_back({.rule = rule,
                      .guilty = Guilty::kNobody,
                      .breaks = std::move(breaks),
                      .keeps = three_exchanges,
                      .variant = variant});
  };
  add("CAPTURE", "lost", lost);
  add("CAPTURE", "cut-short", cut_short);
  add("CAPTURE", "one-direction", one_direction);
  add("CAPTURE", "clock", clock_step);
  add("ICRC", "", damaged);
}

}  // namespace rpcrdma::scenes

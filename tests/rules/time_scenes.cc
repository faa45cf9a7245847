#include "time_scenes.h"

#include "exchanges.h"

namespace rpcrdma::scenes {

namespace {

constexpr std::int64_t kOneMillisecond = 1'000'000;  // ns
constexpr std::int64_t kOneSecond = 1000 * kOneMillisecond;

// A hundred Calls, whose latencies spread by a half around `middle_ns`.
void latencies(Scene& s, std::int64_t middle_ns) {
  Connection& c = s.connect();
  for (std::uint32_t i = 0; i < 100; ++i) {
    c.call(call(i + 1));
    s.wait(middle_ns / 2 + middle_ns * (i * 37 % 100) / 100);
    c.reply(reply(i + 1));
    s.wait(kOneMillisecond);
  }
}

}  // namespace

namespace times {

void ordinary(Scene& s, Connection& c, std::uint32_t& xid, std::int64_t ns) {
  for (std::int64_t passed = 0; passed < ns; passed += 5 * kOneMillisecond) {
    c.call(call(xid));
    s.wait(kOneMillisecond);
    c.reply(reply(xid++));
    s.wait(4 * kOneMillisecond - 40'000);
  }
}

void stopped(Scene& s, Connection& c, std::uint32_t& xid, std::int64_t ns) {
  const std::uint32_t first = c.psn(kClient);
  c.acks = false;
  for (std::uint32_t i = 0; i < 4; ++i) c.call(call(xid + i));
  s.wait(ns / 2);
  c.resend(kClient, first);
  s.wait(ns / 2);
  c.ack(kServer);
  c.acks = true;
  for (std::uint32_t i = 0; i < 4; ++i) c.reply(reply(xid++));
}

void outage(Scene& s, std::uint16_t reason) {
  s.wait(123'456'789);  // otherwise the times look like microseconds
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 10; ++xid) c.exchange(xid);
  c.disconnect(kServer);
  for (int i = 0; i < 2; ++i) {
    s.wait(3 * kOneSecond);
    ConnectOptions options;
    options.reject = reason;
    s.connect(options);
  }
  s.wait(kOneSecond);
  Connection& next = s.connect();
  for (std::uint32_t xid = 11; xid <= 20; ++xid) next.exchange(xid);
  next.disconnect();
}

}  // namespace times

const std::vector<TimeScene>& time_scenes() {
  static const std::vector<TimeScene> scenes{
      {"stopped-server",
       [](Scene& s) {
         Connection& c = s.connect();
         std::uint32_t xid = 1;
         times::ordinary(s, c, xid, kOneSecond / 2);
         times::stopped(s, c, xid, 6 * kOneSecond);
         times::ordinary(s, c, xid, kOneSecond / 2);
       }},
      {"outage", [](Scene& s) { times::outage(s, 8); }},
      {"before", [](Scene& s) { latencies(s, 2 * kOneMillisecond); }},
      {"after", [](Scene& s) { latencies(s, 3 * kOneMillisecond); }}};
  return scenes;
}

}  // namespace rpcrdma::scenes

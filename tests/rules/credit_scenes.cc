// Scenes for the rules about credits and Receives (FC).
#include "registry.h"

namespace rpcrdma::scenes {

namespace {

Message granting(Message m, std::uint32_t credit) {
  m.credit = credit;
  return m;
}

void answer(Connection& c, std::uint32_t xid, std::uint32_t credit) {
  c.reply(granting(reply(xid), credit));
}

void exchange(Connection& c, std::uint32_t xid, std::uint32_t credit) {
  c.call(call(xid));
  answer(c, xid, credit);
}

// Sends all Calls at once, then their Replies.
void together(Connection& c, std::uint32_t first, std::uint32_t last, std::uint32_t credit) {
  for (std::uint32_t xid = first; xid <= last; ++xid) c.call(call(xid));
  for (std::uint32_t xid = first; xid <= last; ++xid) answer(c, xid, credit);
}

// The receiver refuses the Send, and accepts its retransmission.
void refused(Connection& c, Side from, const Message& m) {
  const std::uint32_t psn = c.psn(from);
  c.acks = false;
  c.send(from, m);
  c.rnr(other(from), psn);
  c.acks = true;
  c.resend(from, psn);
  c.ack(other(from));
}

// A Reply with a Read chunk, and the RDMA_DONE after the client has read it (RFC 5666 section 3.8).
void read_reply(Connection& c, std::uint32_t xid, std::uint32_t credit, bool busy) {
  const wire::Segment memory{0x70, 64, 0};
  c.call(call(xid));
  Message m = granting(reply(xid), credit);
  m.reads = {{static_cast<std::uint32_t>(m.rpc.size()), memory}};
  c.reply(m);
  c.read(kClient, memory.handle, memory.offset, pattern(memory.length));
  if (busy) c.call(call(xid + 1));
  Message done = call(xid, {});
  done.proc = wire::Proc::kDone;
  c.call(done);
  if (busy) answer(c, xid + 1, credit);
}

// A Reply with a Read chunk whose grant holds back a credit for the RDMA_DONE, while another Call
// is in flight (RFC 5666 section 11).
void held_for_done(Scene& s) {
  Connection& c = s.connect();
  c.call(call(1));
  c.reply(granting(reply(1), 2));
  c.call(call(2));
  c.call(call(3));
  const wire::Segment memory{0x70, 64, 0};
  Message m = granting(reply(2), 1);
  m.reads = {{static_cast<std::uint32_t>(m.rpc.size()), memory}};
  c.reply(m);
  c.read(kClient, memory.handle, memory.offset, pattern(memory.length));
  Message done = call(2, {});
  done.proc = wire::Proc::kDone;
  c.call(done);
  answer(c, 3, 2);
}

void add_grant_scenes(Scenes& scenes) {
  scenes.push_back({.rule = "FC-01",
                    .guilty = Guilty::kClient,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          exchange(c, 1, 2);
                          together(c, 2, 4, 2);
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          exchange(c, 1, 2);
                          together(c, 2, 3, 2);
                        }});
  // A smaller grant applies to a requester that has received it: in the breaking scene, as many
  // answers later as the old grant allowed Calls; in the other, the last Call may have been sent
  // before that.
  scenes.push_back({.rule = "FC-01",
                    .guilty = Guilty::kClient,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          exchange(c, 1, 3);
                          for (std::uint32_t xid = 2; xid <= 5; ++xid) exchange(c, xid, 1);
                          together(c, 6, 7, 1);
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          exchange(c, 1, 4);
                          for (std::uint32_t xid = 2; xid <= 4; ++xid) c.call(call(xid));
                          answer(c, 2, 1);
                          c.call(call(5));
                          for (std::uint32_t xid = 3; xid <= 5; ++xid) answer(c, xid, 1);
                          exchange(c, 6, 1);
                        },
                    .variant = "shrunk"});
  scenes.push_back({.rule = "FC-02",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { exchange(s.connect(), 1, 0); },
                    .keeps = [](Scene& s) { exchange(s.connect(), 1, 1); }});
  scenes.push_back({.rule = "FC-03",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { together(s.connect(), 1, 2, 32); },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          exchange(c, 1, 32);
                          together(c, 2, 3, 32);
                        }});
  scenes.push_back({.rule = "FC-06",
                    .guilty = Guilty::kClient,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          exchange(c, 1, 1);
                          c.call(call(2));
                          c.reply(err_chunk(2));
                          together(c, 3, 4, 1);
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          exchange(c, 1, 1);
                          c.call(call(2));
                          c.reply(err_chunk(2));
                          exchange(c, 3, 1);
                        }});
}

// The server ends the connection for the violation, with Calls in flight.
void add_ended_scenes(Scenes& scenes) {
  scenes.push_back({.rule = "FC-01",
                    .guilty = Guilty::kClient,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          exchange(c, 1, 2);
                          for (std::uint32_t xid = 2; xid <= 4; ++xid) c.call(call(xid));
                          c.disconnect(kServer);
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          exchange(c, 1, 2);
                          c.disconnect(kServer);
                        },
                    .also = {"CONN-LOST"},
                    .variant = "ended"});
}

void add_receive_scenes(Scenes& scenes) {
  scenes.push_back({.rule = "FC-04",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          refused(c, kClient, call(2));
                          c.reply(reply(2));
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.exchange(2);
                        },
                    .also = {"RNR"}});
  // The first of many Sends in flight.
  scenes.push_back({.rule = "FC-04",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.acks = false;
                          const std::uint32_t first = c.psn(kClient);
                          for (std::uint32_t xid = 2; xid < 26; ++xid) c.call(call(xid));
                          c.rnr(kServer, first);
                          s.wait(1'000'000);
                          c.resend(kClient, first);
                          c.acks = true;
                          for (std::uint32_t xid = 2; xid < 26; ++xid) c.reply(reply(xid));
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          for (std::uint32_t xid = 2; xid < 26; ++xid) c.call(call(xid));
                          for (std::uint32_t xid = 2; xid < 26; ++xid) c.reply(reply(xid));
                        },
                    .also = {"RNR"},
                    .variant = "many"});
  scenes.push_back({.rule = "FC-05",
                    .guilty = Guilty::kClient,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.call(call(2));
                          refused(c, kServer, reply(2));
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.exchange(2);
                        },
                    .also = {"RNR"}});
}

void add_reconnect_scenes(Scenes& scenes) {
  scenes.push_back({.rule = "FC-08",
                    .guilty = Guilty::kClient,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.disconnect();
                          together(s.connect(), 2, 3, 32);
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.disconnect();
                          Connection& again = s.connect();
                          again.exchange(2);
                          together(again, 3, 4, 32);
                        },
                    .variant = "credits"});
  // The first Call is never answered: HDR-10.
  const auto sent_again_as = [](std::uint32_t xid) {
    return [xid](Scene& s) {
      Connection& c = s.connect();
      c.exchange(1);
      c.call(call(2));
      c.disconnect();
      Connection& again = s.connect();
      again.exchange(xid);
      again.disconnect();
    };
  };
  // The connection breaks with a Call in flight, and another begins `wait` later.
  const auto reconnected = [](Scene& s, std::int64_t wait) -> Connection& {
    Connection& c = s.connect();
    c.exchange(1);
    c.call(call(2));
    c.disconnect();
    s.wait(wait);
    return s.connect();
  };
  const auto sent_again_after = [reconnected](std::int64_t wait) {
    return [reconnected, wait](Scene& s) {
      Connection& again = reconnected(s, wait);
      again.exchange(3);
      again.disconnect();
    };
  };
  // The Call follows another new Call: a NULL Call, which may precede resent ones, or a different
  // one.
  const auto behind = [reconnected](std::uint32_t procedure) {
    return [reconnected, procedure](Scene& s) {
      Connection& again = reconnected(s, 1'000'000);
      again.call(call(3, rpc_call(3, kPlainProgram, 1, procedure)));
      again.reply(reply(3));
      again.exchange(4);
      again.disconnect();
    };
  };
  // The Call is on an older connection in parallel: it is not a resent one.
  const auto beside = [](Scene& s) {
    Connection& other = s.connect();
    other.exchange(9);
    Connection& c = s.connect();
    c.exchange(1);
    c.call(call(2));
    c.disconnect();
    other.exchange(10);
    other.disconnect();
  };
  scenes.push_back({.rule = "FC-08",
                    .guilty = Guilty::kClient,
                    .breaks = sent_again_as(7),
                    .keeps = beside,
                    .both = {"CONN-LOST", "HDR-10", "RECONNECT"},
                    .variant = "beside"});
  // A Call with the same content is not a resent one if it comes ten minutes later or after others.
  scenes.push_back({.rule = "FC-08",
                    .guilty = Guilty::kClient,
                    .breaks = sent_again_after(5'000'000'000),
                    .keeps = sent_again_after(600'000'000'000),
                    .both = {"CONN-LOST"},
                    .variant = "later"});
  scenes.push_back({.rule = "FC-08",
                    .guilty = Guilty::kClient,
                    .breaks = behind(0),
                    .keeps = behind(2),
                    .both = {"CONN-LOST"},
                    .variant = "behind"});
  scenes.push_back({.rule = "FC-08",
                    .guilty = Guilty::kClient,
                    .breaks = sent_again_as(3),
                    .keeps = sent_again_as(2),
                    .both = {"CONN-LOST", "HDR-10", "RECONNECT"},
                    .variant = "xid"});
}

}  // namespace

void add_credit_scenes(Scenes& scenes) {
  add_grant_scenes(scenes);
  add_ended_scenes(scenes);
  add_receive_scenes(scenes);
  add_reconnect_scenes(scenes);
  scenes.push_back({.rule = "FC-02",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { exchange(s.connect(), 1, 0); },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          exchange(c, 1, 2);
                          c.call(call(2));
                          c.call(call(3));
                          answer(c, 2, 0);
                          answer(c, 3, 2);
                        },
                    .profile = rules::Profile::k5666});
  scenes.push_back({.rule = "FC-07",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { read_reply(s.connect(), 1, 1, true); },
                    .keeps = [](Scene& s) { read_reply(s.connect(), 1, 1, false); },
                    .profile = rules::Profile::k5666});
  scenes.push_back({.rule = "FC-07",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { read_reply(s.connect(), 1, 1, true); },
                    .keeps = held_for_done,
                    .variant = "held",
                    .profile = rules::Profile::k5666});
}

}  // namespace rpcrdma::scenes

// Scenes for the diagnoses: credit starvation, losses, broken connections, stalls, latency.
#include "exchanges.h"
#include "registry.h"

namespace rpcrdma::scenes {

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kMemory = 0x7f0000000000;

// Two Calls at a time with `grant` credits; each Reply takes a millisecond.
void two_at_a_time(Scene& s, std::uint32_t grant, std::uint32_t request = 32) {
  Connection& c = s.connect();
  const auto ask = [&](std::uint32_t xid) {
    Message m = call(xid);
    m.credit = request;
    c.call(m);
  };
  const auto answer = [&](std::uint32_t xid) {
    Message m = reply(xid);
    m.credit = grant;
    c.reply(m);
  };
  ask(1);
  answer(1);
  ask(2);
  for (std::uint32_t xid = 3; xid < 14; ++xid) {
    ask(xid);
    s.wait(kMillisecond / 2);
    answer(xid - 1);
  }
  answer(13);
}

// The receiver refuses the Call with an RNR NAK, and the client retransmits it.
void not_ready(Scene& s) {
  Connection& c = s.connect();
  c.exchange(1);
  c.acks = false;
  const std::uint32_t psn = c.psn(kClient);
  c.call(call(2));
  c.rnr(kServer);
  s.wait(kMillisecond);
  c.resend(kClient, psn);
  c.ack(kServer);
  c.acks = true;
  c.reply(reply(2));
}

// A READ of 40,000 bytes; `lost`: the network loses the first packet of the RDMA Write.
void large_read(Scene& s, bool lost) {
  Connection& c = s.connect();
  const wire::Segment memory{77, 40000, kMemory};
  Message m = call(1, nfs3::read_call(1, memory.length));
  m.writes = {{memory}};
  c.call(m);
  const std::uint32_t psn = c.psn(kServer);
  c.acks = !lost;
  if (lost) s.lose_next();
  c.write(memory, pattern(memory.length));
  if (lost) {
    c.nak(kClient, wire::NakCode::kPsnSequence, psn);
    s.wait(kMillisecond);
    c.resend(kServer, psn);
    c.ack(kClient);
    c.acks = true;
  }
  Message r = reply(1, nfs3::read_reply(1, memory.length).rpc);
  r.writes = m.writes;
  c.reply(r);
}

// The last allowed retry succeeds.
void orderly(Scene& s) {
  ConnectOptions options;
  options.retry_count = 2;
  Connection& c = s.connect(options);
  c.exchange(1);
  c.acks = false;
  const std::uint32_t psn = c.psn(kClient);
  c.call(call(2));
  for (int i = 0; i < 2; ++i) {
    s.wait(kMillisecond);
    c.resend(kClient, psn);
  }
  c.ack(kServer);
  c.acks = true;
  c.reply(reply(2));
  c.disconnect();
}

// `again`: the first Call of the second connection.
void two_connections(Scene& s, bool cut_off, const Message& again, bool reply_arrives = true) {
  Connection& first = s.connect();
  first.call(call(1));
  first.acks = reply_arrives;
  first.reply(reply(1));
  first.acks = true;
  if (cut_off) first.call(call(2));
  first.disconnect(cut_off ? kServer : kClient);
  s.wait(5 * kMillisecond);
  Connection& second = s.connect();
  second.call(again);
  second.reply(reply(again.xid));
  second.exchange(9);
}

// Same as call(), with other arguments.
Message other_call(std::uint32_t xid) {
  return call(xid, rpc_call(xid, kPlainProgram, 1, 1, pattern(16, 99)));
}

// Sends three Calls with two credits; the last one finds no Receive. `tries`: how often it is sent.
Connection& one_call_too_many(Scene& s, unsigned tries, std::uint8_t retries) {
  ConnectOptions options;
  options.rnr_retry_count = retries;
  Connection& c = s.connect(options);
  c.call(call(1));
  Message granting = reply(1);
  granting.credit = 2;
  c.reply(granting);
  c.call(call(2));
  c.call(call(3));
  c.acks = false;
  const std::uint32_t psn = c.psn(kClient);
  c.call(call(4));
  c.rnr(kServer, psn);
  for (unsigned i = 1; i < tries; ++i) {
    s.wait(kMillisecond);
    c.resend(kClient, psn);
    c.rnr(kServer, psn);
  }
  return c;
}

// The client refuses the server's RDMA Write to `handle`; its Call advertises handle 77.
void refused_write(Scene& s, std::uint32_t handle, wire::NakCode code) {
  Connection& c = s.connect();
  c.exchange(1);
  Message m = call(2, nfs3::read_call(2, 1000));
  m.writes = {{{77, 1000, kMemory}}};
  c.call(m);
  c.acks = false;
  c.write(kServer, handle, kMemory, pattern(1000));
  c.nak(kClient, code);
  c.disconnect(kServer);
}

Message granting(std::uint32_t xid, std::uint32_t credit) {
  Message m = reply(xid);
  m.credit = credit;
  return m;
}

// The client sends one Call too many, and the server ends the connection; `later`: after all Calls
// were answered, with a later Call in flight.
void too_many_calls(Scene& s, bool later) {
  Connection& c = s.connect();
  c.call(call(1));
  c.reply(granting(1, 2));
  for (std::uint32_t xid = 2; xid <= 4; ++xid) c.call(call(xid));
  if (later) {
    for (std::uint32_t xid = 2; xid <= 4; ++xid) c.reply(granting(xid, 2));
    c.call(call(5));
    c.reply(granting(5, 2));
    c.call(call(6));
  }
  c.disconnect(kServer);
}

// A Reply returns another segment than its Call has, and the client ends the connection for it.
void wrong_write_list(Scene& s) {
  Connection& c = s.connect();
  c.exchange(1);
  const wire::Segment memory{77, 1000, kMemory};
  Message m = call(2, nfs3::read_call(2, memory.length));
  m.writes = {{memory}};
  c.call(m);
  c.call(call(3));
  c.write(memory, pattern(memory.length));
  Message r = reply(2, nfs3::read_reply(2, memory.length).rpc);
  r.writes = {{{78, memory.length, kMemory}}};
  c.reply(r);
  c.disconnect(kClient);
}

// The client waits for an answer, then ends the connection.
void gives_up(Scene& s, bool arrives, std::int64_t wait) {
  Connection& c = s.connect();
  c.exchange(1);
  c.acks = arrives;
  c.call(call(2));
  s.wait(wait);
  c.disconnect(kClient);
}

void eight_small_writes(Scene& s, bool in_chunks) {
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 8; ++xid) {
    if (in_chunks) {
      write_by_read_chunk(c, xid, {{0x100 + xid, 512, kMemory}});
    } else {
      c.call(call(xid, nfs3::write_call_inline(xid, pattern(512))));
      c.reply(reply(xid, nfs3::write_reply(xid, 512)));
    }
  }
}

void eight_readdirs(Scene& s, std::size_t bytes) {
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 8; ++xid) {
    readdir_by_reply_chunk(c, xid, {0x100 + xid, 8192, kMemory}, bytes);
  }
}

// READs of 2,048 bytes, each with four segments.
void scattered_reads(Scene& s, bool same_handles) {
  ConnectOptions options;
  options.client_private = options.server_private = private_data(1024, 1024, true);
  Connection& c = s.connect(options);
  for (std::uint32_t xid = 1; xid <= 16; ++xid) {
    Segments segments;
    for (std::uint32_t i = 0; i < 4; ++i) {
      segments.push_back({0x1000 + i + (same_handles ? 0 : xid * 4), 512, kMemory + i * 512});
    }
    read_by_write_chunk(c, xid, segments, 2048);
  }
}

void eight_calls(Scene& s, std::int64_t thinking) {
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 8; ++xid) {
    c.call(call(xid));
    s.wait(thinking);
    c.reply(reply(xid));
  }
}

// Calls are slow while switches mark packets.
void congested_calls(Scene& s, bool marked) {
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 32; ++xid) {
    const bool slow = xid > 20 && marked;
    s.mark(slow);
    c.call(call(xid));
    if (slow) {
      c.cnp(kServer);
      s.wait(2 * kMillisecond);
    }
    c.reply(reply(xid));
  }
  s.mark(false);
}

// Each Call is lost once, after the capture point.
void lossy_network(Scene& s) {
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 8; ++xid) {
    const std::uint32_t psn = c.psn(kClient);
    c.acks = false;
    c.call(call(xid));
    s.wait(5 * kMillisecond);
    c.resend(kClient, psn);
    c.ack(kServer);
    c.acks = true;
    c.reply(reply(xid));
  }
}

// A connection whose usual latency is known.
Connection& used(Scene& s) {
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 10; ++xid) c.exchange(xid);
  return c;
}

// Four Calls wait for their responder.
void silent(Scene& s, std::int64_t ns) {
  Connection& c = used(s);
  for (std::uint32_t xid = 11; xid <= 14; ++xid) c.call(call(xid));
  s.wait(ns);
  for (std::uint32_t xid = 11; xid <= 14; ++xid) c.reply(reply(xid));
  c.disconnect();
}

// The Calls wait in vain, while another connection shows that time passes.
void hangs(Scene& s, bool arrive, std::int64_t ns) {
  Connection& beside = s.connect();
  Connection& c = used(s);
  c.acks = arrive;
  for (std::uint32_t xid = 11; xid <= 14; ++xid) c.call(call(xid));
  s.wait(ns);
  beside.exchange(1);
}

// All Calls take the same time.
void steady(Scene& s, std::int64_t ns) {
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 12; ++xid) {
    c.call(call(xid));
    s.wait(ns);
    c.reply(reply(xid));
  }
}

void add_stalls(Scenes& scenes) {
  constexpr std::int64_t kSecond = 1000 * kMillisecond;
  scenes.push_back({.rule = "STALL",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { silent(s, 3 * kSecond / 2); },
                    .keeps = [](Scene& s) { silent(s, kMillisecond); },
                    .also = {"SLOW-PEER"}});
  scenes.push_back({.rule = "STALL",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { hangs(s, true, 90 * kSecond); },
                    .keeps = [](Scene& s) { hangs(s, true, 500 * kMillisecond); },
                    .also = {"HDR-10"},
                    .variant = "hung"});
  scenes.push_back({.rule = "STALL",
                    .guilty = Guilty::kNobody,
                    .breaks = [](Scene& s) { hangs(s, false, 20 * kSecond); },
                    .keeps = [](Scene& s) { steady(s, 2 * kSecond); },
                    .both = {"SLOW-PEER"},
                    .variant = "unacknowledged"});
}

void add_connection_lost(Scenes& scenes) {
  const auto add = [&](const char* variant, Guilty guilty, std::function<void(Scene&)> breaks,
                       std::vector<std::string> also) {
    scenes.push_back({.rule = "CONN-LOST",
                      .guilty = guilty,
                      .breaks = std::move(breaks),
                      .keeps = orderly,
                      .also = std::move(also),
                      .variant = variant});
  };
  add("rejected", Guilty::kServer,
      [](Scene& s) {
        ConnectOptions options;
        options.reject = 28;  // consumer reject
        s.connect(options);
      },
      {});
  add("no-rep", Guilty::kNobody,
      [](Scene& s) {
        ConnectOptions options;
        options.unanswered = 3;
        s.connect(options);
      },
      {});
  add("callback", Guilty::kClient,
      [](Scene& s) {
        Connection& c = s.connect();
        c.exchange(1);
        c.send(kServer, call(0x51, nfs4::callback_call(0x51)));
        c.disconnect(kClient);
      },
      {"HDR-10"});
  // The client advertises memory that its adapter does not know.
  add("access", Guilty::kClient,
      [](Scene& s) { refused_write(s, 77, wire::NakCode::kRemoteAccess); }, {});
  add("access-elsewhere", Guilty::kServer,
      [](Scene& s) { refused_write(s, 78, wire::NakCode::kRemoteAccess); }, {"OPS-01", "HDR-10"});
  add("access-late", Guilty::kServer,
      [](Scene& s) {
        Connection& c = s.connect();
        const wire::Segment memory{77, 1000, kMemory};
        read_by_write_chunk(c, 1, {memory}, memory.length);
        c.acks = false;
        c.write(memory, pattern(memory.length));
        c.nak(kClient, wire::NakCode::kRemoteAccess);
        c.disconnect(kServer);
      },
      {"OPS-02"});
  add("operational", Guilty::kClient,
      [](Scene& s) { refused_write(s, 77, wire::NakCode::kRemoteOperational); }, {});
  add("retries", Guilty::kNobody,
      [](Scene& s) {
        ConnectOptions options;
        options.retry_count = 2;
        Connection& c = s.connect(options);
        c.exchange(1);
        c.acks = false;
        const std::uint32_t psn = c.psn(kClient);
        c.call(call(2));
        for (int i = 0; i < 2; ++i) {
          s.wait(100 * kMillisecond);
          c.resend(kClient, psn);
        }
        c.disconnect(kClient);
      },
      {});
  add("rnr", Guilty::kServer,
      [](Scene& s) {
        ConnectOptions options;
        options.rnr_retry_count = 0;
        Connection& c = s.connect(options);
        c.exchange(1);
        c.acks = false;
        c.call(call(2));
        c.rnr(kServer);
        c.disconnect(kClient);
      },
      {"RNR", "FC-04"});
  add("rnr-retries", Guilty::kServer,
      [](Scene& s) {
        ConnectOptions options;
        options.rnr_retry_count = 2;
        Connection& c = s.connect(options);
        c.exchange(1);
        c.acks = false;
        const std::uint32_t psn = c.psn(kClient);
        c.call(call(2));
        c.rnr(kServer);
        for (int i = 0; i < 2; ++i) {
          s.wait(kMillisecond);
          c.resend(kClient, psn);
          c.rnr(kServer, psn);
        }
        c.disconnect(kClient);
      },
      {"RNR", "FC-04"});
  add("rnr-credit", Guilty::kClient,
      [](Scene& s) { one_call_too_many(s, 1, 0).disconnect(kClient); }, {"RNR", "FC-01"});
  add("gave-up", Guilty::kServer, [](Scene& s) { gives_up(s, true, 60'000 * kMillisecond); },
      {"HDR-10", "STALL"});
  add("gave-up-early", Guilty::kClient, [](Scene& s) { gives_up(s, true, kMillisecond); }, {});
  add("gave-up-unacknowledged", Guilty::kNobody,
      [](Scene& s) { gives_up(s, false, 60'000 * kMillisecond); }, {"STALL"});
  // A side that ends the connection after a violation by the other has cause, unless both continued
  // in between.
  add("too-many-calls", Guilty::kClient, [](Scene& s) { too_many_calls(s, false); }, {"FC-01"});
  add("too-many-calls-before", Guilty::kServer, [](Scene& s) { too_many_calls(s, true); },
      {"FC-01", "HDR-10"});
  add("wrong-write-list", Guilty::kServer, wrong_write_list, {"WR-02"});
  add("unanswered", Guilty::kServer,
      [](Scene& s) {
        Connection& c = s.connect();
        c.exchange(1);
        c.call(call(2));
        c.disconnect(kServer);
      },
      {"HDR-10"});
}

}  // namespace

void add_diagnosis_scenes(Scenes& scenes) {
  scenes.push_back({.rule = "CREDIT-STARVED",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { two_at_a_time(s, 2); },
                    .keeps = [](Scene& s) { two_at_a_time(s, 32); }});
  // The requester did not request more credits: the responder is not at fault.
  scenes.push_back({.rule = "CREDIT-STARVED",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { two_at_a_time(s, 2, 2); },
                    .keeps = [](Scene& s) { two_at_a_time(s, 32); },
                    .variant = "asked-for"});
  scenes.push_back({.rule = "RNR",
                    .guilty = Guilty::kServer,
                    .breaks = not_ready,
                    .keeps = [](Scene& s) { eight_calls(s, 0); },
                    .also = {"FC-04"}});
  scenes.push_back({.rule = "RNR",
                    .guilty = Guilty::kClient,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = one_call_too_many(s, 2, 7);
                          const std::uint32_t psn = c.psn(kClient) - 1;
                          c.acks = true;
                          c.reply(reply(2));
                          c.resend(kClient, psn);
                          c.ack(kServer);
                          c.reply(reply(3));
                          c.reply(reply(4));
                        },
                    .keeps = [](Scene& s) { eight_calls(s, 0); },
                    .also = {"FC-01"},
                    .variant = "credit"});
  scenes.push_back({.rule = "RETX-STORM",
                    .guilty = Guilty::kNobody,
                    .breaks = [](Scene& s) { large_read(s, true); },
                    .keeps = [](Scene& s) { large_read(s, false); }});
  add_stalls(scenes);
  add_connection_lost(scenes);
  scenes.push_back({.rule = "RECONNECT",
                    .guilty = Guilty::kNobody,
                    .breaks = [](Scene& s) { two_connections(s, true, call(2)); },
                    .keeps = [](Scene& s) { two_connections(s, false, call(3)); },
                    .also = {"CONN-LOST", "HDR-10"}});
  // The same XID with other arguments is another Call.
  scenes.push_back({.rule = "RECONNECT",
                    .guilty = Guilty::kNobody,
                    .breaks = [](Scene& s) { two_connections(s, true, call(2), false); },
                    .keeps = [](Scene& s) { two_connections(s, true, other_call(2)); },
                    .both = {"CONN-LOST", "HDR-10"},
                    .variant = "content"});
  scenes.push_back({.rule = "ANSWERED-TWICE",
                    .guilty = Guilty::kNobody,
                    .breaks = [](Scene& s) { two_connections(s, true, call(1), false); },
                    .keeps = [](Scene& s) { two_connections(s, false, call(1)); },
                    .also = {"CONN-LOST", "HDR-10"}});
  scenes.push_back({.rule = "ANSWERED-TWICE",
                    .guilty = Guilty::kNobody,
                    .breaks = [](Scene& s) { two_connections(s, true, call(1)); },
                    .keeps = [](Scene& s) { two_connections(s, true, other_call(1)); },
                    .both = {"CONN-LOST", "HDR-10"},
                    .variant = "acknowledged"});
  scenes.push_back({.rule = "NEEDLESS-CHUNK",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { eight_small_writes(s, true); },
                    .keeps = [](Scene& s) { eight_small_writes(s, false); }});
  scenes.push_back({.rule = "LARGER-THRESHOLD",
                    .guilty = Guilty::kNobody,
                    .breaks = [](Scene& s) { eight_readdirs(s, 6000); },
                    .keeps = [](Scene& s) { eight_calls(s, 0); }});
  scenes.push_back({.rule = "REG-CHURN",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { scattered_reads(s, false); },
                    .keeps = [](Scene& s) { scattered_reads(s, true); }});
  scenes.push_back({.rule = "SLOW-PEER",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { eight_calls(s, 2 * kMillisecond); },
                    .keeps = [](Scene& s) { eight_calls(s, kMillisecond / 2); }});
  scenes.push_back({.rule = "CONGESTION",
                    .guilty = Guilty::kNobody,
                    .breaks = [](Scene& s) { congested_calls(s, true); },
                    .keeps = [](Scene& s) { congested_calls(s, false); }});
  scenes.push_back({.rule = "SLOW-NETWORK",
                    .guilty = Guilty::kNobody,
                    .breaks = lossy_network,
                    .keeps = [](Scene& s) { eight_calls(s, kMillisecond / 2); }});
}

}  // namespace rpcrdma::scenes

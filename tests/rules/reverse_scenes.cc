// Scenes for the rules about Calls of the server (BI).
#include "registry.h"

namespace rpcrdma::scenes {

namespace {

constexpr wire::Segment kMemory{0x90, 64, 0};

Message granting(Message m, std::uint32_t credit) {
  m.credit = credit;
  return m;
}

// The client announces that it accepts reverse Calls.
Connection& ready(Scene& s) {
  Connection& c = s.connect();
  c.call(call(1, nfs4::create_session_call(1)));
  c.reply(reply(1, nfs4::create_session_reply(1)));
  return c;
}

void call_back(Connection& c, std::uint32_t xid) {
  c.send(kServer, call(xid, nfs4::callback_call(xid)));
}

void answer_back(Connection& c, std::uint32_t xid, std::uint32_t credit = 16) {
  c.send(kClient, granting(reply(xid, nfs4::callback_reply(xid)), credit));
}

auto two_callbacks(bool at_once) {
  return [at_once](Scene& s) {
    Connection& c = ready(s);
    call_back(c, 0x51);
    answer_back(c, 0x51, 1);
    call_back(c, 0x52);
    if (!at_once) answer_back(c, 0x52, 1);
    call_back(c, 0x53);
    if (at_once) answer_back(c, 0x52, 1);
    answer_back(c, 0x53, 1);
  };
}

auto of_version(std::uint32_t version) {
  return [version](Scene& s) {
    Connection& c = ready(s);
    Message m = call(0x51, nfs4::callback_call(0x51));
    m.vers = version;
    c.send(kServer, m);
    m = reply(0x51, nfs4::callback_reply(0x51));
    m.vers = version;
    c.send(kClient, m);
  };
}

auto with_msg_type(std::uint8_t type) {
  return [type](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    Message m = call(2);
    m.rpc[7] = type;
    c.call(m);
    c.reply(reply(2));
  };
}

auto chunk_answered(bool answered) {
  return [answered](Scene& s) {
    Connection& c = ready(s);
    call_back(c, 0x51);
    answer_back(c, 0x51);
    Message m = call(0x52, rpc_call(0x52, kCallbackProgram, 1, 1, Bytes(16, 0)));
    m.writes = {{kMemory}};
    c.send(kServer, m);
    if (answered) c.send(kClient, err_chunk(0x52));
    c.exchange(2);
    c.disconnect();
  };
}

// The client posts the Receive for the reverse Call too late.
void refused(Scene& s) {
  Connection& c = ready(s);
  const std::uint32_t psn = c.psn(kServer);
  c.acks = false;
  call_back(c, 0x51);
  c.rnr(kClient, psn);
  c.acks = true;
  c.resend(kServer, psn);
  c.ack(kClient);
  answer_back(c, 0x51);
}

// A reverse Call is lost with its connection and resent on the next one.
auto sent_again(Side opener) {
  return [opener](Scene& s) {
    Connection& c = ready(s);
    call_back(c, 0x51);
    c.disconnect();
    ConnectOptions options;
    options.active = opener;
    Connection& next = opener == kClient ? ready(s) : s.connect(options);
    call_back(next, 0x51);
    answer_back(next, 0x51);
  };
}

auto requesting(std::uint32_t credits) {
  return [credits](Scene& s) {
    Connection& c = ready(s);
    c.send(kServer, granting(call(0x51, nfs4::callback_call(0x51)), credits));
    answer_back(c, 0x51);
  };
}

// A reverse Call in version 2, two seconds before its client closes the connection.
auto called_in_version2(bool answered) {
  return [answered](Scene& s) {
    Connection& c = s.connect();
    c.call(version2(call(1)));
    c.reply(version2(reply(1)));
    c.send(kServer, version2(call(0x51, nfs4::callback_call(0x51))));
    if (answered) c.send(kClient, version2(reply(0x51, nfs4::callback_reply(0x51))));
    s.wait(2'000'000'000);
    c.disconnect();
  };
}

}  // namespace

void add_reverse_scenes(Scenes& scenes) {
  scenes.push_back({.rule = "FC-02",
                    .guilty = Guilty::kServer,
                    .breaks = requesting(0),
                    .keeps = requesting(1),
                    .variant = "reverse-call"});
  scenes.push_back({.rule = "BI-08",
                    .guilty = Guilty::kClient,
                    .breaks = called_in_version2(false),
                    .keeps = called_in_version2(true),
                    .also = {"CONN-LOST"}});
  scenes.push_back({.rule = "BI-01",
                    .guilty = Guilty::kServer,
                    .breaks = two_callbacks(true),
                    .keeps = two_callbacks(false)});
  scenes.push_back({.rule = "BI-02",
                    .guilty = Guilty::kServer,
                    .breaks = of_version(2),
                    .keeps = of_version(1)});
  scenes.push_back({.rule = "BI-03",
                    .guilty = Guilty::kClient,
                    .breaks = with_msg_type(7),
                    .keeps = with_msg_type(0),
                    .also = {"HDR-07"}});
  scenes.push_back({.rule = "BI-04",
                    .guilty = Guilty::kClient,
                    .breaks = chunk_answered(false),
                    .keeps = chunk_answered(true),
                    .also = {"HDR-10", "CONN-LOST"}});
  scenes.push_back({.rule = "BI-05",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.call(call(1, nfs4::getattr_call(1)));
                          c.reply(reply(1, nfs4::getattr_reply(1)));
                          call_back(c, 0x51);
                          answer_back(c, 0x51);
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = ready(s);
                          call_back(c, 0x51);
                          answer_back(c, 0x51);
                        }});
  const auto after = [](const auto& asked, const auto& answered) {
    return [=](Scene& s) {
      Connection& c = s.connect();
      c.call(call(1, asked(1)));
      c.reply(reply(1, answered(1)));
      call_back(c, 0x51);
      answer_back(c, 0x51);
    };
  };
  const auto session = [](std::uint32_t flags) {
    return [flags](std::uint32_t xid) { return nfs4::create_session_call(xid, flags); };
  };
  const auto bind = [](std::uint32_t direction) {
    return [direction](std::uint32_t xid) { return nfs4::bind_call(xid, direction); };
  };
  const auto bound = [](std::uint32_t direction) {
    return [direction](std::uint32_t xid) { return nfs4::bind_reply(xid, direction); };
  };
  const auto add = [&](const char* variant, std::function<void(Scene&)> breaks,
                       std::function<void(Scene&)> keeps) {
    scenes.push_back({.rule = "BI-05",
                      .guilty = Guilty::kServer,
                      .breaks = std::move(breaks),
                      .keeps = std::move(keeps),
                      .variant = variant});
  };
  add("no-back-channel", after(session(0), nfs4::create_session_reply),
      after(session(2), nfs4::create_session_reply));
  add("session-failed", after(session(2), nfs4::create_session_failed),
      after(session(2), nfs4::create_session_reply));
  add("fore-channel", after(bind(1), bound(1)), after(bind(2), bound(2)));
  scenes.push_back({.rule = "BI-06",
                    .guilty = Guilty::kClient,
                    .breaks = refused,
                    .keeps =
                        [](Scene& s) {
                          Connection& c = ready(s);
                          call_back(c, 0x51);
                          answer_back(c, 0x51);
                        },
                    .also = {"RNR"}});
  scenes.push_back({.rule = "BI-07",
                    .guilty = Guilty::kServer,
                    .breaks = sent_again(kServer),
                    .keeps = sent_again(kClient),
                    .both = {"HDR-10", "CONN-LOST"}});
}

}  // namespace rpcrdma::scenes

// Scenes for the headers and errors of version 2. For its negotiation see negotiation_scenes.cc.
#include "registry.h"

namespace rpcrdma::scenes {

namespace {

using wire::RdmaErr;

Message v2_call(std::uint32_t xid) {
  return version2(call(xid));
}
Message v2_reply(std::uint32_t xid) {
  return version2(reply(xid));
}
Message v2_error(std::uint32_t xid, RdmaErr error) {
  Message m = version2(err_chunk(xid));
  m.error = error;
  return m;
}

// An exchange in version 2, then the messages that concern the rule.
template <typename Rest>
auto after_exchange(const Rest& rest) {
  return [rest](Scene& s) {
    Connection& c = s.connect();
    c.call(v2_call(1));
    c.reply(v2_reply(1));
    rest(c);
  };
}

auto refused(const Message& call, const Message& error) {
  return after_exchange([=](Connection& c) {
    c.call(call);
    c.reply(error);
  });
}

void good(Connection& c) {
  c.call(v2_call(2));
  c.reply(v2_reply(2));
}

// An NFS READ of 1000 bytes with a Write chunk of `room` bytes.
Message read_call(std::uint32_t inv_handle = 0, std::uint32_t room = 1000) {
  Message m = version2(call(2, nfs3::read_call(2, 1000)));
  m.writes = {{{0x100, room, 0x1000}}};
  m.inv_handle = inv_handle;
  return m;
}

void read(Connection& c, std::uint32_t called, std::uint32_t returned,
          std::optional<std::uint32_t> invalidate = std::nullopt) {
  const Message m = read_call(called);
  c.call(m);
  c.write(m.writes[0][0], pattern(1000));
  Message r = version2(reply(2, nfs3::read_reply(2, 1000).rpc));
  r.writes = m.writes;
  r.inv_handle = returned;
  r.invalidate = invalidate;
  c.reply(r);
}

void add_headers(Scenes& scenes) {
  Message error = v2_error(2, RdmaErr::kChunk);
  error.rpc = Bytes(8);
  scenes.push_back({.rule = "V2-01",
                    .guilty = Guilty::kServer,
                    .breaks = refused(v2_call(2), error),
                    .keeps = refused(v2_call(2), v2_error(2, RdmaErr::kChunk))});
  scenes.push_back({.rule = "V2-02",
                    .guilty = Guilty::kServer,
                    .breaks = after_exchange([](Connection& c) {
                      Message m;
                      m = v2_call(2);
                      m.direction = wire::MsgType::kReply;
                      c.send(kServer, m);
                    }),
                    .keeps = after_exchange(good)});
  // The client may handle the Reply in any way.
  scenes.push_back({.rule = "V2-02",
                    .guilty = Guilty::kServer,
                    .breaks = after_exchange([](Connection& c) {
                      c.call(v2_call(2));
                      Message m = v2_reply(2);
                      m.direction = wire::MsgType::kCall;
                      c.send(kServer, m);
                      c.reply(v2_reply(2));
                      c.disconnect();
                    }),
                    .keeps = after_exchange(good),
                    .variant = "passed-over"});
  // The chunk lists show the direction of a long message.
  const auto long_call = [](wire::MsgType direction) {
    return after_exchange([direction](Connection& c) {
      const Bytes rpc = nfs3::getattr_call(2);
      const wire::Segment memory{0x100, static_cast<std::uint32_t>(rpc.size()), 0x1000};
      Message m = version2(call(2, {}));
      m.proc = wire::Proc::kNomsg;
      m.reads = {{0, memory}};
      m.direction = direction;
      c.call(m);
      c.read(kServer, memory.handle, memory.offset, rpc);
      c.reply(version2(reply(2, nfs3::getattr_reply(2))));
    });
  };
  scenes.push_back({.rule = "V2-02",
                    .guilty = Guilty::kClient,
                    .breaks = long_call(wire::MsgType::kReply),
                    .keeps = long_call(wire::MsgType::kCall),
                    .variant = "long-call"});
  const auto long_reply = [](wire::MsgType direction) {
    return after_exchange([direction](Connection& c) {
      Message m = version2(call(2, nfs3::readdir_call(2, 2000)));
      m.reply_chunk = std::vector<wire::Segment>{{0x100, 4096, 0x1000}};
      c.call(m);
      const Bytes rpc = nfs3::readdir_reply(2, 2000);
      c.write((*m.reply_chunk)[0], rpc);
      Message r = version2(reply(2, {}));
      r.proc = wire::Proc::kNomsg;
      r.reply_chunk = m.reply_chunk;
      (*r.reply_chunk)[0].length = static_cast<std::uint32_t>(rpc.size());
      r.direction = direction;
      c.reply(r);
    });
  };
  scenes.push_back({.rule = "V2-02",
                    .guilty = Guilty::kServer,
                    .breaks = long_reply(wire::MsgType::kCall),
                    .keeps = long_reply(wire::MsgType::kReply),
                    .variant = "long-reply"});
  // Rules are checked before and after it: it is not a message of a later draft.
  Bytes odd = encode(v2_call(2));
  odd[19] = 2;  // rdma_direction
  scenes.push_back({.rule = "V2-08",
                    .guilty = Guilty::kServer,
                    .breaks = after_exchange([odd](Connection& c) {
                      c.send(kClient, odd);
                      c.reply(v2_error(2, RdmaErr::kInvalProc));
                    }),
                    .keeps = after_exchange([odd](Connection& c) {
                      c.send(kClient, odd);
                      c.reply(v2_error(2, RdmaErr::kChunk));
                    }),
                    .both = {"V2-02"},
                    .variant = "direction"});
  scenes.push_back({.rule = "V2-03",
                    .guilty = Guilty::kClient,
                    .breaks = after_exchange([](Connection& c) { read(c, 0x999, 0x999); }),
                    .keeps = after_exchange([](Connection& c) { read(c, 0x100, 0x100); })});
  scenes.push_back({.rule = "V2-04",
                    .guilty = Guilty::kServer,
                    .breaks = after_exchange([](Connection& c) { read(c, 0x100, 0); }),
                    .keeps = after_exchange([](Connection& c) { read(c, 0x100, 0x100, 0x100); })});
  scenes.push_back({.rule = "V2-04",
                    .guilty = Guilty::kServer,
                    .breaks = after_exchange([](Connection& c) { read(c, 0, 0, 0x100); }),
                    .keeps = after_exchange([](Connection& c) { read(c, 0, 0); }),
                    .variant = "invalidate"});
}

void add_refusals(Scenes& scenes) {
  Bytes unknown = encode(v2_call(2));
  unknown[15] = 9;  // rdma_proc
  scenes.push_back({.rule = "V2-08",
                    .guilty = Guilty::kClient,
                    .breaks = after_exchange([unknown](Connection& c) {
                      c.send(kClient, unknown);
                      c.reply(v2_error(2, RdmaErr::kInvalProc));
                    }),
                    .keeps = after_exchange(good)});
  Message option;
  option.xid = 2;
  option.vers = 2;
  option.proc = wire::Proc::kOptional;
  option.opttype = 99;
  scenes.push_back({.rule = "V2-08",
                    .guilty = Guilty::kServer,
                    .breaks = refused(option, v2_error(2, RdmaErr::kInvalProc)),
                    .keeps = refused(option, v2_error(2, RdmaErr::kInvalOption)),
                    .variant = "answer"});
  // The responder may know the option, but not its content.
  scenes.push_back({.rule = "V2-08",
                    .guilty = Guilty::kServer,
                    .breaks = refused(option, v2_error(2, RdmaErr::kInvalProc)),
                    .keeps = refused(option, v2_error(2, RdmaErr::kChunk)),
                    .variant = "known-option"});
  scenes.push_back({.rule = "V2-08",
                    .guilty = Guilty::kServer,
                    .breaks = refused(v2_call(2), v2_error(2, RdmaErr::kInvalProc)),
                    .keeps = refused(v2_call(2), v2_error(2, RdmaErr::kChunk)),
                    .variant = "good-call"});
  Bytes body = encode(v2_error(2, RdmaErr::kCantReply));
  body[23] = 2;  // rdma_processed
  scenes.push_back({.rule = "V2-11",
                    .guilty = Guilty::kServer,
                    .breaks = after_exchange([body](Connection& c) {
                      c.call(v2_call(2));
                      c.send(kServer, body);
                    }),
                    .keeps = refused(v2_call(2), v2_error(2, RdmaErr::kCantReply))});
}

// Calls that name a handle to invalidate, and Replies with and without Send With Invalidate.
auto naming_handles(std::uint32_t calls, bool invalidating) {
  return after_exchange([=](Connection& c) {
    for (std::uint32_t xid = 2; xid < 2 + calls; ++xid) {
      Message m = version2(call(xid, nfs3::read_call(xid, 100)));
      m.writes = {{{0x100 + xid, 100, 0x1000}}};
      m.inv_handle = 0x100 + xid;
      c.call(m);
      c.write(m.writes[0][0], pattern(100));
      Message r = version2(reply(xid, nfs3::read_reply(xid, 100).rpc));
      r.writes = m.writes;
      r.inv_handle = m.inv_handle;
      if (invalidating) r.invalidate = m.inv_handle;
      c.reply(r);
    }
  });
}

// The server sends this message, and the client has two seconds to answer.
auto to_client(const Bytes& content, const std::optional<Message>& answer) {
  return [=](Scene& s) {
    Connection& c = s.connect();
    c.call(v2_call(1));
    c.reply(v2_reply(1));
    c.send(kServer, content);
    if (answer) c.send(kClient, *answer);
    s.wait(2'000'000'000);
    c.call(v2_call(3));
    c.reply(v2_reply(3));
  };
}

void add_receivers(Scenes& scenes) {
  scenes.push_back({.rule = "V2-12",
                    .guilty = Guilty::kServer,
                    .breaks = naming_handles(4, false),
                    .keeps = naming_handles(4, true)});
  scenes.push_back({.rule = "V2-12",
                    .guilty = Guilty::kServer,
                    .breaks = naming_handles(5, false),
                    .keeps = naming_handles(3, false),
                    .variant = "few"});
  Bytes unknown = encode(v2_call(2));
  unknown[15] = 9;  // rdma_proc
  scenes.push_back({.rule = "V2-13",
                    .guilty = Guilty::kClient,
                    .breaks = to_client(unknown, std::nullopt),
                    .keeps = to_client(unknown, v2_error(2, RdmaErr::kInvalProc)),
                    .both = {"V2-08"}});
  Message option;
  option.xid = 2;
  option.vers = 2;
  option.proc = wire::Proc::kOptional;
  option.opttype = 99;
  scenes.push_back({.rule = "V2-13",
                    .guilty = Guilty::kClient,
                    .breaks = to_client(encode(option), std::nullopt),
                    .keeps = to_client(encode(option), v2_error(2, RdmaErr::kInvalOption)),
                    .variant = "option"});
  Message answer = option;
  answer.direction = wire::MsgType::kReply;
  scenes.push_back({.rule = "V2-13",
                    .guilty = Guilty::kClient,
                    .breaks = to_client(encode(option), std::nullopt),
                    .keeps = to_client(encode(option), answer),
                    .variant = "known-option"});
}

void add_cant_reply(Scenes& scenes) {
  Message small = v2_error(2, RdmaErr::kCantReply);
  small.segment_index = 1;
  small.length_needed = 2000;
  Message wrong = small;
  wrong.segment_index = 5;
  scenes.push_back({.rule = "V2-09",
                    .guilty = Guilty::kServer,
                    .breaks = refused(read_call(), wrong),
                    .keeps = refused(read_call(), small)});
  const auto again = [small](std::uint32_t room) {
    return after_exchange([=](Connection& c) {
      c.call(read_call());
      c.reply(small);
      const Message m = read_call(0, room);
      c.call(m);
      c.write(m.writes[0][0], pattern(1000));
      Message r = version2(reply(2, nfs3::read_reply(2, 1000).rpc));
      r.writes = m.writes;
      r.writes[0][0].length = 1000;
      c.reply(r);
    });
  };
  scenes.push_back(
      {.rule = "V2-10", .guilty = Guilty::kClient, .breaks = again(1000), .keeps = again(2000)});
}

}  // namespace

void add_version2_scenes(Scenes& scenes) {
  add_headers(scenes);
  add_refusals(scenes);
  add_cant_reply(scenes);
  add_receivers(scenes);
}

}  // namespace rpcrdma::scenes

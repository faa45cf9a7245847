// Scenes for the rules about the fixed header, XIDs and answers (HDR).
#include "registry.h"

namespace rpcrdma::scenes {

namespace {

constexpr std::int64_t kMinute = 60'000'000'000;

// Changes one byte of a valid header.
Bytes with_byte(const Message& message, std::size_t at, std::uint8_t value) {
  Bytes content = encode(message);
  content[at] = value;
  return content;
}

void two_exchanges(Scene& s) {
  Connection& c = s.connect();
  c.exchange(1);
  c.exchange(2);
}

// The client sends a malformed Call; `answer`: its answer, if any.
auto bad_call(Bytes content, std::optional<Message> answer = std::nullopt) {
  return [content, answer](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    c.send(kClient, content);
    if (answer) c.reply(*answer);
  };
}

Message with_record_mark(Message m) {
  const auto length = static_cast<std::uint32_t>(m.rpc.size());
  Bytes marked = Xdr().u32(0x80000000 | length).bytes();
  marked.insert(marked.end(), m.rpc.begin(), m.rpc.end());
  m.rpc = marked;
  return m;
}

// A Call in its Position Zero Read chunk.
void long_call(Scene& s, const Bytes& behind_header, const Bytes& rpc) {
  Connection& c = s.connect();
  c.exchange(1);
  Message m;
  m.xid = 2;
  m.proc = wire::Proc::kNomsg;
  m.reads = {{0, {0x100, static_cast<std::uint32_t>(rpc.size()), 0x1000}}};
  m.rpc = behind_header;
  c.call(m);
  c.read(kServer, 0x100, 0x1000, rpc);
  c.reply(reply(2, nfs3::getattr_reply(2)));
}

void long_call(Scene& s, const Bytes& behind_header, std::uint32_t xid_in_chunk) {
  long_call(s, behind_header, nfs3::getattr_call(xid_in_chunk));
}

// A Reply in the Reply chunk.
void long_reply(Scene& s, bool marked) {
  Connection& c = s.connect();
  c.exchange(1);
  const wire::Segment memory{0x100, 4096, 0x1000};
  Message m = call(2, nfs3::readdir_call(2, 2000));
  m.reply_chunk = std::vector<wire::Segment>{memory};
  c.call(m);
  Message r = reply(2, nfs3::readdir_reply(2, 2000));
  if (marked) r = with_record_mark(r);
  c.write(memory, r.rpc);
  r.proc = wire::Proc::kNomsg;
  const auto length = static_cast<std::uint32_t>(r.rpc.size());
  r.reply_chunk = std::vector<wire::Segment>{{memory.handle, length, memory.offset}};
  r.rpc.clear();
  c.reply(r);
}

// The server sends a reverse Call with a record mark; the client answers it nevertheless.
void marked_callback(Scene& s, bool marked) {
  Connection& c = s.connect();
  c.call(call(1, nfs4::create_session_call(1)));
  c.reply(reply(1, nfs4::create_session_reply(1)));
  const Message m = call(0x51, nfs4::callback_call(0x51));
  c.send(kServer, marked ? with_record_mark(m) : m);
  c.send(kClient, reply(0x51, nfs4::callback_reply(0x51)));
}

void add_malformed(Scenes& scenes) {
  scenes.push_back({.rule = "HDR-01", .breaks = bad_call(Bytes(12)), .keeps = two_exchanges});
  // It is not known whether the message needs an answer.
  scenes.push_back({.rule = "HDR-01",
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.send(kClient, Bytes(12));
                          c.exchange(1);
                        },
                    .keeps = two_exchanges,
                    .variant = "goes-on"});
  scenes.push_back({.rule = "HDR-03",
                    .breaks = bad_call(with_byte(call(2), 7, 9), err_vers(2)),
                    .keeps = two_exchanges});
  // A server that ends the connection for it need not answer the next Call.
  const auto closed = [](bool bad) {
    return [bad](Scene& s) {
      Connection& c = s.connect();
      c.exchange(1);
      c.call(call(2));
      if (bad) {
        c.send(kClient, with_byte(call(3), 16, 0xff));
        c.reply(err_chunk(3));
      } else {
        c.reply(reply(2));
      }
      c.disconnect(kServer);
    };
  };
  scenes.push_back({.rule = "HDR-06",
                    .breaks = closed(true),
                    .keeps = closed(false),
                    .also = {"CONN-LOST"},
                    .variant = "closed"});
  scenes.push_back({.rule = "HDR-05",
                    .breaks = bad_call(with_byte(call(2), 15, 7), err_chunk(2)),
                    .keeps = two_exchanges});
  // A marker of an optional item.
  scenes.push_back({.rule = "HDR-06",
                    .breaks = bad_call(with_byte(call(2), 16, 0xff), err_chunk(2)),
                    .keeps = two_exchanges});
}

void add_payload(Scenes& scenes) {
  scenes.push_back({.rule = "HDR-07",
                    .breaks = bad_call(encode(call(2, {})), err_chunk(2)),
                    .keeps = two_exchanges});
  scenes.push_back({.rule = "HDR-07",
                    .breaks = [](Scene& s) { long_call(s, Bytes(8), 2); },
                    .keeps = [](Scene& s) { long_call(s, {}, 2); },
                    .variant = "nomsg"});
  scenes.push_back({.rule = "HDR-08",
                    .breaks = bad_call(encode(with_record_mark(call(2))), err_chunk(2)),
                    .keeps = two_exchanges});
  // A fragment that is not the last.
  const auto fragment = [] {
    Message m = with_record_mark(call(2));
    m.rpc[0] &= 0x7f;
    return encode(m);
  };
  scenes.push_back({.rule = "HDR-08",
                    .breaks = bad_call(fragment(), err_chunk(2)),
                    .keeps = two_exchanges,
                    .variant = "fragment"});
  scenes.push_back({.rule = "HDR-08",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { marked_callback(s, true); },
                    .keeps = [](Scene& s) { marked_callback(s, false); },
                    .variant = "reverse"});
  scenes.push_back(
      {.rule = "HDR-08",
       .breaks =
           [](Scene& s) { long_call(s, {}, with_record_mark(call(2, nfs3::getattr_call(2))).rpc); },
       .keeps = [](Scene& s) { long_call(s, {}, 2); },
       .variant = "long-call"});
  scenes.push_back({.rule = "HDR-08",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { long_reply(s, true); },
                    .keeps = [](Scene& s) { long_reply(s, false); },
                    .variant = "long-reply"});
}

void add_xid(Scenes& scenes) {
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
  scenes.push_back({.rule = "HDR-02",
                    .breaks = [](Scene& s) { long_call(s, {}, 3); },
                    .keeps = [](Scene& s) { long_call(s, {}, 2); },
                    .variant = "long-call"});
  scenes.push_back({.rule = "HDR-09",
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.call(call(2));
                          c.call(call(2));
                          c.reply(reply(2));
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.call(call(2));
                          c.call(call(3));
                          c.reply(reply(2));
                          c.reply(reply(3));
                          c.exchange(2);
                        }});
  // The later Call has a chunk, which is not read for the Reply to the earlier Call.
  scenes.push_back({.rule = "HDR-09",
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.call(call(2, nfs3::getattr_call(2)));
                          const Reduced body = nfs3::write_call(2, 1000);
                          Message m = call(2, body.rpc);
                          m.reads = {{body.position, {0x100, 1000, 0x1000}}};
                          c.call(m);
                          c.reply(reply(2, nfs3::getattr_reply(2)));
                          c.read(m.reads[0].target);
                          c.reply(reply(2, nfs3::write_reply(2, 1000)));
                        },
                    .keeps = two_exchanges,
                    .variant = "chunks"});
  // Both Calls are answered: the server is not at fault.
  scenes.push_back({.rule = "HDR-09",
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.call(call(2));
                          c.call(call(2));
                          c.reply(reply(2));
                          c.reply(reply(2));
                        },
                    .keeps = two_exchanges,
                    .variant = "both-answered"});
}

void add_answers(Scenes& scenes) {
  scenes.push_back({.rule = "HDR-04",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.call(call(2));
                          c.reply(version2(reply(2)));
                        },
                    .keeps = two_exchanges});
  scenes.push_back({.rule = "HDR-10",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.reply(reply(77));
                        },
                    .keeps = two_exchanges});
  scenes.push_back({.rule = "HDR-10",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.reply(reply(1));
                        },
                    .keeps = two_exchanges,
                    .variant = "twice"});
  scenes.push_back({.rule = "HDR-10",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.call(call(2));
                          s.wait(kMinute);
                          c.exchange(3);
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          s.wait(kMinute);
                          c.call(call(2));  // the capture ends before its answer
                        },
                    .also = {"STALL"},
                    .variant = "unanswered"});
  // The requester abandons the Call after `patience`.
  const auto passed_over = [](std::int64_t patience) {
    return [patience](Scene& s) {
      Connection& c = s.connect();
      c.exchange(1);
      c.call(call(2));
      c.exchange(3);
      s.wait(patience);
      c.disconnect();
    };
  };
  scenes.push_back({.rule = "HDR-10",
                    .guilty = Guilty::kServer,
                    .breaks = passed_over(kMinute / 6),
                    .keeps = passed_over(kMinute / 120),
                    .also = {"STALL"},
                    .both = {"CONN-LOST"},
                    .variant = "passed-over"});
}

Message with_immediate(Message m) {
  m.immediate = true;
  return m;
}

// NFS LOOKUP, whose name has one byte of roundup.
Bytes lookup(std::uint8_t roundup) {
  Bytes rpc =
      rpc_call(2, kNfs, 3, 3, Xdr().opaque(pattern(32)).opaque(Bytes{'a', 'b', 'c'}).bytes());
  rpc.back() = roundup;
  return rpc;
}

// NFS READ of five bytes, inline.
Bytes short_read(std::uint8_t roundup) {
  Bytes rpc = nfs3::read_reply_inline(2, pattern(5));
  rpc.back() = roundup;
  return rpc;
}

// A Call whose verifier has one byte of roundup.
Bytes with_verifier(std::uint8_t roundup) {
  Xdr rpc;
  rpc.u32(2).u32(0).u32(2).u32(kPlainProgram).u32(1).u32(1).u32(0).u32(0);
  rpc.u32(6).opaque(pattern(7));
  Bytes bytes = rpc.bytes();
  bytes.back() = roundup;
  return bytes;
}

auto exchanged(const Message& asked, const Message& answer) {
  return [=](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    c.call(asked);
    c.reply(answer);
  };
}

// A Call of a procedure that may be one-way, and a later one with a Reply.
auto passed_over(std::uint32_t procedure) {
  return [procedure](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    c.call(call(2, rpc_call(2, kPlainProgram, 1, procedure, Bytes(16, 0x11))));
    c.exchange(3);
    if (procedure == 1) c.reply(reply(2));
    s.wait(2'000'000'000);
    c.disconnect();
  };
}

void add_one_way(Scenes& scenes) {
  scenes.push_back({.rule = "HDR-10",
                    .guilty = Guilty::kServer,
                    .breaks = passed_over(9),
                    .keeps = passed_over(1),
                    .also = {"CONN-LOST"},
                    .variant = "one-way"});
}

void add_ways_to_send(Scenes& scenes) {
  scenes.push_back({.rule = "HDR-11",
                    .breaks = exchanged(with_immediate(call(2)), reply(2)),
                    .keeps = two_exchanges});
  scenes.push_back({.rule = "HDR-11",
                    .guilty = Guilty::kServer,
                    .breaks = exchanged(call(2), with_immediate(reply(2))),
                    .keeps = two_exchanges,
                    .variant = "reply"});
}

void add_roundup(Scenes& scenes) {
  const auto looked_up = [](std::uint8_t roundup) {
    return exchanged(call(2, lookup(roundup)), reply(2, rpc_reply(2, Xdr().u32(2).u32(0).bytes())));
  };
  scenes.push_back({.rule = "HDR-12", .breaks = looked_up(0xaa), .keeps = looked_up(0)});
  const auto read = [](std::uint8_t roundup) {
    return exchanged(call(2, nfs3::read_call(2, 5)), reply(2, short_read(roundup)));
  };
  scenes.push_back({.rule = "HDR-12",
                    .guilty = Guilty::kServer,
                    .breaks = read(0xaa),
                    .keeps = read(0),
                    .variant = "reply"});
  const auto verified = [](std::uint8_t roundup) {
    return exchanged(call(2, with_verifier(roundup)), reply(2));
  };
  scenes.push_back(
      {.rule = "HDR-12", .breaks = verified(0xaa), .keeps = verified(0), .variant = "verifier"});
  const auto long_lookup = [](std::uint8_t roundup) {
    return [roundup](Scene& s) { long_call(s, {}, lookup(roundup)); };
  };
  scenes.push_back({.rule = "HDR-12",
                    .breaks = long_lookup(0xaa),
                    .keeps = long_lookup(0),
                    .variant = "long-call"});
}

}  // namespace

void add_header_scenes(Scenes& scenes) {
  add_malformed(scenes);
  add_payload(scenes);
  add_xid(scenes);
  add_answers(scenes);
  add_one_way(scenes);
  add_ways_to_send(scenes);
  add_roundup(scenes);
}

}  // namespace rpcrdma::scenes

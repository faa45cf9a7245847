// Scenes for the rules about Read lists (RD).
#include "registry.h"

namespace rpcrdma::scenes {

namespace {

// A Call of a program without a binding is 56 bytes long; its arguments begin at 40.
using Reads = std::vector<wire::ReadSegment>;

// The responder reads all chunks and replies.
void served(Scene& s, const Reads& reads) {
  Connection& c = s.connect();
  c.exchange(1);
  Message m = call(2);
  m.reads = reads;
  c.call(m);
  for (const wire::ReadSegment& r : reads) c.read(r.target);
  c.reply(reply(2));
}

// The responder refuses the Call.
void refused(Scene& s, const Reads& reads) {
  Connection& c = s.connect();
  c.exchange(1);
  Message m = call(2);
  m.reads = reads;
  c.call(m);
  c.reply(err_chunk(2));
}

auto serve(const Reads& reads) {
  return [reads](Scene& s) { served(s, reads); };
}
auto refuse(const Reads& reads) {
  return [reads](Scene& s) { refused(s, reads); };
}

// A segment of an NFS WRITE; `offset`: of its Position from the place of the data.
struct Piece {
  std::uint32_t length = 0;
  std::uint32_t offset = 0;
};
Message nfs_write(std::uint32_t count, const std::vector<Piece>& pieces, bool version4) {
  const Reduced body = version4 ? nfs4::write_call(2, count) : nfs3::write_call(2, count);
  Message m = call(2, body.rpc);
  for (const Piece& p : pieces) {
    const auto handle = static_cast<std::uint32_t>(0x100 + m.reads.size());
    m.reads.push_back({body.position + p.offset, {handle, p.length, 0x1000}});
  }
  return m;
}

void run_write(Scene& s, std::uint32_t count, const std::vector<Piece>& pieces, bool version4) {
  Connection& c = s.connect();
  c.exchange(1);
  const Message m = nfs_write(count, pieces, version4);
  c.call(m);
  for (const wire::ReadSegment& r : m.reads) {
    if (r.target.length != 0) c.read(r.target);
  }
  c.reply(reply(2, version4 ? nfs4::write_reply(2, count) : nfs3::write_reply(2, count)));
}

auto write(std::uint32_t count, const std::vector<Piece>& pieces, bool version4 = false) {
  return [=](Scene& s) { run_write(s, count, pieces, version4); };
}

// RFC 5666: the client reads results from Read chunks of the Reply.
void reply_with_reads(Scene& s, bool done) {
  Connection& c = s.connect();
  c.exchange(1);
  c.call(call(2));
  Message m = reply(2);
  m.reads = {{24, {0x200, 100, 0x1000}}};
  c.reply(m);
  c.read(kClient, 0x200, 0x1000, pattern(100));
  if (done) {
    Message d;
    d.xid = 2;
    d.proc = wire::Proc::kDone;
    c.send(kClient, d);
  }
  c.exchange(3);
  c.disconnect();
}

// RFC 5666: a Read chunk contains the whole Reply.
void long_reply_with_reads(Scene& s, bool done, bool reverse = false) {
  Connection& c = s.connect();
  c.exchange(1);
  if (reverse) {
    c.send(kServer, call(0x5100'0000, nfs4::callback_call(0x5100'0000)));
    c.send(kClient, reply(0x5100'0000, nfs4::callback_reply(0x5100'0000)));
  }
  c.call(call(2));
  const Bytes rpc = reply(2).rpc;
  Message m;
  m.xid = 2;
  m.direction = wire::MsgType::kReply;
  m.proc = wire::Proc::kNomsg;
  m.reads = {{0, {0x200, static_cast<std::uint32_t>(rpc.size()), 0x1000}}};
  c.reply(m);
  c.read(kClient, 0x200, 0x1000, rpc);
  if (done) {
    Message d;
    d.xid = 2;
    d.proc = wire::Proc::kDone;
    c.send(kClient, d);
  }
  c.exchange(3);
  c.disconnect();
}

// A long Call with Position Zero last in its list, on a connection with reverse Calls.
void zero_last(Scene& s, bool last) {
  Connection& c = s.connect();
  c.call(call(1, nfs4::create_session_call(1)));
  c.reply(reply(1, nfs4::create_session_reply(1)));
  c.send(kServer, call(0x51, nfs4::callback_call(0x51)));
  c.send(kClient, reply(0x51, nfs4::callback_reply(0x51)));
  const Bytes rpc = call(2).rpc;
  const wire::ReadSegment zero{0, {0x100, static_cast<std::uint32_t>(rpc.size()), 0x1000}};
  const wire::ReadSegment data{44, {0x101, 8, 0x1000}};
  Message m;
  m.xid = 2;
  m.proc = wire::Proc::kNomsg;
  m.reads = last ? std::vector{data, zero} : std::vector{zero, data};
  m.reply_chunk = std::vector<wire::Segment>{{0x102, 4096, 0x1000}};
  c.call(m);
  c.read(kServer, 0x100, 0x1000, rpc);
  c.read(data.target);
  Message r;
  r.xid = 2;
  r.proc = wire::Proc::kNomsg;
  r.direction = wire::MsgType::kReply;
  const Bytes result = reply(2).rpc;
  c.write({0x102, 4096, 0x1000}, result);
  r.reply_chunk =
      std::vector<wire::Segment>{{0x102, static_cast<std::uint32_t>(result.size()), 0x1000}};
  c.reply(r);
}

void add_reply(Scenes& scenes) {
  scenes.push_back({.rule = "RD-03",
                    .breaks = [](Scene& s) { zero_last(s, true); },
                    .keeps = [](Scene& s) { zero_last(s, false); },
                    .variant = "zero-last"});
  // The server sends a Call, too.
  scenes.push_back({.rule = "RD-01",
                    .breaks = [](Scene& s) { long_reply_with_reads(s, false, true); },
                    .keeps = [](Scene& s) { long_reply_with_reads(s, true, true); },
                    .variant = "long-reverse",
                    .profile = rules::Profile::k5666});

  scenes.push_back({.rule = "RD-01",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { reply_with_reads(s, false); },
                    .keeps = [](Scene& s) { s.connect().exchange(1); }});
  scenes.push_back({.rule = "RD-01",
                    .breaks = [](Scene& s) { reply_with_reads(s, false); },
                    .keeps = [](Scene& s) { reply_with_reads(s, true); },
                    .profile = rules::Profile::k5666});
  scenes.push_back({.rule = "RD-01",
                    .breaks = [](Scene& s) { long_reply_with_reads(s, false); },
                    .keeps = [](Scene& s) { long_reply_with_reads(s, true); },
                    .variant = "long",
                    .profile = rules::Profile::k5666});
}

void add_positions(Scenes& scenes) {
  const auto good = serve({{44, {0x100, 8, 0x1000}}});
  scenes.push_back({.rule = "RD-02", .breaks = refuse({{42, {0x100, 8, 0x1000}}}), .keeps = good});
  scenes.push_back({.rule = "RD-03",
                    .breaks = serve({{56, {0x100, 8, 0x1000}}, {44, {0x101, 8, 0x1000}}}),
                    .keeps = serve({{44, {0x100, 8, 0x1000}}, {56, {0x101, 8, 0x1000}}})});
  // Segments of one chunk that are not consecutive, without overlap.
  scenes.push_back(
      {.rule = "RD-03",
       .breaks =
           serve({{44, {0x100, 4, 0x1000}}, {52, {0x101, 8, 0x1000}}, {44, {0x102, 4, 0x1000}}}),
       .keeps =
           serve({{44, {0x100, 4, 0x1000}}, {44, {0x102, 4, 0x1000}}, {52, {0x101, 8, 0x1000}}}),
       .variant = "interleaved"});
  scenes.push_back({.rule = "RD-05",
                    .breaks = refuse({{400, {0x100, 8, 0x1000}}}),
                    .keeps = serve({{56, {0x100, 8, 0x1000}}})});
  scenes.push_back({.rule = "RD-06",
                    .breaks = refuse({{44, {0x100, 16, 0x1000}}, {52, {0x101, 8, 0x1000}}}),
                    .keeps = serve({{44, {0x100, 16, 0x1000}}, {60, {0x101, 8, 0x1000}}})});
}

void nomsg_call(Scene& s, std::uint32_t position) {
  Connection& c = s.connect();
  c.exchange(1);
  const Bytes rpc = call(2).rpc;
  Message m;
  m.xid = 2;
  m.proc = wire::Proc::kNomsg;
  m.reads = {{position, {0x100, static_cast<std::uint32_t>(rpc.size()), 0x1000}}};
  c.call(m);
  if (position != 0) return c.reply(err_chunk(2));
  c.read(kServer, 0x100, 0x1000, rpc);
  c.reply(reply(2));
}

// A long Call without a Position Zero chunk, but with memory for its Reply.
void unreadable_call(Scene& s) {
  Connection& c = s.connect();
  c.exchange(1);
  Message m;
  m.xid = 2;
  m.proc = wire::Proc::kNomsg;
  m.reply_chunk = std::vector<wire::Segment>{{0x100, 4096, 0x1000}};
  c.call(m);
  c.reply(err_chunk(2));
}

void add_position_zero(Scenes& scenes) {
  scenes.push_back({.rule = "RD-04",
                    .breaks = refuse({{0, {0x100, 56, 0x1000}}}),
                    .keeps = serve({{44, {0x100, 8, 0x1000}}})});
  scenes.push_back({.rule = "RD-04",
                    .breaks = [](Scene& s) { nomsg_call(s, 44); },
                    .keeps = [](Scene& s) { nomsg_call(s, 0); },
                    .variant = "nomsg"});
  scenes.push_back({.rule = "RD-04",
                    .breaks = unreadable_call,
                    .keeps = [](Scene& s) { nomsg_call(s, 0); },
                    .variant = "no-chunk"});
}

void add_counts(Scenes& scenes) {
  scenes.push_back(
      {.rule = "RD-07", .breaks = write(1000, {{900}}), .keeps = write(1000, {{1000}})});
  scenes.push_back({.rule = "RD-07",
                    .breaks = write(1000, {{500}, {504}}, true),
                    .keeps = write(1000, {{500}, {500}}, true),
                    .variant = "nfs4"});
  scenes.push_back(
      {.rule = "RD-08", .breaks = write(1000, {{1000}, {0}}), .keeps = write(1000, {{1000}})});
  scenes.push_back(
      {.rule = "RD-10", .breaks = write(1001, {{1001}, {3}}), .keeps = write(1001, {{1004}})});
  scenes.push_back({.rule = "RD-10",
                    .breaks = write(1001, {{1001, 0}, {3, 1001}}),
                    .keeps = write(1001, {{501}, {500}}),
                    .also = {"RD-02"},
                    .variant = "chunk"});
}

// Write segments that leave the address space or overlap.
void offer_results(Scene& s, const std::vector<wire::Segment>& segments) {
  Connection& c = s.connect();
  c.exchange(1);
  Message m = call(2, nfs3::read_call(2, 100));
  m.writes = {segments};
  c.call(m);
  Message r = reply(2, nfs3::read_reply(2, 100).rpc);
  r.writes = m.writes;
  c.write(segments[0], pattern(100));
  for (std::size_t i = 1; i < segments.size(); ++i) r.writes[0][i].length = 0;
  c.reply(r);
}

// Data with a length that is no multiple of 4, refused because its memory wraps around.
void refused_for_its_memory(Scene& s) {
  Connection& c = s.connect();
  c.exchange(1);
  Message m = nfs_write(1001, {{1001}}, false);
  m.reads[0].target.offset = 0xffff'ffff'ffff'ff00;
  c.call(m);
  c.reply(err_chunk(2));
}

void add_memory(Scenes& scenes) {
  scenes.push_back({.rule = "RD-09",
                    .breaks = refused_for_its_memory,
                    .keeps = write(1001, {{1001}}),
                    .variant = "refused"});
  // The overlap is harmless, since nothing is written there.
  scenes.push_back({.rule = "RD-09",
                    .breaks = serve({{44, {0x100, 8, 0x1000}}, {56, {0x100, 8, 0x1004}}}),
                    .keeps = serve({{44, {0x100, 8, 0x1000}}, {56, {0x100, 8, 0x1008}}}),
                    .variant = "read-twice"});

  scenes.push_back({.rule = "RD-09",
                    .breaks = refuse({{44, {0x100, 100, 0xffff'ffff'ffff'ffc0}}}),
                    .keeps = serve({{44, {0x100, 64, 0xffff'ffff'ffff'ffc0}}})});
  scenes.push_back({.rule = "RD-09",
                    .breaks =
                        [](Scene& s) {
                          offer_results(s, {{0x100, 100, 0x1000}, {0x100, 100, 0x1040}});
                        },
                    .keeps =
                        [](Scene& s) {
                          offer_results(s, {{0x100, 100, 0x1000}, {0x100, 100, 0x1064}});
                        },
                    .variant = "overlap"});
}

void add_binding(Scenes& scenes) {
  scenes.push_back({.rule = "RD-11",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.call(nfs_write(1001, {{1001}}, false));
                          c.reply(err_chunk(2));
                        },
                    .keeps = write(1001, {{1001}})});
  scenes.push_back({.rule = "RD-11",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.call(nfs_write(1001, {{1004}}, false));
                          c.reply(err_chunk(2));
                        },
                    .keeps = write(1001, {{1004}}),
                    .variant = "with-roundup"});
  // The file handle of a GETATTR is in a Read chunk.
  scenes.push_back({.rule = "RD-12",
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          Message m = call(2, rpc_call(2, kNfs, 3, 1, Xdr().u32(16).bytes()));
                          m.reads = {{44, {0x100, 16, 0x1000}}};
                          c.call(m);
                          c.read(m.reads[0].target);
                          c.reply(reply(2, nfs3::getattr_reply(2)));
                        },
                    .keeps = write(1000, {{1000}}, true)});
  scenes.push_back({.rule = "RD-12",
                    .breaks = serve({{24, {0x100, 8, 0x1000}}}),
                    .keeps = serve({{40, {0x100, 8, 0x1000}}}),
                    .variant = "rpc-header"});
}

}  // namespace

void add_read_list_scenes(Scenes& scenes) {
  add_reply(scenes);
  add_positions(scenes);
  add_position_zero(scenes);
  add_counts(scenes);
  add_memory(scenes);
  add_binding(scenes);
}

}  // namespace rpcrdma::scenes

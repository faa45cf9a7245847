// Scenes for the rules about Write lists and results (WR).
#include "registry.h"

#include <algorithm>

namespace rpcrdma::scenes {

namespace {

using Chunk = std::vector<wire::Segment>;

// An NFS READ of `count` bytes: the chunks of the Call, those of the Reply, and the bytes written.
struct Read {
  std::uint32_t count = 1000;
  std::vector<Chunk> offered = {{{0x100, 1000, 0x1000}}};
  std::vector<Chunk> returned = {{{0x100, 1000, 0x1000}}};
  // Replaces the READ's results, whose data is in a chunk.
  std::optional<Bytes> results = std::nullopt;
};

void run_read(Scene& s, const Read& read) {
  Connection& c = s.connect();
  c.exchange(1);
  Message m = call(2, nfs3::read_call(2, read.count));
  m.writes = read.offered;
  c.call(m);
  for (std::size_t i = 0; i < read.offered.size() && i < read.returned.size(); ++i) {
    for (std::size_t j = 0; j < read.offered[i].size() && j < read.returned[i].size(); ++j) {
      const std::uint32_t length = std::min(read.returned[i][j].length, read.offered[i][j].length);
      if (length != 0) c.write(read.offered[i][j], pattern(length));
    }
  }
  Message r = reply(2, read.results.value_or(nfs3::read_reply(2, read.count).rpc));
  r.writes = read.returned;
  c.reply(r);
}

auto reads(const Read& read) {
  return [read](Scene& s) { run_read(s, read); };
}

RuleScene scene(const char* rule, const Read& breaks, const Read& keeps = {}) {
  return {.rule = rule, .guilty = Guilty::kServer, .breaks = reads(breaks), .keeps = reads(keeps)};
}

// NFS3ERR_IO.
Bytes failed_read() {
  return rpc_reply(2, Xdr().u32(5).u32(0).bytes());
}

// MSG_ACCEPTED, AUTH_NONE, GARBAGE_ARGS (RFC 5531 section 9).
Bytes garbage_arguments() {
  return Xdr().u32(2).u32(1).u32(0).u32(0).u32(0).u32(4).bytes();
}

void add_copies(Scenes& scenes) {
  scenes.push_back(scene("WR-01", {.returned = {{{0x100, 1000, 0x1000}, {0x101, 0, 0x2000}}}}));
  scenes.push_back(scene("WR-02", {.returned = {{{0x101, 1000, 0x1000}}}}));
  scenes.back().also = {"OPS-03"};
  scenes.push_back(scene("WR-03", {.count = 1200, .returned = {{{0x100, 1200, 0x1000}}}}));
  scenes.back().also = {"OPS-03"};
  scenes.push_back(scene("WR-04",
                         {.offered = {{{0x100, 600, 0x1000}, {0x101, 600, 0x1000}}},
                          .returned = {{{0x100, 400, 0x1000}, {0x101, 600, 0x1000}}}},
                         {.offered = {{{0x100, 600, 0x1000}, {0x101, 600, 0x1000}}},
                          .returned = {{{0x100, 600, 0x1000}, {0x101, 400, 0x1000}}}}));
}

void add_unused(Scenes& scenes) {
  scenes.push_back(scene("WR-05", {.returned = {}, .results = failed_read()},
                         {.returned = {{{0x100, 0, 0x1000}}}, .results = failed_read()}));
  RuleScene not_zero = scene("WR-05", {.results = failed_read()},
                             {.returned = {{{0x100, 0, 0x1000}}}, .results = failed_read()});
  not_zero.variant = "failed";
  scenes.push_back(not_zero);
  RuleScene rejected = scene("WR-05", {.results = garbage_arguments()},
                             {.returned = {{{0x100, 0, 0x1000}}}, .results = garbage_arguments()});
  rejected.variant = "rejected";
  scenes.push_back(rejected);
  scenes.push_back(scene("WR-10", {.returned = {{{0x100, 0, 0x1000}}},
                                   .results = nfs3::read_reply_inline(2, pattern(1000))}));
}

void add_lengths(Scenes& scenes) {
  const std::vector<Chunk> offered = {{{0x100, 1004, 0x1000}}};
  const std::vector<Chunk> exact = {{{0x100, 1001, 0x1000}}};
  const Read with{.count = 1001, .offered = offered, .returned = offered};
  const Read without{.count = 1001, .offered = offered, .returned = exact};
  scenes.push_back(scene("WR-07", with, without));
  scenes.push_back(scene("WR-07", without, with));
  scenes.back().profile = rules::Profile::k5666;
  scenes.push_back(scene("WR-08", {.returned = {{{0x100, 900, 0x1000}}}}));
  // The data is missing.
  scenes.push_back(scene("WR-08", {.returned = {{{0x100, 0, 0x1000}}}}));
  scenes.back().variant = "absent";
}

// A COMPOUND with two READs of 100 bytes. `first_inline`: the first result is inline.
void two_reads(Scene& s, bool first_inline) {
  Connection& c = s.connect();
  c.exchange(1);
  Xdr args;
  args.opaque({}).u32(0).u32(3).u32(24);
  for (int i = 0; i < 2; ++i) args.u32(25).zeros(16).u64(0).u32(100);
  Message m = call(2, rpc_call(2, kNfs, 4, 1, args.bytes()));
  m.writes = {{{0x100, 100, 0x1000}}, {{0x101, 100, 0x1000}}};
  c.call(m);
  Xdr results;
  results.u32(0).opaque({}).u32(3).u32(24).u32(0);
  results.u32(25).u32(0).u32(0).u32(100);
  if (first_inline) {
    results.fixed(pattern(100));
  } else {
    c.write(m.writes[0][0], pattern(100));
  }
  results.u32(25).u32(0).u32(1).u32(100);
  c.write(m.writes[1][0], pattern(100));
  Message r = reply(2, rpc_reply(2, results.bytes()));
  r.writes = m.writes;
  if (first_inline) r.writes[0][0].length = 0;
  c.reply(r);
}

void add_order(Scenes& scenes) {
  scenes.push_back({.rule = "WR-06",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { two_reads(s, true); },
                    .keeps = [](Scene& s) { two_reads(s, false); }});
  // One result, in the second chunk, too.
  RuleScene extra = scene("WR-06",
                          {.offered = {{{0x100, 1000, 0x1000}}, {{0x101, 1000, 0x1000}}},
                           .returned = {{{0x100, 1000, 0x1000}}, {{0x101, 1000, 0x1000}}}},
                          {.offered = {{{0x100, 1000, 0x1000}}, {{0x101, 1000, 0x1000}}},
                           .returned = {{{0x100, 1000, 0x1000}}, {{0x101, 0, 0x1000}}}});
  extra.variant = "extra";
  scenes.push_back(extra);
  RuleScene skipped = scene("WR-06",
                            {.offered = {{{0x100, 1000, 0x1000}}, {{0x101, 1000, 0x1000}}},
                             .returned = {{{0x100, 0, 0x1000}}, {{0x101, 1000, 0x1000}}}},
                            {.offered = {{{0x100, 1000, 0x1000}}, {{0x101, 1000, 0x1000}}},
                             .returned = {{{0x100, 1000, 0x1000}}, {{0x101, 0, 0x1000}}}});
  skipped.variant = "skipped";
  scenes.push_back(skipped);
}

// A READ whose Reply uses the Reply chunk, with or without its data.
auto long_reply(bool with_data) {
  return [with_data](Scene& s) {
    constexpr std::uint32_t kCount = 4000;
    Connection& c = s.connect();
    c.exchange(1);
    Message m = call(2, nfs3::read_call(2, kCount));
    m.writes = {{{0x100, kCount, 0x1000}}};
    m.reply_chunk = Chunk{{0x101, 8192, 0x9000}};
    c.call(m);
    if (!with_data) c.write(m.writes[0][0], pattern(kCount));
    const Bytes rpc =
        with_data ? nfs3::read_reply_inline(2, pattern(kCount)) : nfs3::read_reply(2, kCount).rpc;
    c.write((*m.reply_chunk)[0], rpc);
    Message r = reply(2, {});
    r.proc = wire::Proc::kNomsg;
    r.writes = m.writes;
    if (with_data) r.writes[0][0].length = 0;
    r.reply_chunk = m.reply_chunk;
    (*r.reply_chunk)[0].length = static_cast<std::uint32_t>(rpc.size());
    c.reply(r);
  };
}

}  // namespace

void add_write_list_scenes(Scenes& scenes) {
  add_copies(scenes);
  add_unused(scenes);
  scenes.push_back({.rule = "WR-10",
                    .guilty = Guilty::kServer,
                    .breaks = long_reply(true),
                    .keeps = long_reply(false),
                    .variant = "reply-chunk"});
  add_lengths(scenes);
  add_order(scenes);
}

}  // namespace rpcrdma::scenes

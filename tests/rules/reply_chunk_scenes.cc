#include "registry.h"

namespace rpcrdma::scenes {

namespace {

using Chunk = std::vector<wire::Segment>;

// A READDIR whose Reply uses the Reply chunk; `change` corrupts that Reply.
template <typename Change>
void long_reply(Scene& s, const Change& change) {
  Connection& c = s.connect();
  c.exchange(1);
  Message m = call(2, nfs3::readdir_call(2, 2000));
  m.reply_chunk = Chunk{{0x100, 4096, 0x1000}};
  c.call(m);
  const Bytes rpc = nfs3::readdir_reply(2, 2000);
  c.write(m.reply_chunk->front(), rpc);
  Message r;
  r.xid = 2;
  r.direction = wire::MsgType::kReply;
  r.proc = wire::Proc::kNomsg;
  r.reply_chunk = m.reply_chunk;
  r.reply_chunk->front().length = static_cast<std::uint32_t>(rpc.size());
  change(r);
  c.reply(r);
}

void good_long_reply(Scene& s) {
  long_reply(s, [](Message&) {});
}

// An inline Reply, with or without a returned Reply chunk.
void short_reply(Scene& s, const std::optional<Chunk>& offered,
                 const std::optional<Chunk>& returned, std::size_t bytes = 200) {
  Connection& c = s.connect();
  c.exchange(1);
  Message m = call(2, nfs3::readdir_call(2, 2000));
  m.reply_chunk = offered;
  c.call(m);
  Message r = reply(2, nfs3::readdir_reply(2, bytes));
  r.reply_chunk = returned;
  c.reply(r);
}

void add_returned(Scenes& scenes) {
  scenes.push_back(
      {.rule = "RP-01",
       .guilty = Guilty::kServer,
       .breaks =
           [](Scene& s) { long_reply(s, [](Message& r) { r.reply_chunk->front().offset += 8; }); },
       .keeps = good_long_reply,
       .also = {"OPS-03"}});
  scenes.push_back({.rule = "RP-01",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          short_reply(s, std::nullopt, Chunk{{0x100, 0, 0x1000}});
                        },
                    .keeps =
                        [](Scene& s) {
                          short_reply(s, Chunk{{0x100, 4096, 0x1000}}, Chunk{{0x100, 0, 0x1000}});
                        },
                    .variant = "not-offered"});
  scenes.push_back(
      {.rule = "RP-02",
       .guilty = Guilty::kServer,
       .breaks =
           [](Scene& s) { long_reply(s, [](Message& r) { r.reply_chunk->front().length = 0; }); },
       .keeps = good_long_reply,
       .also = {"OPS-03"}});
  scenes.push_back({.rule = "RP-03",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          short_reply(s, Chunk{{0x100, 4096, 0x1000}}, Chunk{{0x100, 200, 0x1000}});
                        },
                    .keeps =
                        [](Scene& s) {
                          short_reply(s, Chunk{{0x100, 4096, 0x1000}}, Chunk{{0x100, 0, 0x1000}});
                        },
                    .also = {"OPS-03"}});
}

// A Reply in two segments of the Reply chunk, of which it fills `first` bytes of the first.
auto in_two_segments(std::uint32_t first) {
  return [first](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    Message m = call(2, nfs3::readdir_call(2, 2000));
    m.reply_chunk = Chunk{{0x100, 1024, 0x1000}, {0x101, 4096, 0x9000}};
    c.call(m);
    const Bytes rpc = nfs3::readdir_reply(2, 2000);
    const Bytes front(rpc.begin(), rpc.begin() + first);
    const Bytes rest(rpc.begin() + first, rpc.end());
    c.write((*m.reply_chunk)[0], front);
    c.write((*m.reply_chunk)[1], rest);
    Message r = reply(2, {});
    r.proc = wire::Proc::kNomsg;
    r.reply_chunk = m.reply_chunk;
    (*r.reply_chunk)[0].length = first;
    (*r.reply_chunk)[1].length = static_cast<std::uint32_t>(rest.size());
    c.reply(r);
  };
}

void add_offered(Scenes& scenes) {
  scenes.push_back({.rule = "WR-04",
                    .guilty = Guilty::kServer,
                    .breaks = in_two_segments(512),
                    .keeps = in_two_segments(1024),
                    .variant = "reply-chunk"});
  scenes.push_back({.rule = "RP-04",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { short_reply(s, std::nullopt, std::nullopt, 6000); },
                    .keeps = good_long_reply,
                    .also = {"INL-02"}});
  scenes.push_back(
      {.rule = "RP-05",
       .breaks =
           [](Scene& s) {
             short_reply(s, Chunk{{0x100, 4096, 0x1000}, {0x101, 0, 0x3000}}, std::nullopt);
           },
       .keeps = good_long_reply});
  scenes.push_back({.rule = "RP-05",
                    .breaks = [](Scene& s) { short_reply(s, Chunk{}, std::nullopt); },
                    .keeps = [](Scene& s) { short_reply(s, std::nullopt, std::nullopt); },
                    .variant = "no-segment"});
}

}  // namespace

void add_reply_chunk_scenes(Scenes& scenes) {
  add_returned(scenes);
  add_offered(scenes);
}

}  // namespace rpcrdma::scenes

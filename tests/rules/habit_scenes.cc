#include "exchanges.h"
#include "registry.h"

namespace rpcrdma::scenes {

namespace {

constexpr std::uint64_t kMemory = 0x7f0000000000;

// Short Replies to Calls with a Reply chunk.
void offered_reply_chunk(Scene& s, bool used) {
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 4; ++xid) {
    const wire::Segment memory{0x100 + xid, 8192, kMemory};
    if (used) {
      readdir_by_reply_chunk(c, xid, memory, 100);
      continue;
    }
    Message m = call(xid, nfs3::readdir_call(xid, 8192));
    m.reply_chunk = Segments{memory};
    c.call(m);
    Message r = reply(xid, nfs3::readdir_reply(xid, 100));
    r.reply_chunk = filled({memory}, 0);
    c.reply(r);
  }
}

void read_of_odd_length(Scene& s, bool pad_segment) {
  Segments offered{{0x100, 5001, kMemory}};
  if (pad_segment) offered.push_back({0x101, 3, kMemory + 8192});
  read_by_write_chunk(s.connect(), 1, offered, 5001);
}

void four_writes(Scene& s, bool xid_in_offset) {
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 4; ++xid) {
    write_by_read_chunk(c, xid,
                        {{0x100 + xid, 8192, xid_in_offset ? std::uint64_t{xid} << 32 : kMemory}});
  }
}

void four_calls(Scene& s, std::uint32_t grant) {
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 4; ++xid) {
    Message m = call(xid);
    m.credit = 128;
    c.call(m);
    Message r = reply(xid);
    r.credit = grant;
    c.reply(r);
  }
}

void depth(Scene& s, std::uint8_t initiator_depth) {
  ConnectOptions options;
  options.req_initiator_depth = initiator_depth;
  s.connect(options).exchange(1);
}

}  // namespace

void add_habit_scenes(Scenes& scenes) {
  scenes.push_back({.rule = "LINUX-REPLY-CHUNK",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { offered_reply_chunk(s, true); },
                    .keeps = [](Scene& s) { offered_reply_chunk(s, false); }});
  scenes.push_back({.rule = "LINUX-PAD-SEGMENT",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { read_of_odd_length(s, true); },
                    .keeps = [](Scene& s) { read_of_odd_length(s, false); }});
  scenes.push_back({.rule = "LINUX-XID-OFFSET",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { four_writes(s, true); },
                    .keeps = [](Scene& s) { four_writes(s, false); }});
  scenes.push_back({.rule = "LINUX-GRANT",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { four_calls(s, 64); },
                    .keeps = [](Scene& s) { four_calls(s, 128); }});
  scenes.push_back({.rule = "LINUX-NO-READS",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { depth(s, 0); },
                    .keeps = [](Scene& s) { depth(s, 16); }});
}

}  // namespace rpcrdma::scenes

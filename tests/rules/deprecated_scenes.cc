#include "registry.h"

namespace rpcrdma::scenes {

namespace {

constexpr std::uint32_t kConfiguration = 100417;  // RFC 5666 section 6.2

Message done(std::uint32_t xid) {
  Message m;
  m.xid = xid;
  m.proc = wire::Proc::kDone;
  return m;
}

void one_exchange(Scene& s) {
  s.connect().exchange(1);
}

void padded_call(Scene& s) {
  Connection& c = s.connect();
  c.exchange(1);
  Message m = call(2);
  m.proc = wire::Proc::kMsgp;
  m.align = 64;
  m.thresh = 512;
  c.call(m);
  c.reply(reply(2));
}

// A Reply with Read chunks, which the client reads.
void reply_with_reads(Scene& s, std::uint32_t done_for) {
  Connection& c = s.connect();
  c.exchange(1);
  c.call(call(2));
  Message m = reply(2);
  m.reads = {{24, {0x200, 100, 0x1000}}};
  c.reply(m);
  c.read(kClient, 0x200, 0x1000, pattern(100));
  c.send(kClient, done(done_for));
}

// CONF_RDMA, then a Call with `bytes` bytes of arguments.
void configured(Scene& s, std::size_t bytes) {
  Connection& c = s.connect();
  c.call(call(1, rpc_call(1, kConfiguration, 1, 1, Xdr().u32(4096).u32(4096).u32(8).bytes())));
  c.reply(reply(1, rpc_reply(1, Xdr().u32(2048).u32(4).u32(8).bytes())));
  c.call(call(2, rpc_call(2, kPlainProgram, 1, 1, Bytes(bytes))));
  c.reply(reply(2));
}

// A refused CONF_RDMA, then a Call with `bytes` bytes of arguments, without private data.
void refused_configuration(Scene& s, std::size_t bytes) {
  ConnectOptions options;
  options.client_private = options.server_private = {};
  Connection& c = s.connect(options);
  c.call(call(1, rpc_call(1, kConfiguration, 1, 1, Xdr().u32(4096).u32(4096).u32(8).bytes())));
  Bytes unavailable = rpc_reply(1);
  unavailable[unavailable.size() - 1] = 1;  // PROG_UNAVAIL
  c.reply(reply(1, unavailable));
  c.call(call(2, rpc_call(2, kPlainProgram, 1, 1, Bytes(bytes))));
  c.reply(reply(2));
}

// Inline thresholds by CONF_RDMA, then a Reply with 2000 bytes of results.
void configured_reply(Scene& s, std::uint32_t max_reply) {
  ConnectOptions options;
  options.client_private = options.server_private = {};
  Connection& c = s.connect(options);
  c.call(call(1, rpc_call(1, kConfiguration, 1, 1, Xdr().u32(4096).u32(max_reply).u32(8).bytes())));
  c.reply(reply(1, rpc_reply(1, Xdr().u32(4096).u32(4).u32(8).bytes())));
  c.call(call(2));
  c.reply(reply(2, rpc_reply(2, Bytes(2000))));
}

// CONF_RDMA twice: the second one applies.
void configured_again(Scene& s, std::uint32_t first, std::uint32_t second) {
  ConnectOptions options;
  options.client_private = options.server_private = {};
  Connection& c = s.connect(options);
  std::uint32_t xid = 1;
  for (const std::uint32_t max_reply : {first, second}) {
    const Bytes asked = Xdr().u32(4096).u32(max_reply).u32(8).bytes();
    c.call(call(xid, rpc_call(xid, kConfiguration, 1, 1, asked)));
    c.reply(reply(xid, rpc_reply(xid, Xdr().u32(4096).u32(4).u32(8).bytes())));
    ++xid;
  }
  c.call(call(xid));
  c.reply(reply(xid, rpc_reply(xid, Bytes(2000))));
}

// CONF_RDMA, then a long Reply, inline or by its Reply chunk.
void configured_long_reply(Scene& s, bool is_inline) {
  Connection& c = s.connect();
  c.call(call(1, rpc_call(1, kConfiguration, 1, 1, Xdr().u32(4096).u32(1024).u32(8).bytes())));
  c.reply(reply(1, rpc_reply(1, Xdr().u32(4096).u32(4).u32(8).bytes())));
  const Bytes rpc = nfs3::readdir_reply(2, 2000);
  Message m = call(2, nfs3::readdir_call(2, 2000));
  const std::vector<wire::Segment> chunk{{0x100, 4096, 0x1000}};
  m.reply_chunk = chunk;
  c.call(m);
  Message r = reply(2, is_inline ? rpc : Bytes());
  if (!is_inline) {
    c.write(chunk[0], rpc);
    r.proc = wire::Proc::kNomsg;
    r.reply_chunk = chunk;
    (*r.reply_chunk)[0].length = static_cast<std::uint32_t>(rpc.size());
  }
  c.reply(r);
}

void add_procedures(Scenes& scenes) {
  scenes.push_back({.rule = "DEP-01", .breaks = padded_call, .keeps = one_exchange});
  scenes.push_back({.rule = "DEP-01",
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.send(kClient, done(1));
                        },
                    .keeps = one_exchange,
                    .variant = "done"});
  scenes.push_back({.rule = "DEP-01",
                    .breaks = [](Scene& s) { reply_with_reads(s, 1); },
                    .keeps = [](Scene& s) { reply_with_reads(s, 2); },
                    .profile = rules::Profile::k5666});
}

void add_configuration(Scenes& scenes) {
  scenes.push_back(
      {.rule = "DEP-02", .breaks = [](Scene& s) { configured(s, 1000); }, .keeps = one_exchange});
  scenes.push_back({.rule = "INL-01",
                    .breaks = [](Scene& s) { refused_configuration(s, 2000); },
                    .keeps = [](Scene& s) { refused_configuration(s, 500); },
                    .variant = "refused",
                    .profile = rules::Profile::k5666});
  scenes.push_back({.rule = "DEP-02",
                    .breaks = [](Scene& s) { configured(s, 3000); },
                    .keeps = [](Scene& s) { configured(s, 1000); },
                    .profile = rules::Profile::k5666});
  scenes.push_back({.rule = "RP-04",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { configured_reply(s, 1024); },
                    .keeps = [](Scene& s) { configured_reply(s, 4096); },
                    .variant = "configured",
                    .profile = rules::Profile::k5666});
  scenes.push_back({.rule = "RP-04",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { configured_again(s, 4096, 1024); },
                    .keeps = [](Scene& s) { configured_again(s, 1024, 4096); },
                    .variant = "configured-again",
                    .profile = rules::Profile::k5666});
  scenes.push_back({.rule = "RP-04",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { configured_long_reply(s, true); },
                    .keeps = [](Scene& s) { configured_long_reply(s, false); },
                    .variant = "configured-chunk",
                    .profile = rules::Profile::k5666});
}

}  // namespace

void add_deprecated_scenes(Scenes& scenes) {
  add_procedures(scenes);
  add_configuration(scenes);
}

}  // namespace rpcrdma::scenes

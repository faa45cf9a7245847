#include "session_scenes.h"

#include <array>
#include <string_view>

namespace rpcrdma::scenes {

namespace {

constexpr std::uint32_t kCbRecall = 4, kCbLayoutRecall = 5, kCbSequence = 11;
constexpr std::uint32_t kClose = 4, kGetattr = 9, kGetfh = 10, kOpen = 18, kPutfh = 22, kRead = 25,
                        kWrite = 38, kBind = 41, kExchangeId = 42, kCreateSession = 43,
                        kDestroySession = 44, kGetDeviceInfo = 47, kLayoutGet = 50,
                        kLayoutReturn = 51, kReclaimComplete = 58, kLayoutError = 64;
constexpr std::uint32_t kFlexFiles = 4;
constexpr std::uint32_t kLayoutUnavailable = 10059;
constexpr std::uint32_t kCbPathDown = 1;

Bytes session_id(std::uint8_t session) {
  return pattern(16, session);
}

Bytes text(std::string_view s) {
  return {s.begin(), s.end()};
}

Bytes handle(std::uint8_t file) {
  return pattern(20, file);
}

Xdr ok() {
  return Xdr().u32(0);
}

void exchange(Connection& c, std::uint32_t xid, const Bytes& call_rpc, const Bytes& reply_rpc) {
  c.call(call(xid, call_rpc));
  c.reply(reply(xid, reply_rpc));
}

void channels(Xdr& x, std::uint32_t slots) {
  x.u32(0).u32(1 << 20).u32(1 << 20).u32(4096).u32(8).u32(slots).u32(0);
  x.u32(0).u32(4096).u32(4096).u32(0).u32(2).u32(16).u32(0);
}

Bytes getattr_call(std::uint32_t xid, std::uint32_t slot, std::uint32_t highest) {
  return Compound(xid)
      .sequence(1, slot, highest)
      .operation(kPutfh, Xdr().opaque(handle(1)))
      .operation(kGetattr, Xdr().u32(1).u32(0x10))
      .call();
}

Bytes getattr_reply(std::uint32_t xid, std::uint32_t slot, std::uint32_t slots,
                    std::uint32_t flags = 0) {
  return Compound(xid)
      .sequence_results(1, slot, slots, flags)
      .operation(kPutfh, ok())
      .operation(kGetattr, ok().u32(1).u32(0x10).u32(8).u64(4096))
      .reply();
}

void callback(Connection& c, std::uint32_t xid, std::uint32_t op, const Xdr& arguments) {
  Message m = call(
      xid,
      Compound(xid)
          .operation(kCbSequence, Xdr().fixed(session_id(1)).u32(1).u32(0).u32(0).u32(0).u32(0))
          .operation(op, arguments)
          .callback());
  m.credit = 2;
  c.send(kServer, m);
  Message r =
      reply(xid, Compound(xid)
                     .operation(kCbSequence, ok().fixed(session_id(1)).u32(1).u32(0).u32(0).u32(0))
                     .operation(op, ok())
                     .reply());
  r.credit = 16;
  c.send(kClient, r);
}

// A session of four slots on four connections: four Calls at once use all slots while each
// connection has credits left. A delegation is granted, and recalled on the second connection. In
// the end the server reports the callback path as down.
void nconnect(Scene& s) {
  std::array<Connection*, 4> c{};
  for (Connection*& one : c) one = &s.connect();
  create_session(*c[0], 1);
  for (std::uint32_t i = 1; i < c.size(); ++i) {
    bind_connection(*c[i], 10 + i, 1, i == 1 ? 3 : 1);
  }
  exchange(*c[0], 20, Compound(20).sequence(1, 0).operation(kReclaimComplete, Xdr().u32(0)).call(),
           Compound(20).sequence_results(1, 0, 4).operation(kReclaimComplete, ok()).reply());
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < c.size(); ++i) {
      const std::uint32_t xid = 100 * (round + 1) + i;
      c[i]->call(call(xid, getattr_call(xid, i, 3)));
    }
    s.wait(2'000'000);
    for (std::uint32_t i = 0; i < c.size(); ++i) {
      const std::uint32_t xid = 100 * (round + 1) + i;
      c[i]->reply(reply(xid, getattr_reply(xid, i, 4)));
    }
  }
  exchange(*c[0], 300,
           Compound(300)
               .sequence(1, 0)
               .operation(kPutfh, Xdr().opaque(handle(9)))
               .operation(kOpen, Xdr()
                                     .u32(0)
                                     .u32(1)
                                     .u32(0)
                                     .u64(7)
                                     .opaque(text("owner"))
                                     .u32(0)
                                     .u32(0)
                                     .opaque(text("data")))
               .operation(kGetfh)
               .call(),
           Compound(300)
               .sequence_results(1, 0, 4)
               .operation(kPutfh, ok())
               .operation(kOpen, ok().zeros(16 + 20 + 4)
                                     .u32(0)  // no attributes were set
                                     .u32(1)
                                     .zeros(16)
                                     .u32(0)
                                     .zeros(12)
                                     .opaque(text("EVERYONE@")))
               .operation(kGetfh, ok().opaque(handle(1)))
               .reply());
  callback(*c[1], 0x5001, kCbRecall, Xdr().zeros(16).u32(0).opaque(handle(1)));
  s.wait(1'000'000);
  c[3]->call(call(400, getattr_call(400, 0, 0)));
  c[3]->reply(reply(400, getattr_reply(400, 0, 4, kCbPathDown)));
}

// A flexible file with a data server over RDMA and one over TCP. One file's READs go to the data
// server; another READ goes back to the MDS in spite of its layout.
void flexfiles(Scene& s) {
  Connection& mds = s.connect();
  ConnectOptions to_data_server;
  to_data_server.server_host = 9;
  Connection& data = s.connect(to_data_server);
  create_session(mds, 1, {.slots = 16, .eir_flags = 0x20000});
  const auto layout_get =
      Xdr().u32(0).u32(kFlexFiles).u32(1).u64(0).u64(UINT64_MAX).u64(4096).zeros(16).u32(4096);
  const auto layout_get_call = [&](std::uint32_t xid, std::uint8_t file) {
    return Compound(xid)
        .sequence(1, 0)
        .operation(kPutfh, Xdr().opaque(handle(file)))
        .operation(kLayoutGet, layout_get)
        .call();
  };
  Xdr server;
  server.fixed(pattern(16, 0xd))
      .u32(1)
      .zeros(16)
      .u32(1)
      .opaque(handle(0x55))
      .opaque(text("0"))
      .opaque(text("0"));
  Xdr body;
  body.u64(1 << 20).u32(1).u32(1).fixed(server.bytes()).u32(0).u32(0);
  exchange(mds, 10, layout_get_call(10, 3),
           Compound(10)
               .sequence_results(1, 0, 16)
               .operation(kPutfh, ok())
               .operation(kLayoutGet, ok().u32(1)
                                          .zeros(16)
                                          .u32(1)
                                          .u64(0)
                                          .u64(UINT64_MAX)
                                          .u32(1)
                                          .u32(kFlexFiles)
                                          .opaque(body.bytes()))
               .reply());
  Xdr device;
  device.u32(3)
      .opaque(text("rdma"))
      .opaque(text("192.0.2.9.78.81"))
      .opaque(text("rdma6"))
      .opaque(text("2001:db8::9.78.81"))
      .opaque(text("tcp"))
      .opaque(text("192.0.2.10.8.1"));
  device.u32(1).u32(3).u32(0).u32(1 << 20).u32(1 << 20).u32(0);
  exchange(
      mds, 11,
      Compound(11)
          .sequence(1, 0)
          .operation(kGetDeviceInfo, Xdr().fixed(pattern(16, 0xd)).u32(kFlexFiles).u32(4096).u32(0))
          .call(),
      Compound(11)
          .sequence_results(1, 0, 16)
          .operation(kGetDeviceInfo, ok().u32(kFlexFiles).opaque(device.bytes()).u32(0))
          .reply());
  exchange(data, 20, rpc_call(20, 100005, 3, 1, Xdr().opaque(text("/export")).bytes()),
           rpc_reply(20, Xdr().u32(0).opaque(handle(0x50)).u32(0).bytes()));
  for (std::uint32_t xid = 21; xid < 24; ++xid) {
    exchange(data, xid, nfs3::read_call(xid, 8), nfs3::read_reply_inline(xid, pattern(8)));
  }
  exchange(mds, 30,
           Compound(30)
               .sequence(1, 0)
               .operation(kPutfh, Xdr().opaque(handle(3)))
               .operation(kRead, Xdr().zeros(16).u64(0).u32(8))
               .call(),
           Compound(30)
               .sequence_results(1, 0, 16)
               .operation(kPutfh, ok())
               .operation(kRead, ok().u32(1).opaque(pattern(8)))
               .reply());
  callback(mds, 0x5001, kCbLayoutRecall, Xdr().u32(kFlexFiles).u32(1).u32(0).u32(3));
  exchange(
      mds, 31,
      Compound(31, 2)
          .sequence(1, 0)
          .operation(kPutfh, Xdr().opaque(handle(3)))
          .operation(
              kLayoutError,
              Xdr().u64(0).u64(4096).zeros(16).u32(1).fixed(pattern(16, 0xd)).u32(5).u32(kRead))
          .operation(
              kLayoutReturn,
              Xdr().u32(0).u32(kFlexFiles).u32(1).u32(1).u64(0).u64(UINT64_MAX).zeros(16).u32(0))
          .operation(kClose, Xdr().u32(1).zeros(16))
          .call(),
      Compound(31, 2)
          .sequence_results(1, 0, 16)
          .operation(kPutfh, ok())
          .operation(kLayoutError, ok())
          .operation(kLayoutReturn, ok().u32(0))
          .operation(kClose, ok().zeros(16))
          .reply());
  // Without a layout, I/O on the MDS is as it should be.
  exchange(mds, 32, layout_get_call(32, 4),
           Compound(32)
               .sequence_results(1, 0, 16)
               .operation(kPutfh, ok())
               .operation(kLayoutGet, Xdr().u32(kLayoutUnavailable))
               .reply(kLayoutUnavailable));
  for (const std::uint8_t file : {std::uint8_t{3}, std::uint8_t{4}}) {
    const std::uint32_t xid = 30U + 10U * file;
    exchange(mds, xid,
             Compound(xid)
                 .sequence(1, 0)
                 .operation(kPutfh, Xdr().opaque(handle(file)))
                 .operation(kWrite, Xdr().zeros(16).u64(0).u32(2).opaque(pattern(8)))
                 .call(),
             Compound(xid)
                 .sequence_results(1, 0, 16)
                 .operation(kPutfh, ok())
                 .operation(kWrite, ok().u32(8).u32(2).u64(7))
                 .reply());
  }
  exchange(mds, 90, Compound(90).operation(kDestroySession, Xdr().fixed(session_id(1))).call(),
           Compound(90).operation(kDestroySession, ok()).reply());
}

}  // namespace

const std::vector<SessionScene>& session_scenes() {
  static const std::vector<SessionScene> all{{"nconnect", nconnect}, {"pnfs-flexfiles", flexfiles}};
  return all;
}

Compound& Compound::sequence(std::uint8_t session, std::uint32_t slot, std::uint32_t highest_slot) {
  constexpr std::uint32_t kSequence = 53;
  return operation(kSequence,
                   Xdr().fixed(session_id(session)).u32(1).u32(slot).u32(highest_slot).u32(0));
}

Compound& Compound::sequence_results(std::uint8_t session, std::uint32_t slot, std::uint32_t slots,
                                     std::uint32_t flags) {
  constexpr std::uint32_t kSequence = 53;
  return operation(
      kSequence,
      ok().fixed(session_id(session)).u32(1).u32(slot).u32(slots - 1).u32(slots - 1).u32(flags));
}

Compound& Compound::operation(std::uint32_t op, const Xdr& rest) {
  operations_.u32(op).fixed(rest.bytes());
  ++count_;
  return *this;
}

Bytes Compound::call() const {
  return rpc_call(xid_, kNfs, 4, 1,
                  Xdr().opaque({}).u32(minor_).u32(count_).fixed(operations_.bytes()).bytes());
}

Bytes Compound::callback() const {
  return rpc_call(
      xid_, kCallbackProgram, 1, 1,
      Xdr().opaque({}).u32(minor_).u32(0).u32(count_).fixed(operations_.bytes()).bytes());
}

Bytes Compound::reply(std::uint32_t status) const {
  return rpc_reply(xid_,
                   Xdr().u32(status).opaque({}).u32(count_).fixed(operations_.bytes()).bytes());
}

void create_session(Connection& c, std::uint32_t xid, const SessionOptions& o) {
  exchange(
      c, xid,
      Compound(xid)
          .operation(kExchangeId, Xdr().u64(1).opaque(text("client one")).u32(0x101).u32(0).u32(0))
          .call(),
      Compound(xid)
          .operation(kExchangeId, ok().u64(7)
                                      .u32(1)
                                      .u32(o.eir_flags)
                                      .u32(0)
                                      .u64(0)
                                      .opaque(text("server one"))
                                      .opaque(text("scope"))
                                      .u32(0))
          .reply());
  Xdr arguments;
  arguments.u64(7).u32(1).u32(o.flags);
  channels(arguments, 64);
  arguments.u32(kCallbackProgram).u32(1).u32(0);
  Xdr results;
  results.u32(0).fixed(session_id(o.session)).u32(1).u32(o.granted);
  channels(results, o.slots);
  exchange(c, xid + 1, Compound(xid + 1).operation(kCreateSession, arguments).call(),
           Compound(xid + 1).operation(kCreateSession, results).reply());
}

void bind_connection(Connection& c, std::uint32_t xid, std::uint8_t session,
                     std::uint32_t direction) {
  exchange(
      c, xid,
      Compound(xid).operation(kBind, Xdr().fixed(session_id(session)).u32(direction).u32(0)).call(),
      Compound(xid)
          .operation(kBind, ok().fixed(session_id(session)).u32(direction).u32(0))
          .reply());
}

}  // namespace rpcrdma::scenes

// Scenes for the rules about RDMA Reads and Writes (OPS).
#include "registry.h"

namespace rpcrdma::scenes {

namespace {

constexpr wire::Segment kMemory{0x10, 64, 0x1000};

Message with_write_chunk(std::uint32_t xid, const wire::Segment& memory = kMemory) {
  Message m = call(xid, nfs3::read_call(xid, memory.length));
  m.writes = {{memory}};
  return m;
}

Message read_reply(std::uint32_t xid, const wire::Segment& memory = kMemory) {
  Message m = reply(xid, nfs3::read_reply(xid, memory.length).rpc);
  m.writes = {{memory}};
  return m;
}

Message with_read_chunk(std::uint32_t xid, const wire::Segment& memory = kMemory) {
  const Reduced r = nfs3::write_call(xid, memory.length);
  Message m = call(xid, r.rpc);
  m.reads = {{r.position, memory}};
  return m;
}

Message write_reply(std::uint32_t xid, const wire::Segment& memory = kMemory) {
  return reply(xid, nfs3::write_reply(xid, memory.length));
}

// An NFS READ with these operations before the Reply.
template <typename Function>
auto before_read_reply(Function operations) {
  return [operations](Scene& s) {
    Connection& c = s.connect();
    c.call(with_write_chunk(1));
    operations(c);
    c.reply(read_reply(1));
  };
}

void all_written(Connection& c) {
  c.write(kMemory, pattern(64));
}

void add_target_scenes(Scenes& scenes) {
  const auto good = before_read_reply(all_written);
  scenes.push_back({.rule = "OPS-01",
                    .guilty = Guilty::kServer,
                    .breaks = before_read_reply([](Connection& c) {
                      all_written(c);
                      c.write(kServer, 0x66, 0, pattern(64));
                    }),
                    .keeps = good,
                    .variant = "handle"});
  scenes.push_back({.rule = "OPS-01",
                    .guilty = Guilty::kServer,
                    .breaks = before_read_reply([](Connection& c) {
                      c.write(kServer, kMemory.handle, kMemory.offset, pattern(80));
                    }),
                    .keeps = good,
                    .also = {"OPS-03"},
                    .variant = "bounds"});
  scenes.push_back({.rule = "OPS-01",
                    .guilty = Guilty::kServer,
                    .breaks = before_read_reply([](Connection& c) {
                      c.read(kMemory);
                      all_written(c);
                    }),
                    .keeps = good,
                    .also = {"OPS-03"},
                    .variant = "kind"});
  scenes.push_back({.rule = "OPS-01",
                    .guilty = Guilty::kClient,
                    .breaks = before_read_reply([](Connection& c) {
                      all_written(c);
                      c.write(kClient, kMemory.handle, kMemory.offset, pattern(64));
                    }),
                    .keeps = good,
                    .variant = "requester"});
}

// An NFS WRITE in two segments; `first` and `second`: the bytes that are read of them.
auto reads_of(std::uint32_t count, std::uint32_t first, std::uint32_t second) {
  return [=](Scene& s) {
    Connection& c = s.connect();
    const Reduced r = nfs3::write_call(1, count);
    Message m = call(1, r.rpc);
    m.reads = {{r.position, {0x10, 500, 0}}, {r.position, {0x11, 504, 0}}};
    c.call(m);
    c.read(kServer, 0x10, 0, pattern(first));
    c.read(kServer, 0x11, 0, pattern(second));
    c.reply(reply(1, nfs3::write_reply(1, count)));
  };
}

void add_order_scenes(Scenes& scenes) {
  scenes.push_back({.rule = "OPS-02",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.call(with_write_chunk(1));
                          c.reply(read_reply(1));
                          all_written(c);
                          c.exchange(2);
                        },
                    .keeps = before_read_reply(all_written),
                    .also = {"OPS-03"}});
  scenes.push_back({.rule = "OPS-02",
                    .guilty = Guilty::kServer,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.call(with_read_chunk(1));
                          const std::uint32_t psn =
                              c.read_request(kServer, kMemory.handle, kMemory.offset, 64);
                          c.acks = false;
                          c.reply(write_reply(1));
                          c.read_response(kClient, psn, pattern(64));
                          c.ack(kClient);
                        },
                    .keeps =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.call(with_read_chunk(1));
                          c.read(kMemory);
                          c.reply(write_reply(1));
                        },
                    .variant = "read"});
  scenes.push_back(
      {.rule = "OPS-03",
       .guilty = Guilty::kServer,
       .breaks = before_read_reply([](Connection& c) { c.write(kMemory, pattern(40)); }),
       .keeps = before_read_reply([](Connection& c) {
         c.write(kServer, kMemory.handle, kMemory.offset, pattern(40));
         c.write(kServer, kMemory.handle, kMemory.offset + 40, pattern(24));
       })});
  // The first half is written twice.
  scenes.push_back({.rule = "OPS-03",
                    .guilty = Guilty::kServer,
                    .breaks = before_read_reply([](Connection& c) {
                      c.write(kMemory, pattern(32));
                      c.write(kMemory, pattern(32));
                    }),
                    .keeps = before_read_reply([](Connection& c) {
                      all_written(c);
                      c.write(kMemory, pattern(8));
                    }),
                    .variant = "twice"});
  // The count is 64: none of it is roundup.
  scenes.push_back(
      {.rule = "OPS-03",
       .guilty = Guilty::kServer,
       .breaks = before_read_reply([](Connection& c) { c.write(kMemory, pattern(63)); }),
       .keeps = before_read_reply(all_written),
       .variant = "no-roundup"});
  scenes.push_back({.rule = "OPS-03",
                    .guilty = Guilty::kServer,
                    .breaks = reads_of(1004, 500, 503),
                    .keeps = reads_of(1001, 500, 501),
                    .variant = "read-no-roundup"});
  // Roundup at the end need not be read.
  scenes.push_back({.rule = "OPS-03",
                    .guilty = Guilty::kServer,
                    .breaks = reads_of(1004, 500, 200),
                    .keeps = reads_of(1001, 500, 501),
                    .variant = "read"});
}

// CONF_RDMA with the maxrdmaread of both sides.
void configure(Connection& c, std::uint32_t of_client, std::uint32_t of_server) {
  constexpr std::uint32_t kConfiguration = 100417;  // RFC 5666 section 6.2
  const Xdr asked = Xdr().u32(4096).u32(4096).u32(of_client);
  c.call(call(1, rpc_call(1, kConfiguration, 1, 1, asked.bytes())));
  c.reply(reply(1, rpc_reply(1, Xdr().u32(4096).u32(4).u32(of_server).bytes())));
}

// An NFS WRITE of four segments, each with one RDMA Read, `at_once` of them in flight.
auto reads_at_once(std::uint8_t responder_resources, unsigned at_once) {
  return [responder_resources, at_once](Scene& s) {
    ConnectOptions options;
    options.req_responder_resources = options.rep_initiator_depth = responder_resources;
    Connection& c = s.connect(options);
    const Reduced r = nfs3::write_call(1, 4 * 64);
    Message m = call(1, r.rpc);
    for (std::uint32_t i = 0; i < 4; ++i) m.reads.push_back({r.position, {0x10 + i, 64, 0}});
    c.call(m);
    for (std::uint32_t i = 0; i < 4; i += at_once) {
      std::vector<std::uint32_t> psns;
      for (std::uint32_t k = i; k < i + at_once; ++k) {
        psns.push_back(c.read_request(kServer, 0x10 + k, 0, 64));
      }
      for (const std::uint32_t psn : psns) c.read_response(kClient, psn, pattern(64));
    }
    c.reply(reply(1, nfs3::write_reply(1, 4 * 64)));
  };
}

// An NFS WRITE of many segments with one handle, of which the server reads `read`.
auto many_segments(std::uint32_t read) {
  return [read](Scene& s) {
    constexpr std::uint32_t kSegments = 80, kBytes = 4, kApart = 64;
    Connection& c = s.connect();
    const Reduced r = nfs3::write_call(1, kSegments * kBytes);
    Message m = call(1, r.rpc);
    for (std::uint32_t i = 0; i < kSegments; ++i) {
      m.reads.push_back({r.position, {0x10, kBytes, std::uint64_t{i} * kApart}});
    }
    c.call(m);
    for (std::uint32_t i = 0; i < read; ++i) {
      c.read(kServer, 0x10, std::uint64_t{i} * kApart, pattern(kBytes));
    }
    c.reply(reply(1, nfs3::write_reply(1, kSegments * kBytes)));
  };
}

// CONF_RDMA, then an NFS WRITE of three segments, `at_once` of which the server reads at once.
auto agreed_reads(std::uint32_t most, unsigned at_once) {
  return [most, at_once](Scene& s) {
    Connection& c = s.connect();
    configure(c, most, 8);
    const Reduced r = nfs3::write_call(2, 3 * 64);
    Message m = call(2, r.rpc);
    for (std::uint32_t i = 0; i < 3; ++i) m.reads.push_back({r.position, {0x10 + i, 64, 0}});
    c.call(m);
    for (std::uint32_t i = 0; i < 3; i += at_once) {
      std::vector<std::uint32_t> psns;
      for (std::uint32_t k = i; k < i + at_once; ++k) {
        psns.push_back(c.read_request(kServer, 0x10 + k, 0, 64));
      }
      for (const std::uint32_t psn : psns) c.read_response(kClient, psn, pattern(64));
    }
    c.reply(reply(2, nfs3::write_reply(2, 3 * 64)));
  };
}

// A Reply with two Read chunks, which the client reads at once or one after the other.
auto agreed_reads_of_client(bool at_once) {
  return [at_once](Scene& s) {
    Connection& c = s.connect();
    configure(c, 8, 1);
    c.call(call(2));
    Message m = reply(2);
    m.reads = {{24, {0x200, 100, 0x1000}}, {28, {0x201, 100, 0x1000}}};
    c.reply(m);
    const std::uint32_t first = c.read_request(kClient, 0x200, 0x1000, 100);
    if (!at_once) c.read_response(kServer, first, pattern(100));
    const std::uint32_t second = c.read_request(kClient, 0x201, 0x1000, 100);
    if (at_once) c.read_response(kServer, first, pattern(100));
    c.read_response(kServer, second, pattern(100));
    Message done;
    done.xid = 2;
    done.proc = wire::Proc::kDone;
    c.send(kClient, done);
  };
}

// A message of two hand-made packets, the last one of its side.
void by_hand(Connection& c, wire::Opcode first, wire::Opcode second, const Bytes& content,
             std::size_t in_first, wire::Reth reth = {}) {
  wire::RocePacket p;
  p.bth.opcode = static_cast<std::uint8_t>(first);
  p.bth.psn = c.psn(kServer);
  p.reth = reth;
  p.payload = wire::Bytes(content).first(in_first);
  c.packet(kServer, p);
  p.bth.opcode = static_cast<std::uint8_t>(second);
  p.bth.psn += 1;
  p.payload = wire::Bytes(content).subspan(in_first);
  c.packet(kServer, p);
  c.ack(kClient, p.bth.psn);
}

// A Reply in two packets, the first with `in_first` bytes; `extra`: with a third one out of order.
auto long_reply(std::size_t in_first, bool extra) {
  return [in_first, extra](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    c.call(call(2));
    by_hand(c, wire::Opcode::kSendFirst, wire::Opcode::kSendLast,
            encode(reply(2, rpc_reply(2, Bytes(1500, 0x22)))), in_first);
    if (!extra) return;
    wire::RocePacket p;
    p.bth.opcode = static_cast<std::uint8_t>(wire::Opcode::kSendMiddle);
    p.bth.psn = c.psn(kServer) + 2;
    const Bytes payload = pattern(1024);
    p.payload = payload;
    c.packet(kServer, p);
    c.ack(kClient, p.bth.psn);
  };
}

// The RETH of the RDMA Write states this length; its packets carry 1500 bytes.
auto announced(std::uint32_t length) {
  return [length](Scene& s) {
    Connection& c = s.connect();
    const wire::Segment memory{0x10, 2000, 0x1000};
    c.call(with_write_chunk(1, memory));
    by_hand(c, wire::Opcode::kWriteFirst, wire::Opcode::kWriteLast, pattern(1500), 1024,
            {memory.offset, memory.handle, length});
  };
}

// An RDMA Read of 1500 bytes at a path MTU of 1024, whose response has two packets with these
// opcodes and `bytes` bytes.
auto read_answered(wire::Opcode first, wire::Opcode second, std::size_t bytes) {
  return [=](Scene& s) {
    Connection& c = s.connect();
    const wire::Segment memory{0x10, 1500, 0x1000};
    c.call(with_read_chunk(1, memory));
    const std::uint32_t psn = c.read_request(kServer, memory.handle, memory.offset, memory.length);
    const Bytes content = pattern(bytes);
    wire::RocePacket p;
    p.bth.opcode = static_cast<std::uint8_t>(first);
    p.bth.psn = psn;
    p.payload = wire::Bytes(content).first(1024);
    c.packet(kClient, p);
    p.bth.opcode = static_cast<std::uint8_t>(second);
    p.bth.psn += 1;
    p.payload = wire::Bytes(content).subspan(1024);
    c.packet(kClient, p);
    c.reply(write_reply(1, memory));
  };
}

void add_packet_scenes(Scenes& scenes) {
  scenes.push_back({.rule = "OPS-04",
                    .guilty = Guilty::kServer,
                    .breaks = reads_at_once(2, 4),
                    .keeps = reads_at_once(2, 2)});
  scenes.push_back({.rule = "OPS-04",
                    .guilty = Guilty::kServer,
                    .breaks = agreed_reads(1, 3),
                    .keeps = agreed_reads(1, 1),
                    .variant = "agreed",
                    .profile = rules::Profile::k5666});
  scenes.push_back({.rule = "OPS-04",
                    .guilty = Guilty::kClient,
                    .breaks = agreed_reads_of_client(true),
                    .keeps = agreed_reads_of_client(false),
                    .variant = "agreed-client",
                    .profile = rules::Profile::k5666});
  scenes.push_back({.rule = "OPS-03",
                    .guilty = Guilty::kServer,
                    .breaks = many_segments(79),
                    .keeps = many_segments(80),
                    .both = {"REG-CHURN"},
                    .variant = "many-segments"});
  scenes.push_back({.rule = "OPS-05",
                    .guilty = Guilty::kServer,
                    .breaks = long_reply(1024, true),
                    .keeps = long_reply(1024, false),
                    .variant = "order"});
  scenes.push_back({.rule = "OPS-05",
                    .guilty = Guilty::kServer,
                    .breaks = long_reply(1000, false),
                    .keeps = long_reply(1024, false),
                    .variant = "payload"});
  // The Call stays unanswered: HDR-10.
  scenes.push_back({.rule = "OPS-05",
                    .guilty = Guilty::kServer,
                    .breaks = announced(1800),
                    .keeps = announced(1500),
                    .both = {"HDR-10"},
                    .variant = "length"});
  const auto answered =
      read_answered(wire::Opcode::kReadRespFirst, wire::Opcode::kReadRespLast, 1500);
  scenes.push_back(
      {.rule = "OPS-05",
       .guilty = Guilty::kClient,
       .breaks = read_answered(wire::Opcode::kReadRespFirst, wire::Opcode::kReadRespLast, 1400),
       .keeps = answered,
       .variant = "response-length"});
  scenes.push_back(
      {.rule = "OPS-05",
       .guilty = Guilty::kClient,
       .breaks = read_answered(wire::Opcode::kReadRespOnly, wire::Opcode::kReadRespOnly, 1500),
       .keeps = answered,
       .variant = "response-order"});
}

auto two_calls(const wire::Segment& second) {
  return [second](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    c.call(with_write_chunk(2));
    c.call(with_write_chunk(3, second));
    c.write(kMemory, pattern(64));
    c.reply(read_reply(2));
    c.write(second, pattern(64));
    c.reply(read_reply(3, second));
  };
}

}  // namespace

void add_operation_scenes(Scenes& scenes) {
  add_target_scenes(scenes);
  add_order_scenes(scenes);
  add_packet_scenes(scenes);
  scenes.push_back({.rule = "OPS-06",
                    .guilty = Guilty::kClient,
                    .breaks = two_calls({kMemory.handle, 64, kMemory.offset + 32}),
                    .keeps = two_calls({kMemory.handle, 64, kMemory.offset + 64})});
}

}  // namespace rpcrdma::scenes

// Scenes that break the rules about Read chunks: positions, order, lengths, roundup and
// eligibility.
#include "scenes.h"

namespace rpcrdma::hostile {

namespace {

// The arguments of a plain Call begin at offset 40, and the stream is 56 bytes long.
struct Part {
  std::uint32_t position;
  std::uint32_t length;
};

auto plain_call(const std::vector<Part>& parts) {
  return [parts](AgainstServer& s) {
    s.connect();
    s.exchange();
    Message m = scenes::call(2);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      wire::Segment segment = s.advertise(std::max(parts[i].length, 1U), i);
      segment.length = parts[i].length;
      m.reads.push_back({parts[i].position, segment});
    }
    s.send(m);
  };
}

// An NFS WRITE of `count` bytes, with its data in contiguous segments of these lengths; `apart`:
// each at a Position of its own.
auto nfs_write(std::uint32_t count, const std::vector<std::uint32_t>& lengths, bool apart = false) {
  return [=](AgainstServer& s) {
    s.connect();
    s.exchange();
    const scenes::Reduced body = scenes::nfs3::write_call(2, count);
    Message m = scenes::call(2, body.rpc);
    std::uint32_t position = body.position;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      wire::Segment segment = s.advertise(std::max(lengths[i], 1U), i);
      segment.length = lengths[i];
      m.reads.push_back({position, segment});
      if (apart) position += lengths[i];
    }
    s.send(m);
  };
}

void add_positions(Matrix& to) {
  to.push_back({.rule = "RD-01",
                .did = "answers with a Read chunk",
                .answer = "its Call ends, bad Reply: a Reply has a Read list",
                .client = [](AgainstClient& s) {
                  s.accept();
                  s.exchange();
                  Message reply = AgainstClient::reply_to(s.call());
                  reply.reads = {{24, s.advertise(100)}};
                  s.send(reply);
                }});
  to.push_back({.rule = "RD-02",
                .did = "names a Position of 42",
                .answer = "ERR_CHUNK",
                .server = plain_call({{42, 8}})});
  to.push_back({.rule = "RD-03",
                .did = "lists the later Position first",
                .answer = "Reply, SUCCESS",
                .server = plain_call({{56, 8}, {44, 8}})});
  to.push_back({.rule = "RD-04",
                .did = "sends an RDMA_MSG with a Position Zero Read chunk",
                .answer = "ERR_CHUNK",
                .server = plain_call({{0, 56}})});
  to.push_back({.rule = "RD-04",
                .did = "sends an RDMA_NOMSG without a Position Zero Read chunk",
                .answer = "ERR_CHUNK",
                .server = [](AgainstServer& s) {
                  s.connect();
                  s.exchange();
                  Message m = scenes::call(2, {});
                  m.proc = wire::Proc::kNomsg;
                  m.reads = {{44, s.advertise(56)}};
                  s.send(m);
                }});
  to.push_back({.rule = "RD-05",
                .did = "names a Position of 400 in a Call of 56 bytes",
                .answer = "ERR_CHUNK",
                .server = plain_call({{400, 8}})});
  to.push_back({.rule = "RD-06",
                .did = "sends two Read chunks, the second in the middle of the first",
                .answer = "ERR_CHUNK",
                .server = plain_call({{44, 16}, {52, 8}})});
}

void add_lengths(Matrix& to) {
  to.push_back({.rule = "RD-07",
                .did = "sends a WRITE of 1,000 bytes with a Read chunk of 900",
                .answer = "Reply, GARBAGE_ARGS",
                .server = nfs_write(1000, {900})});
  to.push_back({.rule = "RD-08",
                .did = "adds a Read segment without bytes",
                .answer = "ERR_CHUNK",
                .server = nfs_write(1000, {1000, 0})});
  to.push_back({.rule = "RD-09",
                .did = "sends a Read segment that passes 2^64",
                .answer = "ERR_CHUNK",
                .server = [](AgainstServer& s) {
                  s.connect();
                  s.exchange();
                  Message m = scenes::call(2);
                  m.reads = {{44, {0x100, 100, 0xffff'ffff'ffff'ffc0}}};
                  s.send(m);
                }});
  to.push_back({.rule = "RD-09",
                .did = "advertises the same memory twice in one Write chunk",
                .answer = "Reply, SUCCESS",
                .server = [](AgainstServer& s) {
                  s.connect();
                  s.exchange();
                  Message m = scenes::call(2, scenes::nfs3::read_call(2, 150));
                  wire::Segment half = s.advertise(200);
                  half.length = 100;
                  m.writes = {{half, half}};
                  s.send(m);
                }});
  to.push_back({.rule = "RD-10",
                .did = "sends roundup in a Read segment of its own",
                .answer = "Reply, SUCCESS",
                .server = nfs_write(1001, {1001, 3})});
  to.push_back({.rule = "RD-10",
                .did = "sends roundup as a Read chunk of its own",
                .answer = "ERR_CHUNK",
                .server = nfs_write(1001, {1001, 3}, true)});
}

void add_binding(Matrix& to) {
  to.push_back({.rule = "RD-11",
                .did = "refuses a Read chunk that has no roundup",
                .answer = "its Call ends, ERR_CHUNK: the peer could not read the header or "
                          "place the Reply",
                .client = [](AgainstClient& s) {
                  s.accept();
                  s.exchange();
                  s.send(scenes::err_chunk(s.write(5001).xid));
                }});
  to.push_back({.rule = "RD-12",
                .did = "sends the file handle of a GETATTR in a Read chunk",
                .answer = "Reply, SUCCESS",
                .server = [](AgainstServer& s) {
                  s.connect();
                  s.exchange();
                  Message m = scenes::call(
                      2, scenes::rpc_call(2, scenes::kNfs, 3, 1, scenes::Xdr().u32(16).bytes()));
                  m.reads = {{44, s.advertise(16)}};
                  s.send(m);
                }});
  to.push_back({.rule = "RD-12",
                .did = "sends a part of the RPC header in a Read chunk",
                .answer = "Reply, GARBAGE_ARGS",
                .server = plain_call({{24, 8}})});
}

}  // namespace

void add_read_list_scenes(Matrix& to) {
  add_positions(to);
  add_lengths(to);
  add_binding(to);
}

}  // namespace rpcrdma::hostile

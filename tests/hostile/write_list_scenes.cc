#include "scenes.h"

namespace rpcrdma::hostile {

namespace {

using Change = std::function<void(Message& reply)>;

// An NFS READ of kLongCount bytes, `written` of which are written, with a Reply that `change`
// modifies.
auto nfs_read(const Change& change, std::uint32_t written = kLongCount) {
  return [=](AgainstClient& s) {
    const Message call = s.begin_with_read(kLongCount);
    Message reply =
        AgainstClient::reply_to(call, scenes::nfs3::read_reply(call.xid, kLongCount).rpc);
    std::uint32_t left = written;
    for (std::size_t i = 0; i < call.writes[0].size(); ++i) {
      const wire::Segment& segment = call.writes[0][i];
      const std::uint32_t length = std::min(left, segment.length);
      if (length != 0) s.write(segment, scenes::pattern(length));
      reply.writes[0][i].length = length;
      left -= length;
    }
    change(reply);
    s.send(reply);
  };
}

Bytes failed_read(std::uint32_t xid) {
  constexpr std::uint32_t kIo = 5;
  return scenes::rpc_reply(xid, scenes::Xdr().u32(kIo).u32(0).bytes());
}

service::ClientOptions in_segments_of(std::uint32_t bytes) {
  service::ClientOptions options = HostileScene::one_version(1);
  options.max_segment = bytes;
  return options;
}

// A READ of `count` bytes with a chunk of `room` bytes, returned with length `returned`.
auto with_room(std::uint32_t count, std::uint32_t room, std::uint32_t returned) {
  return [=](AgainstClient& s) {
    s.accept();
    s.exchange();
    const Message call = s.call({.rpc = scenes::nfs3::read_call(0, count), .result = room});
    s.write(call.writes[0][0], scenes::pattern(returned));
    Message reply = AgainstClient::reply_to(call, scenes::nfs3::read_reply(call.xid, count).rpc);
    reply.writes[0][0].length = returned;
    s.send(reply);
  };
}

void add_copies(Matrix& to) {
  to.push_back({.rule = "WR-01",
                .did = "returns a Write chunk with a segment more",
                .answer = "its Call ends, bad Reply: a returned chunk has another number of "
                          "segments",
                .client = nfs_read([](Message& r) {
                  r.writes[0].push_back({0x101, 0, 0x2000});
                })});
  to.push_back({.rule = "WR-01",
                .did = "returns one Write chunk too many",
                .answer = "its Call ends, bad Reply: the returned Write list has another number "
                          "of chunks",
                .client = nfs_read([](Message& r) {
                  r.writes.push_back({{0x101, 0, 0x2000}});
                })});
  to.push_back({.rule = "WR-02",
                .did = "returns a Write segment with another handle",
                .answer = "its Call ends, bad Reply: a returned segment has another handle",
                .client = nfs_read([](Message& r) { ++r.writes[0][0].handle; })});
  to.push_back({.rule = "WR-02",
                .did = "returns a Write segment with another offset",
                .answer = "its Call ends, bad Reply: a returned segment has another offset",
                .client = nfs_read([](Message& r) { ++r.writes[0][0].offset; })});
  to.push_back({.rule = "WR-03",
                .did = "returns a Write segment longer than it was offered",
                .answer = "its Call ends, bad Reply: a returned segment is longer than offered",
                .client = nfs_read([](Message& r) { r.writes[0][0].length += 8; })});
  to.push_back({.rule = "WR-04",
                .did = "uses the second segment while the first is not full",
                .answer = "its Call ends, bad Reply: a chunk was filled with a gap",
                .client = nfs_read([](Message& r) { r.writes[0][0].length -= 96; }),
                .client_options = in_segments_of(4096)});
}

void add_use(Matrix& to) {
  to.push_back({.rule = "WR-05",
                .did = "leaves out a Write chunk that it did not use",
                .answer = "its Call ends, bad Reply: the returned Write list has another number "
                          "of chunks",
                .client = nfs_read(
                    [](Message& r) {
                      r.rpc = failed_read(r.xid);
                      r.writes.clear();
                    },
                    0)});
  to.push_back({.rule = "WR-05",
                .did = "fails a READ, and returns the whole Write chunk as written",
                .answer = "its Call is answered",
                .client = nfs_read([](Message& r) { r.rpc = failed_read(r.xid); })});
  to.push_back(
      {.rule = "WR-06",
       .did = "returns one result in two Write chunks",
       .answer = "its Call is answered",
       .client = [](AgainstClient& s) {
         s.accept();
         s.exchange();
         const Message call = s.call(
             {.rpc = scenes::nfs3::read_call(0, kLongCount), .result = kLongCount, .results = 2});
         Message reply =
             AgainstClient::reply_to(call, scenes::nfs3::read_reply(call.xid, kLongCount).rpc);
         for (std::size_t i = 0; i < call.writes.size(); ++i) {
           s.write(call.writes[i][0], scenes::pattern(kLongCount));
           reply.writes[i][0].length = kLongCount;
         }
         s.send(reply);
       }});
  to.push_back({.rule = "WR-07",
                .did = "counts roundup in the returned length",
                .answer = "its Call is answered",
                .client = with_room(8001, 8004, 8004)});
  to.push_back({.rule = "WR-08",
                .did = "returns a READ of 8,000 bytes with a Write chunk of 7,000",
                .answer = "its Call is answered",
                .client = with_room(8000, 8000, 7000)});
  to.push_back(
      {.rule = "WR-10",
       .did = "sends a result inline that has a Write chunk",
       .answer = "its Call is answered",
       .client = nfs_read(
           [](Message& r) { r.rpc = scenes::nfs3::read_reply_inline(r.xid, scenes::pattern(300)); },
           0)});
}

}  // namespace

void add_write_list_scenes(Matrix& to) {
  add_copies(to);
  add_use(to);
}

}  // namespace rpcrdma::hostile

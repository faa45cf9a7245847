#include "exchanges.h"

#include <algorithm>

namespace rpcrdma::scenes {

Segments filled(const Segments& offered, std::size_t bytes) {
  Segments returned = offered;
  for (wire::Segment& s : returned) {
    s.length = static_cast<std::uint32_t>(std::min<std::size_t>(s.length, bytes));
    bytes -= s.length;
  }
  return returned;
}

void write_by_read_chunk(Connection& c, std::uint32_t xid, const Segments& offered) {
  std::uint32_t bytes = 0;
  for (const wire::Segment& s : offered) bytes += s.length;
  Reduced body = nfs3::write_call(xid, bytes);
  Message m = call(xid, std::move(body.rpc));
  for (const wire::Segment& s : offered) m.reads.push_back({body.position, s});
  c.call(m);
  for (const wire::Segment& s : offered) c.read(s);
  c.reply(reply(xid, nfs3::write_reply(xid, bytes)));
}

void read_by_write_chunk(Connection& c, std::uint32_t xid, const Segments& offered,
                         std::uint32_t bytes) {
  Message m = call(xid, nfs3::read_call(xid, bytes));
  m.writes.push_back(offered);
  c.call(m);
  const Segments returned = filled(offered, bytes);
  for (const wire::Segment& s : returned) {
    if (s.length != 0) c.write(s, pattern(s.length));
  }
  Message r = reply(xid, nfs3::read_reply(xid, bytes).rpc);
  r.writes.push_back(returned);
  c.reply(r);
}

void readdir_by_reply_chunk(Connection& c, std::uint32_t xid, const wire::Segment& offered,
                            std::size_t bytes) {
  Message m = call(xid, nfs3::readdir_call(xid, static_cast<std::uint32_t>(bytes)));
  m.reply_chunk = Segments{offered};
  c.call(m);
  const Bytes rpc = nfs3::readdir_reply(xid, bytes);
  Message r = reply(xid, {});
  r.proc = wire::Proc::kNomsg;
  r.reply_chunk = filled({offered}, rpc.size());
  c.write(offered, rpc);
  c.reply(r);
}

}  // namespace rpcrdma::scenes

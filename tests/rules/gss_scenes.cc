// RPCSEC_GSS: NFS with integrity (krb5i) and privacy (krb5p), and what that rules out.
#include "exchanges.h"
#include "registry.h"

#include <algorithm>

#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::scenes {

namespace {

constexpr std::uint64_t kMemory = 0x7f0000000000;
constexpr std::uint32_t kGss = 6;

enum class Service : std::uint32_t { kNone = 1, kIntegrity = 2, kPrivacy = 3 };

// Arguments or results as the service wraps them (RFC 2203 section 5.3.2 and 5.3.3.4).
Bytes wrapped(Service service, const Bytes& body) {
  if (service == Service::kNone) return body;
  const Bytes inside = Xdr().u32(7).fixed(body).bytes();
  if (service == Service::kIntegrity) return Xdr().opaque(inside).opaque(Bytes(28, 0x4d)).bytes();
  Bytes secret = inside;
  for (std::uint8_t& b : secret) b ^= 0x5a;
  return Xdr().opaque(secret).bytes();
}

template <typename Header>
Bytes with_header(const Header& header, const Bytes& body) {
  Bytes bytes(wire::encoded_size(header));
  (void)wire::encode_rpc(header, bytes);
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

// The RPC message of bodies.h with another credential and a wrapped body.
Bytes gss_call(Service service, const Bytes& plain) {
  auto view = wire::decode_rpc(plain);
  Bytes cred(64);
  const Bytes handle{1, 2, 3, 4};
  cred.resize(*wire::encode_gss_cred({1, 0, 7, static_cast<std::uint32_t>(service), handle}, cred));
  const Bytes mic(28, 0x4d);
  view->call.cred = {kGss, cred};
  view->call.verf = {kGss, mic};
  const Bytes arguments(plain.begin() + static_cast<std::ptrdiff_t>(view->length), plain.end());
  return with_header(view->call, wrapped(service, arguments));
}

Bytes gss_reply(Service service, const Bytes& plain) {
  auto view = wire::decode_rpc(plain);
  const Bytes mic(28, 0x4d);
  view->reply.verf = {kGss, mic};
  const Bytes results(plain.begin() + static_cast<std::ptrdiff_t>(view->length), plain.end());
  return with_header(view->reply, wrapped(service, results));
}

// NFSv3 READ and WRITE of 600 bytes inline, and a READ through a Reply chunk.
void session(Scene& s, Service service) {
  Connection& c = s.connect();
  const Bytes data = pattern(600);
  c.call(call(1, gss_call(service, nfs3::read_call(1, 600))));
  c.reply(reply(1, gss_reply(service, nfs3::read_reply_inline(1, data))));
  c.call(call(2, gss_call(service, nfs3::write_call_inline(2, data))));
  c.reply(reply(2, gss_reply(service, nfs3::write_reply(2, 600))));
  const wire::Segment memory{0x100, 16384, kMemory};
  Message m = call(3, gss_call(service, nfs3::read_call(3, 8192)));
  m.reply_chunk = Segments{memory};
  c.call(m);
  const Bytes rpc = gss_reply(service, nfs3::read_reply_inline(3, pattern(8192)));
  Message r = reply(3, {});
  r.proc = wire::Proc::kNomsg;
  r.reply_chunk = filled({memory}, rpc.size());
  c.write({memory.handle, static_cast<std::uint32_t>(rpc.size()), memory.offset}, rpc);
  c.reply(r);
}

// NFSv4.1 COMPOUNDs.
void compounds(Scene& s, Service service) {
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 3; ++xid) {
    c.call(call(xid, gss_call(service, nfs4::getattr_call(xid))));
    c.reply(reply(xid, gss_reply(service, nfs4::getattr_reply(xid))));
  }
}

// The data of a READ is in a Write chunk although the service covers it.
void read_placed_directly(Scene& s, Service service) {
  Connection& c = s.connect();
  const Segments offered{{0x100, 8192, kMemory}};
  Message m = call(1, gss_call(service, nfs3::read_call(1, 8192)));
  m.writes.push_back(offered);
  c.call(m);
  c.write(offered.front(), pattern(8192));
  Message r = reply(1, gss_reply(service, nfs3::read_reply(1, 8192).rpc));
  r.writes.push_back(filled(offered, 8192));
  c.reply(r);
}

}  // namespace

void add_gss_scenes(Scenes& scenes) {
  scenes.push_back({.rule = "GSS-NO-DDP",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { session(s, Service::kIntegrity); },
                    .keeps = [](Scene& s) { session(s, Service::kNone); }});
  scenes.push_back({.rule = "GSS-NO-DDP",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { session(s, Service::kPrivacy); },
                    .keeps = [](Scene& s) { session(s, Service::kNone); },
                    .variant = "privacy"});
  scenes.push_back({.rule = "GSS-NO-DDP",
                    .guilty = Guilty::kClient,
                    .breaks = [](Scene& s) { compounds(s, Service::kIntegrity); },
                    .keeps = [](Scene& s) { compounds(s, Service::kNone); },
                    .variant = "compounds"});
  scenes.push_back({.rule = "GSS-CHUNK",
                    .guilty = Guilty::kServer,
                    .breaks = [](Scene& s) { read_placed_directly(s, Service::kIntegrity); },
                    .keeps = [](Scene& s) { read_placed_directly(s, Service::kNone); },
                    .also = {"GSS-NO-DDP"}});
}

}  // namespace rpcrdma::scenes

// Scenes that break the rules about RDMA operations: handles, bounds, order, lengths and limits.
#include "scenes.h"

#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::hostile {

namespace {

constexpr const char* kRefusedWrite = "its device refused the Write";

Message read_reply(const Message& call) {
  Message reply = AgainstClient::reply_to(call, scenes::nfs3::read_reply(call.xid, kLongCount).rpc);
  reply.writes = call.writes;
  return reply;
}

// Does something before the Reply to an NFS READ.
auto before_reply(
    const std::function<void(AgainstClient& s, const wire::Segment& to)>& operations) {
  return [=](AgainstClient& s) {
    const Message call = s.begin_with_read(kLongCount);
    operations(s, call.writes[0][0]);
    s.run_for(fabric::kMillisecond);
    if (!s.is_down()) s.send(read_reply(call));
  };
}

void add_targets(Matrix& to) {
  to.push_back({.rule = "OPS-01",
                .did = "writes to a handle that is none",
                .answer = "connection ended: a Write outside the memory advertised to it",
                .client = before_reply([](AgainstClient& s, const wire::Segment&) {
                  s.write({0x66, 64, 0}, scenes::pattern(64));
                }),
                .not_in_recording = kRefusedWrite});
  to.push_back({.rule = "OPS-01",
                .did = "writes beyond the end of the Write chunk",
                .answer = "connection ended: a Write outside the memory advertised to it",
                .client = before_reply([](AgainstClient& s, const wire::Segment& segment) {
                  s.write(segment, scenes::pattern(kLongCount + 1));
                }),
                .not_in_recording = kRefusedWrite});
  to.push_back({.rule = "OPS-01",
                .did = "reads what is there to be written",
                .answer = "connection ended: a Read outside the memory advertised to it",
                .client = before_reply(
                    [](AgainstClient& s, const wire::Segment& segment) { s.Stage::read(segment); }),
                .not_in_recording = "its device refused the Read"});
  to.push_back({.rule = "OPS-01",
                .did = "writes to the server's memory, as no client may",
                .answer = "connection ended: a Write outside the memory advertised to it",
                .server =
                    [](AgainstServer& s) {
                      s.connect();
                      s.exchange();
                      s.write({0x66, 64, 0}, scenes::pattern(64));
                    },
                .not_in_recording = kRefusedWrite});
}

void add_operation_order(Matrix& to) {
  to.push_back(
      {.rule = "OPS-02",
       .did = "sends the Reply first, and writes its data afterwards",
       .answer = "its Call is answered",
       .client =
           [](AgainstClient& s) {
             const Message call = s.begin_with_read(kLongCount);
             s.send(read_reply(call));
             s.write(call.writes[0][0], scenes::pattern(kLongCount));
           },
       .not_in_recording = "it sees the Reply when it polls for it, which is after the Write"});
  to.push_back({.rule = "OPS-03",
                .did = "writes 100 bytes less than its Reply says",
                .answer = "its Call is answered",
                .client = before_reply([](AgainstClient& s, const wire::Segment& segment) {
                  s.write(segment, scenes::pattern(kLongCount - 100));
                })});
  to.push_back(
      {.rule = "OPS-03",
       .did = "answers a WRITE after it has read only the first 200 bytes",
       .answer = "its Call is answered",
       .client = [](AgainstClient& s) {
         s.accept();
         s.exchange();
         const Message call = s.write(kLongCount);
         wire::Segment part = call.reads[0].target;
         part.length = 200;
         s.Stage::read(part);
         s.send(AgainstClient::reply_to(call, scenes::nfs3::write_reply(call.xid, kLongCount)));
       }});
}

// Changes the number of Reads that the other side may have in flight, in the MAD of a REQ.
void allow_reads(Bytes& packet, std::uint8_t reads) {
  constexpr std::size_t kMad = 20;  // after BTH and DETH
  constexpr std::size_t kAttribute = kMad + 16;
  constexpr std::size_t kResponderResources = kMad + 24 + 35;
  if (packet[0] != static_cast<std::uint8_t>(wire::Opcode::kUdSendOnly)) return;
  if (wire::load_be16(&packet[kAttribute]) != static_cast<std::uint16_t>(wire::CmAttribute::kReq)) {
    return;
  }
  packet[kResponderResources] = reads;
}

void add_packets(Matrix& to) {
  constexpr std::uint8_t kReads = 20;  // 16 are negotiated
  to.push_back({.rule = "OPS-04",
                .did = "has 20 Reads in flight, where 16 were agreed on",
                .answer = "connection ended: more concurrent Reads than negotiated",
                .client =
                    [](AgainstClient& s) {
                      s.accept();
                      s.its_host().change_incoming = [](Bytes& p) { allow_reads(p, kReads); };
                      s.disconnect();
                      s.accept({.initiator_depth = kReads});
                      s.exchange();
                      wire::Segment part = s.write(kLongCount).reads[0].target;
                      part.length = 200;
                      s.ours().gather_reads = kReads;
                      for (std::uint8_t i = 0; i < kReads; ++i, part.offset += part.length) {
                        s.Stage::read(part, true);
                      }
                      s.until([&] { return s.is_down(); }, "the end of the connection");
                    },
                .not_in_recording = "its device refused the Reads"});
  to.push_back({.rule = "OPS-05",
                .did = "sends the Middle of a message without its First",
                .answer = "connection ended: opcode out of sequence",
                .client =
                    [](AgainstClient& s) {
                      s.accept();
                      s.exchange();
                      const Message call = s.call();
                      s.its_host().change_outgoing = [](soft::OutPacket& p) {
                        constexpr auto kOnly = static_cast<std::uint8_t>(wire::Opcode::kSendOnly);
                        constexpr auto kMiddle =
                            static_cast<std::uint8_t>(wire::Opcode::kSendMiddle);
                        if (p.header[0] == kOnly) p.header[0] = kMiddle;
                      };
                      s.send(AgainstClient::reply_to(call));
                      s.until([&] { return s.is_down(); }, "the end of the connection");
                      s.its_host().change_outgoing = {};
                    },
                .not_in_recording = "an endpoint does not see packets"});
  to.push_back({.rule = "OPS-06",
                .did = "advertises the same memory in two Calls at once",
                .answer = "Reply, SUCCESS; Reply, SUCCESS",
                .server = [](AgainstServer& s) {
                  s.connect({.private_data = scenes::private_data(4096, 4096, false)});
                  s.exchange();
                  const wire::Segment memory = s.advertise(5000);
                  for (std::uint32_t xid = 2; xid <= 3; ++xid) {
                    Message call = scenes::call(xid, scenes::nfs3::read_call(xid, 5000));
                    call.writes = {{memory}};
                    s.send(call);
                  }
                }});
}

}  // namespace

void add_operation_scenes(Matrix& to) {
  add_targets(to);
  add_operation_order(to);
  add_packets(to);
}

}  // namespace rpcrdma::hostile

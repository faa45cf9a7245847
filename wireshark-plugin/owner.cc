#include "owner.h"

#include "plugin.h"

#include <string>
#include <unordered_map>
#include <unordered_set>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/model/recognise.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::wireshark {

namespace {

heur_dtbl_entry_t* built_in = nullptr;
int built_in_protocol = -1;

// Sends of several packets of which the built-in dissector has the first: it must have the others,
// as long as none is missing, since a hole makes it fail an assertion. With the PSN that comes
// next, by address and QP, while the file is read; by frame when frames are shown again.
constexpr std::size_t kMaxSendsBegun = 65536;  // a hostile capture names any number of QPs
std::unordered_map<std::string, std::uint32_t> sends_begun;
std::unordered_set<guint32> frames_continuing;

std::string receiver(const capture::TransportPacket& packet, std::uint32_t qpn) {
  std::string key(packet.dst.bytes.begin(), packet.dst.bytes.end());
  for (unsigned shift = 0; shift < 24; shift += 8) key += static_cast<char>(qpn >> shift & 0xffU);
  return key;
}

// Is this packet of a Send of several for the built-in dissector?
bool continues_send(const std::string& receiver, const wire::RocePacket& roce,
                    const wire::OpcodeInfo& opcode) {
  constexpr std::uint32_t kPsnMask = 0xffffff;
  const std::uint32_t next = (roce.bth.psn + 1) & kPsnMask;
  const auto begun = sends_begun.find(receiver);
  if (opcode.first) {
    if (begun != sends_begun.end()) sends_begun.erase(begun);
    if (!model::resembles(roce.payload) || sends_begun.size() >= kMaxSendsBegun) return false;
    sends_begun.emplace(receiver, next);
    return true;
  }
  if (begun == sends_begun.end()) return false;
  const bool in_order = begun->second == roce.bth.psn;
  begun->second = next;
  if (!in_order || opcode.last) sends_begun.erase(begun);
  return in_order;
}

}  // namespace

void find_built_in() {
  built_in = find_heur_dissector_by_unique_short_name("rpcrdma_infiniband");
  built_in_protocol = proto_get_id_by_filter_name("rpcordma");
}

Boolean enable_built_in(Boolean enabled) {
  if (built_in == nullptr) return FALSE;
  const Boolean was = built_in->enabled;
  built_in->enabled = enabled;
  return was;
}

bool built_in_has(packet_info* pinfo) {
  for (wmem_list_frame_t* layer = wmem_list_head(pinfo->layers); layer != nullptr;
       layer = wmem_list_frame_next(layer)) {
    if (GPOINTER_TO_INT(wmem_list_frame_data(layer)) == built_in_protocol) return true;
  }
  return false;
}

void forget_owners() {
  sends_begun.clear();
  frames_continuing.clear();
}

bool leave_to_built_in(const notes::FrameNote& note) {
  if (preferences.precedence) return false;
  return note.message == 0 || session()->message(note.message).version == 1;
}

Owner owner_of(const notes::FrameNote* note, const capture::Frame& frame, packet_info* pinfo) {
  if (note != nullptr && (note->message != 0 || note->operation != 0 || note->rpc != 0)) {
    return leave_to_built_in(*note) ? Owner::kBuiltIn : Owner::kOurs;
  }
  if (!preferences.precedence) return Owner::kBuiltIn;
  // To the built-in dissector it would be another message.
  if (note != nullptr && note->sent_again) return Owner::kNobody;
  capture::TransportPacket packet;
  wire::RocePacket roce;
  if (capture::dissect_link(frame, packet) != capture::LinkResult::kRoce ||
      !wire::decode_roce(packet.transport(), packet.wire_length, roce)) {
    return Owner::kBuiltIn;
  }
  const wire::OpcodeInfo& opcode = wire::opcode_info(roce.bth.opcode);
  if (!opcode.send) return Owner::kBuiltIn;
  const std::uint32_t qpn = roce.bth.dest_qp;
  if (opcode.first && session()->expects_messages(packet.dst.bytes, qpn)) return Owner::kOurs;
  if (opcode.first && opcode.last) {
    return model::resembles(roce.payload) ? Owner::kBuiltIn : Owner::kNobody;
  }
  if (!PINFO_FD_VISITED(pinfo) && continues_send(receiver(packet, qpn), roce, opcode)) {
    frames_continuing.insert(pinfo->num);
  }
  return frames_continuing.count(pinfo->num) != 0 ? Owner::kBuiltIn : Owner::kNobody;
}

}  // namespace rpcrdma::wireshark

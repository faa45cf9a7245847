#include "owner.h"

#include "plugin.h"

#include <rpcrdma/capture/link.h>
#include <rpcrdma/model/recognise.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::wireshark {

namespace {

heur_dtbl_entry_t* built_in = nullptr;
int built_in_protocol = -1;

}  // namespace

void find_built_in() {
  built_in = find_heur_dissector_by_unique_short_name("rpcrdma_infiniband");
  built_in_protocol = proto_get_id_by_filter_name("rpcordma");
}

// Not inlined into a function with TRY: its variables would be indeterminate after longjmp().
[[gnu::noinline]] Boolean enable_built_in(Boolean enabled) {
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

bool leave_to_built_in(const annotations::FrameAnnotation& note) {
  if (preferences.precedence) return false;
  return note.message == 0 || session()->message(note.message).version == 1;
}

Owner owner_of(const annotations::FrameAnnotation* note, const capture::Frame& frame) {
  if (note != nullptr && (note->message != 0 || note->operation != 0 || note->rpc != 0)) {
    return leave_to_built_in(*note) ? Owner::kBuiltIn : Owner::kOurs;
  }
  if (!preferences.precedence) return Owner::kBuiltIn;
  // The built-in dissector would count it as another message.
  if (note != nullptr && note->sent_again) return Owner::kNobody;
  capture::TransportPacket transport;
  wire::RocePacket roce;
  if (capture::dissect_link(frame, transport) != capture::LinkResult::kRoce ||
      !wire::decode_roce(transport.transport(), transport.wire_length, roce)) {
    return Owner::kNobody;
  }
  const wire::OpcodeInfo& opcode = wire::opcode_info(roce.bth.opcode);
  if (!opcode.send) return Owner::kBuiltIn;
  const std::uint32_t qpn = roce.bth.dest_qp;
  if (opcode.first && session()->expects_messages(transport.dst.bytes, qpn)) return Owner::kOurs;
  // For a Send in several packets, the built-in dissector may miss a part when the frame is shown
  // again, and then fails an assertion.
  return opcode.first && opcode.last && model::resembles(roce.payload) ? Owner::kBuiltIn
                                                                       : Owner::kNobody;
}

}  // namespace rpcrdma::wireshark

// The path of a frame. This plugin wraps Wireshark's dissectors of RoCE and passes each frame to
// the analyzer first, once and in order, so everything known about it is available when it is
// shown. Wireshark returns the payload through the heuristic of "infiniband.payload". Packets
// without payload, such as ACKs and RDMA Read requests, get their notes after Wireshark's
// dissector.
#include "owner.h"
#include "packet_bytes.h"
#include "plugin.h"
#include "render.h"
#include "rules.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::wireshark {

namespace {

using annotations::Foreign;
using annotations::FrameAnnotation;
using annotations::MessageNote;
using annotations::Ref;
using annotations::RpcNote;
using annotations::Session;
using decode::FieldId;

constexpr const char* kColumn = "RPCoRDMA";
constexpr guint32 kRocePort = 4791;
// RoCEv2 senders use source ports from here on; for lower source ports, Wireshark prefers the
// dissector of the lower port.
constexpr guint32 kEntropyPorts = 0xC000;

std::unique_ptr<Session> current;
// Fields decoded for the current frame: static, since a longjmp() may skip destructors.
annotations::FieldLog scratch;

// The packet that Wireshark's dissectors are currently decoding for this plugin.
struct Packet {
  const FrameAnnotation* note = nullptr;
  Owner owner = Owner::kBuiltIn;
  bool rendered = false;  // the heuristic has shown its notes
};
Packet packet;

dissector_handle_t rpc_handle = nullptr;
pref_t* dissect_unknown_programs = nullptr;  // of `rpc_handle`

// ---- passing frames to the analyzer

// Numbers the packets of a frame from 0, in each dissection of the frame. A packet is identified by
// its address in memory.
struct PacketsOfFrame {
  std::uint32_t count;
  const std::uint8_t* last;
};
std::uint32_t packet_number(packet_info* pinfo, const std::uint8_t* data) {
  constexpr guint32 kKey = 0;
  auto* packets =
      static_cast<PacketsOfFrame*>(p_get_proto_data(pinfo->pool, pinfo, registered.protocol, kKey));
  if (packets == nullptr) {
    packets = wmem_new0(pinfo->pool, PacketsOfFrame);
    p_add_proto_data(pinfo->pool, pinfo, registered.protocol, kKey, packets);
  }
  if (packets->last != data) ++packets->count;
  packets->last = data;
  return packets->count - 1;
}

// The user can disable protocols.
bool is_switched_on() {
  static protocol_t* const ours = find_protocol_by_id(registered.protocol);
  return proto_is_protocol_enabled(ours);
}

// Findings without a frame, or after the last one, appear when statistics are drawn.
void finish() {
  if (current) current->finish();
}

// tshark draws statistics after it has read the file; in a single pass, that is the only
// notification. Tables that were started last are drawn first.
void finish_before_statistics() {
  static bool asked_for = false;
  if (asked_for) remove_tap_listener(&current);
  asked_for = false;
  if (!is_tshark()) return;
  if (!have_tap_listener(registered.tap)) return;  // none of our tables is open
  asked_for = true;
  GString* const error = register_tap_listener(
      "rpcrdma", &current, nullptr, TL_REQUIRES_NOTHING, nullptr, nullptr,
      [](void*) {
        finish();
        complete_statistics();
      },
      nullptr);
  if (error != nullptr) g_string_free(error, TRUE);
}

// In a single pass, tshark shows a frame only when it is read; with -2, it shows none while
// reading.
Session::Use use_of(packet_info* pinfo, const proto_tree* tree) {
  if (!is_tshark() || pinfo->cinfo == nullptr) return Session::Use::kAgain;
  return tree != nullptr ? Session::Use::kOnce : Session::Use::kOnceWithoutFields;
}

// Passes the packet to the analyzer the first time it is seen, and queues the result for taps.
const FrameAnnotation* on_frame(const capture::Frame& frame, packet_info* pinfo,
                                const proto_tree* tree) {
  if (!current || !is_switched_on()) return nullptr;
  const std::uint32_t number = packet_number(pinfo, frame.data.data());
  Tapped tapped;
  tapped.session = current.get();
  if (!PINFO_FD_VISITED(pinfo) && !current->finished()) {
    static const Session* begun = nullptr;
    if (begun != current.get()) {
      begun = current.get();
      finish_before_statistics();
    }
    tapped.first_time = true;
    tapped.findings_before = current->findings();
    current->set_use(use_of(pinfo, tree));
    if (number == 0) {
      current->frame(frame);
    } else {
      current->next_packet(frame);
    }
    tapped.findings_after = current->findings();
  }
  const FrameAnnotation* const note = current->find(pinfo->num, number);
  tapped.note = note;
  if ((note != nullptr || tapped.findings_before != tapped.findings_after) &&
      have_tap_listener(registered.tap)) {
    auto* const queued = wmem_new(pinfo->pool, Tapped);
    *queued = tapped;
    tap_queue_packet(registered.tap, pinfo, queued);
  }
  return note;
}

// ---- showing notes

proto_tree* add_protocol(tvbuff_t* tvb, int length, const char* summary, proto_tree* tree) {
  proto_item* const item =
      proto_tree_add_protocol_format(tree, registered.protocol, tvb, 0, length, "RPC-over-RDMA%s%s",
                                     summary[0] != 0 ? ", " : "", summary);
  return proto_item_add_subtree(item, registered.tree);
}

// Returns the part of a summary between the XID and the description of the RPC, for an Info column
// that Wireshark's own dissectors begin.
std::string_view transport_part(const char* summary) {
  std::string_view text(summary);
  constexpr std::string_view kReverse = "reverse ";
  if (text.substr(0, kReverse.size()) == kReverse) text.remove_prefix(kReverse.size());
  for (int words = 0; words < 2; ++words) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return {};
    text.remove_prefix(space + 1);
  }
  return text.substr(0, text.find(" | "));
}

// Returns the bytes of a message's Send. `tvb` holds them if the Send has one packet.
tvbuff_t* send_of(const MessageNote& m, tvbuff_t* tvb, packet_info* pinfo) {
  if (m.bytes.empty()) return tvb;
  const auto length = static_cast<guint>(m.bytes.size());
  tvbuff_t* const whole = tvb_new_child_real_data(
      tvb, m.bytes.data(), length, static_cast<gint>(std::max(length, m.wire_length)));
  add_new_data_source(pinfo, whole, "RDMA Send");
  return whole;
}

void decode_send(const MessageNote& m, tvbuff_t* send, Foreign foreign) {
  scratch.clear();
  annotations::FieldLogSink sink(scratch, foreign);
  const guint captured = tvb_captured_length(send);
  const bool reply = m.kind == model::Kind::kReply && m.procedure_known;
  decode::decode_message({tvb_get_ptr(send, 0, static_cast<gint>(captured)), captured}, sink,
                         reply ? &m.procedure : nullptr, m.dialect);
}

// True if a dissector other than that of RPC itself decodes the program.
bool is_known_program(std::uint32_t program) {
  return std::strcmp(rpc_prog_name(program), "Unknown") != 0;
}

// Calls Wireshark's dissector of RPC, which calls those of the programs it knows. Returns false if
// the user has disabled it.
bool call_rpc(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, guint32 conversation) {
  const port_type type = pinfo->ptype;
  const guint32 source = pinfo->srcport;
  const guint32 destination = pinfo->destport;
  // QPs are not suitable: one of them is unknown until both directions were seen, and they are
  // reused. This number is beyond the range of QPs.
  pinfo->ptype = PT_IBQP;
  pinfo->srcport = pinfo->destport = 0x40000000U + conversation;
  // For an unknown program, Wireshark shows the RPC header only if this preference is set, since
  // elsewhere it cannot be sure that the packet is RPC.
  const Boolean unknown = prefs_get_bool_value(dissect_unknown_programs, pref_current);
  prefs_set_bool_value(dissect_unknown_programs, TRUE, pref_current);
  volatile int taken = 0;
  TRY {
    taken = call_dissector_only(rpc_handle, tvb, pinfo, tree, nullptr);
  }
  CATCH_NONFATAL_ERRORS {
    show_exception(tvb, pinfo, tree, EXCEPT_CODE, GET_MESSAGE);
    taken = 1;
  }
  FINALLY {
    prefs_set_bool_value(dissect_unknown_programs, unknown, pref_current);
    pinfo->ptype = type;
    pinfo->srcport = source;
    pinfo->destport = destination;
  }
  ENDTRY;
  return taken != 0;
}

// Shows an RPC message that is now complete. `send`: of this frame's message, if it has one.
void show_rpc(const RpcNote& rpc, tvbuff_t* send, tvbuff_t* tvb, packet_info* pinfo,
              proto_tree* ours, proto_tree* tree) {
  const MessageNote& m = current->message(rpc.message);
  tvbuff_t* message = nullptr;
  if (rpc.in_send && m.frame == pinfo->num && send != nullptr &&
      rpc.offset <= tvb_captured_length(send)) {
    const guint captured = std::min(rpc.length, tvb_captured_length(send) - rpc.offset);
    message = tvb_new_subset_length_caplen(send, static_cast<gint>(rpc.offset),
                                           static_cast<gint>(captured),
                                           static_cast<gint>(rpc.reported_length));
  } else if (!rpc.in_send) {
    message = tvb_new_child_real_data(tvb, rpc.bytes.data(), rpc.length,
                                      static_cast<gint>(rpc.reported_length));
    add_new_data_source(pinfo, message, "RPC message");
    if (m.frame != pinfo->num) render_frame(FieldId::kPacketHeader, m.frame, tvb, ours);
  }
  if (message == nullptr) return;
  const bool taken = call_rpc(message, pinfo, tree, rpc.conversation);
  if (taken && m.procedure_known && !m.orphan && is_known_program(m.procedure.program)) {
    const std::string_view transport = transport_part(m.summary.c_str());
    col_append_fstr(pinfo->cinfo, COL_INFO, " | %.*s", static_cast<int>(transport.size()),
                    transport.data());
    return;
  }
  col_set_str(pinfo->cinfo, COL_PROTOCOL, kColumn);
  col_add_str(pinfo->cinfo, COL_INFO, m.summary.c_str());
  if (ours == nullptr) return;
  scratch.clear();
  const guint captured = tvb_captured_length(message);
  {
    annotations::FieldLogSink sink(scratch, Foreign::kAsText);
    decode::decode_rpc_message({tvb_get_ptr(message, 0, static_cast<gint>(captured)), captured},
                               sink, m.kind == model::Kind::kReply ? &m.procedure : nullptr);
  }
  render(scratch, message, 0, ours);
}

void show_findings(const FrameAnnotation& note, tvbuff_t* tvb, packet_info* pinfo,
                   proto_tree* ours) {
  for (Ref r = note.finding; r != 0; r = current->finding(r).next) {
    add_finding(current->finding(r), tvb, pinfo, ours);
  }
}

// Shows the message of the frame; if its RPC message is dissected, that follows.
void show_message(const MessageNote& m, tvbuff_t* send, packet_info* pinfo, proto_tree* ours) {
  col_set_str(pinfo->cinfo, COL_PROTOCOL, kColumn);
  col_add_str(pinfo->cinfo, COL_INFO, m.summary.c_str());
  const bool elsewhere = m.rpc_frame != 0 && m.rpc_frame != pinfo->num;
  if (elsewhere) {
    col_append_fstr(pinfo->cinfo, COL_INFO, " | whole in %" G_GUINT64_FORMAT,
                    static_cast<guint64>(m.rpc_frame));
  }
  if (ours == nullptr) return;
  render(m.before, send, 0, ours);
  decode_send(m, send, m.rpc_frame == pinfo->num ? Foreign::kLeaveOut : Foreign::kAsText);
  render(scratch, send, 0, ours, &m.operations);
  if (elsewhere) render_frame(FieldId::kPacketReassembled, m.rpc_frame, send, ours);
  render(m.behind, send, 0, ours);
}

// Returns the Info text for an operation's packet. Consecutive packets mostly belong to the same
// operation, so the text is cached.
const char* operation_text(Ref ref, const annotations::OperationNote& o, const MessageNote& call) {
  static std::string text;
  static Ref last = 0;
  static std::uint64_t last_call = 0;
  static std::size_t last_label = 0;
  static model::ChunkList last_list = model::ChunkList::kRead;
  const bool same = ref == last && call.frame == last_call && call.label.size() == last_label &&
                    o.operation.list == last_list;
  last = ref;
  last_list = o.operation.list;
  last_call = call.frame;
  last_label = call.label.size();
  if (same) return text.c_str();
  text = "| ";
  text += model::chunk_list_name(o.operation.list);
  text += o.operation.list == model::ChunkList::kReplyRead ? " chunk of the Reply to the Call in "
                                                           : " chunk of the Call in ";
  text += std::to_string(call.frame);
  if (!call.label.empty()) text.append(" (").append(call.label).append(")");
  return text.c_str();
}

void show_operation(const FrameAnnotation& note, tvbuff_t* tvb, packet_info* pinfo,
                    proto_tree* ours) {
  const annotations::OperationNote& o = current->operation(note.operation);
  const MessageNote& call = current->message(o.call);
  col_set_str(pinfo->cinfo, COL_PROTOCOL, kColumn);
  col_append_str(pinfo->cinfo, COL_INFO, operation_text(note.operation, o, call));
  if (ours == nullptr) return;
  proto_item_set_generated(proto_tree_add_uint(ours, hf(FieldId::kExchange), tvb, 0, 0, o.call));
  render_operation(o, call.frame, tvb, ours);
}

void show_connection(const FrameAnnotation& note, tvbuff_t* tvb, proto_tree* ours) {
  if (note.connection == 0 || note.message != 0) return;
  proto_item_set_generated(
      proto_tree_add_uint(ours, hf(FieldId::kConnection), tvb, 0, 0, note.connection));
}

// Shows retransmitted and refused packets.
void show_trouble(const FrameAnnotation& note, tvbuff_t* tvb, packet_info* pinfo,
                  proto_tree* ours) {
  if (note.sent_again) {
    col_append_str(pinfo->cinfo, COL_INFO,
                   note.message != 0 ? " | retransmitted" : "| retransmitted");
    if (ours != nullptr) {
      proto_item_set_generated(
          proto_tree_add_boolean(ours, hf(FieldId::kPacketRetransmission), tvb, 0, 0, 1));
    }
  }
  if (note.refusal == nullptr) return;
  // Wireshark names other NAKs itself.
  if (std::strstr(note.refusal, "RNR") != nullptr) {
    col_append_fstr(pinfo->cinfo, COL_INFO, "| %s", note.refusal);
  }
  if (ours != nullptr) {
    proto_item_set_generated(
        proto_tree_add_string(ours, hf(FieldId::kPacketRefusal), tvb, 0, 0, note.refusal));
  }
}

// Shows all notes of a frame. `tvb`: the payload of its packet, or the whole packet if it has none.
// `send`: that is a Send.
void show(const FrameAnnotation& note, tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree) {
  const char* const protocol = pinfo->current_proto;
  pinfo->current_proto = "RPC-over-RDMA";  // the protocol of expert information
  const MessageNote* const m = note.message != 0 ? &current->message(note.message) : nullptr;
  tvbuff_t* const send = m != nullptr ? send_of(*m, tvb, pinfo) : nullptr;
  const int length = m != nullptr ? std::min(static_cast<int>(m->header_length),
                                             static_cast<int>(tvb_captured_length(send)))
                                  : 0;
  proto_tree* const ours = tree == nullptr
                               ? nullptr
                               : add_protocol(send != nullptr ? send : tvb, length,
                                              m != nullptr ? m->summary.c_str() : "", tree);
  if (m != nullptr) show_message(*m, send, pinfo, ours);
  if (note.operation != 0) show_operation(note, tvb, pinfo, ours);
  show_connection(note, tvb, ours);
  show_trouble(note, tvb, pinfo, ours);
  show_findings(note, tvb, pinfo, ours);
  // Last, since it uses the rest of the Info column, and may leave by an exception of its own.
  for (Ref r = note.rpc; r != 0; r = current->rpc(r).next) {
    show_rpc(current->rpc(r), send, tvb, pinfo, ours, tree);
  }
  pinfo->current_proto = protocol;
}

// ---- entry points for Wireshark

// Returns whether a message begins with this packet.
bool begins_send(const void* data) {
  if (data == nullptr) return false;
  const wire::OpcodeInfo& opcode =
      wire::opcode_info(static_cast<const infinibandinfo*>(data)->opCode);
  return opcode.send && opcode.first;
}

// Returns whether it also ends with it.
bool is_whole_send(const void* data) {
  return begins_send(data) &&
         wire::opcode_info(static_cast<const infinibandinfo*>(data)->opCode).last;
}

std::span<const std::uint8_t> net_address(const address& a) {
  if (a.data == nullptr || a.len < 0) return {};
  return {static_cast<const std::uint8_t*>(a.data), static_cast<std::size_t>(a.len)};
}

// Shows a message's header alone, if nothing else is known about it.
void show_header(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, const char* what) {
  const auto length = static_cast<int>(tvb_captured_length(tvb));
  packet.rendered = true;
  col_set_str(pinfo->cinfo, COL_PROTOCOL, kColumn);
  col_append_fstr(pinfo->cinfo, COL_INFO, "%s", what);
  if (tree == nullptr) return;
  proto_tree* const ours = add_protocol(tvb, length, what, tree);
  scratch.clear();
  {
    annotations::FieldLogSink sink(scratch, Foreign::kAsText);
    decode::decode_message({tvb_get_ptr(tvb, 0, length), static_cast<std::size_t>(length)}, sink);
  }
  render(scratch, tvb, 0, ours);
}

// Shows a message that the tracker holds back until a gap before it in the capture is explained.
void show_held(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, const void* data) {
  show_header(tvb, pinfo, tree, "a message behind a gap in the capture");
  if (!is_whole_send(data)) return;
  const guint captured = tvb_captured_length(tvb);
  const annotations::RpcNote* const rpc =
      PINFO_FD_VISITED(pinfo)
          ? current->rpc_of_held(pinfo->num)
          : current->rpc_of_held(net_address(pinfo->net_dst), pinfo->destport,
                                 {tvb_get_ptr(tvb, 0, static_cast<gint>(captured)), captured});
  if (rpc == nullptr || rpc->offset > captured) return;
  tvbuff_t* const message = tvb_new_subset_remaining(tvb, static_cast<gint>(rpc->offset));
  if (!call_rpc(message, pinfo, tree, rpc->conversation)) return;
  const char* const protocol = col_get_text(pinfo->cinfo, COL_PROTOCOL);
  if (protocol != nullptr && std::strncmp(protocol, "Unknown", std::strlen("Unknown")) == 0) {
    col_set_str(pinfo->cinfo, COL_PROTOCOL, kColumn);
    col_set_str(pinfo->cinfo, COL_INFO, "a message behind a gap in the capture");
  } else {
    col_append_str(pinfo->cinfo, COL_INFO, " | behind a gap in the capture");
  }
}

Boolean dissect_payload(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, void* data) {
  if (packet.owner != Owner::kOurs) return FALSE;
  const FrameAnnotation* const note = packet.note;
  if (note == nullptr || (note->message == 0 && note->operation == 0 && note->rpc == 0)) {
    show_held(tvb, pinfo, tree, data);
    return TRUE;
  }
  packet.rendered = true;
  show(*note, tvb, pinfo, tree);
  return TRUE;
}

// Decode As: also for packets that the analyzer does not recognize as RPC-over-RDMA.
int dissect_as(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, void* data) {
  const auto length = static_cast<int>(tvb_captured_length(tvb));
  if (dissect_payload(tvb, pinfo, tree, data)) return length;
  if (!begins_send(data)) return 0;
  show_header(tvb, pinfo, tree, "Decode As");
  return length;
}

// The set-up and end of a connection look alike for all protocols.
bool has_something_to_say(const FrameAnnotation& note) {
  return note.operation != 0 || note.rpc != 0 || note.finding != 0 ||
         current->speaks_rpc(note.connection);
}

// A wrapped dissector: that of RoCE, or that of UDP, which carries RoCEv2.
struct Around {
  const char* table;
  guint32 value;
  dissector_handle_t ours;
  dissector_handle_t theirs;
};

// Wireshark's dissector throws at the end of a frame cut short by the snapshot length.
int call_for_cut(dissector_handle_t theirs, tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree,
                 void* data) {
  volatile int length = static_cast<int>(tvb_captured_length(tvb));
  TRY {
    length = call_dissector_only(theirs, tvb, pinfo, tree, data);
  }
  CATCH_NONFATAL_ERRORS {
    show_exception(tvb, pinfo, tree, EXCEPT_CODE, GET_MESSAGE);
  }
  ENDTRY;
  return length;
}

// `frame`: the packet, for the analyzer.
int dissect_packet(dissector_handle_t theirs, const FrameAnnotation* note,
                   const capture::Frame& frame, tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree,
                   void* data) {
  if (!current || !is_switched_on()) return call_dissector_only(theirs, tvb, pinfo, tree, data);
  const Packet outer = packet;
  packet = {note, owner_of(note, frame), false};
  // The order of the two heuristics changes while a file is read.
  const Boolean enabled = enable_built_in(FALSE);
  if (packet.owner == Owner::kBuiltIn) static_cast<void>(enable_built_in(enabled));
  const bool cut = tvb_captured_length(tvb) < tvb_reported_length(tvb);
  volatile int length = 0;
  TRY {
    length = cut ? call_for_cut(theirs, tvb, pinfo, tree, data)
                 : call_dissector_only(theirs, tvb, pinfo, tree, data);
    // A packet that was cut short is not offered to any heuristic. Any other Send that was not
    // offered to this plugin belongs to another dissector by the user's choice.
    if (note != nullptr && !packet.rendered && (note->message == 0 || cut) &&
        !built_in_has(pinfo) && !leave_to_built_in(*note) && has_something_to_say(*note)) {
      if (cut) {  // Wireshark considers it malformed, and says so
        col_clear_fence(pinfo->cinfo, COL_INFO);
        col_set_str(pinfo->cinfo, COL_INFO, "cut short ");
      }
      show(*note, tvb, pinfo, tree);
    }
  }
  FINALLY {
    static_cast<void>(enable_built_in(enabled));
    packet = outer;
  }
  ENDTRY;
  return length;
}

enum : int { kEthertype, kLink, kErf, kAll };
std::array<Around, kAll> around = {{{"ethertype", 0x8915, nullptr, nullptr},
                                    {"wtap_encap", WTAP_ENCAP_INFINIBAND, nullptr, nullptr},
                                    {"erf.types.type", 21, nullptr, nullptr}}};

template <int kWhich>
int dissect_around(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, void* data) {
  capture::Frame frame;
  const bool found =
      kWhich == kEthertype ? roce_v1_frame(tvb, pinfo, frame) : infiniband_frame(tvb, pinfo, frame);
  if (!found) return call_dissector_only(around[kWhich].theirs, tvb, pinfo, tree, data);
  return dissect_packet(around[kWhich].theirs, on_frame(frame, pinfo, tree), frame, tvb, pinfo,
                        tree, data);
}

dissector_handle_t udp_handle = nullptr;
dissector_table_t udp_ports = nullptr;

// UDP tries the lower port first, and a conversation's dissector before that.
void claim(packet_info* pinfo, guint32 source) {
  const dissector_handle_t roce = dissector_get_uint_handle(udp_ports, kRocePort);
  if (roce == nullptr || find_conversation(pinfo->num, &pinfo->dst, &pinfo->src, CONVERSATION_UDP,
                                           kRocePort, source, NO_ADDR_B | NO_PORT_B) != nullptr) {
    return;
  }
  conversation_set_dissector(
      conversation_new(pinfo->num, &pinfo->dst, &pinfo->src, CONVERSATION_UDP, kRocePort, source,
                       NO_ADDR2 | NO_PORT2),
      roce);
}

// Returns whether only columns are needed, and none that Wireshark's dissectors would fill.
bool only_plain_columns(packet_info* pinfo, const proto_tree* tree) {
  if (use_of(pinfo, tree) != Session::Use::kOnceWithoutFields ||
      tap_listeners_require_dissection()) {
    return false;
  }
  for (int i = 0; i < pinfo->cinfo->num_cols; ++i) {
    switch (pinfo->cinfo->columns[i].col_fmt) {
      case COL_NUMBER:
      case COL_CLS_TIME:
      case COL_ABS_TIME:
      case COL_REL_TIME:
      case COL_DELTA_TIME:
      case COL_DEF_SRC:
      case COL_DEF_DST:
      case COL_PROTOCOL:
      case COL_PACKET_LENGTH:
      case COL_INFO:
        break;
      default:
        return false;
    }
  }
  return true;
}

// Returns Wireshark's name, such as "RC RDMA Write First "; null for other packets, and for those
// with immediate data.
const char* operation_name(std::uint8_t opcode) {
  switch (opcode) {
    case 6:
      return "RC RDMA Write First ";
    case 7:
      return "RC RDMA Write Middle ";
    case 8:
      return "RC RDMA Write Last ";
    case 10:
      return "RC RDMA Write Only ";
    case 12:
      return "RC RDMA Read Request ";
    case 13:
      return "RC RDMA Read Response First ";
    case 14:
      return "RC RDMA Read Response Middle ";
    case 15:
      return "RC RDMA Read Response Last ";
    case 16:
      return "RC RDMA Read Response Only ";
    default:
      return nullptr;
  }
}

// Most packets of a capture move chunks. If only their columns are needed, this writes them without
// Wireshark's dissectors, which would find nothing new.
bool write_line(const FrameAnnotation& note, tvbuff_t* tvb, packet_info* pinfo) {
  constexpr int kBth = 8;
  constexpr int kBthBytes = 12;
  if (note.operation == 0 || note.message != 0 || note.rpc != 0 || note.sent_again ||
      tvb_captured_length(tvb) != tvb_reported_length(tvb) ||
      tvb_captured_length(tvb) < kBth + kBthBytes || !preferences.precedence) {
    return false;
  }
  const char* const name = operation_name(get_uint8(tvb, kBth));
  if (name == nullptr) return false;
  const annotations::OperationNote& o = current->operation(note.operation);
  std::array<char, 16> qp;
  g_snprintf(qp.data(), static_cast<gulong>(qp.size()), "QP=0x%06x ",
             tvb_get_ntoh24(tvb, kBth + 5));
  col_set_str(pinfo->cinfo, COL_PROTOCOL, kColumn);
  col_add_str(pinfo->cinfo, COL_INFO, name);
  col_append_str(pinfo->cinfo, COL_INFO, qp.data());
  col_append_str(pinfo->cinfo, COL_INFO,
                 operation_text(note.operation, o, current->message(o.call)));
  return true;
}

int dissect_around_udp(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, void* data) {
  capture::Frame frame;
  if (tvb_captured_length(tvb) < 4 || tvb_get_ntohs(tvb, 2) != kRocePort ||
      !roce_v2_frame(tvb, pinfo, frame)) {
    return call_dissector_only(udp_handle, tvb, pinfo, tree, data);
  }
  const guint32 source = tvb_get_ntohs(tvb, 0);
  if (source < kEntropyPorts && source != kRocePort && !PINFO_FD_VISITED(pinfo) &&
      is_switched_on()) {
    claim(pinfo, source);
  }
  const FrameAnnotation* const note = on_frame(frame, pinfo, tree);
  if (note != nullptr && only_plain_columns(pinfo, tree) && write_line(*note, tvb, pinfo)) {
    return static_cast<int>(tvb_captured_length(tvb));
  }
  return dissect_packet(udp_handle, note, frame, tvb, pinfo, tree, data);
}

void set_side(address* to, const capture::Address& side) {
  switch (side.kind) {
    case capture::AddressKind::kIpv4:
      return set_address(to, AT_IPv4, 4, side.bytes.data());
    case capture::AddressKind::kIpv6:
    case capture::AddressKind::kGid:
      return set_address(to, AT_IPv6, 16, side.bytes.data());
    case capture::AddressKind::kLid:
    case capture::AddressKind::kNone:
      return;
  }
}

// Events have no addresses except those of their connection.
void set_addresses(const FrameAnnotation& note, packet_info* pinfo) {
  const auto* const ends = current->ends(note.connection);
  if (ends == nullptr || note.sender >= ends->size()) return;
  set_side(&pinfo->net_src, (*ends)[note.sender]);
  set_side(&pinfo->net_dst, (*ends)[1 - note.sender]);
  copy_address_shallow(&pinfo->src, &pinfo->net_src);
  copy_address_shallow(&pinfo->dst, &pinfo->net_dst);
}

// Dissects an event of a recording; endpoints name this dissector in their recordings.
int dissect_event(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, void* data) {
  (void)data;
  capture::Frame frame;
  const FrameAnnotation* const note =
      event_frame(pinfo, frame) ? on_frame(frame, pinfo, tree) : nullptr;
  const guint captured = tvb_captured_length(tvb);
  col_set_str(pinfo->cinfo, COL_PROTOCOL, kColumn);
  if (note == nullptr) return static_cast<int>(captured);
  set_addresses(*note, pinfo);
  if (note->event != 0) {
    const annotations::EventNote& event = current->event(note->event);
    col_add_str(pinfo->cinfo, COL_INFO, event.summary.c_str());
    if (tree != nullptr) {
      proto_tree* const ours =
          add_protocol(tvb, static_cast<int>(captured), event.summary.c_str(), tree);
      show_connection(*note, tvb, ours);
      render(event.fields, tvb, 0, ours);
      show_findings(*note, tvb, pinfo, ours);
    }
    return static_cast<int>(captured);
  }
  tvbuff_t* payload = tvb;
  const auto view = trace::view_event({tvb_get_ptr(tvb, 0, static_cast<gint>(captured)), captured});
  if (view) {
    payload =
        tvb_new_subset_length(tvb, static_cast<gint>(sizeof view->header + view->fixed.size()),
                              static_cast<gint>(view->payload.size()));
  }
  show(*note, payload, pinfo, tree);
  return static_cast<int>(captured);
}

Boolean dissect_private_data(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, void* data) {
  (void)data;
  constexpr guint32 kMagic = 0xf6ab0e18;
  if (tvb_captured_length(tvb) < 8 || tvb_get_ntohl(tvb, 0) != kMagic) return FALSE;
  col_append_str(pinfo->cinfo, COL_INFO, ", RPC-over-RDMA");
  if (tree == nullptr) return TRUE;
  scratch.clear();
  {
    annotations::FieldLogSink sink(scratch);
    decode::decode_private_data({tvb_get_ptr(tvb, 0, 8), 8}, sink);
  }
  render(scratch, tvb, 0, add_protocol(tvb, 8, "private data", tree));
  return TRUE;
}

// Called for a new capture, or when the same one is read again.
void begin() {
  for (Around& a : around) {
    const dissector_table_t table = find_dissector_table(a.table);
    if (table == nullptr) continue;
    const dissector_handle_t now = dissector_get_uint_handle(table, a.value);
    if (now == nullptr || now == a.ours) continue;
    a.theirs = now;
    dissector_add_uint(a.table, a.value, a.ours);
  }
  annotations::Options options;
  options.profile = preferences.profile == 5666 ? rules::Profile::k5666 : rules::Profile::k8166;
  if (preferences.dialect >= 0) options.dialect = static_cast<wire::Dialect>(preferences.dialect);
  options.rpc_port = static_cast<std::uint16_t>(preferences.rpc_port);
  options.is_dissected = is_known_program;
  current = std::make_unique<Session>(options);
}

void end() {
  current.reset();
  annotations::FieldLog().swap(scratch);
}

}  // namespace

bool is_tshark() {
  static const bool is = [] {
    const char* const program = g_get_prgname();
    return program != nullptr && std::strcmp(program, "tshark") == 0;
  }();
  return is;
}

Session* session() {
  return current.get();
}

// Called for every frame after all other dissectors.
int note_time(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, void* data) {
  static_cast<void>(tvb), static_cast<void>(tree), static_cast<void>(data);
  if (current && is_switched_on() && !PINFO_FD_VISITED(pinfo)) {
    current->other_frame(pinfo->num, time_of(pinfo));
  }
  return 0;
}

void hand_off() {
  rpc_handle = find_dissector_add_dependency("rpc", registered.protocol);
  udp_handle = find_dissector("udp");
  dissect_unknown_programs =
      prefs_find_preference(prefs_find_module("rpc"), "dissect_unknown_programs");
  find_built_in();

  around[kEthertype].ours =
      create_dissector_handle(dissect_around<kEthertype>, registered.around_infiniband);
  around[kLink].ours = create_dissector_handle(dissect_around<kLink>, registered.around_infiniband);
  around[kErf].ours = create_dissector_handle(dissect_around<kErf>, registered.around_infiniband);
  udp_ports = find_dissector_table("udp.port");
  constexpr guint32 kUdpProtocol = 17;
  dissector_add_uint("ip.proto", kUdpProtocol,
                     create_dissector_handle(dissect_around_udp, registered.around_udp));

  heur_dissector_add("infiniband.payload", dissect_payload, "RPC-over-RDMA (rpcrdma-scope)",
                     "rpcrdma_scope", registered.protocol, HEURISTIC_ENABLE);
  heur_dissector_add("infiniband.mad.cm.private", dissect_private_data,
                     "RPC-over-RDMA private data", "rpcrdma_scope_private", registered.protocol,
                     HEURISTIC_ENABLE);
  dissector_add_for_decode_as("infiniband",
                              create_dissector_handle(dissect_as, registered.protocol));
  register_dissector(trace::kDissector.data(), dissect_event, registered.protocol);

  register_postdissector(create_dissector_handle(note_time, registered.protocol));
  register_init_routine(begin);
  register_cleanup_routine(end);
  register_postseq_cleanup_routine(finish);
}

}  // namespace rpcrdma::wireshark

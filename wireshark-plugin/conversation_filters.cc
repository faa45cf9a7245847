// Conversation filters for a selected frame: one RPC, or one connection.
#include "plugin.h"

namespace rpcrdma::wireshark {

namespace {

const annotations::FrameAnnotation* note_of(packet_info* pinfo) {
  return session() != nullptr ? session()->find(pinfo->num) : nullptr;
}

annotations::Ref exchange_of(packet_info* pinfo) {
  const annotations::FrameAnnotation* const note = note_of(pinfo);
  if (note == nullptr) return 0;
  if (note->message != 0) return session()->message(note->message).call;
  return note->operation != 0 ? session()->operation(note->operation).call : 0;
}

Boolean has_exchange(packet_info* pinfo) {
  return exchange_of(pinfo) != 0;
}
char* exchange_filter(packet_info* pinfo) {
  return g_strdup_printf("rpcrdma.exchange == %u", exchange_of(pinfo));
}

Boolean has_connection(packet_info* pinfo) {
  const annotations::FrameAnnotation* const note = note_of(pinfo);
  return note != nullptr && note->connection != 0;
}
char* connection_filter(packet_info* pinfo) {
  return g_strdup_printf("rpcrdma.connection == %u", note_of(pinfo)->connection);
}

}  // namespace

void register_conversation_filters() {
  add_conversation_filter<has_exchange, exchange_filter>(
      "rpcrdma", "RPC-over-RDMA: Call, Reply and their operations");
  add_conversation_filter<has_connection, connection_filter>("rpcrdma",
                                                             "RPC-over-RDMA: connection");
}

}  // namespace rpcrdma::wireshark

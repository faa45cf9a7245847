#include "value_names.h"

#include <cstring>

#include <rpcrdma/trace/event.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/dialects.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/roce.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::decode {
namespace {

// Collects all values from 0 to `last` that `name_of` knows.
template <typename NameOf>
std::vector<ValueName> collect(std::uint32_t last, NameOf name_of) {
  std::vector<ValueName> names;
  for (std::uint32_t value = 0; value <= last; ++value) {
    const char* name = name_of(value);
    if (name != nullptr && std::strcmp(name, "unknown") != 0) names.push_back({value, name});
  }
  return names;
}

// Prefers version one's name of a value, then version two's: a decoder that knows the version
// passes the name itself.
template <typename NameOf>
std::vector<ValueName> collect_versions(std::uint32_t last, NameOf name_of) {
  return collect(last, [&](std::uint32_t value) {
    const char* name = name_of(1, value);
    return std::strcmp(name, "unknown") != 0 ? name : name_of(2, value);
  });
}

ValueNames make_value_names() {
  ValueNames names;

  names.proc = collect_versions(5, wire::proc_name);
  names.error = collect_versions(5, wire::rdma_err_name);
  names.msg_type = {{0, "Call"}, {1, "Reply"}};
  names.dialect = {{1, "cel-03"}, {2, "flags"}, {3, "ietf-03"}};
  names.property = collect(
      6, [](std::uint32_t value) { return wire::property_name(wire::Dialect::kIetf03, value); });

  names.kind = {{0, "call"},   {1, "reply"},     {2, "error"},   {3, "done"},
                {4, "option"}, {5, "malformed"}, {6, "control"}, {7, "event"}};
  names.peer = {{0, "client"}, {1, "server"}};

  names.trace_event = collect(trace::kEventTypes, [](std::uint32_t value) {
    return value == 0 ? nullptr : trace::event_type_name(static_cast<trace::EventType>(value));
  });
  names.trace_by = {{0, "endpoint"}, {1, "peer"}};
  names.trace_wait = {{0, "ends"}, {1, "begins"}};
  names.trace_registration = {{0, "deregistered"}, {1, "registered"}};
  names.trace_access = {{1, "read"}, {2, "write"}, {3, "read and write"}};
  // The engine's own words; the analyzer does not link the engine, so a test compares the two.
  names.trace_status = {{0, "success"},
                        {1, "local length"},
                        {2, "local protection"},
                        {3, "local operation"},
                        {4, "flushed"},
                        {5, "remote invalid request"},
                        {6, "remote access"},
                        {7, "remote operation"},
                        {8, "bad response"},
                        {9, "retries exceeded"},
                        {10, "RNR retries exceeded"}};
  names.trace_call_status = {{0, "replied"},      {1, "timed out"},  {2, "ERR_VERS"},
                             {3, "ERR_CHUNK"},    {4, "bad Reply"},  {5, "cannot be sent"},
                             {6, "closed"},       {7, "CANT_REPLY"}, {8, "INVAL_PROC"},
                             {9, "INVAL_OPTION"}, {10, "sent"}};
  names.trace_fabric = {{1, "retransmission"}, {2, "NAK"}, {3, "RNR NAK"}, {4, "timeout"}};
  names.trace_fault_direction = {{0, "incoming"}, {1, "outgoing"}};
  names.trace_duplicate = {{1, "answered with the first Reply"},
                           {2, "waits for the first"},
                           {3, "dropped"},
                           {4, "executed, not protected"}};
  names.trace_fault_action = {{0, "pass"},    {1, "drop"},  {2, "duplicate"},
                              {3, "reorder"}, {4, "delay"}, {5, "corrupt"}};

  names.auth_flavor = collect(7, wire::auth_flavor_name);
  names.gss_proc = {{0, "RPCSEC_GSS_DATA"},
                    {1, "RPCSEC_GSS_INIT"},
                    {2, "RPCSEC_GSS_CONTINUE_INIT"},
                    {3, "RPCSEC_GSS_DESTROY"}};
  // As mount options name them (sec=).
  names.gss_service = {{1, "krb5"}, {2, "krb5i"}, {3, "krb5p"}};
  names.reply_stat = {{0, "MSG_ACCEPTED"}, {1, "MSG_DENIED"}};
  names.accept_stat = collect(5, wire::accept_stat_name);
  names.reject_stat = collect(1, wire::reject_stat_name);
  names.auth_stat = collect(14, wire::auth_stat_name);

  names.opcode = collect(0xff, [](std::uint32_t value) -> const char* {
    const wire::OpcodeInfo& info = wire::opcode_info(static_cast<std::uint8_t>(value));
    return info.known ? info.name : nullptr;
  });
  names.nak = collect(
      0x1f, [](std::uint32_t value) { return wire::nak_name(static_cast<std::uint8_t>(value)); });

  names.cm = collect(0x1f, [](std::uint32_t value) {
    return wire::cm_name(static_cast<wire::CmAttribute>(value));
  });
  names.transport_service = {{0, "RC"}, {1, "UC"}, {2, "RD"}};
  names.path_mtu = {
      {1, "256 bytes"}, {2, "512 bytes"}, {3, "1024 bytes"}, {4, "2048 bytes"}, {5, "4096 bytes"}};
  names.failover = {{0, "accepted"}, {1, "not supported"}, {2, "rejected"}};
  names.rejected = {{0, "REQ"}, {1, "REP"}, {2, "no message"}};
  names.mraed = {{0, "REQ"}, {1, "REP"}, {2, "LAP"}};
  names.rej_reason = collect(0xff, [](std::uint32_t value) {
    return wire::cm_rej_reason(static_cast<std::uint16_t>(value));
  });
  return names;
}

}  // namespace

const ValueNames& value_names() {
  static const ValueNames names = make_value_names();
  return names;
}

}  // namespace rpcrdma::decode

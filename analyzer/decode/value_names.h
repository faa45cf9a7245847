// The names of values that the schema refers to. Names come from the wire codecs' naming functions
// where those exist.
#pragma once

#include <vector>

#include <rpcrdma/decode/schema.h>

namespace rpcrdma::decode {

struct ValueNames {
  std::vector<ValueName> none;

  std::vector<ValueName> proc;
  std::vector<ValueName> error;
  std::vector<ValueName> msg_type;
  std::vector<ValueName> dialect;
  std::vector<ValueName> property;

  std::vector<ValueName> kind;
  std::vector<ValueName> peer;

  std::vector<ValueName> trace_event;
  std::vector<ValueName> trace_by;
  std::vector<ValueName> trace_wait;
  std::vector<ValueName> trace_registration;
  std::vector<ValueName> trace_access;
  std::vector<ValueName> trace_status;
  std::vector<ValueName> trace_call_status;
  std::vector<ValueName> trace_fabric;
  std::vector<ValueName> trace_fault_direction;
  std::vector<ValueName> trace_fault_action;
  std::vector<ValueName> trace_duplicate;

  std::vector<ValueName> auth_flavor;
  std::vector<ValueName> gss_proc;
  std::vector<ValueName> gss_service;
  std::vector<ValueName> reply_stat;
  std::vector<ValueName> accept_stat;
  std::vector<ValueName> reject_stat;
  std::vector<ValueName> auth_stat;

  std::vector<ValueName> opcode;
  std::vector<ValueName> nak;

  std::vector<ValueName> cm;
  std::vector<ValueName> transport_service;
  std::vector<ValueName> path_mtu;
  std::vector<ValueName> failover;
  std::vector<ValueName> rejected;
  std::vector<ValueName> mraed;
  std::vector<ValueName> rej_reason;
};

// Created on first use; lives as long as the program.
[[nodiscard]] const ValueNames& value_names();

}  // namespace rpcrdma::decode

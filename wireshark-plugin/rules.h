// Findings as Wireshark's expert information.
#pragma once

#include "wireshark.h"

#include <rpcrdma/annotations/annotation.h>

namespace rpcrdma::wireshark {

// Adds a finding to `tree` and to the expert information.
void add_finding(const annotations::FindingNote& finding, tvbuff_t* tvb, packet_info* pinfo,
                 proto_tree* tree);

}  // namespace rpcrdma::wireshark

#include "matrix.h"

namespace rpcrdma::hostile {

void PrintTo(const HostileScene& scene, std::ostream* out) {
  *out << scene.rule << ": " << scene.did;
}

const std::vector<HostileScene>& all_scenes() {
  static const Matrix kAll = [] {
    Matrix m;
    add_header_scenes(m);
    add_credit_scenes(m);
    add_inline_scenes(m);
    add_read_list_scenes(m);
    add_write_list_scenes(m);
    add_reply_chunk_scenes(m);
    add_error_scenes(m);
    add_deprecated_scenes(m);
    add_reverse_scenes(m);
    add_private_data_scenes(m);
    add_invalidation_scenes(m);
    add_operation_scenes(m);
    add_version2_scenes(m);
    return m;
  }();
  return kAll;
}

const std::vector<Unseen>& all_unseen() {
  static const std::vector<Unseen> kAll{
      {"HDR-11",
       "the fabric of the scenes has no Send with Immediate. An endpoint ends such a connection "
       "(engine/protocol/requester_test.cc)"},
      {"BI-08",
       "a client that answers no reverse Call does no harm: its server's Calls time out, as those "
       "of HDR-10"},
      {"V2-12",
       "a responder that never invalidates does no harm: each client invalidates its memory "
       "itself"},
      {"V2-13",
       "no endpoint sends what its peer does not recognize, except for an option that a peer may "
       "leave unanswered"},
      {"WR-09",
       "no message shows what a requester assumes about memory that it advertised: the rule "
       "concerns its own upper layer"},
  };
  return kAll;
}

}  // namespace rpcrdma::hostile

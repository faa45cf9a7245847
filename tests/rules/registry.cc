#include "registry.h"

namespace rpcrdma::scenes {

const std::vector<RuleScene>& all_scenes() {
  static const Scenes kAll = [] {
    Scenes s;
    add_header_scenes(s);
    add_credit_scenes(s);
    add_inline_scenes(s);
    add_read_list_scenes(s);
    add_write_list_scenes(s);
    add_reply_chunk_scenes(s);
    add_error_scenes(s);
    add_deprecated_scenes(s);
    add_reverse_scenes(s);
    add_private_data_scenes(s);
    add_invalidation_scenes(s);
    add_operation_scenes(s);
    add_version2_scenes(s);
    add_negotiation_scenes(s);
    add_capture_scenes(s);
    add_diagnosis_scenes(s);
    add_refused_scenes(s);
    add_habit_scenes(s);
    return s;
  }();
  return kAll;
}

}  // namespace rpcrdma::scenes

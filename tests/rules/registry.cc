#include "registry.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace rpcrdma::scenes {

namespace {

// Scenes in which a Call is refused, for the reason of the refusal or its consequences: in the
// breaking scene only, or in both.
constexpr std::array<std::string_view, 15> kRefusedInBreaking{"HDR-07",
                                                              "HDR-08",
                                                              "HDR-08-fragment",
                                                              "RD-02",
                                                              "RD-04",
                                                              "RD-05",
                                                              "RD-06",
                                                              "RD-04-no-chunk",
                                                              "RD-04-nomsg",
                                                              "RD-09",
                                                              "RD-11",
                                                              "V2-07",
                                                              "RD-09-refused",
                                                              "RD-11-with-roundup",
                                                              "V2-10"};
constexpr std::array<std::string_view, 22> kRefusedInBoth{"BI-04",
                                                          "ERR-01",
                                                          "ERR-02",
                                                          "ERR-02-length",
                                                          "ERR-03",
                                                          "ERR-03-answers",
                                                          "ERR-03-length",
                                                          "ERR-04",
                                                          "ERR-04-own",
                                                          "ERR-05-supported",
                                                          "ERR-05-version-2",
                                                          "ERR-06",
                                                          "ERR-06-error",
                                                          "ERR-07",
                                                          "ERR-07-again",
                                                          "FC-06",
                                                          "INV-03-error",
                                                          "V2-01",
                                                          "V2-08-good-call",
                                                          "V2-09",
                                                          "V2-11",
                                                          "WR-05-rejected"};
// Scenes in which the requester tries an alternative after the refusal.
constexpr std::array<std::string_view, 3> kProbes{"INL-01-refused-5666", "V2-07", "V2-10"};

template <std::size_t kSize>
bool listed(const std::array<std::string_view, kSize>& list, const std::string& file) {
  return std::find(list.begin(), list.end(), file) != list.end();
}

void expect_refusals(Scenes& scenes) {
  for (RuleScene& s : scenes) {
    const std::string file = s.file();
    if (listed(kRefusedInBreaking, file)) s.also.emplace_back("CALL-REFUSED");
    if (listed(kRefusedInBoth, file)) s.both.emplace_back("CALL-REFUSED");
    if (listed(kProbes, file)) s.both.emplace_back("PROBE");
  }
}

}  // namespace

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
    add_gss_scenes(s);
    add_habit_scenes(s);
    expect_refusals(s);
    return s;
  }();
  return kAll;
}

}  // namespace rpcrdma::scenes

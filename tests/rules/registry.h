// Registers scenes for every rule that a capture can show: one that breaks it and one that keeps
// it.
#pragma once

#include "scene.h"

#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/rules/rule.h>

namespace rpcrdma::scenes {

// The side that the finding must name.
enum class Guilty { kClient, kServer, kNobody };

struct RuleScene {
  std::string rule;  // "FC-01"
  Guilty guilty = Guilty::kClient;
  std::function<void(Scene&)> breaks;
  std::function<void(Scene&)> keeps;
  // Other rules that the breaking scene violates inevitably.
  std::vector<std::string> also = {};
  // Findings that both scenes show in any case: quirks, notes.
  std::vector<std::string> both = {};
  // Distinguishes the scenes of a rule with more than one; part of the file's name.
  std::string variant = {};
  rules::Profile profile = rules::Profile::k8166;

  // Returns the file name of the breaking scene's committed capture, without folder and extension.
  [[nodiscard]] std::string file() const {
    return rule + (variant.empty() ? "" : "-" + variant) +
           (profile == rules::Profile::k5666 ? "-5666" : "");
  }
};

inline void PrintTo(const RuleScene& scene, std::ostream* out) {  // for GoogleTest
  *out << scene.file();
}

// Returns all scenes, by section.
[[nodiscard]] const std::vector<RuleScene>& all_scenes();

// Returns rules that a capture can show and that have no scene of this kind: see uncovered.cc.
[[nodiscard]] std::span<const char* const> uncovered();

using Scenes = std::vector<RuleScene>;

// One file for each section of rules.def.
void add_header_scenes(Scenes& scenes);        // HDR
void add_credit_scenes(Scenes& scenes);        // FC
void add_inline_scenes(Scenes& scenes);        // INL
void add_read_list_scenes(Scenes& scenes);     // RD
void add_write_list_scenes(Scenes& scenes);    // WR
void add_reply_chunk_scenes(Scenes& scenes);   // RP
void add_error_scenes(Scenes& scenes);         // ERR
void add_deprecated_scenes(Scenes& scenes);    // DEP
void add_reverse_scenes(Scenes& scenes);       // BI
void add_private_data_scenes(Scenes& scenes);  // CMP
void add_invalidation_scenes(Scenes& scenes);  // INV
void add_operation_scenes(Scenes& scenes);     // OPS
void add_version2_scenes(Scenes& scenes);      // V2
void add_negotiation_scenes(Scenes& scenes);   // V2-05 to V2-07
void add_capture_scenes(Scenes& scenes);       // CAPTURE, ICRC
void add_diagnosis_scenes(Scenes& scenes);     // diagnoses
void add_refused_scenes(Scenes& scenes);       // refused Calls, NFS faults
void add_gss_scenes(Scenes& scenes);           // RPCSEC_GSS
void add_habit_scenes(Scenes& scenes);         // known implementations

}  // namespace rpcrdma::scenes

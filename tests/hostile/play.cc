#include "../rules/run.h"
#include "matrix.h"

#include <algorithm>

#include <fmt/format.h>

namespace rpcrdma::hostile {

namespace {

constexpr fabric::Time kSettle = 30 * fabric::kMillisecond;

std::string describe(const rules::Finding& f) {
  return fmt::format("{} {} against \"{}\" ({}): {}", rules::severity_name(f.severity), f.rule,
                     f.peer, f.role, f.text);
}

// "error", if the rule is found and the scripted peer is guilty; empty if it is not.
std::string judge(const HostileScene& scene, const Bytes& file, const char* where,
                  std::string& role) {
  const auto outcome = scenes::run_file(file, scene.profile);
  std::string found;
  std::string all;
  for (const rules::Finding& f : outcome.findings) {
    all += "\n" + describe(f);
    if (f.rule == scene.rule && f.peer == kBad.to_string()) {
      found = rules::severity_name(f.severity);
      role = f.role;
    }
    const bool is_ours = f.peer == kOurs.to_string() || f.peer == kOther.to_string();
    // That the scene ends with its connections is no fault.
    const rules::Rule* const rule = rules::find_rule(f.rule);
    const bool excused =
        rule->where == rules::Where::kDiagnosis || std::ranges::count(scene.ours_too, f.rule) != 0;
    EXPECT_TRUE(!is_ours || excused || f.severity == rules::Severity::kNote)
        << where << ": " << describe(f);
  }
  for (const rules::Withheld& w : outcome.withheld) {
    all += fmt::format("\nwithheld {}: {}", w.rule, w.reason);
  }
  const std::string& excuse =
      where == std::string("packets") ? scene.not_in_packets : scene.not_in_recording;
  EXPECT_EQ(found.empty(), !excuse.empty()) << where << ":" << all;
  return found;
}

template <typename Stage>
Row run(const HostileScene& scene, Stage& stage, const std::function<void(Stage&)>& script) {
  Row row;
  const std::size_t before = stage.other->answered();
  stage.other->hurry();
  script(stage);
  stage.run_for(kSettle);
  const std::size_t during = stage.other->answered();
  EXPECT_GT(during, before) << "nobody else was served meanwhile";
  row.answer = stage.told();
  row.lives = stage.lives();
  stage.other->hurry();
  stage.until([&] { return stage.other->answered() > during; }, "a Call of others afterwards");
  EXPECT_TRUE(stage.other->all_right());
  stage.leave();
  std::string role;
  const std::string packets = judge(scene, stage.packets(), "packets", role);
  const std::string recording = judge(scene, stage.recording(), "recording", role);
  const std::string level = packets.empty() ? recording : packets;
  row.analyzer = fmt::format("{} against the {}", level, role.empty() ? "peer" : role);
  if (scene.profile == rules::Profile::k5666) row.analyzer += " with `--profile 5666`";
  if (packets.empty()) row.analyzer += "; not in the packets: " + scene.not_in_packets;
  if (recording.empty()) row.analyzer += "; not in the recording: " + scene.not_in_recording;
  return row;
}

}  // namespace

Row play(const HostileScene& scene) {
  if (scene.server) {
    AgainstServer stage(scene.server_options);
    return run(scene, stage, scene.server);
  }
  AgainstClient stage(scene.client_options, scene.serves);
  return run(scene, stage, scene.client);
}

}  // namespace rpcrdma::hostile

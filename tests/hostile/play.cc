#include "../rules/run.h"
#include "matrix.h"

#include <fmt/format.h>

namespace rpcrdma::hostile {

namespace {

constexpr fabric::Time kSettle = 30 * fabric::kMillisecond;

std::string describe(const rules::Finding& f) {
  return fmt::format("{} {} against \"{}\" ({}): {}", rules::severity_name(f.severity), f.rule,
                     f.peer, f.role, f.text);
}

struct Judgement {
  std::string level;  // "error"; empty: the rule did not find the scripted peer at fault
  std::string role;   // its role: "client", "server"
  std::string all;    // for a failure message
};

Judgement judge(const HostileScene& scene, const Bytes& file) {
  const auto outcome = scenes::run_file(file, scene.profile);
  Judgement judgement;
  for (const rules::Finding& f : outcome.findings) {
    judgement.all += "\n" + describe(f);
    if (f.rule == scene.rule && f.peer == kBad.to_string()) {
      judgement.level = rules::severity_name(f.severity);
      judgement.role = f.role;
    }
    // A connection that ends with the scene is no violation.
    const bool by_rule = rules::find_rule(f.rule)->where != rules::Where::kDiagnosis;
    const bool keeps_rules = f.peer == kOurs.to_string() || f.peer == kOther.to_string();
    EXPECT_FALSE(by_rule && keeps_rules && f.severity != rules::Severity::kNote) << describe(f);
  }
  for (const rules::Inconclusive& w : outcome.inconclusive) {
    judgement.all += fmt::format("\ninconclusive {}: {}", w.rule, w.reason);
  }
  return judgement;
}

template <typename Stage>
Row run(const HostileScene& scene, Stage& stage, const std::function<void(Stage&)>& script) {
  Row row;
  const std::size_t before = stage.other->answered();
  stage.other->hurry();
  script(stage);
  stage.run_for(kSettle);
  const std::size_t during = stage.other->answered();
  EXPECT_GT(during, before) << "no other client was served meanwhile";
  row.answer = stage.emitted();
  row.lives = stage.lives();
  stage.other->hurry();
  stage.until([&] { return stage.other->answered() > during; }, "a Call of others afterwards");
  EXPECT_TRUE(stage.other->all_right());
  stage.leave();
  const Judgement packets = judge(scene, stage.packets());
  EXPECT_NE(packets.level, "") << "not found in the packets:" << packets.all;
  const Judgement recording = judge(scene, stage.recording());
  EXPECT_EQ(recording.level, scene.not_in_recording.empty() ? packets.level : "")
      << "in the recording:" << recording.all;
  row.analyzer = fmt::format("{} against the {}", packets.level, packets.role);
  if (scene.profile == rules::Profile::k5666) row.analyzer += " with `--profile 5666`";
  if (recording.level.empty()) {
    row.analyzer += "; not in the recording: " + scene.not_in_recording;
  }
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

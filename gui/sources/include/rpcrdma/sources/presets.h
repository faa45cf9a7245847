// Ready-made settings of the playground, each with one fault to see.
#pragma once

#include <span>

class QString;

namespace rpcrdma::gui {

// All of its settings can be changed while the playground runs.
struct Preset {
  const char* name;      // for StartPage and PlaygroundPanel::use(); "loss-2"
  const char* title;     // not translated
  const char* tip;       // not translated
  double loss = 0;       // of the packets, 0..1
  unsigned granted = 0;  // credits; 0: as many as the server has
  double stalls = 0;     // of the Calls, 0..1
};

[[nodiscard]] std::span<const Preset> presets();
// Null: there is none of that name.
[[nodiscard]] const Preset* find_preset(const QString& name);
[[nodiscard]] QString preset_title(const Preset& preset);
[[nodiscard]] QString preset_tip(const Preset& preset);

}  // namespace rpcrdma::gui

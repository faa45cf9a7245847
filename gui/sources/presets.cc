#include <QCoreApplication>
#include <QString>
#include <algorithm>
#include <array>

#include <rpcrdma/sources/presets.h>

namespace rpcrdma::gui {

namespace {

constexpr std::array<Preset, 6> kPresets{{
    {.name = "healthy",
     .title = QT_TRANSLATE_NOOP("Presets", "Healthy"),
     .tip = QT_TRANSLATE_NOOP("Presets", "2,000 Calls a second, no faults")},
    {.name = "loss-1",
     .title = QT_TRANSLATE_NOOP("Presets", "1 % loss"),
     .tip = QT_TRANSLATE_NOOP("Presets", "Drops 1 % of the packets: retransmissions and stalls"),
     .loss = 0.01},
    {.name = "loss-2",
     .title = QT_TRANSLATE_NOOP("Presets", "2 % loss"),
     .tip = QT_TRANSLATE_NOOP("Presets", "Drops 2 % of the packets: retransmissions and stalls"),
     .loss = 0.02},
    {.name = "loss-5",
     .title = QT_TRANSLATE_NOOP("Presets", "5 % loss"),
     .tip = QT_TRANSLATE_NOOP("Presets", "Drops 5 % of the packets: the load breaks down"),
     .loss = 0.05},
    {.name = "one-credit",
     .title = QT_TRANSLATE_NOOP("Presets", "One credit"),
     .tip = QT_TRANSLATE_NOOP("Presets", "The server grants one credit: Calls wait for it"),
     .granted = 1},
    {.name = "slow-server",
     .title = QT_TRANSLATE_NOOP("Presets", "Slow server"),
     .tip = QT_TRANSLATE_NOOP("Presets", "The server delays 20 % of its Replies by 20 ms"),
     .stalls = 0.2},
}};

}  // namespace

std::span<const Preset> presets() {
  return kPresets;
}

const Preset* find_preset(const QString& name) {
  const auto found = std::ranges::find_if(
      kPresets, [&](const Preset& p) { return name == QLatin1String(p.name); });
  return found == kPresets.end() ? nullptr : &*found;
}

QString preset_title(const Preset& preset) {
  return QCoreApplication::translate("Presets", preset.title);
}

QString preset_tip(const Preset& preset) {
  return QCoreApplication::translate("Presets", preset.tip);
}

}  // namespace rpcrdma::gui

// One origin and one format of time for all views.
#pragma once

#include <QString>
#include <cstdint>

namespace rpcrdma::gui {

enum class TimeFormat : std::uint8_t {
  kAbsolute,  // time of day, UTC
  kRelative,  // since the first frame, or since the message that the user made the reference
  kDelta,     // tables: since the message in the row above; elsewhere as kRelative
};

// "12.345678" seconds, or "08:15:04.123456". `origin_ns`: for kRelative.
[[nodiscard]] QString time_text(std::int64_t ns, std::int64_t origin_ns, TimeFormat format);

}  // namespace rpcrdma::gui

// How views that know no document write its times.
#pragma once

#include "document.h"

#include <rpcrdma/views/time_axis.h>

namespace rpcrdma::gui {

// `document` must outlive the result, which holds until Document::time_format_changed().
[[nodiscard]] inline TimeNotation notation_of(const Document& document) {
  const bool clock = document.time_format() == TimeFormat::kAbsolute;
  return {[&document](std::int64_t ns) { return document.time_text(ns); },
          clock ? 0 : document.time_origin(), clock ? QString() : QStringLiteral(" s")};
}

}  // namespace rpcrdma::gui

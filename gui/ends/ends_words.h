// Sides, stages and Calls of both ends as text and colour. Texts from files are shown in one line.
#pragma once

#include <QColor>
#include <QPalette>
#include <QString>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/ends/ends.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

// "client", "network", "server", "not clear", "-".
[[nodiscard]] QString side_name(ends::Side side);
[[nodiscard]] Ink side_ink(ends::Side side);
// A stage has its side's colour. Waiting is light, work is full.
[[nodiscard]] QColor stage_colour(const QPalette& palette, ends::Stage stage);
[[nodiscard]] bool is_waiting(ends::Stage stage);
// "executing"
[[nodiscard]] QString stage_name(ends::Stage stage);
// "12.3 ms"
[[nodiscard]] QString duration_text(std::int64_t ns);
// "executing: 12.3 ms"; says so if the time is not known. `index`: of the stage.
[[nodiscard]] QString stage_line(const ends::EndsCall& call, std::size_t index);
// "NFS v3 WRITE, XID 0x1234abcd"
[[nodiscard]] QString call_name(const ends::EndsCall& call);
// All that is known of a Call, a line each.
[[nodiscard]] QString call_text(const ends::EndsCall& call);
// The most important of it, in one line.
[[nodiscard]] QString call_sentence(const ends::EndsCall& call);
// "client.dat: +1.000 s, drift 12 ppm, at most 3.2 us wrong; 980 of 1000 Calls joined"
[[nodiscard]] QString source_text(const ends::Source& source);

}  // namespace rpcrdma::gui

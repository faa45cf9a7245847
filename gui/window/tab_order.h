// The order of the Tab key: as one reads the window, whichever way its docks are arranged.
#pragma once

#include <QMainWindow>

namespace rpcrdma::gui {

// Focuses the next or the previous stop. Returns false if there is none.
bool focus_next(QMainWindow& window, bool forward);

}  // namespace rpcrdma::gui

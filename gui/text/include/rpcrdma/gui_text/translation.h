// Translations of the window. The program speaks English; whoever wants another language puts
// rpcrdma-gui_LOCALE.qm, such as rpcrdma-gui_de.qm, into one of translation_folders().
#pragma once

#include <QLocale>
#include <QStringList>

namespace rpcrdma::gui {

// The program's own folder, and share/rpcrdma-scope/translations beside it.
[[nodiscard]] QStringList translation_folders();

// Installs the first translation found for the locale, and Qt's own texts in that language. To be
// called before the first widget. Returns the file that was loaded; empty: none.
QString load_translation(const QLocale& locale, const QStringList& folders);

}  // namespace rpcrdma::gui

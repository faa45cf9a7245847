#include <QCoreApplication>
#include <QLibraryInfo>
#include <QTranslator>
#include <memory>

#include <rpcrdma/gui_text/translation.h>

namespace rpcrdma::gui {

namespace {

// The application owns what is installed.
QString install(const QLocale& locale, const QString& name, const QString& folder) {
  auto translator = std::make_unique<QTranslator>(QCoreApplication::instance());
  if (!translator->load(locale, name, "_", folder)) return {};
  const QString path = translator->filePath();
  if (!QCoreApplication::installTranslator(translator.get())) return {};
  static_cast<void>(translator.release());
  return path;
}

}  // namespace

QStringList translation_folders() {
  const QString own = QCoreApplication::applicationDirPath();
  return {own, own + "/../share/rpcrdma-scope/translations"};
}

QString load_translation(const QLocale& locale, const QStringList& folders) {
  for (const QString& folder : folders) {
    const QString path = install(locale, "rpcrdma-gui", folder);
    if (path.isEmpty()) continue;
    install(locale, "qtbase", QLibraryInfo::path(QLibraryInfo::TranslationsPath));
    return path;
  }
  return {};
}

}  // namespace rpcrdma::gui

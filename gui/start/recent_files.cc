#include "recent_files.h"

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QDir>

namespace rpcrdma::gui {

namespace {

// Paths hold slashes, which would be groups of the settings.
QString key_of(const QString& path) {
  const QByteArray hash = QCryptographicHash::hash(path.toUtf8(), QCryptographicHash::Sha1);
  return "recent-facts/" + QString::fromLatin1(hash.toHex());
}

QString absolute(const QString& name) {
  return QDir::cleanPath(QDir().absoluteFilePath(name));
}

}  // namespace

QStringList RecentFiles::paths() const {
  return settings_.value("recent").toStringList();
}

void RecentFiles::add(const QStringList& names) {
  QStringList recent = paths();
  for (const QString& name : names) {
    if (name == "-") continue;
    const QString path = absolute(name);
    recent.removeAll(path);
    recent.prepend(path);
  }
  for (const QString& gone : recent.mid(kMost)) settings_.remove(key_of(gone));
  settings_.setValue("recent", QStringList(recent.mid(0, kMost)));
}

void RecentFiles::remove(const QString& path) {
  QStringList recent = paths();
  recent.removeAll(path);
  settings_.setValue("recent", recent);
  settings_.remove(key_of(path));
}

void RecentFiles::note(const QString& name, const FileFacts& facts) {
  const QString path = absolute(name);
  if (!paths().contains(path)) return;
  settings_.beginGroup(key_of(path));
  settings_.setValue("size", static_cast<qulonglong>(facts.size));
  settings_.setValue("messages", static_cast<qulonglong>(facts.messages));
  settings_.setValue("worst", facts.worst);
  settings_.setValue("verdict", facts.verdict);
  settings_.endGroup();
}

std::optional<FileFacts> RecentFiles::facts(const QString& path) const {
  const QString key = key_of(path);
  if (!settings_.contains(key + "/worst")) return std::nullopt;
  FileFacts facts;
  facts.size = settings_.value(key + "/size").toULongLong();
  facts.messages = settings_.value(key + "/messages").toULongLong();
  facts.worst = settings_.value(key + "/worst").toInt();
  facts.verdict = settings_.value(key + "/verdict").toString();
  return facts;
}

FileSign sign_of(const std::optional<FileFacts>& facts) {
  if (!facts) return FileSign::kUnknown;
  if (facts->worst == 0) return FileSign::kError;
  if (facts->worst == 1) return FileSign::kWarning;
  if (facts->verdict == "healthy") return FileSign::kHealthy;
  return facts->worst == 2 ? FileSign::kNote : FileSign::kUnknown;
}

QString word_of(const std::optional<FileFacts>& facts) {
  const auto words = [](const char* text) { return QCoreApplication::translate("Recent", text); };
  if (!facts) return words(QT_TRANSLATE_NOOP("Recent", "not read to its end"));
  if (facts->worst == 0) return words(QT_TRANSLATE_NOOP("Recent", "errors"));
  if (facts->worst == 1) return words(QT_TRANSLATE_NOOP("Recent", "warnings"));
  if (facts->messages == 0) return words(QT_TRANSLATE_NOOP("Recent", "no messages"));
  if (!facts->verdict.isEmpty()) return words(facts->verdict.toUtf8().constData());
  return facts->worst == 2 ? words(QT_TRANSLATE_NOOP("Recent", "notes"))
                           : words(QT_TRANSLATE_NOOP("Recent", "no findings"));
}

}  // namespace rpcrdma::gui

// The files that were opened last, with what was found in them. Kept in the settings.
#pragma once

#include <QSettings>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>

namespace rpcrdma::gui {

// What a whole reading of a file has shown.
struct FileFacts {
  std::uint64_t size = 0;  // bytes, as stored
  std::uint64_t messages = 0;
  int worst = kNoFinding;  // rules::Severity of the worst finding
  QString verdict;         // report::verdict_kind(); empty: not known

  static constexpr int kNoFinding = 3;
};

class RecentFiles {
 public:
  static constexpr int kMost = 12;

  // `settings` outlives it.
  explicit RecentFiles(QSettings& settings) : settings_(settings) {}

  // Absolute paths, the latest first.
  [[nodiscard]] QStringList paths() const;
  // Puts the files in front. "-" is none.
  void add(const QStringList& names);
  void remove(const QString& path);
  void note(const QString& name, const FileFacts& facts);
  // Nothing: the file has never been read to its end.
  [[nodiscard]] std::optional<FileFacts> facts(const QString& path) const;

 private:
  QSettings& settings_;
};

// How a file is judged in one word, and the sign for it.
enum class FileSign : std::uint8_t { kError, kWarning, kNote, kHealthy, kUnknown };
[[nodiscard]] FileSign sign_of(const std::optional<FileFacts>& facts);
[[nodiscard]] QString word_of(const std::optional<FileFacts>& facts);

}  // namespace rpcrdma::gui

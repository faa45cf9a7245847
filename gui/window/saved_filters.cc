// Keeps saved filters in the settings, as a list of names and texts.
#include "saved_filters.h"

#include "filter_text.h"

#include <algorithm>

namespace rpcrdma::gui {

namespace {

constexpr const char* kKey = "saved-filters";

}  // namespace

SavedFilters::SavedFilters(QSettings& settings, QObject* parent)
    : QObject(parent), settings_(settings) {
  const int count = std::min(settings_.beginReadArray(kKey), static_cast<int>(kMost));
  for (int i = 0; i < count; ++i) {
    settings_.setArrayIndex(i);
    const Saved saved{settings_.value("name").toString(), settings_.value("text").toString()};
    if (!saved.name.isEmpty() && !saved.text.isEmpty()) all_.push_back(saved);
  }
  settings_.endArray();
}

bool SavedFilters::has(const QString& text) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Saved& s) { return is_same_filter(s.text, text); });
}

bool SavedFilters::save(const QString& wanted, const QString& text) {
  const QString name = wanted.trimmed();
  if (name.isEmpty() || text.trimmed().isEmpty()) return false;
  const auto it =
      std::find_if(all_.begin(), all_.end(), [&](const Saved& s) { return s.name == name; });
  if (it != all_.end()) {
    it->text = text.trimmed();
  } else if (all_.size() == kMost) {
    return false;
  } else {
    all_.push_back({name, text.trimmed()});
  }
  store();
  return true;
}

void SavedFilters::rename(const QString& name, const QString& wanted) {
  const QString to = wanted.trimmed();
  if (to.isEmpty() || to == name) return;
  std::erase_if(all_, [&](const Saved& s) { return s.name == to; });
  for (Saved& s : all_) {
    if (s.name == name) s.name = to;
  }
  store();
}

void SavedFilters::remove(const QString& name) {
  std::erase_if(all_, [&](const Saved& s) { return s.name == name; });
  store();
}

void SavedFilters::store() {
  settings_.remove(kKey);
  settings_.beginWriteArray(kKey, static_cast<int>(all_.size()));
  for (std::size_t i = 0; i < all_.size(); ++i) {
    settings_.setArrayIndex(static_cast<int>(i));
    settings_.setValue("name", all_[i].name);
    settings_.setValue("text", all_[i].text);
  }
  settings_.endArray();
  Q_EMIT changed();
}

}  // namespace rpcrdma::gui

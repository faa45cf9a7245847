#include "findings_kept.h"

#include <rpcrdma/fleet/subjects.h>

namespace rpcrdma::gui {

std::string finding_key(const fleet::FindingNote& note) {
  return note.host + '\0' + note.instance + '\0' + std::to_string(note.kind);
}

// The stream delivers some findings twice, once as old and once as new ones: the later stays.
void FindingsKept::take(std::string_view subject, std::string_view json) {
  const auto host = fleet::host_of_subject(subject);
  auto note = fleet::finding_from_json(json);
  ++changes_;
  if (!note || !host || *host != note->host) {
    ++refused_;
    return;
  }
  std::string key = finding_key(*note);
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    if (note->sequence < known->second->sequence) return;
    notes_.erase(known->second);
    by_key_.erase(known);
  }
  auto place = notes_.begin();
  while (place != notes_.end() && place->wall_ns > note->wall_ns) ++place;
  by_key_.emplace(std::move(key), notes_.insert(place, std::move(*note)));
  if (notes_.size() > most_) {
    by_key_.erase(finding_key(notes_.back()));
    notes_.pop_back();
    ++dropped_;
  }
}

std::vector<fleet::FindingNote> FindingsKept::newest_first() const {
  return {notes_.begin(), notes_.end()};
}

}  // namespace rpcrdma::gui

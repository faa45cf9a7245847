#include "sorted_ids.h"

#include <algorithm>
#include <iterator>

namespace rpcrdma::gui {

std::uint64_t SortedIds::operator[](std::size_t place) const {
  const auto behind =
      std::upper_bound(pieces_.begin(), pieces_.end(), place,
                       [](std::size_t wanted, const Piece& p) { return wanted < p.start; });
  const Piece& piece = *std::prev(behind);
  return (*piece.ids)[place - piece.start];
}

// Returns the first piece that ends with this ID or a greater one.
std::size_t SortedIds::first_piece_up_to(std::uint64_t id) const {
  const auto it =
      std::lower_bound(pieces_.begin(), pieces_.end(), id,
                       [](const Piece& p, std::uint64_t wanted) { return p.ids->back() < wanted; });
  return static_cast<std::size_t>(it - pieces_.begin());
}

std::size_t SortedIds::lower_bound(std::uint64_t id) const {
  const std::size_t at = first_piece_up_to(id);
  if (at == pieces_.size()) return size();
  const Ids& ids = *pieces_[at].ids;
  const auto it = std::lower_bound(ids.begin(), ids.end(), id);
  return pieces_[at].start + static_cast<std::size_t>(it - ids.begin());
}

bool SortedIds::contains(std::uint64_t id) const {
  const std::size_t at = first_piece_up_to(id);
  return at != pieces_.size() &&
         std::binary_search(pieces_[at].ids->begin(), pieces_[at].ids->end(), id);
}

void SortedIds::add(std::span<const std::uint64_t> ids) {
  if (ids.empty()) return;
  const auto behind = empty() ? ids.begin() : std::upper_bound(ids.begin(), ids.end(), back());
  const auto late = static_cast<std::size_t>(behind - ids.begin());
  if (late != 0) insert(ids.first(late));
  append(ids.subspan(late));
}

SortedIds::Ids& SortedIds::changeable(Piece& piece) {
  if (piece.shared) {
    piece.ids = std::make_shared<Ids>(*piece.ids);
    piece.shared = false;
  }
  return *piece.ids;
}

void SortedIds::append(std::span<const std::uint64_t> ids) {
  while (!ids.empty()) {
    if (pieces_.empty() || pieces_.back().ids->size() >= kPiece) {
      pieces_.push_back({std::make_shared<Ids>(), size(), false});
    }
    Ids& last = changeable(pieces_.back());
    last.reserve(kPiece);
    const auto some = ids.first(std::min(ids.size(), kPiece - last.size()));
    last.insert(last.end(), some.begin(), some.end());
    ids = ids.subspan(some.size());
  }
}

// None is greater than the last ID of the list.
void SortedIds::insert(std::span<const std::uint64_t> ids) {
  const std::size_t first = first_piece_up_to(ids.front());
  for (std::size_t at = first; !ids.empty(); ++at) {
    Piece& piece = pieces_[at];
    const auto end = std::upper_bound(ids.begin(), ids.end(), piece.ids->back());
    const auto count = static_cast<std::size_t>(end - ids.begin());
    if (count == 0) continue;
    auto both = std::make_shared<Ids>();
    both->reserve(piece.ids->size() + count);
    std::set_union(piece.ids->begin(), piece.ids->end(), ids.begin(), end,
                   std::back_inserter(*both));
    ids = ids.subspan(count);
    piece.ids = std::move(both);
    piece.shared = false;
    if (piece.ids->size() <= 2 * kPiece) continue;
    auto half = piece.ids->begin() + static_cast<std::ptrdiff_t>(piece.ids->size() / 2);
    Piece second{std::make_shared<Ids>(half, piece.ids->end()), 0, false};
    piece.ids->erase(half, piece.ids->end());
    pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(second));
    ++at;
  }
  for (std::size_t at = first + 1; at < pieces_.size(); ++at) {
    pieces_[at].start = pieces_[at - 1].start + pieces_[at - 1].ids->size();
  }
}

void SortedIds::keep_up_to(std::uint64_t last) {
  const std::size_t at = first_piece_up_to(last);
  if (at == pieces_.size()) return;
  Ids& ids = changeable(pieces_[at]);
  ids.erase(std::upper_bound(ids.begin(), ids.end(), last), ids.end());
  pieces_.resize(at + (ids.empty() ? 0 : 1));
}

SortedIds SortedIds::share() {
  for (Piece& piece : pieces_) piece.shared = true;
  return *this;
}

}  // namespace rpcrdma::gui

// A sorted list of millions of different IDs. It is kept in pieces, so that adding some, wherever
// they belong, and sharing the list with another thread cost little: the interface's thread does
// both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rpcrdma::gui {

class SortedIds {
 public:
  [[nodiscard]] std::size_t size() const {
    return pieces_.empty() ? 0 : pieces_.back().start + pieces_.back().ids->size();
  }
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] std::uint64_t operator[](std::size_t place) const;
  // Valid unless empty().
  [[nodiscard]] std::uint64_t back() const { return pieces_.back().ids->back(); }

  // The place of the first ID that is not less; size(): there is none.
  [[nodiscard]] std::size_t lower_bound(std::uint64_t id) const;
  [[nodiscard]] bool contains(std::uint64_t id) const;

  // Adds IDs, which are sorted. Those that the list has already are not added again.
  void add(std::span<const std::uint64_t> ids);
  // Removes all IDs that are greater.
  void keep_up_to(std::uint64_t last);
  void clear() { pieces_.clear(); }

  // Returns a copy for another thread. Later changes of this list do not change it.
  [[nodiscard]] SortedIds share();

 private:
  static constexpr std::size_t kPiece = 4096;  // IDs; a piece grows to twice as many
  using Ids = std::vector<std::uint64_t>;
  struct Piece {
    std::shared_ptr<Ids> ids;  // never empty
    std::size_t start = 0;     // place of its first ID
    bool shared = false;       // it is copied before a change
  };

  static Ids& changeable(Piece& piece);
  void append(std::span<const std::uint64_t> ids);
  void insert(std::span<const std::uint64_t> ids);
  [[nodiscard]] std::size_t first_piece_up_to(std::uint64_t id) const;

  std::vector<Piece> pieces_;
};

}  // namespace rpcrdma::gui

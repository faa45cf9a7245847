// A table with one entry per connection, found by roce::Connection::index in two steps without a
// search.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace rpcrdma::roce {

// Indexes only grow while connections come and go, so entries are stored in pages, and a page is
// freed with its last entry: memory follows the number of live connections. Entries do not move.
template <typename T>
class ByConnection {
 public:
  // Null: there is no entry.
  [[nodiscard]] T* find(std::uint32_t index) const {
    const std::size_t page = index / kPage;
    if (page >= pages_.size() || pages_[page] == nullptr) return nullptr;
    return pages_[page]->entries[index % kPage].get();
  }

  // Creates the entry if there is none.
  T& operator[](std::uint32_t index) {
    T* entry = find(index);
    return entry != nullptr ? *entry : make(index);
  }

  void erase(std::uint32_t index) {
    if (find(index) == nullptr) return;
    std::unique_ptr<Page>& page = pages_[index / kPage];
    page->entries[index % kPage].reset();
    --size_;
    if (--page->used == 0) page.reset();
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  // Visits entries in the order of their indexes; `f` must neither create nor erase any.
  template <typename Function>
  void for_each(Function&& f) const {
    for (const std::unique_ptr<Page>& page : pages_) {
      if (page == nullptr) continue;
      for (const std::unique_ptr<T>& entry : page->entries) {
        if (entry != nullptr) f(*entry);
      }
    }
  }

 private:
  static constexpr std::size_t kPage = 64;
  struct Page {
    std::array<std::unique_ptr<T>, kPage> entries;
    std::size_t used = 0;
  };

  T& make(std::uint32_t index) {
    const std::size_t at = index / kPage;
    if (at >= pages_.size()) pages_.resize(at + 1);
    if (pages_[at] == nullptr) pages_[at] = std::make_unique<Page>();
    Page& page = *pages_[at];
    page.entries[index % kPage] = std::make_unique<T>();
    ++page.used;
    ++size_;
    return *page.entries[index % kPage];
  }

  std::vector<std::unique_ptr<Page>> pages_;
  std::size_t size_ = 0;
};

}  // namespace rpcrdma::roce

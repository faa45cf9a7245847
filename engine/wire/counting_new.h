// Counts the allocations of a test program, and what they hold, and lets some of them fail. Linking
// counting_new.cc replaces the global operator new.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rpcrdma::wire::testing {

[[nodiscard]] std::size_t allocations();
// Bytes that were allocated and not given back, with what the allocator rounds up; of what asked
// for no alignment.
[[nodiscard]] std::size_t live_bytes();

// Of the allocations of what in() runs, `succeed` succeed and the next `fail` do not
// (std::bad_alloc; null where nothing is thrown). Not under ThreadSanitizer.
class FailingNew {
 public:
  static constexpr std::size_t kAll = SIZE_MAX;

  explicit FailingNew(std::size_t succeed, std::size_t fail = 1) : succeed_(succeed), fail_(fail) {}

  template <typename Function>
  decltype(auto) in(Function&& function) {
    const Scope scope(this);
    return function();
  }
  // One has failed.
  [[nodiscard]] bool hit() const { return hit_; }
  void stop() { fail_ = 0; }

  // For operator new: the next one is to fail.
  [[nodiscard]] static bool next_fails();

 private:
  class Scope {
   public:
    explicit Scope(FailingNew* failing);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    FailingNew* before_;
  };

  std::size_t succeed_;
  std::size_t fail_;
  bool hit_ = false;
};

template <typename Function>
std::size_t allocations_in(Function function) {
  const std::size_t before = allocations();
  function();
  return allocations() - before;
}

}  // namespace rpcrdma::wire::testing

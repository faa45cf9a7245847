// Counts the allocations of a test program and their bytes, and can make some of them fail. Linking
// counting_new.cc replaces the global operator new.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rpcrdma::wire::testing {

[[nodiscard]] std::size_t allocations();
// Returns the bytes allocated and not yet freed, as the allocator rounded them up. Excludes
// over-aligned allocations.
[[nodiscard]] std::size_t live_bytes();

// While in() runs a function, the first `succeed` of its allocations succeed and the next `fail`
// fail (std::bad_alloc, or null from the nothrow forms). Not available under ThreadSanitizer.
class FailingNew {
 public:
  static constexpr std::size_t kAll = SIZE_MAX;

  explicit FailingNew(std::size_t succeed, std::size_t fail = 1) : succeed_(succeed), fail_(fail) {}

  template <typename Function>
  decltype(auto) in(Function&& function) {
    const Scope scope(this);
    return function();
  }
  // Returns whether an allocation has failed.
  [[nodiscard]] bool hit() const { return hit_; }
  void stop() { fail_ = 0; }

  // Called by operator new: returns whether this allocation is to fail.
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

// The same for the allocations of all threads, for code that starts some. One at a time.
class FailingEverywhere {
 public:
  explicit FailingEverywhere(std::size_t succeed);
  ~FailingEverywhere();
  FailingEverywhere(const FailingEverywhere&) = delete;
  FailingEverywhere& operator=(const FailingEverywhere&) = delete;
  [[nodiscard]] bool hit() const;
};

template <typename Function>
std::size_t allocations_in(Function function) {
  const std::size_t before = allocations();
  function();
  return allocations() - before;
}

}  // namespace rpcrdma::wire::testing

// What the test of ./dev mutants changes.
#pragma once

#include <cstddef>
#include <vector>

namespace example {

class Sum {
 public:
  // False where the limit forbids it.
  bool add(int number);
  [[nodiscard]] int value() const { return value_; }
  [[nodiscard]] std::size_t refused() const { return refused_; }

 private:
  std::vector<int> numbers_;
  int value_ = 0;
  std::size_t refused_ = 0;  // the test does not look at it
};

[[nodiscard]] int largest(const int* first, const int* last);

// Only the compiler runs these two: one is noticed there, the other is not.
constexpr bool noticed(bool b) {
  return !b;
}
static_assert(noticed(false));
constexpr bool unnoticed(bool b) {
  return !b;
}
inline constexpr bool kUnnoticed = unnoticed(true);

}  // namespace example

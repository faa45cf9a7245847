// Has changes that the test notices, changes that it does not, and one that nobody could.
#include "sum.h"

namespace example {
namespace {

constexpr int kLimit = 10;

}  // namespace

bool Sum::add(int number) {
  if (value_ + number > kLimit) {
    ++refused_;
    return false;
  }
  numbers_.reserve(1);
  numbers_.push_back(number);
  value_ += number;
  return true;
}

int largest(const int* first, const int* last) {
  int found = 0;
  const auto count = last - first;
  for (int n = 0; n != count; ++n) {
    if (first[n] > found) found = first[n];
  }
  return found;
}

}  // namespace example

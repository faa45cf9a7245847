// Sorts large values: it sorts a list of their indices first, then moves each value once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace rpcrdma::rules {

// Same result as std::stable_sort() over all of `values`.
template <typename T, typename Less>
void sort_by_place(std::vector<T>& values, const Less& less) {
  std::vector<std::size_t> places(values.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return less(values[a], values[b]); });
  std::vector<T> sorted;
  sorted.reserve(values.size());
  for (const std::size_t place : places) sorted.push_back(std::move(values[place]));
  values = std::move(sorted);
}

}  // namespace rpcrdma::rules
